"""Schemes of addresses that are sources."""

from __future__ import annotations

from eddy.connect.delta import SCHEMES as DELTA
from eddy.connect.libraries import Kind

_POSTGRESQL = Kind("eddy.sources.postgresql", ("psycopg", "adbc_driver_postgresql"), "postgresql")

SCHEMES = {
    "kafka": Kind("eddy.sources.kafka", ("confluent_kafka",), "kafka"),
    **dict.fromkeys(("redis", "rediss"), Kind("eddy.sources.redis", ("redis",), "redis")),
    "nats": Kind("eddy.sources.nats", ("nats",), "nats"),
    **dict.fromkeys(("mqtt", "mqtts"), Kind("eddy.sources.mqtt", ("paho.mqtt",), "mqtt")),
    **dict.fromkeys(("postgresql", "postgres"), _POSTGRESQL),
    **dict.fromkeys(DELTA, Kind("eddy.sources.delta", ("deltalake",), "delta")),
    "listen": Kind("eddy.sources.listen"),
}
"""Each module has `open(address, *, schema, time, format, follow)`, which returns a `Source`."""
