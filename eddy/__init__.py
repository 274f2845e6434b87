"""Joins many live streams at once, and keeps changing to the best join order while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eddy.progress import Waiting

with Waiting("Compiling the kernels of joins, once: about a minute"):
    from eddy.compiling import compile_kernels
    from eddy.engine.eddy import Eddy
    from eddy.errors import (
        BatchError,
        EddyError,
        OrderError,
        PlanError,
        PolicyError,
        PolicyWarning,
        QueryError,
        StateError,
    )
    from eddy.inspect.explanation import Explanation
    from eddy.query.own_aggregate import Aggregate
    from eddy.query.predicate import predicate
    from eddy.query.query import Query, Stream
    from eddy.query.sql import sql
    from eddy.query.windows import Range, Rows, Tumbling, Unbounded
    from eddy.results.result import Result
    from eddy.statistics import (
        EdgeStatistics,
        FeedbackStatistics,
        MigrationStatistics,
        StairStatistics,
        Statistics,
        StreamStatistics,
        TrackStatistics,
    )
    from eddy.steering.decisions import Decision

if TYPE_CHECKING:
    from eddy import spark as spark

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "BatchError",
    "Decision",
    "Eddy",
    "EddyError",
    "EdgeStatistics",
    "Explanation",
    "FeedbackStatistics",
    "MigrationStatistics",
    "OrderError",
    "PlanError",
    "PolicyError",
    "PolicyWarning",
    "Query",
    "QueryError",
    "Range",
    "Result",
    "Rows",
    "StairStatistics",
    "StateError",
    "Statistics",
    "Stream",
    "StreamStatistics",
    "TrackStatistics",
    "Tumbling",
    "Unbounded",
    "compile_kernels",
    "predicate",
    "sql",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "spark"])


def __getattr__(name: str) -> Any:
    """`eddy.spark` is loaded when it is first used: it needs PySpark, and nothing else does."""
    if name == "spark":
        import importlib

        return importlib.import_module("eddy.spark")
    raise AttributeError(f"module 'eddy' has no attribute {name!r}")
