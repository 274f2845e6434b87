"""Redis, and what speaks like it: a client, and what its errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, BusyLoadingError, ConnectionError, ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as TimedOut
from redis.retry import Retry

from eddy.connect.address import Address
from eddy.connect.patience import CONNECT, told, unreachable
from eddy.errors import EddyError

AWAY = (ConnectionError, TimedOut, BusyLoadingError, ReadOnlyError)
"""What a server that may come back answers; `refused` has been asked before."""
EXAMPLE = "redis://localhost:6379/clicks"
OPTIONS = ("field", "db", "ca")
PORT = 6379


def client(address: Address) -> Any:
    """A client of one connection, which answers; EddyError if the server cannot be reached, or does not let us in.

    It tries nothing again by itself: whether that is right depends on what was asked.
    """
    options: dict[str, Any] = {}
    if address.scheme == "rediss":
        options = {"ssl": True, "ssl_ca_certs": address.options.get("ca")}
    found = redis.Redis(
        address.host,
        address.port(PORT),
        address.whole("db", 0),
        username=address.user,
        password=address.password,
        socket_connect_timeout=CONNECT,
        socket_timeout=2 * CONNECT,
        retry=Retry(NoBackoff(), 0),
        single_connection_client=False,
        max_connections=2,
        **options,
    )
    with once(address):
        found.ping()
    return found


@contextlib.contextmanager
def once(address: Address) -> Iterator[None]:
    """Errors of a server that must answer now as EddyError."""
    try:
        with explained(address):
            yield
    except (*AWAY, OSError) as error:  # the latter of the file of certificates
        raise unreachable(address, error.__cause__ or error) from error


@contextlib.contextmanager
def explained(address: Address) -> Iterator[None]:
    """Errors of the server as EddyError, but for those that say that it is away."""
    try:
        yield
    except AuthenticationError as error:
        raise EddyError(f"{address} does not let us in: {told(error)}") from error
    except AWAY:
        raise
    except RedisError as error:
        raise EddyError(f"{address}: {told(error)}") from error
