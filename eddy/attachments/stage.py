"""A stage: one attachment, from what happens to the composites before it to what happens to those behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eddy.attachments import find_kernels, give_kernels, restore_kernels
from eddy.attachments.bands import Banded
from eddy.attachments.find_kernels import BORN, DEAD, EVENT, OPS, PAIRED, PLACE, WALK
from eddy.attachments.flags import (
    ANTI,
    CHANGES,
    FURTHER,
    KEEPS_LEFT,
    KEEPS_RIGHT,
    LOOSE,
    NEAREST,
    SEMI,
    flags_of,
)
from eddy.attachments.kept import Kept
from eddy.attachments.keys import Keys
from eddy.attachments.layout import (
    CHOSEN,
    ENTRY_ASCENDS,
    ENTRY_LOW,
    ENTRY_NEXT,
    NONE,
    NULL_NODE,
    OP,
    PARTNERS,
    ROW_ASCENDS,
    ROW_HELD,
    ROW_NEXT,
    ROW_PARTNERS,
    STAMP,
    WHEN,
    Float64s,
    Int64s,
    Left,
    Made,
    Right,
    chosen,
    concatenated,
    in_order,
    room_for,
)
from eddy.attachments.reader import Reader
from eddy.attachments.streams import Coming
from eddy.attachments.tables import Tables
from eddy.intake.intake import Part
from eddy.query.attachment import Attachment
from eddy.query.expressions import Get
from eddy.query.query import Query
from eddy.values.types import Column

_FEWEST_PAIRS = 1024


class Stage:
    """The composites of one attachment that live, the keys of its stream's rows, and who is whose partner."""

    def __init__(self, query: Query, number: int, changes: bool, first_row: int) -> None:
        self.attachment: Attachment = query.attachments[number]
        self.number = number
        self.place = query.names.index(self.attachment.stream)
        attached = len(query.attachments)
        self._streams = len(query.names)
        self._births = births_of(attached, changes)
        self._keys = Keys(self.attachment)
        self._banded = Banded.of(self.attachment, query.streams[self.attachment.stream].time)
        banded, in_turn = self._banded is not None, number == 0 and len(query.core.names) == 1
        self.flags = flags_of(self.attachment, changes, number + 1 < attached, banded, in_turn)
        self._tables = Tables(self._streams, self._births, self._keys.words, banded, first_row, in_turn)
        self._numbers = self._tables.numbers
        self._pairs = np.empty((_FEWEST_PAIRS, 2), np.int64)

    # -- a batch ---------------------------------------------------------------------------------------------------

    def step(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """What a batch brings: ``before`` is what happens to the composites in front of this attachment."""
        part, tables = coming.parts[self.number], self._tables
        first = int(self._numbers[ROW_NEXT])
        tables.make_room(int(np.count_nonzero(before.signs >= 0)), len(part.events))
        self._know_null()
        right = self._right(part, coming)
        left = self._left(before, reader)
        made = list(self._given(left, right, reader))
        assert self._numbers[ROW_NEXT] == first + len(part.events)
        self._numbers[STAMP] += coming.events
        tables.free(left.signs, left.entries)
        found = concatenated(made, self._streams, self._births)
        return in_order(found) if self.flags & (CHANGES | FURTHER) else found  # nothing else is withdrawn

    def _know_null(self) -> None:
        """See that NULL has a node, where it is everybody's partner."""
        if self.flags & LOOSE:
            null = np.array([[0, 1]]), np.ones(1, np.uint8)
            self._numbers[NULL_NODE] = self._tables.nodes_of(*null)[0]

    def _given(self, left: Left, right: Right, reader: Reader) -> Iterator[Made]:
        """What a batch gives, in portions of many pairs at the most."""
        n, events, tables = len(left.signs), len(right.lows) - 1, self._tables
        leave = max(0, min(int(right.lows[-1] - right.lows[0]), int(self._numbers[ROW_NEXT] - right.lows[0])))
        ops = np.empty((n + leave + 2 * len(right.events), OP), np.int64)
        at = np.zeros(WALK, np.int64)
        at[PLACE] = 2 * self.number
        at[DEAD] = self._numbers[ENTRY_LOW]
        at[BORN] = self._numbers[ENTRY_NEXT] - np.count_nonzero(left.signs >= 0)
        every = tables.entries, tables.nodes, tables.rows, self._numbers, self.flags
        while at[EVENT] < events:
            at[OPS] = at[PAIRED] = 0
            while not find_kernels.find(left, right, *every, at, ops, self._pairs):
                more = np.empty((2 * len(self._pairs), 2), np.int64)
                more[: len(self._pairs)] = self._pairs
                self._pairs = more
            done, found = ops[: at[OPS]], self._pairs[: at[PAIRED]]
            room = 2 * (len(done) + len(found))
            made, touched = room_for(room, self._streams, self._births), np.empty(room, np.int64)
            hold = self._tested(found, reader)
            many = give_kernels.give(done, found, hold, right, *every, self.place, made, touched)
            yield Made(made.rows[:many], made.signs[:many], made.events[:many], made.births[:many])

    def ended(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """All windows end: what has come to be past then; ``before`` are composites that are past."""
        made = self.everything_ended(before, coming, reader)
        return chosen(made, made.signs == 0)

    def everything_ended(self, before: Made, coming: Coming, reader: Reader) -> Made:
        """The same with all that is withdrawn: every composite dies, and every row leaves."""
        here, entries = self._tables.alive(), self._tables.entries
        every = Made(
            np.concatenate((entries.rows[here], before.rows)),
            np.concatenate((np.full(len(here), -1, np.int8), before.signs)),
            np.zeros(len(here) + len(before.signs), np.int32),
            np.concatenate((entries.births[here], before.births)),
        )
        lows = np.repeat(coming.lows, 2, axis=0)
        lows[1] = np.iinfo(np.int64).max
        born = np.zeros((1, coming.born.shape[1]), np.int64)
        return self.step(every, Coming(coming.parts, lows, born), reader)

    def _left(self, before: Made, reader: Reader) -> Left:
        signs, where = before.signs, np.flatnonzero(before.signs >= 0)
        nodes, values = np.full(len(signs), NONE, np.int64), np.zeros(len(signs), np.int64)
        bounds = np.empty((len(signs), 2 if self._banded else 0))
        if len(where):
            keys = self._keys.of_composites(before.rows[where], reader)
            nodes[where] = self._tables.nodes_of(keys.words, keys.valid, not self.flags & NEAREST)
            values[where] = keys.values
            if self._banded is not None:
                bounds[where], after = self._banded.of_composites(before.rows[where], reader)
                if after >= 0:
                    self._numbers[ENTRY_ASCENDS] = self._numbers[ENTRY_NEXT] + after
        entries = self._tables.entries_of(before.rows, signs)
        return Left(before.rows, signs, before.events, entries, nodes, before.births, values, bounds)

    def _right(self, part: Part, coming: Coming) -> Right:
        keys = self._keys.of_rows(part.columns, len(part.events))
        nodes = self._tables.nodes_of(keys.words, keys.valid)
        lows = np.ascontiguousarray(coming.lows[:, self.number])
        measures = self._measures(lambda _, column: part.columns[column], len(part.events))
        return Right(np.ascontiguousarray(part.events), nodes, keys.values, measures, lows, coming.born)

    def _measures(self, get: Get, n: int) -> Float64s:
        """The numbers of the next rows of the stream that a band is about."""
        if self._banded is None:
            return np.empty(0)
        found, after = self._banded.of_rows(get, n)
        if after >= 0:
            self._numbers[ROW_ASCENDS] = self._numbers[ROW_NEXT] + after
        return found

    def _tested(self, pairs: Int64s, reader: Reader) -> NDArray[np.bool_]:
        """Which of the pairs satisfy the predicates beside the keys; none are named where there are no such."""
        residual = self.attachment.residual
        if residual is None or not len(pairs):
            return np.empty(0, np.bool_)
        entries, mine, table = pairs[:, 0], self.attachment.stream, self._tables.entries

        def get(stream: str, column: str) -> Column:
            rows = pairs[:, 1] if stream == mine else table.rows[entries, reader.places[stream]]
            return reader.text(stream, column, np.ascontiguousarray(rows))

        return np.ascontiguousarray(residual.holds(get, len(pairs)), np.bool_)

    # -- a break ---------------------------------------------------------------------------------------------------

    def kept(self, first: int) -> Kept:
        """What does not follow from the rows; of those of the stream from ``first`` on."""
        here, entries, rows = self._tables.alive(), self._tables.entries, self._tables.rows
        lines = entries.lines[here]
        held = np.arange(first, self._numbers[ROW_NEXT] if self.flags & KEEPS_RIGHT else first)
        slots = self._tables.slots(held)
        births, right = (_padded(part) for part in (entries.births[here], rows.births[slots]))
        partners = rows.counts[slots, ROW_PARTNERS]
        return Kept(entries.rows[here], lines[:, PARTNERS], lines[:, CHOSEN], births, partners, right)

    def restore(self, kept: Kept, first: int, low: int, stop: int, reader: Reader) -> None:
        """Go on, in a new stage, where another was: its stream has the rows from ``first`` to ``stop``, of which those
        before ``low`` are not live."""
        held, numbers, tables = np.arange(first, stop), self._numbers, self._tables
        numbers[[ROW_NEXT, ROW_HELD]] = first
        tables.make_room(len(kept.rows), len(held))
        stream = self.attachment.stream
        measures = self._measures(lambda _, column: reader.text(stream, column, held), len(held))
        numbers[ROW_NEXT] = stop
        self._know_null()
        keys = self._keys.of_held(stream, held, reader)
        slots, rows = tables.slots(held), tables.rows
        rows.values[slots], rows.counts[slots], rows.births[slots] = keys.values, NONE, 0
        if self._banded is not None:
            rows.measures[slots] = measures
        if self.flags & KEEPS_RIGHT:
            rows.counts[slots, ROW_PARTNERS] = kept.right_partners
            rows.births[slots] = kept.right_births[:, : self._births]
        nodes = tables.nodes_of(keys.words, keys.valid)
        restore_kernels.bring_rows(rows, tables.nodes, numbers, nodes, low)
        self._restore_composites(kept, reader)

    def _restore_composites(self, kept: Kept, reader: Reader) -> None:
        n, tables, entries = len(kept.rows), self._tables, self._tables.entries
        births = np.ascontiguousarray(kept.births[:, : self._births])
        left = self._left(Made(kept.rows, np.ones(n, np.int8), np.zeros(n, np.int32), births), reader)
        here = left.entries
        entries.rows[here], entries.births[here], entries.bounds[here] = kept.rows, births, left.bounds
        entries.lines[here, PARTNERS], entries.lines[here, CHOSEN] = kept.partners, kept.chosen
        entries.lines[here, WHEN] = NONE
        asks = self.flags & (SEMI | ANTI) and not self.flags & CHANGES
        settled = kept.partners > 0 if asks else np.full(n, bool(self.flags & NEAREST))
        settled = np.ascontiguousarray(settled).view(np.uint8)
        restore_kernels.bring_entries(entries, tables.nodes, here, left.nodes, settled)

    # -- memory ----------------------------------------------------------------------------------------------------

    def oldest_births(self, low: int) -> Int64s | None:
        """For each attached stream the first row that a composite could meet when it has ended without a partner, or a
        row from ``low`` on that has; None if nothing can be past."""
        if not self._births or self.flags & NEAREST:
            return None
        born, tables = [], self._tables
        if self.flags & (KEEPS_LEFT | ANTI):
            born.append(tables.entries.births[tables.alive(), 0::2])
        if self.flags & KEEPS_RIGHT and low < self._numbers[ROW_NEXT]:
            born.append(tables.rows.births[tables.slots(np.array([low])), 0::2])
        found = np.concatenate(born) if born else np.empty((0, 0), np.int64)
        return found.min(axis=0) if len(found) else None

    def oldest_chosen(self) -> int | None:
        """The first row that a composite has chosen and somebody may ask for."""
        if not self.flags & NEAREST or not self.flags & (CHANGES | FURTHER):
            return None
        chosen = self._tables.entries.lines[self._tables.alive(), CHOSEN]
        chosen = chosen[chosen >= 0]
        return int(chosen.min()) if len(chosen) else None

    def retire(self, floor: int) -> None:
        """Rows before ``floor`` are asked for no more."""
        self._numbers[ROW_HELD] = max(floor, self._numbers[ROW_HELD])

    @property
    def nbytes(self) -> int:
        """Bytes of its tables."""
        return self._tables.nbytes


def births_of(attached: int, changes: bool) -> int:
    """Numbers that composites know from their birth where so many streams are attached: none where nothing is past."""
    return 2 * attached if attached > 1 and not changes else 0


def _padded(births: Int64s) -> Int64s:
    """As they are saved: two numbers that nobody reads where there are none."""
    return births if births.shape[1] else np.zeros((len(births), 2), np.int64)
