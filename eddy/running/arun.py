"""`eddy.arun`: the results of a run, one push after the other, for programs that do other things meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.running.apart import check_apart
from eddy.running.asked import query_of
from eddy.running.letters import SCHEMA
from eddy.running.loop import Loop
from eddy.running.options import check_known, checked
from eddy.sinks.base import Sink, commit_at_once
from eddy.sources.source import sources_of

RUNS = {
    "sink": "writes none",
    "checkpoint": "does not know what has become of them, so it has no checkpoints",
    "every": "has no checkpoints",
    "on": "runs here",
    "on_progress": "tells nothing else",
    "speed": "has no pace",
    "metrics": "serves none",
    "watch": "serves no page",
    "report": "writes no page",
    "final": "gives each change of a group as it comes",
    "control": "ends when no more results are asked for",
}
"""Options of `eddy.run` that it has not, and why."""


async def arun(
    query: Query | str,
    sources: Mapping[str, Any],
    *,
    lateness: Any = None,
    late: Any = None,
    bad: Any = "drop",
    batch: int | None = None,
    limit: int | None = None,
    latency: str | float | None = None,
    **options: Any,
) -> AsyncIterator[Result]:
    """The results of `eddy.run`, each push's as it comes: ``async for result in eddy.arun(query, sources)``.

    Reading and joining are done in another thread. Nothing more is read before the next result is asked for.
    """
    for name in options:
        if name in RUNS:
            raise EddyError(
                f"arun has no {name}=: it gives results to the program that asks for them, and {RUNS[name]}. Use "
                "asyncio.to_thread(eddy.run, query, sources, sink, ...)"
            )
    given = {"lateness": lateness, **options}
    check_known(given)
    checked_options = checked(None, bad, late, batch, limit, None, None, None, given, latency)
    made, matched = await asyncio.to_thread(lambda: query_of(query, sources_of(sources)))
    check_apart(matched, checked_options.sinks)
    letters = [sink for what, sink in checked_options.sinks.items() if what != "results"]
    loop = Loop(made, matched, checked_options)
    steps = loop.steps()
    try:
        for sink in letters:
            sink.open(SCHEMA, None)
        while (result := await asyncio.to_thread(next, steps, None)) is not None:
            if len(result):
                yield result
            loop.given()
        _keep(letters)
    except GeneratorExit:  # nobody asks for more results: the run has ended here
        _keep(letters)
        raise
    except BaseException:
        for sink in letters:
            sink.abandon(False)
        raise
    finally:
        loop.close()


def _keep(letters: Sequence[Sink]) -> None:
    """What they were given counts."""
    commit_at_once(letters)
    for sink in letters:
        sink.close()
