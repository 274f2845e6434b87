"""NATS: a connection whose event loop runs in a thread of its own, and what its errors mean."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import nats
from nats.errors import AuthorizationError, Error, NoServersError
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from eddy.connect import tls
from eddy.connect.address import Address
from eddy.connect.patience import CONNECT, told, unreachable
from eddy.errors import EddyError

AWAY = (Error, OSError, asyncio.TimeoutError, TimeoutError)
"""What comes of a server that may come back; `refused` has been asked before."""
OPTIONS = ("subject", "tls", "ca")
PORT = 4222
T = TypeVar("T")


class Connection:
    """A connection to a server of NATS. It does not mend itself: whoever uses it opens it again."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.client: Any = None
        self.jetstream: Any = None
        self._last: Exception | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"{address}", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether the server was there when it was heard of last."""
        return self.client is not None and bool(self.client.is_connected)

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 3 * CONNECT) -> T:
        """What comes of something that is done in its thread."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            with refused(self.address):
                return future.result(seconds)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise TimeoutError(f"no answer in {seconds:g} s") from None

    def close(self) -> None:
        """The connection, and its thread."""
        with contextlib.suppress(Exception):
            self.run(self._close(), CONNECT)
        with contextlib.suppress(Exception):  # whose threads look up names
            self.run(self._loop.shutdown_default_executor(), CONNECT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONNECT)
        if not self._thread.is_alive():
            self._loop.close()

    async def open(self) -> None:
        """Open it, instead of the one before; in its thread."""
        await self._close()
        address = self.address
        options: dict[str, Any] = {}
        if address.password is not None:
            options |= {"user": address.user, "password": address.password}
        elif address.user is not None:
            options["token"] = address.user
        if "ca" in address.options or address.options.get("tls") == "true":
            options["tls"] = tls.context(address)
        servers = [host if ":" in host else f"{host}:{PORT}" for host in address.hosts.split(",")]
        connecting = nats.connect(
            [f"nats://{server}" for server in servers],
            name="eddy",
            error_cb=self._heard,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0.1,
            connect_timeout=CONNECT,
            ping_interval=5,
            **options,
        )
        try:
            self.client = await asyncio.wait_for(connecting, CONNECT)
        except NoServersError as error:
            raise self._last or error from None
        self.jetstream = self.client.jetstream(timeout=CONNECT)

    async def _heard(self, error: Exception) -> None:
        """What an attempt to connect has met; other errors come to whoever asked."""
        self._last = error

    async def _close(self) -> None:
        if self.client is not None:
            with contextlib.suppress(Exception):
                await self.client.close()
        self.client = None


@contextlib.contextmanager
def refused(address: Address) -> Iterator[None]:
    """Answers that will not change as EddyError; errors that say that the server is away remain."""
    try:
        yield
    except ServiceUnavailableError:
        raise
    except NotFoundError as error:
        raise EddyError(f"{address}: {error.description or told(error)}") from error
    except APIError as error:
        raise EddyError(f"{address}: {error.description or told(error)}") from error
    except Error as error:
        if isinstance(error, AuthorizationError) or "authorization" in str(error).lower():
            raise EddyError(f"{address} does not let us in: {told(error)}") from error
        raise


@contextlib.contextmanager
def once(address: Address) -> Iterator[None]:
    """Errors of a server that must answer now as EddyError."""
    try:
        yield
    except ServiceUnavailableError as error:
        raise EddyError(f"{address} has no JetStream: start nats-server with -js") from error
    except AWAY as error:
        raise unreachable(address, error) from error


@contextlib.contextmanager
def connected(address: Address) -> Iterator[Connection]:
    """A connection, while it is used; EddyError if the server cannot be reached."""
    connection = Connection(address)
    try:
        with once(address):
            connection.run(connection.open())
        yield connection
    finally:
        connection.close()


async def stream_state(connection: Connection, stream: str) -> Any:
    """What JetStream tells of a stream; EddyError if there is none."""
    try:
        return await connection.jetstream.stream_info(stream)
    except NotFoundError as error:
        raise EddyError(
            f"{connection.address}: there is no stream {stream}; make one: nats stream add {stream}"
        ) from error
