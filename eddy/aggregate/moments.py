"""VARIANCE and STDDEV: exact sums of values and of their squares for each group."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from eddy.aggregate import moment_kernels, sum_kernels
from eddy.aggregate.accumulators import COUNT, FIRST, Accumulator, Touches, moved
from eddy.values.types import Array, Column

INTEGER, UNSIGNED, FLOAT = range(3)
_OF_INTEGERS = 4
"""Digits of a sum of integers: two for a value, one for the carries of billions of them, and its sign."""


@define(eq=False)
class Moments(Accumulator):
    """The variance, of a sample or of all values, or its square root. NULL of too few values."""

    words: int = 4
    sample: bool = field(kw_only=True)
    """Whether the sum of squares is divided by the number of values less one."""
    root: bool = field(kw_only=True)
    """Whether the standard deviation is shown."""
    _low: int = field(init=False, default=0)
    """The first digit of the window; see `FloatSum`."""
    _sums: Array = field(init=False, repr=False)
    _squares: Array = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        width = 0 if self.argument.kind == "float" else _OF_INTEGERS
        self._sums, self._squares = np.zeros((0, width), np.int64), np.zeros((0, 2 * width), np.int64)

    def move(self, slots: Array, capacity: int) -> None:
        super().move(slots, capacity)
        self._sums, self._squares = moved(self._sums, slots, capacity), moved(self._squares, slots, capacity)

    @property
    def nbytes(self) -> int:
        return int(self._state.nbytes + self._sums.nbytes + self._squares.nbytes)

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        kind = INTEGER
        if self.argument.kind == "float":
            kind = FLOAT
            self._widen(*sum_kernels.digit_range(weights, words[0]))
        elif self.argument.name == "uint64":
            kind = UNSIGNED
        moment_kernels.add_moments(
            touches.starts,
            touches.slots,
            weights,
            words[0],
            kind,
            self._low,
            self.sample,
            self._sums,
            self._squares,
            self._state.view(np.float64),
            self._state,
            out,
        )

    def _show(self, state: Array) -> Column:
        found = np.ascontiguousarray(state[:, FIRST]).view(np.float64)
        return Column(np.sqrt(found) if self.root else found, state[:, COUNT] > self.sample)

    def _widen(self, low: int, high: int) -> None:
        """Make the window reach from digit `low` to before digit `high`, at least."""
        width = self._sums.shape[1]
        if width:
            low, high = min(low, self._low), max(high, self._low + width)
        if high - low <= width:
            return
        wider = high - low
        before, self._low = (self._low - low if width else 0), low
        for name, factor in (("_sums", 1), ("_squares", 2)):
            held = getattr(self, name)
            digits = np.zeros((len(held), factor * wider), np.int64)
            digits[:, factor * before : factor * (before + width)] = held
            setattr(self, name, digits)
