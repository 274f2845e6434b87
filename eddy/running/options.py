"""What a run is given, checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from eddy.checks import flag, whole
from eddy.engine.options import DEFAULTS
from eddy.errors import EddyError, QueryError
from eddy.query.names import nearest
from eddy.reorder.disorder import LATE
from eddy.running.gathered import RESULTS
from eddy.running.letters import Letters, way_of
from eddy.running.outcome import Progress
from eddy.running.several import sinks_of
from eddy.running.showing import Shows
from eddy.sinks.base import Sink
from eddy.sinks.memory import Memory
from eddy.sinks.queued import queued
from eddy.sinks.sink import sink as sink_of
from eddy.values.durations import nanoseconds

_NUMBER = re.compile(r"\d+(\.\d*)?")
EVERY = 10.0
"""Seconds between checkpoints, where nobody says."""

OF_A_RUN = (
    *("sink", "bad", "batch", "limit", "on_progress", "checkpoint", "every", "speed", "latency", "metrics"),
    *("watch", "report", "on", "final"),
)
"""What `eddy.run` takes beside the options of an engine."""


@frozen(eq=False)
class Options:
    """The options of a run that are not the engine's."""

    results: Mapping[str, Sink]
    """The sinks of results, by what they take: one, or of several queries one for each."""
    collects: bool
    """Whether there is no sink, and results are collected."""
    bad: Letters
    late: Letters
    batch: int | None
    limit: int | None
    on_progress: Callable[[Progress], object] | None
    every: float
    latency: float | None
    """Seconds from the reading of a row to the writing of its results, at most."""
    metrics: Any
    """Who is to have metrics."""
    shows: Shows
    """Which pages there are of it."""
    engine: dict[str, Any]
    """Options of `Eddy`, but for late."""
    final: bool = False
    """Whether groups are written at the end, instead of their changes."""

    @property
    def sink(self) -> Sink:
        """That of the only query."""
        return self.results[RESULTS]

    @property
    def sinks(self) -> dict[str, Sink]:
        """All of them, by what they take."""
        letters = {"bad": self.bad.sink, "late": self.late.sink}
        return {**self.results, **{what: sink for what, sink in letters.items() if sink is not None}}

    def with_queues(self) -> Options:
        """The same, where sinks are written to while they commit."""
        for letters in (self.bad, self.late):
            if letters.sink is not None:
                letters.sink = queued(letters.sink)
        return evolve(self, results={what: queued(sink) for what, sink in self.results.items()})


def checked(
    sink: Any,
    bad: Any,
    late: Any,
    batch: Any,
    limit: Any,
    on_progress: Any,
    every: Any,
    checkpoint: Any,
    engine: Mapping[str, Any],
    latency: Any = None,
    metrics: Any = None,
    pages: Shows | None = None,
    names: Sequence[str] | None = None,
    final: bool = False,
) -> Options:
    """The options; EddyError for one that is wrong. ``names``: those of several queries."""
    if on_progress is not None and not callable(on_progress):
        raise EddyError("on_progress is a function of an eddy.Progress")
    if names is not None:
        own = sinks_of(names, sink)
    else:
        own = {RESULTS: Memory() if sink is None else sink_of(sink)}
    if checkpoint is not None and sink is None:
        raise EddyError(
            "checkpoint= needs a sink that outlives the process: give sink=, such as 'out.parquet'"
        )
    late_way, late_sink = way_of("late", "error" if late is None else late)
    bad_way, bad_sink = way_of("bad", bad)
    assert late_way in LATE
    return Options(
        own,
        sink is None,
        Letters("bad", bad_way, bad_sink),
        Letters("late", late_way, late_sink),
        None if batch is None else whole("batch", batch),
        None if limit is None else whole("limit", limit),
        on_progress,
        EVERY if every is None else seconds("every", every),
        None if latency is None else _latency(latency),
        metrics,
        Shows(None, None) if pages is None else pages,
        dict(engine),
        flag("final", final),
    )


def check_known(engine: Mapping[str, Any]) -> None:
    """EddyError for an option that neither a run nor an engine has; Spark has more of them, and looks itself."""
    known = ("plan", *DEFAULTS)
    for name in engine:
        if name not in known:
            raise EddyError(f"eddy.run has no option {name}: {nearest(name, [*OF_A_RUN, *known])}")


def seconds(what: str, value: Any) -> float:
    """A length of time by the clock: a duration, or a number of seconds."""
    try:
        text = isinstance(value, str) and not (what == "every" and _NUMBER.fullmatch(value))
        found = nanoseconds(value) / 1e9 if text else float(value)
    except (QueryError, TypeError, ValueError):
        found = -1.0
    if not 0 <= found < float("inf"):
        raise EddyError(f"{what} is a length of time, such as '10 s' or a number of seconds, not {value!r}")
    return found


def _latency(value: Any) -> float:
    found = seconds("latency", value)
    if not found:
        raise EddyError("latency is a length of time above 0, such as '50 ms'")
    return found
