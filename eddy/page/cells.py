"""What a page shows of a run on Spark: its cells, each with rows, plans and times. It has no plan of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from eddy.inspect.described import described
from eddy.query.query import Query


def cells_of(reports: Iterable[Any]) -> list[dict[str, Any]]:
    """The lines of the table, of `eddy.spark.reports`."""
    return [
        {
            "cell": one.cell,
            "rows": sum(one.rows.values()),
            "results": one.results,
            "seconds": one.seconds,
            "engine": one.engine_seconds,
            "bytes": one.bytes,
            "plans": list(one.plans),
        }
        for one in sorted(reports, key=lambda one: int(one.cell))
    ]


def spark_run(
    query: Query, sources: Mapping[str, Any], outcome: Any, reports: Iterable[Any], dealt: str
) -> dict[str, Any]:
    """A run that is over, as a page has it. ``dealt``: in words, how rows were dealt out."""
    cells = cells_of(reports)
    spent = outcome.seconds or None
    return {
        "format": 1,
        "title": "eddy run on Spark",
        "start": time.time() - outcome.seconds,
        "query": "\n".join(described(query, {name: str(sources[name]) for name in query.names})),
        "streams": [
            {"name": name, "window": "static" if one.static else str(one.window)}
            for name, one in query.streams.items()
        ],
        "series": {name: [] for name in ("t", "events", "results", "latency", "bytes")},
        "changes": [],
        "now": {
            "t": outcome.seconds,
            "events": sum(outcome.rows.values()),
            "results": outcome.results,
            "changes": sum(len(cell["plans"]) - 1 for cell in cells),
            "bytes": sum(cell["bytes"] for cell in cells),
            "average": spent and sum(outcome.rows.values()) / spent,
            "streams": [
                {
                    "name": name,
                    "rows": outcome.rows[name],
                    "bad": outcome.bad.get(name, 0),
                    "average": spent and outcome.rows[name] / spent,
                }
                for name in query.names
            ],
        },
        "cells": cells,
        "cells_hint": dealt,
        "ended": outcome.ended,
        "version": 1,
    }
