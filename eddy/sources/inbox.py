"""A port that takes rows by HTTP: one server for all streams that are posted to it, a bounded queue for each."""

from __future__ import annotations

import contextlib
import hmac
import json
import queue
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sources.base import Piece
from eddy.sources.lines import read_block
from eddy.sources.text import JsonLines

AT_ONCE = 64
"""Requests that are answered at a time; more are told to come again."""
SLOW = 30.0
"""Seconds without a byte until a request is given up."""
LINGER = 2.0
"""Seconds for which the rest of a refused request is passed over."""
AGAIN = {"Retry-After": "1"}


class Inbox:
    """The rows of one path that wait to be read."""

    def __init__(self, path: str, title: str, body: int, most: int, secret: str | None) -> None:
        self.path, self.title, self.body, self.most, self.secret = path, title, body, most, secret
        self.columns: dict[str, pa.DataType] | None = None
        self._pieces: queue.SimpleQueue[Piece] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0

    def take(self, body: bytes) -> tuple[int, dict[str, Any], dict[str, str]]:
        """The answer to a request: status, what it says, headers."""
        columns = self.columns
        lines = body.count(b"\n") + (not body.endswith(b"\n"))
        if columns is None or not self._reserve(lines):
            return 503, {"error": "not now: come again"}, AGAIN
        reader = JsonLines().reader(self.title, columns)
        piece = read_block(reader, body, self.title, 0, 0) if body.strip() else Piece(None, 0)
        rows, bad = 0 if piece.rows is None else piece.rows.num_rows, len(piece.bad)
        with self._lock:
            self._waiting -= lines - rows - bad
        if rows or bad:
            self._pieces.put(piece)
        told: dict[str, Any] = {"rows": rows, "bad": bad}
        if bad and not rows:
            return 400, {**told, "error": f"no row of JSON: {piece.bad[0].reason}"}, {}
        return 200, told, {}

    def next(self, count: int) -> Piece:
        """The next rows; none if nothing waits. ``count`` rows were given before."""
        try:
            piece = self._pieces.get_nowait()
        except queue.Empty:
            return Piece(None, count)
        rows = 0 if piece.rows is None else piece.rows.num_rows
        with self._lock:
            self._waiting -= rows + len(piece.bad)
        return Piece(piece.rows, count + rows, piece.bad, piece.file, piece.first, piece.lines)

    def _reserve(self, lines: int) -> bool:
        """Whether so many may wait as well. A request that is larger than the queue may do so alone."""
        with self._lock:
            if self._waiting and self._waiting + lines > self.most:
                return False
            self._waiting += lines
            return True


class Doors:
    """All paths of one host and port. The server runs while one of them is read."""

    _all: ClassVar[weakref.WeakValueDictionary[tuple[str, int], Doors]] = weakref.WeakValueDictionary()

    def __init__(self, place: tuple[str, int]) -> None:
        self.place, self.port = place, place[1]
        self.inboxes: weakref.WeakValueDictionary[str, Inbox] = weakref.WeakValueDictionary()
        self.at_once = threading.BoundedSemaphore(AT_ONCE)
        self._open = 0
        self._server: ThreadingHTTPServer | None = None

    @classmethod
    def at(cls, place: tuple[str, int]) -> Doors:
        """Those of a place; a port that nobody has chosen yet is nobody else's."""
        found = cls._all.get(place) if place[1] else None
        if found is None:
            found = cls._all[place] = cls(place)
        return found

    def take(self, inbox: Inbox) -> None:
        """Another path; EddyError if there is one of that name."""
        if inbox.path in self.inboxes:
            raise EddyError(f"{inbox.title} is read already: give each stream a path of its own")
        self.inboxes[inbox.path] = inbox

    @contextmanager
    def opened(self, inbox: Inbox, columns: dict[str, pa.DataType]) -> Iterator[None]:
        """While its rows are read."""
        self._begin(inbox)
        inbox.columns = columns
        self._open += 1
        try:
            yield
        finally:
            inbox.columns = None
            self._open -= 1
            if not self._open and self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None

    def _begin(self, inbox: Inbox) -> None:
        if self._server is not None:
            return
        try:
            kind = _Server6 if ":" in self.place[0] else _Server
            self._server = kind(self.place, _Handler)
        except OSError as error:
            raise EddyError(f"cannot listen at {inbox.title}: {error.strerror or error}") from error
        self._server.doors = self  # type: ignore[attr-defined]
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is nobody's fault here."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "eddy", ""
    timeout = SLOW
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        doors: Doors = self.server.doors  # type: ignore[attr-defined]
        inbox = doors.inboxes.get(self.path.partition("?")[0])
        refused = self._refused(inbox)
        if refused is not None:
            self._answer(*refused)
            return
        assert inbox is not None
        if not doors.at_once.acquire(blocking=False):
            self._answer(503, {"error": "too many requests at a time: come again"}, AGAIN, unread=True)
            return
        try:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) == length:  # else the sender has gone, and nothing of it counts
                self._answer(*inbox.take(body))
        finally:
            doors.at_once.release()

    def _refused(self, inbox: Inbox | None) -> tuple[int, dict[str, Any], dict[str, str], bool] | None:
        """The answer to a request whose body is not read; None if it is to be."""
        length = self.headers.get("Content-Length", "")
        if inbox is None:
            return 404, {"error": f"no stream is read at {self.path}"}, {}, True
        if self.headers.get("Origin") is not None:
            return 403, {"error": "rows are not taken from web pages"}, {}, True
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")
        if inbox.secret is not None and not hmac.compare_digest(given, f"Bearer {inbox.secret}".encode()):
            return 401, {"error": "give Authorization: Bearer and the password of the address"}, {}, True
        if not length.isdecimal() or self.headers.get("Transfer-Encoding"):
            return 411, {"error": "give Content-Length"}, {}, True
        if self.headers.get("Content-Encoding", "identity") != "identity":
            return 415, {"error": "send it as it is, not compressed"}, {}, True
        if int(length) > inbox.body:
            return 413, {"error": f"a request has {inbox.body} bytes at most: send several"}, {}, True
        return None

    def _answer(
        self, status: int, told: dict[str, Any], headers: dict[str, str], unread: bool = False
    ) -> None:
        body = (json.dumps(told, ensure_ascii=False) + "\n").encode()
        self.close_connection = self.close_connection or unread
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        if unread:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        if unread:
            self._linger()

    def _linger(self) -> None:
        """Pass over what is still being sent for a while: else the sender might not get to see the answer."""
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(0.5)
        until = time.monotonic() + LINGER
        with contextlib.suppress(OSError):
            while time.monotonic() < until and self.connection.recv(1 << 16):
                pass

    def log_message(self, format: str, *args: Any) -> None:
        """Standard error is the run's."""
