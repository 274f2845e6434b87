"""`eddy.run`: a query over sources, into a sink."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from eddy.query.query import Query
from eddy.running.asked import query_of
from eddy.running.checkpoints import used
from eddy.running.loop import Loop
from eddy.running.options import checked
from eddy.running.outcome import Outcome, Progress
from eddy.sinks.base import Sink
from eddy.sources.source import sources_of


def run(
    query: Query | str,
    sources: Mapping[str, Any],
    sink: Sink | str | os.PathLike[str] | None = None,
    *,
    lateness: Any = None,
    late: str | Sink | None = None,
    bad: str | Sink = "drop",
    batch: int | None = None,
    limit: int | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | float | None = None,
    control: Callable[[Loop], object] | None = None,
    **options: Any,
) -> Outcome:
    """Run a query over sources, from their first row to their last, and write its results to a sink.

    ``query`` is an `eddy.Query`, or a text of SQL, whose streams have the columns of their sources. ``sources`` has for
    each stream an `eddy.Source`, or what `eddy.source` makes one of. Without a sink results are collected:
    ``run(...).to_arrow()``. Rows are merged by time. How far they may be out of order is ``lateness``, as in `Eddy`;
    without it, files are looked through for it first, and all else is taken to be in order. ``late`` and ``bad`` say
    what becomes of late rows and of such that are no rows: "drop", "error", or "keep:FILE", a file of JSON lines.
    ``checkpoint`` is a folder: every 10 seconds (``every``) positions, engine and sink are committed together, and the
    same call after a crash goes on from there. ``batch`` rows are read at a time, ``limit`` results are given at most,
    ``on_progress`` is called with an `eddy.Progress` a few times a second, and ``control`` once, with an object whose
    `stop()` ends the run. All other options are those of `Eddy`.
    """
    given = {"lateness": lateness, **options}
    checked_options = checked(sink, bad, late, batch, limit, on_progress, every, checkpoint, given)
    made, matched = query_of(query, sources_of(sources))
    with used(checkpoint) as checkpoints:
        loop = Loop(made, matched, checked_options, checkpoints)
        if control is not None:
            control(loop)
        return loop.go()
