"""Joins many live streams at once, and keeps changing to the best join order while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eddy.waiting import Waiting

with Waiting("Compiling the kernels of joins, once: about a minute"):
    from eddy.compiling import compile_kernels
    from eddy.decisions import Decision
    from eddy.engine import Eddy
    from eddy.errors import BatchError, EddyError, PlanError, PolicyError, QueryError, StateError
    from eddy.explanation import Explanation
    from eddy.predicate import predicate
    from eddy.query import Query, Stream
    from eddy.result import Result
    from eddy.sql import sql
    from eddy.statistics import (
        EdgeStatistics,
        FeedbackStatistics,
        MigrationStatistics,
        StairStatistics,
        Statistics,
        StreamStatistics,
        TrackStatistics,
    )
    from eddy.windows import Range, Rows, Tumbling, Unbounded

if TYPE_CHECKING:
    from eddy import spark as spark

__version__ = "0.1.0"

__all__ = [
    "BatchError",
    "Decision",
    "Eddy",
    "EddyError",
    "EdgeStatistics",
    "Explanation",
    "FeedbackStatistics",
    "MigrationStatistics",
    "PlanError",
    "PolicyError",
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
