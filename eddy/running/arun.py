"""`eddy.arun`: the results of a run, one push after the other, for programs that do other things meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from eddy.query.query import Query
from eddy.results.result import Result
from eddy.running.asked import query_of
from eddy.running.letters import SCHEMA
from eddy.running.loop import Loop
from eddy.running.options import checked
from eddy.sources.source import sources_of


async def arun(
    query: Query | str,
    sources: Mapping[str, Any],
    *,
    lateness: Any = None,
    late: Any = None,
    bad: Any = "drop",
    batch: int | None = None,
    limit: int | None = None,
    **options: Any,
) -> AsyncIterator[Result]:
    """The results of `eddy.run`, each push's as it comes: ``async for result in eddy.arun(query, sources)``.

    Reading and joining are done in another thread. Nothing more is read before the next result is asked for.
    """
    given = {"lateness": lateness, **options}
    checked_options = checked(None, bad, late, batch, limit, None, None, None, given)
    made, matched = await asyncio.to_thread(lambda: query_of(query, sources_of(sources)))
    for what, sink in checked_options.sinks.items():
        if what != "results":
            sink.open(SCHEMA, None)
    steps = Loop(made, matched, checked_options).steps()
    try:
        while (result := await asyncio.to_thread(next, steps, None)) is not None:
            if len(result):
                yield result
    finally:
        for what, sink in checked_options.sinks.items():
            if what != "results":
                sink.close()
