"""COUNT, SUM and AVG: what is kept for each group so that rows may come and go, and what it shows.

Every accumulator keeps a record of words for each group's slot. The first three are all that is shown, the first
of them being the number of values that are not NULL; kernels give those three before and after each touch. What
is shown depends on the values that are there alone, never on the ones that have passed. Zero has no sign in it, so that
values that are equal have equal bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from attrs import define, field, frozen

from eddy.aggregate import sum_kernels
from eddy.aggregate.encoding import as_words, plain
from eddy.values.types import Array, Column, ColumnType

COUNT, FIRST, SECOND = range(3)
"""Places in the state of every accumulator. What FIRST and SECOND are is up to its kernel."""


@frozen(eq=False)
class Touches:
    """The touches of a batch: where the rows of each start, and its slot; and the order that brings them together."""

    starts: Array
    slots: Array
    signs: Array
    """In order of touch."""
    order: Array | None
    """The rows in order of touch; None where they lie so."""

    def __len__(self) -> int:
        return len(self.slots)

    def arrange(self, arguments: Sequence[Column], types: Sequence[ColumnType]) -> tuple[Array, list[Array]]:
        """The weights of the rows, 0 where an argument is NULL, and the words of each argument, in order of touch."""
        weights, words = self.signs, []
        for argument, of in zip(arguments, types, strict=True):
            found, valid = as_words(argument.values, of), argument.valid
            if self.order is not None:
                found = found.take(self.order)
                valid = valid if valid is None else valid.take(self.order)
            weights = weights if valid is None else weights * valid
            words.append(plain(found, np.int64))
        return weights, words


@define(eq=False)
class Accumulator(ABC):
    """What one aggregate function keeps for all groups."""

    ordered: ClassVar[bool] = False
    """Whether it is of rows in order: then the first of its arguments are their ids."""

    arguments: tuple[ColumnType, ...]
    type: ColumnType
    words: int = 3
    """Words for each group, at least the three that are shown."""
    _state: Array = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._state = np.zeros((0, self.words), np.int64)

    @property
    def argument(self) -> ColumnType:
        """The type of the one argument that all functions of SQL have."""
        return self.arguments[0]

    def step(self, touches: Touches, arguments: Sequence[Column]) -> Column:
        """Let the values of a batch come and go. Two values for each touch: before it, and after it."""
        out = np.zeros((2 * len(touches), 3), np.int64)
        weights, words = touches.arrange(arguments, self.arguments)
        self._step(touches, weights, words, out)
        return self._show(out)

    def show(self, slots: Array) -> Column:
        """The value of each of these groups now."""
        return self._show(self._state[slots, :3])

    def finish(self, shown: Column) -> Column:
        """What is shown, of values that are only compared until it is."""
        return shown

    def move(self, slots: Array, capacity: int) -> None:
        """Keep the groups in these slots only, in the first of `capacity` slots."""
        self._state = moved(self._state, slots, capacity)

    def codes_in_use(self) -> Iterator[Array]:
        """The codes of strings that it keeps. Most keep none."""
        return iter(())

    def trim(self) -> None:
        """Give memory back that is not needed. Most keep none."""
        return

    @property
    def nbytes(self) -> int:
        """The memory of all groups, slack included."""
        return int(self._state.nbytes)

    @abstractmethod
    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None: ...

    @abstractmethod
    def _show(self, state: Array) -> Column: ...


def moved(array: Array, slots: Array, capacity: int) -> Array:
    """The records in these slots, and zeros behind them."""
    fresh = np.zeros((capacity, array.shape[1]), array.dtype)
    fresh[: len(slots)] = array[slots]
    return fresh


class Count(Accumulator):
    """COUNT(x): the values that are not NULL."""

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        sum_kernels.count(touches.starts, touches.slots, weights, self._state, out)

    def _show(self, state: Array) -> Column:
        return Column(state[:, COUNT].copy())


class IntegerSum(Accumulator):
    """SUM of integers, exact in 128 bits. It is NULL while int64 cannot hold it."""

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        unsigned = self.argument.name == "uint64"
        sum_kernels.add_integers(touches.starts, touches.slots, weights, words[0], unsigned, self._state, out)

    def _show(self, state: Array) -> Column:
        fits = state[:, SECOND] == state[:, FIRST] >> 63
        return Column(state[:, FIRST].copy(), (state[:, COUNT] > 0) & fits)


class DecimalSum(IntegerSum):
    """SUM of decimals, exact. It is NULL while it has more digits than decimals have."""

    def _show(self, state: Array) -> Column:
        found = super()._show(state)
        limit = 10**self.type.digits
        return Column(found.values, found.known & (found.values < limit) & (found.values > -limit))


class IntegerMean(IntegerSum):
    """AVG of integers: the exact sum divided by the count, rounded once."""

    def _show(self, state: Array) -> Column:
        low, high, count = (np.ascontiguousarray(state[:, place]) for place in (FIRST, SECOND, COUNT))
        mean = np.empty(len(state))
        sum_kernels.mean_integers(low, high, count, mean)
        return Column(mean, count > 0)


class DecimalMean(IntegerMean):
    """AVG of decimals: the exact sum divided by the count, rounded, and then by the power of ten that is its scale."""

    def _show(self, state: Array) -> Column:
        found = super()._show(state)
        return Column(found.values / 10.0**self.argument.scale, found.known)


@define(eq=False)
class FloatSum(Accumulator):
    """SUM of floats: the exact sum, rounded once; infinities and NaN for as long as they are there."""

    words: int = 6
    _low: int = field(init=False, default=0)
    """The first digit of the window."""
    _digits: Array = field(init=False, repr=False, factory=lambda: np.zeros((0, 0), np.int64))

    def move(self, slots: Array, capacity: int) -> None:
        super().move(slots, capacity)
        self._digits = moved(self._digits, slots, capacity)

    @property
    def nbytes(self) -> int:
        return int(self._state.nbytes + self._digits.nbytes)

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        self._widen(*sum_kernels.digit_range(weights, words[0]))
        sum_kernels.add_floats(
            touches.starts, touches.slots, weights, words[0], self._low, self._digits, self._state, out
        )

    def _show(self, state: Array) -> Column:
        values, valid = np.empty(len(state)), np.empty(len(state), np.bool_)
        sum_kernels.show_floats(np.ascontiguousarray(state), values, valid)
        return Column(values, valid)

    def _widen(self, low: int, high: int) -> None:
        """Make the window reach from digit `low` to before digit `high`, at least."""
        width = self._digits.shape[1]
        if width:
            low, high = min(low, self._low), max(high, self._low + width)
        if high - low > width:
            digits = np.zeros((len(self._digits), high - low), np.int64)
            digits[:, self._low - low : self._low - low + width] = self._digits
            self._low, self._digits = low, digits


class FloatMean(FloatSum):
    """AVG of floats: the exact sum divided by the count, rounded once; finite if all values are."""

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        self._widen(*sum_kernels.digit_range(weights, words[0]))
        given = touches.starts, touches.slots, weights, words[0], self._low, self._digits
        sum_kernels.mean_floats(*given, self._state.view(np.float64), self._state, out)

    def _show(self, state: Array) -> Column:
        mean = np.ascontiguousarray(state[:, FIRST]).view(np.float64)
        return Column(mean, state[:, COUNT] > 0)
