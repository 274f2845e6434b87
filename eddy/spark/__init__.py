"""Eddy on Spark: `join` for DataFrames, `stream` for streaming ones, `driver` for RDDs.

May import: everything but the demo. It contains no join logic: it feeds partitions to an `Eddy`.
"""

from __future__ import annotations

from eddy.spark.bounded import join
from eddy.spark.explain import explain, reports
from eddy.spark.rdd import driver
from eddy.spark.session import session
from eddy.spark.ship import ship
from eddy.spark.streaming import stream

__all__ = ["driver", "explain", "join", "reports", "session", "ship", "stream"]
