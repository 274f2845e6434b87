"""Eddy on Spark: `join` for DataFrames, `stream` for streaming ones, `driver` for RDDs. No join logic is in here."""

from __future__ import annotations

from eddy.spark.bounded import join
from eddy.spark.explain import explain, reports
from eddy.spark.rdd import driver
from eddy.spark.session import session
from eddy.spark.ship import ship
from eddy.spark.streaming import stream

__all__ = ["driver", "explain", "join", "reports", "session", "ship", "stream"]
