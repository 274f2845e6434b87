"""Schemes of addresses that are sinks."""

from __future__ import annotations

from eddy.connect.delta import SCHEMES as DELTA
from eddy.connect.libraries import Kind

SCHEMES = {
    "kafka": Kind("eddy.sinks.kafka", ("confluent_kafka",), "kafka"),
    **dict.fromkeys(("redis", "rediss"), Kind("eddy.sinks.redis", ("redis",), "redis")),
    "nats": Kind("eddy.sinks.nats", ("nats",), "nats"),
    **dict.fromkeys(("mqtt", "mqtts"), Kind("eddy.sinks.mqtt", ("paho.mqtt",), "mqtt")),
    **dict.fromkeys(("postgresql", "postgres"), Kind("eddy.sinks.postgresql", ("psycopg",), "postgresql")),
    **dict.fromkeys(("http", "https"), Kind("eddy.sinks.http")),
    **dict.fromkeys(DELTA, Kind("eddy.sinks.delta", ("deltalake",), "delta")),
    "iceberg": Kind("eddy.sinks.iceberg", ("pyiceberg",), "iceberg"),
}
"""Each module has `open(address, *, format)`, which returns a `Sink`."""
