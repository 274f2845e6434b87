"""A stage: one attachment, from what happens to the composites before it to what happens to those behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eddy.attachments import find_kernels, give_kernels, restore_kernels, table_kernels
from eddy.attachments.find_kernels import DYING, EVENT, OPS, PAIRED, PLACE, WALK
from eddy.attachments.kept import Kept
from eddy.attachments.layout import (
    ANTI,
    CHANGES,
    CHOSEN,
    ENTRY_FREE,
    ENTRY_NEXT,
    FURTHER,
    KEEPS_LEFT,
    KEEPS_RIGHT,
    NEAREST,
    NODE,
    NODE_FREE,
    NODE_NEXT,
    NONE,
    NUMBERS,
    OP,
    ORDERED,
    PAIRS,
    PARTNERS,
    ROW_HELD,
    ROW_LIVE,
    ROW_NEXT,
    SEMI,
    SOLE,
    STAMP,
    STRICT,
    WHEN,
    Entries,
    Int64s,
    Left,
    Made,
    Nodes,
    Right,
    Rows,
    chosen,
)
from eddy.attachments.reader import Reader
from eddy.attachments.streams import Coming
from eddy.query.attachment import AntiJoin, Attachment, SemiJoin, valid_of
from eddy.query.expressions import Reference
from eddy.query.query import Query
from eddy.values.types import Array, Column

_FEWEST, _FEWEST_PAIRS = 64, 1024


class Stage:
    """The composites of one attachment that live, the keys of its stream's rows, and who is whose partner."""

    def __init__(self, query: Query, number: int, changes: bool, first_row: int) -> None:
        self.attachment: Attachment = query.attachments[number]
        self.number = number
        self.place = query.names.index(self.attachment.stream)
        attached = len(query.attachments)
        self.flags = flags_of(self.attachment, changes, number + 1 < attached)
        self._streams = len(query.names)
        self._births = 2 * attached if attached > 1 and not changes else 2
        """Numbers that a composite knows from its birth; where none can be past, two that nobody reads."""
        self._at = 2 * number if self._births > 2 else 0
        self._words = max(1, sum(1 + equal.nulls for equal in self.attachment.equal))
        self._numbers = np.zeros(NUMBERS, np.int64)
        self._numbers[[ENTRY_FREE, NODE_FREE]] = NONE
        self._numbers[[ROW_NEXT, ROW_HELD, ROW_LIVE]] = first_row
        self._entries = Entries(
            np.empty((0, self._streams), np.int64),
            np.empty((0, 4), np.int32),
            np.empty((0, 4), np.int64),
            np.empty((0, self._births), np.int64),
            np.empty(0, np.int32),
        )
        self._nodes = Nodes(
            np.empty((0, self._words), np.int64), np.empty((0, 4), np.int64), np.empty(0, np.int64),
            np.empty(0, np.int32),
        )  # fmt: skip
        self._rows = Rows(
            np.empty(0, np.int32), np.empty(0, np.int64), np.empty((0, 3), np.int64), np.empty(0, np.int64),
            np.empty((0, self._births), np.int64),
        )  # fmt: skip
        self._pairs = np.empty((_FEWEST_PAIRS, 2), np.int64)
        self._make_room(_FEWEST, _FEWEST)

    # -- a batch ---------------------------------------------------------------------------------------------------

    def step(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """What a batch brings: ``before`` is what happens to the composites in front of this attachment."""
        part = coming.parts[self.number]
        first = int(self._numbers[ROW_NEXT])
        self._make_room(int(np.count_nonzero(before.signs >= 0)), len(part.events))
        left = self._left(before, reader)
        right = self._right(part.events, part.columns, coming)
        made = list(self._given(left, right, reader))
        assert self._numbers[ROW_NEXT] == first + len(part.events)
        self._numbers[STAMP] += len(coming.born)
        found = concatenated(made, self._streams, self._births)
        return in_order(found) if self.flags & (CHANGES | FURTHER) else found  # nothing else is withdrawn

    def _given(self, left: Left, right: Right, reader: Reader) -> Iterator[Made]:
        """What a batch gives, in portions of many pairs at the most."""
        n, events = len(left.signs), len(right.born)
        leave = max(0, min(int(right.lows[-1] - right.lows[0]), int(self._numbers[ROW_NEXT] - right.lows[0])))
        ops = np.empty((n + leave + 2 * len(right.events), OP), np.int64)
        at = np.zeros(WALK, np.int64)
        at[PLACE], at[DYING] = self._at, NONE
        pairs = self._pairs
        while at[EVENT] < events:
            at[OPS] = at[PAIRED] = 0
            tables = self._entries, self._nodes, self._rows, self._numbers, self.flags
            while not find_kernels.find(left, right, *tables, at, ops, pairs):
                more = np.empty((2 * len(pairs), 2), np.int64)
                more[: len(pairs)] = pairs
                pairs = self._pairs = more
            done, found = ops[: at[OPS]], pairs[: at[PAIRED]]
            room = 2 * (len(done) + len(found))
            made = Made(
                np.empty((room, self._streams), np.int64), np.empty(room, np.int8), np.empty(room, np.int32),
                np.empty((room, self._births), np.int64),
            )  # fmt: skip
            touched, hold = np.empty(room, np.int64), self._tested(found, reader)
            many = give_kernels.give(done, found, hold, right, *tables, self.place, made, touched)
            yield Made(made.rows[:many], made.signs[:many], made.events[:many], made.births[:many])

    def ended(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """All windows end: what has come to be past then; ``before`` are composites that are past."""
        made = self.everything_ended(before, coming, reader)
        return chosen(made, made.signs == 0)

    def everything_ended(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """The same with all that is withdrawn: every composite dies, and every row leaves."""
        here = self.alive()
        rows, n = self._entries.rows[here], len(here)
        every = Made(
            np.concatenate((rows, before.rows)),
            np.concatenate((np.full(n, -1, np.int8), before.signs)),
            np.zeros(n + len(before.signs), np.int32),
            np.concatenate((self._entries.births[here], _wide(before.births, self._births))),
        )
        lows = np.repeat(coming.lows, 2, axis=0)
        lows[1] = np.iinfo(np.int64).max
        born = np.zeros((1, coming.born.shape[1]), np.int64)
        return self.step(every, Coming(coming.parts, lows, born), reader)

    def _left(self, before: Made, reader: Reader) -> Left:
        comes = before.signs >= 0
        keys, valid = (
            np.zeros((len(before.signs), self._words), np.int64),
            np.zeros(len(before.signs), np.uint8),
        )
        values = np.zeros(len(before.signs), np.int64)
        where = np.flatnonzero(comes)
        if len(where):
            columns = {
                (side.stream, side.column): reader.coded(
                    side.stream, side.column, before.rows[where, reader.places[side.stream]]
                )
                for side in self._read(True)
            }
            keys[where], valid[where], values[where] = self._keyed(columns, len(where), True)
        births = _wide(before.births, self._births)
        return Left(before.rows, before.signs, before.events, keys, valid, births, values)

    def _right(self, events: NDArray[np.int32], columns: dict[str, Column], coming: Coming) -> Right:
        found = (
            {(side.stream, side.column): columns[side.column] for side in self._read(False)}
            if len(events)
            else {}
        )
        keys, valid, values = self._keyed(found, len(events), False)
        born = coming.born if self._births > 2 else np.zeros((len(coming.born), 2), np.int64)
        lows = np.ascontiguousarray(coming.lows[:, self.number])
        return Right(np.ascontiguousarray(events), keys, valid, values, lows, born)

    def _read(self, left: bool) -> Iterator[Reference]:
        equals = [*self.attachment.equal]
        if self.attachment.nearest is not None:
            equals.append(self.attachment.nearest.equal)
        for equal in equals:
            yield equal.left if left else equal.right

    def _keyed(
        self, columns: dict[tuple[str, str], Column], n: int, left: bool
    ) -> tuple[Array, Array, Array]:
        """The words of the keys, which of them can match, and what the nearest partner is chosen by."""
        keys, values = np.zeros((n, self._words), np.int64), np.zeros(n, np.int64)
        if not n:
            return keys, np.zeros(0, np.uint8), values
        masks, word = [], 0
        for equal in self.attachment.equal:
            side = equal.left if left else equal.right
            words, valid = equal.words(side.stream, columns[side.stream, side.column])
            for values_of in words:
                keys[:, word] = values_of
                word += 1
            masks.append(valid)
        nearest = self.attachment.nearest
        if nearest is not None:
            side = nearest.equal.left if left else nearest.equal.right
            values[:], valid = nearest.values(side.stream, columns[side.stream, side.column])
            masks.append(valid)
        mask = valid_of(*masks)
        return keys, np.ones(n, np.uint8) if mask is None else mask.astype(np.uint8), values

    def _tested(self, pairs: Int64s, reader: Reader) -> NDArray[np.bool_]:
        """Which of the pairs satisfy the predicates beside the keys; none are named where there are no such."""
        residual = self.attachment.residual
        if residual is None or not len(pairs):
            return np.empty(0, np.bool_)
        entries, mine = pairs[:, 0], self.attachment.stream

        def get(stream: str, column: str) -> Column:
            rows = pairs[:, 1] if stream == mine else self._entries.rows[entries, reader.places[stream]]
            return reader.text(stream, column, np.ascontiguousarray(rows))

        return np.ascontiguousarray(residual.holds(get, len(pairs)), np.bool_)

    # -- a break ---------------------------------------------------------------------------------------------------

    def kept(self, first: int) -> Kept:
        """What does not follow from the rows; of those of the stream from ``first`` on."""
        here, entries = self.alive(), self._entries
        counts = entries.counts[here]
        held = np.arange(first, self._numbers[ROW_NEXT] if self.flags & KEEPS_RIGHT else first)
        slots = held & (len(self._rows.nodes) - 1)
        partners, births = self._rows.counts[slots, PARTNERS], self._rows.births[slots]
        rows = entries.rows[here]
        return Kept(rows, counts[:, PARTNERS], counts[:, CHOSEN], entries.births[here], partners, births)

    def restore(self, kept: Kept, first: int, low: int, stop: int, reader: Reader) -> None:
        """Go on, in a new stage, where another was: its stream has the rows from ``first`` to ``stop``, of which those
        before ``low`` are not live."""
        n, held, numbers = len(kept.rows), np.arange(first, stop), self._numbers
        numbers[[ROW_NEXT, ROW_HELD]] = first
        self._make_room(n, len(held))
        numbers[ROW_NEXT] = stop
        columns = {
            (side.stream, side.column): reader.coded(side.stream, side.column, held)
            for side in self._read(False)
        }
        keys, valid, values = self._keyed(columns, len(held), False)
        slots = held & (len(self._rows.nodes) - 1)
        self._rows.values[slots], self._rows.counts[slots], self._rows.births[slots] = values, NONE, 0
        if self.flags & KEEPS_RIGHT:
            self._rows.counts[slots, PARTNERS] = kept.right_partners
            self._rows.births[slots] = kept.right_births
        restore_kernels.bring_rows(self._rows, self._nodes, numbers, keys, valid, low)
        entries = self._entries
        entries.rows[:n], entries.births[:n] = kept.rows, kept.births
        entries.counts[:n, PARTNERS], entries.counts[:n, CHOSEN] = kept.partners, kept.chosen
        entries.counts[:n, WHEN] = NONE
        come = Made(kept.rows, np.ones(n, np.int8), np.zeros(n, np.int32), kept.births)
        left = self._left(come, reader)
        asks = self.flags & (SEMI | ANTI) and not self.flags & CHANGES
        settled = np.ascontiguousarray(kept.partners > 0 if asks else np.zeros(n, np.bool_)).view(np.uint8)
        restore_kernels.bring_entries(entries, self._nodes, numbers, left.keys, left.valid, settled)

    # -- memory ----------------------------------------------------------------------------------------------------

    def alive(self) -> NDArray[np.int64]:
        """The entries of composites that live."""
        used = self._entries.links[: self._numbers[ENTRY_NEXT], NODE]
        return np.flatnonzero(used > -2)

    def oldest_births(self, low: int) -> Int64s | None:
        """For each attached stream the first row that a composite could meet when it has ended without a partner, or a
        row from ``low`` on that has; None if nothing can be past."""
        if self._births == 2 or self.flags & NEAREST:
            return None
        born = []
        if self.flags & (KEEPS_LEFT | ANTI):
            born.append(self._entries.births[self.alive(), 0::2])
        if self.flags & KEEPS_RIGHT and low < self._numbers[ROW_NEXT]:
            born.append(self._rows.births[[low & (len(self._rows.nodes) - 1)], 0::2])
        found = np.concatenate(born) if born else np.empty((0, 0), np.int64)
        return found.min(axis=0) if len(found) else None

    def oldest_chosen(self) -> int | None:
        """The first row that a composite has chosen and somebody may ask for."""
        if not self.flags & NEAREST or not self.flags & (CHANGES | FURTHER):
            return None
        chosen = self._entries.counts[self.alive(), CHOSEN]
        chosen = chosen[chosen >= 0]
        return int(chosen.min()) if len(chosen) else None

    def retire(self, floor: int) -> None:
        """Rows before ``floor`` are asked for no more."""
        if floor > self._numbers[ROW_HELD]:
            table_kernels.retire(self._rows, self._nodes, self._numbers, floor)

    def _make_room(self, composites: int, rows: int) -> None:
        """Let so many more composites and rows in."""
        numbers = self._numbers
        need = int(numbers[ENTRY_NEXT]) + composites
        if need > len(self._entries.counts):
            self._grow_entries(_power(need))
        need = int(numbers[NODE_NEXT]) + composites + rows
        if need > len(self._nodes.newest):
            self._grow_nodes(_power(need))
        need = int(numbers[ROW_NEXT] - numbers[ROW_HELD]) + rows
        if need > len(self._rows.nodes):
            self._grow_rows(_power(need))

    def _grow_entries(self, size: int) -> None:
        used = int(self._numbers[ENTRY_NEXT])
        rows, links, counts, births = (_longer(a, size, used) for a in self._entries[:4])
        self._entries = Entries(rows, links, counts, births, np.full(size, NONE, np.int32))
        table_kernels.index_entries(self._entries, used)

    def _grow_nodes(self, size: int) -> None:
        used = int(self._numbers[NODE_NEXT])
        keys, links, newest = (_longer(a, size, used) for a in self._nodes[:3])
        self._nodes = Nodes(keys, links, newest, np.full(size, NONE, np.int32))
        table_kernels.index_nodes(self._nodes, used)

    def _grow_rows(self, size: int) -> None:
        held = np.arange(self._numbers[ROW_HELD], self._numbers[ROW_NEXT])
        old = self._rows
        grown = []
        for ring in old:
            fresh = np.empty((size, *ring.shape[1:]), ring.dtype)
            if len(held):
                fresh[held & (size - 1)] = ring[held & (len(old.nodes) - 1)]
            grown.append(fresh)
        self._rows = Rows(*grown)

    @property
    def nbytes(self) -> int:
        """Bytes of its tables."""
        return sum(array.nbytes for table in (self._entries, self._nodes, self._rows) for array in table)


def flags_of(attachment: Attachment, changes: bool, further: bool) -> int:
    """What a stage does, as `layout` numbers it."""
    join, nearest = attachment.join, attachment.nearest
    asks = isinstance(join, (SemiJoin, AntiJoin))
    return sum(
        flag
        for flag, on in (
            (PAIRS, join.pairs),
            (KEEPS_LEFT, join.keeps_left),
            (KEEPS_RIGHT, join.keeps_right),
            (SEMI, isinstance(join, SemiJoin)),
            (ANTI, isinstance(join, AntiJoin)),
            (NEAREST, join.nearest),
            (CHANGES, changes),
            (FURTHER, further),
            (SOLE, asks and attachment.residual is None),
            (STRICT, nearest is not None and nearest.strict),
            (ORDERED, nearest is not None and nearest.ordered),
        )
        if on
    )


def concatenated(made: list[Made], streams: int, births: int) -> Made:
    """One after the other."""
    if len(made) == 1:
        return made[0]
    none = Made(
        np.empty((0, streams), np.int64), np.empty(0, np.int8), np.empty(0, np.int32),
        np.empty((0, births), np.int64),
    )  # fmt: skip
    return Made(*(np.concatenate(parts) for parts in zip(none, *made, strict=True)))


def in_order(made: Made) -> Made:
    """In the order of events; at each first what is withdrawn, then what is past."""
    order = np.argsort(made.events.astype(np.int64) * 3 + made.signs, kind="stable")
    return chosen(made, order)


def _wide(births: Int64s, width: int) -> Int64s:
    """What composites know from their birth, if anybody asks for it."""
    return births if births.shape[1] == width else np.zeros((len(births), width), np.int64)


def _longer(array: Array, size: int, used: int) -> Array:
    longer = np.empty((size, *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer


def _power(n: int) -> int:
    return max(_FEWEST, 1 << (n - 1).bit_length())
