"""COUNT, SUM and AVG: what is kept for each group so that rows may come and go, and what it shows.

Every accumulator keeps a record of words for each group's slot. The first three are all that is shown, the first
of them being the number of values that are not NULL; kernels give those three before and after each visit. What
is shown depends on the values held alone, never on the ones that have passed. Zero has no sign in it, so that
values that are equal have equal bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from attrs import define, field, frozen

from eddy import sum_kernels
from eddy.types import Array, Column, ColumnType
from eddy.words import as_words, plain

HELD, FIRST, SECOND = range(3)
"""Places in the state of every accumulator. What FIRST and SECOND are is up to its kernel."""


@frozen(eq=False)
class Visits:
    """The visits of a batch: where the rows of each start, and its slot; and the order that brings them together."""

    starts: Array
    slots: Array
    signs: Array
    """In order of visit."""
    order: Array | None
    """The rows in order of visit; None where they lie so."""

    def __len__(self) -> int:
        return len(self.slots)

    def arrange(self, argument: Column, type: ColumnType) -> tuple[Array, Array]:
        """The weights and the words of an argument, in order of visit."""
        words, valid = as_words(argument.values, type), argument.valid
        if self.order is not None:
            words = words.take(self.order)
            valid = valid if valid is None else valid.take(self.order)
        weights = self.signs if valid is None else self.signs * valid
        return weights, plain(words, np.int64)


@define(eq=False)
class Accumulator(ABC):
    """What one aggregate function keeps for all groups."""

    argument: ColumnType
    type: ColumnType
    words: int = 3
    """Words for each group, at least the three that are shown."""
    _state: Array = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._state = np.zeros((0, self.words), np.int64)

    def step(self, visits: Visits, argument: Column) -> Column:
        """Let the values of a batch come and go. Two values for each visit: before it, and after it."""
        out = np.zeros((2 * len(visits), 3), np.int64)
        weights, words = visits.arrange(argument, self.argument)
        self._step(visits, weights, words, out)
        return self._show(out)

    def show(self, slots: Array) -> Column:
        """The value of each of these groups now."""
        return self._show(self._state[slots, :3])

    def move(self, slots: Array, capacity: int) -> None:
        """Keep the groups in these slots only, in the first of so many slots."""
        self._state = moved(self._state, slots, capacity)

    def review(self) -> None:
        """Give memory back that is not needed. Most keep none."""
        return

    @property
    def nbytes(self) -> int:
        """The memory of all groups, slack included."""
        return int(self._state.nbytes)

    @abstractmethod
    def _step(self, visits: Visits, weights: Array, words: Array, out: Array) -> None: ...

    @abstractmethod
    def _show(self, state: Array) -> Column: ...


def moved(array: Array, slots: Array, capacity: int) -> Array:
    """The records in these slots, and zeros behind them."""
    fresh = np.zeros((capacity, array.shape[1]), array.dtype)
    fresh[: len(slots)] = array[slots]
    return fresh


class Count(Accumulator):
    """COUNT(x): the values that are not NULL."""

    def _step(self, visits: Visits, weights: Array, words: Array, out: Array) -> None:
        sum_kernels.count(visits.starts, visits.slots, weights, self._state, out)

    def _show(self, state: Array) -> Column:
        return Column(state[:, HELD].copy())


class IntegerSum(Accumulator):
    """SUM of integers, exact in 128 bits. It is NULL while int64 cannot hold it."""

    def _step(self, visits: Visits, weights: Array, words: Array, out: Array) -> None:
        unsigned = self.argument.name == "uint64"
        sum_kernels.add_integers(visits.starts, visits.slots, weights, words, unsigned, self._state, out)

    def _show(self, state: Array) -> Column:
        fits = state[:, SECOND] == state[:, FIRST] >> 63
        return Column(state[:, FIRST].copy(), (state[:, HELD] > 0) & fits)


class IntegerMean(IntegerSum):
    """AVG of integers: the exact sum as the nearest float, divided by the count."""

    def _show(self, state: Array) -> Column:
        low, high, held = (np.ascontiguousarray(state[:, place]) for place in (FIRST, SECOND, HELD))
        total = np.empty(len(state))
        sum_kernels.round_integers(low, high, total)
        return Column(total / np.maximum(held, 1), held > 0)


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

    def _step(self, visits: Visits, weights: Array, words: Array, out: Array) -> None:
        self._widen(*sum_kernels.digit_range(weights, words))
        sum_kernels.add_floats(
            visits.starts, visits.slots, weights, words, self._low, self._digits, self._state, out
        )

    def _show(self, state: Array) -> Column:
        return Column(_power(state[:, FIRST].astype(np.float64), state), state[:, HELD] > 0)

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
    """AVG of floats: the exact sum as the nearest float, divided by the count; finite if all values are."""

    def _show(self, state: Array) -> Column:
        mantissa, count = state[:, FIRST].astype(np.float64), np.maximum(state[:, HELD], 1)
        total = _power(mantissa, state)
        mean = np.where(np.isinf(total), _power(mantissa / count, state), total / count)
        return Column(mean + 0.0, state[:, HELD] > 0)


def _power(mantissa: Array, state: Array) -> Array:
    """Mantissas with the exponents of a float sum's state."""
    with np.errstate(over="ignore"):
        values = np.ldexp(mantissa, state[:, SECOND].astype(np.int32))
    return np.where(state[:, SECOND] == sum_kernels.UNDEFINED, np.nan, values)
