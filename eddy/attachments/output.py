"""From what a batch has made of the core to what a push returns, through the attachments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from eddy.attachments.kept import Kept
from eddy.attachments.layout import Made, chosen
from eddy.attachments.reader import Reader
from eddy.attachments.stage import Stage, births_of
from eddy.attachments.streams import AttachedStreams, Coming
from eddy.intake.travel import WHEN
from eddy.query.expressions import Get
from eddy.query.query import Query
from eddy.results.contents import Contents, Fetch, Number
from eddy.results.output import GroupedOutput, Output, SignedOutput
from eddy.results.result import Result
from eddy.router.executor import Executor
from eddy.store.stream import StoredStream
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column

REVIEW = 16
"""Batches between two looks at which rows are still needed that have left their windows."""


class AttachedOutput(Output):
    """Results of a core with attachments: final, or with ``changes`` as they hold at every event."""

    signed = True

    def __init__(self, query: Query, pool: StringPool, attached: AttachedStreams, changes: bool) -> None:
        super().__init__(query, pool)
        self.number = self._numbered
        self.core = SignedOutput(query.core, pool)
        self.changes = changes
        self._attached = attached
        first = int(attached.row_numbers.lows[0])
        self.stages = [Stage(query, number, changes, first) for number in range(len(query.attachments))]
        self._births = births_of(len(self.stages), changes)
        attached.tells_births = self._births > 0
        attached.lasting.extend(partial(self._lasting, number) for number in range(len(self.stages)))
        self.groups = AttachedGroups(query, pool, self) if query.grouped else None
        self._batches = 0
        self._held = [first] * len(self.stages)
        """The first rows of the attached streams that may still be asked for, when somebody last looked."""
        self._core_number: Number | None = None

    def call_rows(self, number: Number) -> None:
        self._core_number = number

    def _numbered(self, rows: Array) -> Array:
        k = len(self.query.core.names)
        core = rows[:, :k]
        if self._core_number is not None:
            core = np.where(core < 0, -1, self._core_number(np.maximum(core, 0)))
        return np.concatenate((core, self._attached.number(rows[:, k:])), axis=1)

    def reader(self, streams: Sequence[StoredStream]) -> Reader:
        """Reads rows of all streams; ``streams`` are those of the core."""
        return self._attached.reader(streams)

    # -- a batch ---------------------------------------------------------------------------------------------------

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        rows, signs, events = self.core.changed(router, ring)
        coming, k = self._attached.coming, len(self.query.core.names)
        every = np.empty((len(rows), len(self.query.names)), np.int64)
        every[:, :k], every[:, k:] = rows, -1
        births = coming.born[events] if self._births else np.empty((len(rows), 0), np.int64)
        made = self._through(Made(every, signs, events, births), coming, streams)
        self._review()
        return self._result(made, streams, fetch)

    def ended(self, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        """What is still owed when all windows end: composites and rows that never had a partner."""
        made = self._nothing()
        if not self.changes:
            made = self._through(made, self._attached.nothing(), streams, ends=True)
        return self._result(made, streams, fetch)

    def _through(
        self, made: Made, coming: Coming, streams: Sequence[StoredStream], ends: bool = False
    ) -> Made:
        """Take what happens to the composites of the core through all attachments."""
        reader = self.reader(streams)
        for stage in self.stages:
            made = stage.ended(made, coming, reader) if ends else stage.step(made, coming, reader)
        return made

    def _result(self, made: Made, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        if not self.changes:
            given = made.signs >= 0
            made = made if given.all() else chosen(made, given)
        after = self.query.after
        if after is not None and len(made.signs):
            reader, rows = self.reader(streams), made.rows

            def get(stream: str, column: str) -> Column:
                return reader.text(stream, column, np.ascontiguousarray(rows[:, reader.places[stream]]))

            holds = after.holds(get, len(rows))
            made = chosen(made, holds)
        if self.groups is not None:
            return self.groups.taken(made.rows, made.signs, made.events, streams)
        rows = made.rows
        signs = made.signs if self.changes else np.ones(len(rows), np.int8)
        return Result(Contents(self.query, len(rows), lambda: rows, fetch, lambda: signs, self.number))

    def _nothing(self) -> Made:
        n = len(self.query.names)
        births = np.empty((0, self._births), np.int64)
        return Made(np.empty((0, n), np.int64), np.empty(0, np.int8), np.empty(0, np.int32), births)

    def table(self) -> Result:
        assert self.groups is not None
        return self.groups.table()

    def nothing(self, fetch: Fetch) -> Result:
        return super().nothing(fetch) if self.groups is None else self.groups.nothing(fetch)

    # -- memory ----------------------------------------------------------------------------------------------------

    def _review(self) -> None:
        """Now and then let go of rows that nobody can ask for any more."""
        self._batches += 1
        if self._batches % REVIEW:
            return
        self._held = self.needed()
        for stage, first in zip(self.stages, self._held, strict=True):
            stage.retire(first)

    def needed(self) -> list[int]:
        """The first row of each attached stream that somebody may still ask for, live or not."""
        lows = self._attached.row_numbers.lows
        held = lows.copy()
        for stage in self.stages:
            births, chosen = stage.oldest_births(int(lows[stage.number])), stage.oldest_chosen()
            if births is not None:
                held = np.minimum(held, births)
            if chosen is not None:
                held[stage.number] = min(held[stage.number], chosen)
        found: list[int] = held.tolist()
        return found

    def _lasting(self, number: int) -> int:
        return self._held[number]

    def restore(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        self.core.restore(rows, streams)

    def restore_stages(
        self,
        kept: Sequence[Kept],
        firsts: Sequence[int],
        standing: Array | None,
        streams: Sequence[StoredStream],
        fetch: Fetch,
    ) -> None:
        """Go on where another was, whose attached streams, which are there, begin with the rows ``firsts``.

        ``standing`` are the results that stand, in order, if that counts.
        """
        reader, query, lows = self.reader(streams), self.query, self._attached.row_numbers.lows.tolist()
        stops = [stream.payload.next_row for stream in self._attached.streams]

        def restored(number: int) -> Stage:
            stage, first = Stage(query, number, self.changes, firsts[number]), firsts[number]
            stage.restore(kept[number], first, lows[number], stops[number], reader)
            return stage

        self.stages, self._held = [restored(number) for number in range(len(kept))], list(firsts)
        if self.groups is None:
            return
        if standing is not None:
            self.groups.go_on(standing, streams)
            return
        # Groups are of what stands: all that would be withdrawn if everything ended.
        last = restored(len(kept) - 1)
        ends = last.everything_ended(self._nothing(), self._attached.nothing(), reader)
        stands = chosen(ends, ends.signs < 0)
        self._result(stands._replace(signs=-stands.signs), streams, fetch)

    def codes_in_use(self) -> Iterator[Array]:
        for stream in self._attached.streams:
            yield from stream.payload.codes_in_use()
        yield from self._attached.row_numbers.codes_in_use()
        if self.groups is not None:
            yield from self.groups.codes_in_use()

    @property
    def nbytes(self) -> int:
        groups = 0 if self.groups is None else self.groups.nbytes
        return self.core.nbytes + self._attached.nbytes + groups + sum(stage.nbytes for stage in self.stages)


class AttachedGroups(GroupedOutput):
    """Groups over composites that may lack rows of some streams."""

    def __init__(self, query: Query, pool: StringPool, of: AttachedOutput) -> None:
        super().__init__(query, pool)
        self._of = of

    def _reads(self, rows: Array, streams: Sequence[StoredStream]) -> tuple[Get, Get]:
        reader = self._of.reader(streams)

        def coded(stream: str, column: str) -> Column:
            return reader.coded(stream, column, np.ascontiguousarray(rows[:, reader.places[stream]]))

        def text(stream: str, column: str) -> Column:
            return reader.text(stream, column, np.ascontiguousarray(rows[:, reader.places[stream]]))

        return coded, text

    def _whens(self, rows: Array, streams: Sequence[StoredStream]) -> list[Array]:
        coded, _ = self._reads(rows, streams)
        found = [(rows[:, place], coded(name, WHEN).values) for place, name in enumerate(self.query.names)]
        return [np.where(here < 0, -1, when) for here, when in found]

    def standing(self) -> Array | None:
        """The results that stand, in order, where that counts."""
        return None if self._order is None else self._order.live()

    def go_on(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        """Take up the results that stood, after a restart."""
        assert self._order is not None
        n = len(rows)
        signs, events, ids = np.ones(n, np.int8), np.zeros(n, np.int32), self._order.again(rows)
        self.groups.step(*self._columns(rows, streams), signs, events, ids)
