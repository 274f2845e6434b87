"""What PySpark offers under private names only; here and nowhere else."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from eddy.checks import require

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

_active, _gateway, _java = map(attrgetter, ("_active_spark_context", "_gateway", "_jdf"))


def active_context() -> SparkContext | None:
    """The context of this process, if one is running. (The public way makes one if there is none.)"""
    require("eddy.spark", ("pyspark",), "spark")
    from pyspark import SparkContext

    found: SparkContext | None = _active(SparkContext)
    return found


def has_gateway() -> bool:
    """Whether this process has started a Java machine for Spark."""
    from pyspark import SparkContext

    return _gateway(SparkContext) is not None


def java_frame(frame: DataFrame) -> Any:
    """The frame as Java has it."""
    return _java(frame)
