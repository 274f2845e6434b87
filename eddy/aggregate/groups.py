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
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from eddy.aggregate.accumulators import Accumulator, Touches, moved
from eddy.aggregate.choice import Function, accumulator
from eddy.aggregate.encoding import as_words, canonical, from_words, plain
from eddy.aggregate.group_kernels import (
    AFTER,
    BEFORE,
    MADE,
    ROWS,
    SHOWN,
    SLOT,
    STATE,
    TOUCH,
    WORDS,
    count_needed,
    enter,
    read_touches,
    sort_by_touch,
    tell,
    touch_groups,
)
from eddy.aggregate.texts_of import Texts
from eddy.errors import StateError
from eddy.query.quantile import Quantile
from eddy.values.types import INT64, Array, Column, ColumnType
from stairs.lowlevel import struct

SMALLEST = 64
PERIOD = 64
"""Steps after which memory is given back, if there are far more slots than groups."""
_NULLS = 63
"""Key columns for which one word of bits tells whether they are NULL."""


@frozen(eq=False)
class Changes:
    """Output rows that appear (sign 1) or disappear (sign -1), in order of event. String keys are codes."""

    keys: list[Column]
    values: list[Column]
    signs: Array


@define(eq=False)
class Groups:
    """All groups that exist, by the types of their key columns and the functions computed of each.

    A function is a name and the types of its arguments: ("COUNT", ()) is COUNT(*); most take one column, and each value
    of a group once where `DISTINCT ` begins their name; in the place of a name there may be a quantile, or an aggregate
    of the user's own. `types` has the types of their values. Functions of rows in order are given the ids of these
    (`step`), and `texts` turns the codes of strings into them.
    """

    keys: Sequence[ColumnType]
    functions: Sequence[tuple[Function, tuple[ColumnType, ...]]]
    texts: Texts | None = field(default=None, repr=False)
    types: list[ColumnType] = field(init=False)
    _accumulators: list[Accumulator | None] = field(init=False, repr=False)
    """None for COUNT(*): every group has the number of its rows anyway."""
    _width: int = field(init=False)
    """Words of a key: its columns, then the bits that tell which of them are NULL."""
    _table: Array = field(init=False, repr=False)
    _groups: Array = field(init=False, repr=False)
    _state: Any = field(init=False, factory=lambda: struct.new(STATE), repr=False)
    _peak: int = field(init=False, default=0)
    """The most slots in use at the end of a step since memory was last given back."""
    _steps: int = field(init=False, default=0)
    _nulls: bool = field(init=False, default=False)
    """Whether a key may have been NULL."""
    _seen: dict[int, Groups] = field(init=False, factory=dict, repr=False)
    """By the number of each function of DISTINCT values: a group for each value of a group."""

    def __attrs_post_init__(self) -> None:
        self._accumulators = [
            accumulator(_plain(function), *of, texts=self.texts) for function, of in self.functions
        ]
        self._seen = {
            i: Groups([*self.keys, *of], [])
            for i, (function, of) in enumerate(self.functions)
            if function != _plain(function)
        }
        self.types = [INT64 if one is None else one.type for one in self._accumulators]
        self._width = len(self.keys) + -(-len(self.keys) // _NULLS)
        self._groups = np.zeros((0, WORDS + 2 * self._width), np.int64)
        self._move(np.zeros(0, np.int64), SMALLEST)
        if not self.keys:
            self._state.always = self._state.top = 1
            self._groups[0, TOUCH] = -1
        self._enter()

    def __len__(self) -> int:
        return int(max(self._state.live, self._state.always))

    @property
    def nbytes(self) -> int:
        """The memory of all groups, slack included."""
        own = self._table.nbytes + self._groups.nbytes
        own += sum(seen.nbytes for seen in self._seen.values())
        return int(own + sum(one.nbytes for one in self._accumulators if one is not None))

    def step(
        self,
        keys: list[Column],
        arguments: list[list[Column]],
        signs: Array,
        events: Array,
        ids: Array | None = None,
    ) -> Changes:
        """Let a batch of rows come and go, in order of event, and tell what changes by it.

        Columns hold values as they are stored; strings are codes. The rows of one event come in one batch, and a
        row is withdrawn after it came: where one never came there is an error, and these groups are spoilt. ``ids``
        are needed where a function is of rows in order: a number for each row, the same when it goes, and larger for
        those that are later.
        """
        m = len(signs)
        signs, events = plain(signs, np.int8), plain(events, np.int32)
        row_touches = np.empty(m, np.int32)
        touches = np.empty((m, SHOWN + self._width), np.int64)
        self._touch(self._words(keys, m), signs, events, row_touches, touches)
        touches = touches[: self._state.touches - self._state.base]
        starts, order = np.empty(len(touches) + 1, np.int32), np.empty(m, np.int32)
        apart = sort_by_touch(row_touches, starts, order)
        grouped = Touches(
            starts,
            touches[:, SLOT].astype(np.int32),
            signs.take(order) if apart else signs,
            order if apart else None,
        )
        values: list[Column | None] = []
        for i, (one, argument) in enumerate(zip(self._accumulators, arguments, strict=True)):
            assert (one is None) == (not argument), "COUNT(*) alone has no argument"
            of = grouped
            if i in self._seen:
                new = self._seen[i].presence([*keys, *argument], signs, events)
                of = evolve(grouped, signs=new.take(order) if apart else new)
            if one is not None and one.ordered:
                argument = [Column(ids), *argument]
            values.append(None if one is None else one.step(of, argument))
        changes = self._changes(touches, values)
        self._trim()
        return changes

    def presence(self, keys: list[Column], signs: Array, events: Array) -> Array:
        """Let rows come and go. For each row 1 if by its event a group appears, -1 if one goes, else 0; that is told
        of the first row of the group at the event."""
        m = len(signs)
        row_touches = np.empty(m, np.int32)
        touches = np.empty((m, SHOWN + self._width), np.int64)
        self._touch(self._words(keys, m), signs, events, row_touches, touches)
        touches = touches[: self._state.touches - self._state.base]
        _, first = np.unique(row_touches, return_index=True)
        weights = np.zeros(m, np.int8)
        weights[first] = (touches[:, AFTER] > 0).astype(np.int8) - (touches[:, BEFORE] > 0)
        self._trim()
        return weights

    def remembered(self, keys: list[Column], given: Array, signs: Array, events: Array) -> Array:
        """Let rows come and go; returns for each what was ``given`` with the one that its group began with.

        The keys are not NULL, and no floats.
        """
        m = len(signs)
        words = np.zeros((m, 2 * self._width), np.int64)
        words[:, : self._width] = self._words(keys, m)
        words[:, self._width] = given
        row_touches = np.empty(m, np.int32)
        touches = np.empty((m, SHOWN + self._width), np.int64)
        self._touch(words, plain(signs, np.int8), plain(events, np.int32), row_touches, touches)
        self._trim()
        return touches[row_touches, SHOWN]

    def members(self) -> Array:
        """The keys of all groups that exist, in order of first appearance; they are whole numbers."""
        slots = self._slots()
        slots = slots[np.argsort(self._groups[slots, MADE])]
        return self._groups[slots, WORDS : WORDS + len(self.keys)]

    def table(self) -> tuple[list[Column], list[Column]]:
        """Keys and values of all groups that exist, in order of first appearance."""
        slots = self._slots()
        slots = slots[np.argsort(self._groups[slots, MADE])]
        rows = self._groups[slots, ROWS]
        values = [Column(rows) if one is None else one.finish(one.show(slots)) for one in self._accumulators]
        return self._shown(self._groups[slots, WORDS + self._width :]), values

    def codes_in_use(self) -> Iterator[Array]:
        """The string codes by which groups that exist are known: the pool must not give them out again."""
        columns = self._shown(self._groups[self._slots(), WORDS + self._width :])
        for kind, column in zip(self.keys, columns, strict=True):
            if kind.is_coded:
                yield column.values if column.valid is None else column.values[column.valid]
        for seen in self._seen.values():
            yield from seen.codes_in_use()
        for one in self._accumulators:
            if one is not None:
                yield from one.codes_in_use()

    def _words(self, keys: list[Column], m: int) -> Array:
        """The key words of each row and, if some are floats, the words it is shown by: zeros and NaN differ in them."""
        floats = any(kind.kind == "float" for kind in self.keys)
        words = np.zeros((m, self._width * (1 + floats)), np.int64)
        for first, form in ((0, canonical), (self._width, lambda words, kind: words))[: 1 + floats]:
            for j, (kind, column) in enumerate(zip(self.keys, keys, strict=True)):
                words[:, first + j] = form(as_words(column.values, kind), kind)
                if column.valid is not None:
                    self._nulls = True
                    null = ~column.valid
                    words[null, first + j] = 0
                    words[:, first + len(keys) + j // _NULLS] |= null.astype(np.int64) << (j % _NULLS)
        return words

    def _shown(self, words: Array) -> list[Column]:
        """The key columns of groups, from the words they are shown by."""
        columns = []
        for j, kind in enumerate(self.keys):
            values = from_words(np.ascontiguousarray(words[:, j]), kind)
            null = words[:, len(self.keys) + j // _NULLS] & (1 << j % _NULLS)
            columns.append(Column(values, null == 0 if null.any() else None))
        return columns

    def _told(self, touches: Array, told: Array) -> list[Column]:
        """The key columns of the rows that are told."""

        def word(j: int) -> Array:
            out = np.empty(len(told), np.int64)
            read_touches(touches, told, SHOWN + j, SHOWN + j, out)
            return out

        columns = []
        for j, kind in enumerate(self.keys):
            valid = None
            if self._nulls:
                valid = word(len(self.keys) + j // _NULLS) & (1 << j % _NULLS) == 0
            columns.append(Column(from_words(word(j), kind), None if valid is None or valid.all() else valid))
        return columns

    def _touch(self, words: Array, signs: Array, events: Array, row_touches: Array, touches: Array) -> None:
        state = self._state
        state.base = state.touches
        done = 0
        while True:
            done = touch_groups(
                done,
                words,
                self._width,
                signs,
                events,
                self._table,
                self._groups,
                struct.address(state),
                row_touches,
                touches,
            )
            if done == len(signs):
                return
            if done < 0:
                raise StateError(
                    f"row {-1 - done} is withdrawn, but its group has no rows; withdraw what came"
                )
            self._make_room()

    def _changes(self, touches: Array, values: list[Column | None]) -> Changes:
        """The rows before and after each touch that are to be told, of `values` that has both; None is COUNT(*)."""
        changed = np.zeros(len(touches), np.bool_)
        for column in values:
            if column is not None:
                changed |= _differ(column)
        told, signs = np.empty(2 * len(touches), np.int64), np.empty(2 * len(touches), np.int8)
        count = tell(touches, not self.keys, None in self._accumulators, changed, told, signs)
        told = told[:count]

        def rows() -> Column:
            out = np.empty(count, np.int64)
            read_touches(touches, told, BEFORE, AFTER, out)
            return Column(out)

        shown = [
            rows() if column is None or one is None else one.finish(_take(column, told))
            for column, one in zip(values, self._accumulators, strict=True)
        ]
        return Changes(self._told(touches, told), shown, signs[:count])

    def _slots(self) -> Array:
        """The slots in use."""
        used = self._groups[: self._state.top, ROWS] > 0
        return np.zeros(1, np.int64) if self._state.always else np.flatnonzero(used)

    def _make_room(self) -> None:
        """See that a good part of the slots are free. Groups stay where they are: a batch may be under way."""
        capacity = len(self._groups)
        if 4 * count_needed(self._groups, struct.address(self._state)) > 3 * capacity:
            self._move(np.arange(capacity), 2 * capacity)
        self._enter()

    def _trim(self) -> None:
        """Now and then, give memory back that has not been needed since the last time."""
        self._peak = max(self._peak, len(self))
        self._steps += 1
        if self._steps < PERIOD:
            return
        if len(self._groups) > SMALLEST and 8 * self._peak <= len(self._groups):
            slots = self._slots()
            self._move(slots, max(SMALLEST, 1 << (2 * self._peak - 1).bit_length()))
            self._state.top = len(slots)
            self._enter()
        for one in self._accumulators:
            if one is not None:
                one.trim()
        self._peak, self._steps = len(self), 0

    def _move(self, slots: Array, capacity: int) -> None:
        """Move the groups in these slots to the first of `capacity` slots, a power of two."""
        self._groups = moved(self._groups, slots, capacity)
        for one in self._accumulators:
            if one is not None:
                one.move(slots, capacity)

    def _enter(self) -> None:
        """A new table, of the groups that are needed; the slots of all others are free."""
        self._table = np.zeros(2 * len(self._groups), np.int32)
        enter(self._groups, struct.address(self._state), self._width, self._table)


def _differ(column: Column) -> Array:
    """Whether the values before a touch and after it differ, for each of a column that has both."""
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


DISTINCT = "DISTINCT "
"""Begins the name of a function that counts each value of a group once."""


def _plain(function: Function) -> Function:
    """The function without DISTINCT."""
    if isinstance(function, Quantile):
        return evolve(function, distinct=False)
    return function.removeprefix(DISTINCT) if isinstance(function, str) else function
