"""The live page: a small server on this machine, which tells browsers of each reading as it comes."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from eddy.checks import require
from eddy.errors import EddyError
from eddy.page.html import page, policy
from eddy.page.plain import as_json

LOCAL = "127.0.0.1"
PERIOD = 0.25
"""Seconds between two looks for a new reading."""
PATIENCE = 10.0
"""Seconds in which the server must have begun to answer."""
NEEDS = ("starlette", "uvicorn")


class Server:
    """Serves one page, or one of each query, on loopback alone, until it is closed."""

    def __init__(
        self, told: Callable[[str | None], dict[str, Any]], version: Callable[[], int], port: int = 0
    ) -> None:
        require("a live page", NEEDS, "watch")
        import uvicorn

        self._told, self._version = told, version
        self._closing = False
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        config = uvicorn.Config(
            self._application(),
            log_level="critical",
            lifespan="off",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="eddy watch", daemon=True)
        self._thread.start()
        self._wait()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOCAL}:{self.port}/"

    def close(self) -> None:
        """Answer no more."""
        self._closing = True
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()

    def _wait(self) -> None:
        """Until it answers: whoever is told the address may ask at once."""
        limit = time.monotonic() + PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > limit:
                self.close()
                raise EddyError(f"the page at {self.url} is not answered: give another port")
            time.sleep(0.01)

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def _application(self) -> Any:
        from starlette.applications import Starlette
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, Response, StreamingResponse
        from starlette.routing import Route

        safe = {"Content-Security-Policy": policy(True), "X-Content-Type-Options": "nosniff"}
        safe |= {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY"}

        async def home(request: Any) -> Any:
            return HTMLResponse(page(self._told(_query(request)), True), headers=safe)

        async def run(request: Any) -> Any:
            return Response(as_json(self._told(_query(request))), media_type="application/json", headers=safe)

        async def events(request: Any) -> Any:
            return StreamingResponse(self._readings(request), media_type="text/event-stream", headers=safe)

        application = Starlette(
            routes=[Route("/", home), Route("/run.json", run), Route("/events", events)],
        )
        # Another name for this machine could be one that a page elsewhere has made to lead here.
        application.add_middleware(TrustedHostMiddleware, allowed_hosts=[LOCAL, "localhost"])
        return application

    async def _readings(self, request: Any) -> AsyncIterator[str]:
        """Each reading, once it is there, the last one also when the page is closed; a comment now and then keeps the
        connection."""
        seen, quiet, over = -1, 0, False
        while not over and not await request.is_disconnected():
            over, version = self._closing, self._version()
            if version != seen:
                seen, quiet = version, 0
                yield f"data: {as_json(self._told(_query(request)))}\n\n"
            elif quiet >= 40:
                quiet = 0
                yield ": still here\n\n"
            quiet += 1
            await asyncio.sleep(PERIOD)


def _query(request: Any) -> str | None:
    """The query that a page is asked of, if it says which."""
    found = request.query_params.get("query")
    return None if found is None else str(found)


def _bound(port: int) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOCAL, port))
    except (OSError, OverflowError) as error:
        found.close()
        raise EddyError(f"the page cannot have port {port} ({error}): give another, or 0 for any") from error
    return found
