"""Joins many live streams at once, and keeps changing to the best join order while it runs."""

from __future__ import annotations

import importlib.util
import os.path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eddy import spark as spark
    from eddy.boxes.boxes import Boxes
    from eddy.compiling import compile_kernels
    from eddy.engine.eddy import Eddy
    from eddy.engine.stair import StairView
    from eddy.errors import (
        BatchError,
        CheckpointWarning,
        EddyError,
        LossyWindow,
        OrderError,
        PlanError,
        PolicyError,
        PolicyWarning,
        QueryError,
        StateError,
    )
    from eddy.inspect.entries import Entries
    from eddy.inspect.explanation import Explanation
    from eddy.monitoring.export import metrics
    from eddy.page.watching import Watching, watch
    from eddy.printed.as_printed import AsPrinted
    from eddy.query.attachment import (
        AntiJoin,
        AsofJoin,
        FullJoin,
        InnerJoin,
        LeftAsofJoin,
        LeftJoin,
        RightJoin,
        SemiJoin,
    )
    from eddy.query.function import function
    from eddy.query.own_aggregate import Aggregate
    from eddy.query.own_function import aggregate_function
    from eddy.query.predicate import predicate
    from eddy.query.query import Query, Stream
    from eddy.query.sql import sql
    from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded
    from eddy.results.result import Result
    from eddy.running.arun import arun
    from eddy.running.outcome import Outcome, Progress
    from eddy.running.run import run
    from eddy.several.results import Results
    from eddy.several.shared_eddy import SharedEddy
    from eddy.sinks.base import Sink
    from eddy.sinks.sink import sink
    from eddy.sources.base import Source
    from eddy.sources.source import source
    from eddy.statistics import (
        EdgeStatistics,
        FeedbackStatistics,
        MigrationStatistics,
        StairStatistics,
        Statistics,
        StepStatistics,
        StreamStatistics,
        TrackStatistics,
    )
    from eddy.steering.decisions import Decision

__version__ = "0.2.0"

if not os.path.isfile(
    __file__
):  # stamps of kernels are made of the sources, and what is compiled is kept beside them
    raise ImportError(
        f"Eddy does not run out of an archive ({os.path.dirname(os.path.dirname(__file__))}): its kernels are kept in "
        "files beside its sources. Install the wheel instead; with Spark, leave it out of --py-files: the driver ships "
        "the library."
    )

__all__ = [
    "Aggregate",
    "AntiJoin",
    "AsPrinted",
    "AsofJoin",
    "BatchError",
    "Boxes",
    "CheckpointWarning",
    "Decision",
    "Eddy",
    "EddyError",
    "EdgeStatistics",
    "Entries",
    "Explanation",
    "FeedbackStatistics",
    "FullJoin",
    "InnerJoin",
    "LeftAsofJoin",
    "LeftJoin",
    "LossyWindow",
    "MigrationStatistics",
    "OrderError",
    "Outcome",
    "PlanError",
    "PolicyError",
    "PolicyWarning",
    "Progress",
    "Query",
    "QueryError",
    "Range",
    "Result",
    "Results",
    "RightJoin",
    "Rows",
    "SemiJoin",
    "SharedEddy",
    "Sink",
    "Sliding",
    "Source",
    "StairStatistics",
    "StairView",
    "StateError",
    "Statistics",
    "StepStatistics",
    "Stream",
    "StreamStatistics",
    "TrackStatistics",
    "Tumbling",
    "Unbounded",
    "Watching",
    "aggregate_function",
    "arun",
    "compile_kernels",
    "function",
    "metrics",
    "predicate",
    "run",
    "sink",
    "source",
    "sql",
    "watch",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "spark"])


_HOMES = {
    "Aggregate": "query.own_aggregate",
    "AsPrinted": "printed.as_printed",
    "Boxes": "boxes.boxes",
    "Decision": "steering.decisions",
    "Eddy": "engine.eddy",
    "Entries": "inspect.entries",
    "Explanation": "inspect.explanation",
    "Query": "query.query",
    "Result": "results.result",
    **{"Results": "several.results", "SharedEddy": "several.shared_eddy"},
    **{"Outcome": "running.outcome", "Progress": "running.outcome"},
    **{"Sink": "sinks.base", "Source": "sources.base", "arun": "running.arun", "run": "running.run"},
    **{"sink": "sinks.sink", "source": "sources.source"},
    "StairView": "engine.stair",
    "Stream": "query.query",
    "aggregate_function": "query.own_function",
    "compile_kernels": "compiling",
    "function": "query.function",
    "metrics": "monitoring.export",
    "predicate": "query.predicate",
    "sql": "query.sql",
    **{"Watching": "page.watching", "watch": "page.watching"},
    **{name: "query.attachment" for name in __all__ if name.endswith("Join")},
    **dict.fromkeys(("Range", "Rows", "Sliding", "Tumbling", "Unbounded"), "query.windows"),
    "LossyWindow": "errors",
    **{name: "errors" for name in __all__ if name.endswith(("Error", "Warning"))},
    **{name: "statistics" for name in __all__ if name.endswith("Statistics")},
}
"""In which module each name is."""


def __getattr__(name: str) -> Any:
    """Names and rooms are loaded when they are first used: an import takes no time. `eddy.spark` needs PySpark."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"eddy.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_") and importlib.util.find_spec(f"eddy.{name}") is not None:
        return importlib.import_module(f"eddy.{name}")
    raise AttributeError(f"module 'eddy' has no attribute {name!r}")
