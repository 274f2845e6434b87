"""`metrics`: the metrics of an engine or a run, for whoever is to have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.monitoring import prometheus, telemetry
from eddy.monitoring.readings import Readings
from eddy.shown import kind_of

OTEL = "otel"
"""The address that stands for OpenTelemetry, as the process has it set up."""


@define(eq=False)
class Metrics:
    """Exports metrics until it is closed. Nothing is read before somebody asks."""

    readings: Readings
    record: list[Callable[[float], None]] = field(factory=list)
    """Who keeps a histogram, and is to be told of each batch's seconds."""
    servers: list[prometheus.Server] = field(factory=list)
    _registered: list[tuple[Any, Any]] = field(factory=list)

    def to(self, where: Any) -> Metrics:
        """Export to an address that Prometheus asks (":9100"), to a `prometheus_client.CollectorRegistry`, to a meter
        or meter provider of OpenTelemetry, or to "otel", the provider that the process has."""
        if where == OTEL:
            where = telemetry.library().get_meter_provider()
        if isinstance(where, (str, int)):
            self.servers.append(prometheus.Server(self.readings, where))
        elif hasattr(where, "get_meter"):
            self.record.append(telemetry.instruments(self.readings, where.get_meter("eddy")))
        elif hasattr(where, "create_observable_counter"):
            self.record.append(telemetry.instruments(self.readings, where))
        elif hasattr(where, "register") and hasattr(where, "unregister"):
            collector = prometheus.Collector(self.readings)
            where.register(collector)
            self._registered.append((where, collector))
        else:
            raise EddyError(
                "metrics go to an address such as ':9100', a prometheus_client.CollectorRegistry, or a meter provider "
                f"of OpenTelemetry, not to a {kind_of(where)}"
            )
        return self

    @property
    def url(self) -> str | None:
        """Where Prometheus is answered, if it is."""
        return self.servers[0].url if self.servers else None

    def close(self) -> None:
        """Answer no more."""
        for server in self.servers:
            server.close()
        for registry, collector in self._registered:
            registry.unregister(collector)
        self.servers, self._registered = [], []

    def __enter__(self) -> Metrics:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def metrics(engine: Eddy, to: Any) -> Metrics:
    """Export the metrics of an engine that you push to yourself: ``with eddy.metrics(engine, ":9100"): ...``.

    ``to`` is an address that Prometheus asks, a `prometheus_client.CollectorRegistry`, or a meter or meter provider of
    OpenTelemetry. Whoever asks waits for the batch at hand, as for `statistics`.
    """
    if not isinstance(engine, Eddy):
        raise EddyError(f"metrics are those of an eddy.Eddy, not of a {kind_of(engine)}")
    return Metrics(Readings(engine)).to(to)
