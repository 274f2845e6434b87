"""MIN, MAX and MEDIAN: the values of each group in order, and the ones of the rank that is asked for."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from eddy.aggregate.accumulators import COUNT, FIRST, SECOND, Accumulator, Touches
from eddy.aggregate.encoding import canonical, from_words, ordered
from eddy.aggregate.order_kernels import (
    CHILD,
    DEEPEST,
    DONE,
    FILL,
    LIVE,
    MIN,
    MISSING,
    RECORD,
    ROOT,
    TOP,
    keep_order,
)
from eddy.errors import StateError
from eddy.values.types import Array, Column

SMALLEST = 64
"""Nodes of the smallest pool."""
MISSED = "a value was withdrawn that its group does not hold; withdraw what came before"


@define(eq=False)
class Extreme(Accumulator):
    """MIN, MAX or a discrete quantile. NaN is larger than every number."""

    words: int = 4
    rank: int = MIN
    share: tuple[int, int] = (0, 1)
    """The share of values before the one that is shown, where the rank is such."""
    _nodes: Array = field(init=False, repr=False, factory=lambda: np.zeros((SMALLEST, RECORD), np.int64))

    def trim(self) -> None:
        if len(self._nodes) > SMALLEST and 8 * self._nodes[0, LIVE] <= len(self._nodes):
            self._shrink()

    @property
    def nbytes(self) -> int:
        return int(self._state.nbytes + self._nodes.nbytes)

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        keys = ordered(canonical(words[0], self.argument), self.argument)
        at = np.zeros(2, np.int64)
        starts, slots = touches.starts, touches.slots
        while True:
            done = keep_order(
                at, starts, slots, weights, keys, self.rank, *self.share, self._nodes, self._state, out
            )
            if done == DONE:
                return
            if done == MISSING:
                raise StateError(MISSED)
            self._grow()

    def _show(self, state: Array) -> Column:
        return Column(self._values(state[:, FIRST]), state[:, COUNT] > 0)

    def _values(self, keys: Array) -> Array:
        return from_words(ordered(np.ascontiguousarray(keys), self.argument), self.argument)

    def _grow(self) -> None:
        """Twice as many nodes."""
        nodes = np.zeros((2 * len(self._nodes), RECORD), np.int64)
        nodes[: len(self._nodes)] = self._nodes
        self._nodes = nodes

    def _shrink(self) -> None:
        """Move the nodes in use together, and give the rest of the pool back."""
        head, child = self._nodes[0], slice(CHILD, FILL)
        used = np.flatnonzero(self._nodes[:, FILL] > 0)
        number = np.zeros(len(self._nodes), np.int64)
        number[used] = np.arange(1, len(used) + 1)
        nodes = np.zeros((max(SMALLEST, 2 * len(used) + DEEPEST), RECORD), np.int64)
        nodes[1 : len(used) + 1] = self._nodes[used]
        nodes[1 : len(used) + 1, child] = number[nodes[1 : len(used) + 1, child]]
        nodes[0, TOP] = nodes[0, LIVE] = head[LIVE]
        self._state[:, ROOT] = number[self._state[:, ROOT]]
        self._nodes = nodes


class Median(Extreme):
    """MEDIAN: the value in the middle, or the mean of the two, rounded once."""

    def _show(self, state: Array) -> Column:
        lower, upper = self._values(state[:, FIRST]), self._values(state[:, SECOND])
        middle = _middle_of_floats if self.argument.kind == "float" else _middle_of_integers
        return Column(middle(lower, upper), state[:, COUNT] > 0)


def _middle_of_floats(lower: Array, upper: Array) -> Array:
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = lower + upper
        middle = np.where(np.isinf(total), lower / 2 + upper / 2, total / 2)
    return np.where(np.isnan(middle), np.nan, middle + 0.0)


def _middle_of_integers(lower: Array, upper: Array) -> Array:
    """Half of a sum that may need 65 bits. Where half of it is large, its own last bit can stand for the next."""
    if lower.dtype.itemsize < 8:
        lower, upper = lower.astype(np.int64), upper.astype(np.int64)
    one = lower.dtype.type(1)
    half, odd = (lower >> one) + (upper >> one) + (lower & upper & one), (lower ^ upper) & one
    small = (half >= -(2**61)) & (half < 2**61)
    exact = (np.where(small, half, 0) * 2 + np.where(small, odd, 0)).astype(np.float64) / 2
    return np.where(small, exact, (half | odd).astype(np.float64))
