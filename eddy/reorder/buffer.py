"""The reorder buffer of an engine: batches in any order go in, batches in order of time come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.errors import BatchError, OrderError
from eddy.intake.columns import normalise
from eddy.query.query import Query
from eddy.reorder.disorder import Disorder
from eddy.reorder.order_kernels import extent
from eddy.reorder.runs import Run, Runs, as_column, joined, plain
from eddy.reorder.watermark import NEVER, Watermarks
from eddy.values import arrow
from eddy.values.fitting import presented
from eddy.values.instants import format_instant

FOREVER = 2**63
"""After all times."""


@define(eq=False)
class Offer:
    """What becomes of the buffer if it is accepted, and what is to be pushed before that."""

    released: dict[str, Any]
    """Batches in order of time, by stream."""
    watermarks: Watermarks
    waiting: dict[int, Runs]
    late: dict[int, Run] = field(factory=dict)
    seen: bool = True
    """Whether a row of a stream that is not static has come, now or before."""


class ReorderBuffer:
    """The rows of an engine's streams that wait for the watermark, and what it knows of late ones."""

    def __init__(self, query: Query, disorder: Disorder) -> None:
        self.query, self.disorder = query, disorder
        self.numbers = {
            name: i for i, (name, stream) in enumerate(query.streams.items()) if not stream.static
        }
        self.watermarks = Watermarks.beginning(list(self.numbers.values()), disorder.clock())
        self.waiting: dict[int, Runs] = {s: Runs() for s in self.numbers.values()}
        self.late_counts = [0] * len(query.names)
        """Late rows of each stream, so far."""
        self.kept: dict[int, list[Run]] = {}
        """Late rows that nobody has asked for yet."""
        self.seen = False
        """Whether a row of a stream that is not static has come."""

    # -- what would happen -----------------------------------------------------------------------------------------

    def offer(self, batches: Mapping[str, Any]) -> Offer:
        """Rows arrive together: those behind the watermark as it is now are late.

        BatchError, and OrderError for late rows where these are an error, leave nothing changed, and so does an offer
        that nobody accepts.
        """
        now, offer = self.disorder.clock(), Offer({}, self.watermarks, {}, seen=self.seen)
        fresh: dict[int, Run] = {}
        newest: dict[int, int] = {}
        ends = np.empty(2, np.int64)
        for name, batch in self._checked(batches):
            stream = self.query.streams[name]
            columns, count = normalise(name, stream, batch)
            if not count:
                continue
            if stream.static:
                if self.seen:
                    raise BatchError(
                        f"stream {name} is static, and rows of other streams have come already: push all its rows "
                        "before them, or together with the first of them with push_all"
                    )
                offer.released[name] = columns
                continue
            number, offer.seen = self.numbers[name], True
            times = self.query.time_of(name, columns[str(stream.time)].values)
            kept = {column: plain(found, stream.columns[column]) for column, found in columns.items()}
            extent(times, ends)
            first, last = ends.tolist()
            run = Run(times, kept)
            if first < self.watermarks.at:
                run = self._punctual(number, name, run, offer)
            if len(run):
                fresh[number], newest[number] = run, last
        offer.watermarks = self.watermarks.seen(newest, now)
        return self._cut(offer, fresh, now)

    def advanced(self, time: int | None, stream: str | None) -> Offer:
        """Nothing older than ``time`` comes any more, of a stream or of any; None: only the clock has gone on."""
        now = self.disorder.clock()
        offer = Offer({}, self.watermarks, {}, seen=self.seen)
        if time is not None:
            told = list(self.numbers.values()) if stream is None else [self.numbers[stream]]
            offer.watermarks = self.watermarks.told(told, time, now)
        return self._cut(offer, {}, now)

    def flushed(self) -> Offer:
        """Nothing waits any longer: what comes later and is older than what has gone is late."""
        times = [int(run.times[-1]) for runs in self.waiting.values() for run in runs.runs]
        watermarks = self.watermarks.passed(max(times, default=NEVER))
        return self._released(Offer({}, watermarks, {}, seen=self.seen), {}, FOREVER)

    def _checked(self, batches: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """The batches, static streams first."""
        for name in batches:
            if name not in self.query.streams:
                raise BatchError(
                    f"the query has no stream {name!r}: push to one of {', '.join(self.query.names)}"
                )
        return sorted(batches.items(), key=lambda item: not self.query.streams[item[0]].static)

    def _punctual(self, number: int, name: str, run: Run, offer: Offer) -> Run:
        """The rows that are not late; the others are put by, or are an error."""
        at = self.watermarks.at
        behind = run.times < at
        if self.disorder.late == "error":
            row = int(np.argmax(behind))
            said = f"is late, at {self.when(int(run.times[row]))}: time has passed {self.when(at)}"
            error = OrderError(
                f"stream {name}: row {row} of the batch {said}",
                ". Give more lateness=, or late='drop' or late='keep', which hands late rows out by late(); "
                "in a run late='keep:FILE'",
            )
            error.late = (name, row, said)
            raise error
        offer.late[number] = run.take(np.flatnonzero(behind))
        return run.take(np.flatnonzero(~behind))

    def _cut(self, offer: Offer, fresh: dict[int, Run], now: float) -> Offer:
        """The offer, with what has passed the watermark as it is after all that."""
        offer.watermarks = offer.watermarks.moved(self.disorder.bounds, self.disorder.idle, now)
        return self._released(offer, fresh, offer.watermarks.at)

    def _released(self, offer: Offer, fresh: dict[int, Run], time: int) -> Offer:
        names = self.query.names
        for number, runs in self.waiting.items():
            run = fresh.get(number)
            if not runs.runs and run is None:
                continue
            out, offer.waiting[number] = runs.cut(time, run)
            if out is not None:
                offer.released[names[number]] = out.columns
        return offer

    # -- what has happened -----------------------------------------------------------------------------------------

    def accept(self, offer: Offer) -> None:
        """What was released has been taken in."""
        self.watermarks, self.seen = offer.watermarks, offer.seen
        self.waiting.update(offer.waiting)
        for number, run in offer.late.items():
            self.late_counts[number] += len(run)
            if self.disorder.late == "keep":
                self.kept.setdefault(number, []).append(run)

    def hand_out(self) -> dict[str, pa.Table]:
        """The late rows that were kept, by stream, in the order of their arrival; they are kept no longer."""
        kept, self.kept = self.kept, {}
        return {
            self.query.names[number]: self.table(number, merged_in_arrival(runs))
            for number, runs in sorted(kept.items())
        }

    def table(self, number: int, run: Run | None) -> pa.Table:
        """Rows of a stream in the types that it declares."""
        declared = self.query.streams[self.query.names[number]].columns
        schema = pa.schema([pa.field(name, kind.arrow) for name, kind in declared.items()])
        if run is None:
            return schema.empty_table()
        arrays = []
        for name, kind in declared.items():
            column = as_column(run.columns[name])
            arrays.append(
                presented(kind, column.values, column.valid)
                if kind.is_coded
                else arrow.from_numpy(column.values, column.valid, kind.arrow)
            )
        return pa.Table.from_arrays(arrays, schema=schema)

    def restore(
        self, watermarks: Watermarks, tables: Mapping[int, pa.Table], kept: Mapping[int, pa.Table]
    ) -> None:
        """Take on what another has had. Silence is counted from now on."""
        self.watermarks = watermarks
        self.seen = any(time != NEVER for time in watermarks.newest.values())
        for number, table in tables.items():
            if table.num_rows:
                self.waiting[number] = Runs((self._run(number, table),))
        self.kept = {number: [self._run(number, table)] for number, table in kept.items() if table.num_rows}

    def _run(self, number: int, table: pa.Table) -> Run:
        name = self.query.names[number]
        stream = self.query.streams[name]
        columns, _ = normalise(name, stream, table)
        own = {column: plain(found.copied(), stream.columns[column]) for column, found in columns.items()}
        return Run(self.query.time_of(name, as_column(own[str(stream.time)]).values), own)

    # -- questions -------------------------------------------------------------------------------------------------

    def when(self, time: int) -> str:
        """A time as its column shows it."""
        unit = self.query.time_unit
        return str(time) if unit is None else format_instant(time, unit, None)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that it holds."""
        kept = sum(run.nbytes for runs in self.kept.values() for run in runs)
        return kept + sum(runs.nbytes for runs in self.waiting.values())


def merged_in_arrival(runs: list[Run]) -> Run:
    """Late rows in the order of their arrival."""
    return runs[0] if len(runs) == 1 else joined(runs)
