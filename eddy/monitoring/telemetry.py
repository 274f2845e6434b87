"""Metrics for OpenTelemetry: observable instruments of the same names, which read the same values.

There is no observable histogram: what others observe is counted by `record`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from eddy.errors import EddyError
from eddy.monitoring.histogram import BOUNDS
from eddy.monitoring.readings import METRICS, Metric, Readings


def library() -> Any:
    """The interface of OpenTelemetry; EddyError if it is missing."""
    try:
        from opentelemetry import metrics
    except ImportError as error:
        raise EddyError(
            "metrics for OpenTelemetry need its SDK, which is not installed: pip install 'eddy-stairs[telemetry]'"
        ) from error
    return metrics


def instruments(readings: Readings, meter: Any) -> Callable[[float], None]:
    """Make the instruments of a meter; returns what a batch's seconds are to be told to."""
    options = library()
    record: Callable[[float], None] = _nobody
    for metric in METRICS.values():
        if metric.kind == "histogram":
            made = meter.create_histogram(
                metric.name, metric.unit, metric.help, explicit_bucket_boundaries_advisory=list(BOUNDS)
            )
            record = made.record
            continue
        make = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
        make(metric.name, [partial(_observed, options, readings, metric)], metric.unit, metric.help)
    return record


def _observed(library: Any, readings: Readings, metric: Metric, _: Any) -> Iterable[Any]:
    for label, value in readings.values().get(metric.name, {}).items():
        yield library.Observation(value, {} if metric.label is None else {metric.label: label})


def _nobody(seconds: float) -> None:
    """Nobody is told."""
