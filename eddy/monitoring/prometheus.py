"""Metrics for Prometheus: a collector, and a server that answers it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from attrs import define

from eddy.errors import EddyError
from eddy.monitoring.histogram import Histogram
from eddy.monitoring.readings import METRICS, Metric, Readings, Value

LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:]*):)?(?P<port>\d{1,5})")


def library() -> Any:
    """prometheus-client; EddyError if it is missing."""
    try:
        import prometheus_client
    except ImportError as error:
        raise EddyError(
            "metrics for Prometheus need prometheus-client, which is not installed: pip install 'eddy-stairs[metrics]'"
        ) from error
    return prometheus_client


@define(eq=False)
class Collector:
    """Gives a registry of prometheus-client the values of an engine or a run, as they are when it asks."""

    readings: Readings

    def collect(self) -> Iterator[Any]:
        """Families of metrics."""
        values = self.readings.values()
        for name, metric in METRICS.items():
            if name in values:
                yield _family(metric, values[name])


def _family(metric: Metric, values: dict[str, Value]) -> Any:
    from prometheus_client import core

    if metric.kind == "histogram":
        (found,) = values.values()
        assert isinstance(found, Histogram)
        family: Any = core.HistogramMetricFamily(metric.name, metric.help)
        buckets = [(_bound(bound), count) for bound, count in found.cumulative()]
        family.add_metric([], buckets=buckets, sum_value=found.total)
        return family
    kind = core.CounterMetricFamily if metric.kind == "counter" else core.GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=[] if metric.label is None else [metric.label])
    for label, value in values.items():
        family.add_metric([] if metric.label is None else [label], value)
    return family


def _bound(bound: float) -> str:
    return "+Inf" if bound == float("inf") else str(bound)


def address_of(value: Any) -> tuple[str, int]:
    """Host and port of ":9100", "0.0.0.0:9100" or 9100; without a host nobody but this machine is answered."""
    found = _ADDRESS.fullmatch(str(value)) if isinstance(value, (str, int)) else None
    if found is None or int(found["port"]) > 65535 or isinstance(value, bool):
        raise EddyError(f"metrics are answered at an address such as :9100 or 0.0.0.0:9100, not {value!r}")
    return (found["host"] or LOOPBACK).strip("[]"), int(found["port"])


class Server:
    """Answers Prometheus over HTTP, in a thread of its own, until it is closed."""

    def __init__(self, readings: Readings, address: Any) -> None:
        self.host, port = address_of(address)
        client = library()
        registry = client.CollectorRegistry()
        registry.register(Collector(readings))
        try:
            self._server, self._thread = client.start_http_server(port, self.host, registry)
        except OSError as error:
            reason = "it is in use" if "in use" in str(error) else error.strerror or str(error)
            raise EddyError(
                f"metrics cannot be answered at {self.host}:{port}: {reason}; give another address"
            ) from error
        self.port: int = self._server.server_port

    @property
    def url(self) -> str:
        """Where it answers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
