"""`eddy.run`: a query over sources, into a sink."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from eddy.checks import choice
from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.running.alone import Alone
from eddy.running.apart import check_apart
from eddy.running.asked import query_of
from eddy.running.checkpoints import used
from eddy.running.final import UNSORTED, check_final
from eddy.running.gathered import RESULTS
from eddy.running.loop import Loop
from eddy.running.on_spark import SPARK, check, run_on_spark
from eddy.running.options import check_known, checked
from eddy.running.outcome import Outcome, Progress
from eddy.running.pacing import in_time
from eddy.running.queries import queries_of
from eddy.running.several import Several
from eddy.running.showing import shows
from eddy.sinks.base import Sink
from eddy.sources.source import sources_of

REPORT = (
    "a report is the page of one query: leave report= out, or give watch=True, whose page has each of several"
)


def run(
    query: Query | str | Mapping[str, Query | str],
    sources: Mapping[str, Any],
    sink: Sink | str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    lateness: Any = None,
    late: str | Sink | None = None,
    bad: str | Sink = "drop",
    batch: int | None = None,
    limit: int | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | float | None = None,
    speed: str | float | None = None,
    latency: str | float | None = None,
    metrics: Any = None,
    watch: bool | int = False,
    report: str | os.PathLike[str] | None = None,
    final: bool = False,
    on: str | None = None,
    control: Callable[[Loop], object] | None = None,
    **options: Any,
) -> Outcome:
    """Run a query over sources, from their first row to their last, and write its results to a sink.

    Rows are merged by time. After a crash the same call with a ``checkpoint`` goes on where it stood.

    Args:
        query: An `eddy.Query`, or a text of SQL, whose streams have the columns of their sources; or a dict of several
            by name, which share an engine.
        sources: For each stream an `eddy.Source`, or what `eddy.source` makes one of.
        sink: An `eddy.Sink`, or what `eddy.sink` makes one of; without it results are collected:
            ``run(...).to_arrow()``. For several queries a dict of a sink for each, or one for all results, with a
            column ``query``.
        lateness: How far rows may be out of order, as in `Eddy`. Without it files are looked through for it first, and
            all else is taken to be in order.
        late: What becomes of late rows: "error", "drop", or "keep:FILE", a file of JSON lines.
        bad: What becomes of what is no row, in the same words.
        batch: About how many rows are read at a time; with ``latency`` the most that a batch may have.
        limit: The most results that are given.
        on_progress: Is called with an `eddy.Progress` a few times a second, and at the end.
        checkpoint: A folder, in which positions, engine and sink are committed together.
        every: How often that is done; every 10 seconds without it.
        speed: ``"10x"``: rows come ten times as fast as their times say.
        latency: ``"50 ms"``: batches are as large as they may be for the results of a row to be written so soon after
            it was read.
        metrics: ``":9100"`` answers Prometheus; or a registry of its client, a meter provider of OpenTelemetry, or a
            list of these.
        watch: True, or a port: serve a live page of the run on this machine.
        report: A file, to which that page is written at the end.
        final: For a query that aggregates: its groups at the end of all sources, sorted and cut by ORDER BY and LIMIT,
            instead of every change of them.
        on: ``"spark"``: Spark reads the files and joins them.
        control: Is called once, with an object whose `stop()` ends the run.
        **options: All others are those of `Eddy`.
    """
    queries = query if isinstance(query, Mapping) else None
    if queries is not None:
        check_several(on, report)
    given = {"lateness": lateness, **options}
    if on is None:
        check_known(given)
    checked_options = checked(
        sink,
        bad,
        late,
        batch,
        limit,
        on_progress,
        every,
        checkpoint,
        given,
        latency,
        metrics,
        shows(watch, report),
        None if queries is None else [str(name) for name in queries],
        final,
    )
    several = None
    if queries is not None:
        found = queries_of(queries, sources_of(sources))
        made, matched = found.feed, found.sources
        together, retractions = RESULTS in checked_options.results, bool(options.get("retractions"))
        several = Several(found.by_name, made, together, retractions, final)
        several.schemas()
    else:
        made, matched = query_of(query, sources_of(sources))
    by_name = {"": made} if several is None else several.queries
    if final:
        check_final(by_name, matched, limit)
    elif any(one.cut for one in by_name.values()):
        warnings.warn(UNSORTED, stacklevel=2)
    check_apart(matched, checked_options.sinks)
    if on is not None:
        choice("on", on, (SPARK,))
        given |= {"late": late, "batch": batch, "checkpoint": checkpoint, "every": every, "speed": speed}
        pages = {"watch": watch or None, "report": report, "final": final or None}
        check(given | {"latency": latency, "metrics": metrics} | pages, checked_options, matched)
        return run_on_spark(made, matched, checked_options, Alone(made).schemas()[RESULTS])
    matched = in_time(made, matched, speed)
    with used(checkpoint) as checkpoints:
        loop = Loop(made, matched, checked_options, checkpoints, several=several)
        if control is not None:
            control(loop)
        try:
            return loop.go()
        finally:
            loop.close()


def check_several(on: object, report: object) -> None:
    """EddyError for what runs one query only."""
    if on is not None:
        raise EddyError(
            f"on={on!r} takes one query: call eddy.spark.join(queries, frames), or run each of several"
        )
    if report is not None:
        raise EddyError(REPORT)
