"""Groups of signed rows, and the changelog of their aggregates.

Rows come in, each with the values it is grouped by, the arguments of the aggregates, a sign (1 new, -1
withdrawn) and its event. At each event, every group whose output row differs from the one before gives -1 with
the old row, if the group existed, then +1 with the new one, if it exists still; groups come in the order in
which the event first touches them. A group exists while it has rows. Without columns to group by there is one
group, and it exists always.

NULL is a value to group by like any other; so is NaN; and -0.0 and 0.0 are the same, shown as it was first seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field, frozen

from eddy.aggregate.accumulators import (
    Accumulator,
    Count,
    FloatMean,
    FloatSum,
    IntegerMean,
    IntegerSum,
    Visits,
    moved,
)
from eddy.aggregate.encoding import as_words, canonical, from_words, plain
from eddy.aggregate.extremes import Extreme, Median
from eddy.aggregate.group_kernels import (
    AFTER,
    ALWAYS,
    BASE,
    BEFORE,
    BORN,
    FREE,
    LIVE,
    ROWS,
    SHOWN,
    SLOT,
    TOP,
    VISIT,
    VISITS,
    WORDS,
    enter,
    sort_by_visit,
    visit_groups,
)
from eddy.aggregate.order_kernels import MAX, MEDIAN, MIN
from eddy.aggregate.own import Own
from eddy.errors import QueryError, StateError
from eddy.query.own_aggregate import Compiled
from eddy.values.types import FLOAT64, INT64, Array, Column, ColumnType

SMALLEST = 64
REVIEW_EVERY = 64
"""Steps between two looks at whether there are far more slots than groups."""
_NULLS = 63
"""A word of bits tells which of so many key columns are NULL."""


@frozen(eq=False)
class Changes:
    """Output rows that appear (sign 1) or disappear (sign -1), in order of event. String keys are codes."""

    keys: list[Column]
    values: list[Column]
    signs: Array


@define(eq=False)
class Groups:
    """All groups that exist, by the types of their key columns and the functions computed of each.

    A function is a name and the types of its arguments: ("COUNT", ()) is COUNT(*); COUNT, SUM, AVG, MIN, MAX
    and MEDIAN take one column, and in the place of a name there may be a compiled aggregate of the user's own. `types`
    has the types of their values.
    """

    keys: Sequence[ColumnType]
    functions: Sequence[tuple[str | Compiled, tuple[ColumnType, ...]]]
    types: list[ColumnType] = field(init=False)
    _accumulators: list[Accumulator | None] = field(init=False, repr=False)
    """None for COUNT(*): every group has the number of its rows anyway."""
    _width: int = field(init=False)
    """Words of a key: its columns, then the bits that tell which of them are NULL."""
    _table: Array = field(init=False, repr=False)
    _groups: Array = field(init=False, repr=False)
    _state: Array = field(init=False, factory=lambda: np.zeros(7, np.int64), repr=False)
    _peak: int = field(init=False, default=0)
    """The most slots in use at the end of a step since the last review."""
    _steps: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._accumulators = [accumulator(function, *of) for function, of in self.functions]
        self.types = [INT64 if one is None else one.type for one in self._accumulators]
        self._width = len(self.keys) + -(-len(self.keys) // _NULLS)
        self._groups = np.zeros((0, WORDS + 2 * self._width), np.int64)
        self._move(np.zeros(0, np.int64), SMALLEST)
        self._enter(np.zeros(0, np.int64))
        if not self.keys:
            self._state[ALWAYS] = self._state[TOP] = self._state[LIVE] = 1
            self._groups[0, VISIT] = -1
            self._enter(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return int(self._state[LIVE])

    @property
    def nbytes(self) -> int:
        """The memory of all groups, slack included."""
        own = self._table.nbytes + self._groups.nbytes
        return int(own + sum(one.nbytes for one in self._accumulators if one is not None))

    def step(self, keys: list[Column], arguments: list[list[Column]], signs: Array, events: Array) -> Changes:
        """Let a batch of rows come and go, in order of event, and tell what changes by it.

        Columns hold values as they are stored; strings are codes. The rows of one event come in one batch, and a
        row is withdrawn after it came: where one never came there is an error, and these groups are spoilt.
        """
        m = len(signs)
        signs, events = plain(signs, np.int8), plain(events, np.int32)
        row_visits = np.empty(m, np.int32)
        visits = np.empty((m, SHOWN + self._width), np.int64)
        self._visit(self._words(keys, m), signs, events, row_visits, visits)
        visits = visits[: self._state[VISITS] - self._state[BASE]]
        starts, order = np.empty(len(visits) + 1, np.int32), np.empty(m, np.int32)
        apart = sort_by_visit(row_visits, starts, order)
        grouped = Visits(
            starts,
            visits[:, SLOT].astype(np.int32),
            signs.take(order) if apart else signs,
            order if apart else None,
        )
        rows = visits[:, BEFORE : AFTER + 1].ravel()
        values = []
        for one, argument in zip(self._accumulators, arguments, strict=True):
            assert (one is None) == (not argument), "COUNT(*) alone has no argument"
            values.append(Column(rows) if one is None else one.step(grouped, argument))
        changes = self._changes(visits, rows, values)
        self._review()
        return changes

    def table(self) -> tuple[list[Column], list[Column]]:
        """Keys and values of all groups that exist, in order of first appearance."""
        slots = self._slots()
        slots = slots[np.argsort(self._groups[slots, BORN])]
        rows = self._groups[slots, ROWS]
        values = [Column(rows) if one is None else one.show(slots) for one in self._accumulators]
        return self._shown(self._groups[slots, WORDS + self._width :]), values

    def codes_in_use(self) -> Iterator[Array]:
        """The string codes by which groups that exist are known: the pool must not give them out again."""
        columns = self._shown(self._groups[self._slots(), WORDS + self._width :])
        for kind, column in zip(self.keys, columns, strict=True):
            if kind.kind == "string":
                yield column.values if column.valid is None else column.values[column.valid]

    def _words(self, keys: list[Column], m: int) -> Array:
        """The key words of each row, then the words it is shown by: they differ only in zeros and NaN."""
        width = self._width
        words = np.zeros((m, 2 * width), np.int64)
        for j, (kind, column) in enumerate(zip(self.keys, keys, strict=True)):
            shown = as_words(column.values, kind)
            words[:, j], words[:, width + j] = canonical(shown, kind), shown
            if column.valid is not None:
                null = ~column.valid
                words[null, j] = words[null, width + j] = 0
                bits = null.astype(np.int64) << (j % _NULLS)
                words[:, len(keys) + j // _NULLS] |= bits
                words[:, width + len(keys) + j // _NULLS] |= bits
        return words

    def _shown(self, words: Array) -> list[Column]:
        """The key columns of groups, from the words they are shown by."""
        columns = []
        for j, kind in enumerate(self.keys):
            values = from_words(np.ascontiguousarray(words[:, j]), kind)
            null = words[:, len(self.keys) + j // _NULLS] & (1 << j % _NULLS)
            columns.append(Column(values, null == 0 if null.any() else None))
        return columns

    def _visit(self, words: Array, signs: Array, events: Array, row_visits: Array, visits: Array) -> None:
        state = self._state
        state[BASE] = state[VISITS]
        done = 0
        while True:
            done = visit_groups(
                done, words, signs, events, self._table, self._groups, state, row_visits, visits
            )
            if done == len(signs):
                return
            if done < 0:
                raise StateError(
                    f"row {-1 - done} is withdrawn, but its group has no rows; withdraw what came"
                )
            self._grow()

    def _changes(self, visits: Array, rows: Array, values: list[Column]) -> Changes:
        """The rows before and after each visit that are to be told, of `values` that has both of each."""
        exists = (rows > 0) if self.keys else np.ones(len(rows), np.bool_)
        changed = exists[::2] != exists[1::2]
        for column in values:
            changed |= _differ(column)
        told = (exists.reshape(-1, 2) & changed[:, None]).ravel().nonzero()[0]
        signs = ((told & 1) * 2 - 1).astype(np.int8)
        visits = visits.take(told >> 1, axis=0)
        keys = self._shown(visits[:, SHOWN:])
        return Changes(keys, [_take(column, told) for column in values], signs)

    def _slots(self) -> Array:
        """The slots in use."""
        used = self._groups[: self._state[TOP], ROWS] > 0
        return np.zeros(1, np.int64) if self._state[ALWAYS] else np.flatnonzero(used)

    def _grow(self) -> None:
        """Double the slots. Groups stay where they are: a batch may be under way."""
        slots, capacity = self._table[self._table > 0] - 1, 2 * len(self._groups)
        self._move(np.arange(len(self._groups)), capacity)
        self._enter(slots.astype(np.int64))

    def _review(self) -> None:
        """Now and then, give memory back that has not been needed since the last time."""
        self._peak = max(self._peak, len(self))
        self._steps += 1
        if self._steps < REVIEW_EVERY:
            return
        if len(self._groups) > SMALLEST and 8 * self._peak <= len(self._groups):
            slots = self._slots()
            self._move(slots, max(SMALLEST, 1 << (2 * self._peak - 1).bit_length()))
            self._state[FREE], self._state[TOP] = 0, len(slots)
            self._enter(np.arange(len(slots)))
        for one in self._accumulators:
            if one is not None:
                one.review()
        self._peak, self._steps = len(self), 0

    def _move(self, slots: Array, capacity: int) -> None:
        """Move the groups in these slots to the first of so many slots, a power of two."""
        self._groups = moved(self._groups, slots, capacity)
        for one in self._accumulators:
            if one is not None:
                one.move(slots, capacity)

    def _enter(self, slots: Array) -> None:
        self._table = np.zeros(2 * len(self._groups), np.int32)
        enter(self._groups, slots, self._width, self._table)


def _differ(column: Column) -> Array:
    """Whether the values before a visit and after it differ, for each of a column that has both."""
    values = column.values
    bits = values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values  # NaN equals itself
    differ: Array = bits[::2] != bits[1::2]
    if column.valid is None:
        return differ
    before, after = column.valid[::2], column.valid[1::2]
    return (before != after) | (before & after & differ)


def _take(column: Column, places: Array) -> Column:
    """These values; without a mask where none of them is NULL."""
    taken = column.take(places)
    if taken.valid is not None and taken.valid.all():
        taken.valid = None
    return taken


def accumulator(function: str | Compiled, *types: ColumnType) -> Accumulator | None:
    """What computes this function of columns of these types; None for COUNT(*)."""
    if isinstance(function, Compiled):
        return Own(types, function.type, compiled=function)
    if not types:
        if function != "COUNT":
            raise QueryError(f"{function}(*) means nothing; name the column, such as {function}(B.v)")
        return None
    (of,) = types
    if function == "COUNT":
        return Count(types, INT64)
    if of.kind in ("int", "uint", "bool", "float", "timestamp") and function in ("MIN", "MAX"):
        return Extreme(types, of, rank=MIN if function == "MIN" else MAX)
    if of.kind in ("int", "uint", "bool", "float") and function in ("SUM", "AVG", "MEDIAN"):
        if function == "MEDIAN":
            return Median(types, FLOAT64, rank=MEDIAN)
        if of.kind == "float":
            return FloatSum(types, FLOAT64) if function == "SUM" else FloatMean(types, FLOAT64)
        return IntegerSum(types, INT64) if function == "SUM" else IntegerMean(types, FLOAT64)
    raise QueryError(f"there is no {function} of {of}; take COUNT of it, or another column")
