"""Encrypted connections to Redis and NATS; those to MQTT are in `test_mqtt`."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eddy
from tests import servers
from tests.connect.brokers import Redis
from tests.relay import Relay

ONE = "SELECT ts, k FROM A [ROWS 1]"
TABLE = {"A": pa.table({"ts": [1], "k": [1]})}


def test_redis_is_believed_if_its_certificate_is(tmp_path):
    """From the authority that the address names. (The Valkey of PyPI is built without TLS.)"""
    certificate = servers.certificate(tmp_path)
    with (
        servers.Valkey(tmp_path) as server,
        Relay(server.port, certificate) as relay,
    ):  # the Valkey of PyPI is built without TLS
        address = f"rediss://localhost:{relay.port}/s"
        eddy.run(ONE, TABLE, f"{address}?ca={certificate[0]}")
        assert eddy.run(ONE, {"A": f"{address}?ca={certificate[0]}"}).results == 1
        assert Redis(server).rows("s") == [{"ts": "1", "k": "1"}]
        with pytest.raises(eddy.EddyError, match="certificate verify failed"):
            eddy.run(ONE, TABLE, address)
        with pytest.raises(eddy.EddyError, match="cannot reach") as error:
            eddy.run(ONE, TABLE, f"{address}?ca={tmp_path}/none")
        assert "\n" not in str(error.value)


def test_nats_is_believed_if_its_certificate_is(tmp_path):
    """From the authority that the address names."""
    certificate = servers.certificate(tmp_path)
    with servers.Nats(
        tmp_path, tls=f"{{cert_file: '{certificate[0]}', key_file: '{certificate[1]}'}}"
    ) as server:
        address = f"nats://localhost:{server.port}/s"
        with pytest.raises(eddy.EddyError, match="there is no stream s"):
            eddy.run(ONE, TABLE, f"{address}?ca={certificate[0]}")
        for options in ("", "?tls=true"):
            with pytest.raises(eddy.EddyError, match="certificate verify failed"):
                eddy.run(ONE, TABLE, address + options)
        with pytest.raises(eddy.EddyError, match="cannot be read as certificates"):
            eddy.run(ONE, TABLE, f"{address}?ca={tmp_path}/none")
