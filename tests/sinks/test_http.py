"""Results that are posted, to a server that sometimes fails."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pytest

import eddy

ROWS = pa.table({"ts": list(range(100)), "k": [n % 7 for n in range(100)]})
QUERY = "SELECT ts, k FROM t [ROWS 1]"


class Receiver(ThreadingHTTPServer):
    """Answers what it is told to, one answer for each request, and 200 when there is none left."""

    daemon_threads = True

    def __init__(self, *answers, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.answers, self.requests, self.connections = list(answers), [], 0
        self.port = self.server_address[1]

    def rows(self):
        """What was taken; of requests with one key the first."""
        kept = {
            headers["Idempotency-Key"]: body for status, _, headers, body in self.requests if status == 200
        }
        return [json.loads(line) for body in kept.values() for line in body.splitlines()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if answer == "takes it and is gone":
            self.server.requests.append((200, self.path, self.headers, body))
        if isinstance(answer, str):
            self.close_connection = True
            return
        self.server.requests.append((answer, self.path, self.headers, body))
        self.send_response(answer)
        self.send_header("Content-Length", "7")
        if answer == 429:
            self.send_header("Retry-After", "0")
        if answer == 301:
            self.send_header("Location", "http://elsewhere/")
        self.end_headers()
        self.wfile.write(b"a line\n")

    def log_message(self, *_):
        pass


@contextmanager
def receiving(*answers, port=0):
    with Receiver(*answers, port=port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_results_are_posted():
    """As JSON lines over one connection, to the path with its query, with the name and the password."""
    with receiving() as server:
        address = f"http://me:p%20w@127.0.0.1:{server.port}/a%20b/in?x=1&y=a%26b"
        outcome = eddy.run(QUERY, {"t": ROWS}, address, batch=10)
    assert outcome.results == 100 and server.rows() == ROWS.to_pylist() and server.connections == 1
    _, path, headers, _ = server.requests[0]
    assert path == "/a%20b/in?x=1&y=a%26b" and headers["Content-Type"] == "application/x-ndjson"
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"me:p w").decode()
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.requests]
    assert len(set(keys)) == len(keys) >= 2 and all(key.split("-")[1] == "1" for key in keys)


def test_a_server_that_fails_now_and_then():
    """A request is sent again, with its key, so that whoever heeds it takes each result once."""
    answers = [503, 200, "is gone", 200, "takes it and is gone", 500, 429, 200, "takes it and is gone"]
    with receiving(*answers) as server:
        eddy.run(QUERY, {"t": ROWS}, f"http://127.0.0.1:{server.port}/in", batch=10)
    assert server.rows() == ROWS.to_pylist()
    tried = [headers["Idempotency-Key"] for _, _, headers, _ in server.requests]
    assert len(tried) > len(set(tried)) and not server.answers


def test_a_server_that_comes_later():
    """Results wait until it is there."""
    with receiving() as first:
        port = first.port
    started = []

    def later():
        time.sleep(0.3)
        with receiving(port=port) as server:
            started.append(server)
            run.join(20)

    run = threading.Thread(target=eddy.run, args=(QUERY, {"t": ROWS}, f"http://127.0.0.1:{port}/in"))
    server = threading.Thread(target=later)
    server.start()
    run.start()
    server.join(30)
    assert started[0].rows() == ROWS.to_pylist()


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([404], r"refuses results: 404 Not Found: a line$"),
        ([301], r"refuses results: 301 Moved Permanently: a line; it is at http://elsewhere/$"),
        ([503] * 99, r"takes no results: 503 Service Unavailable: a line; it was tried for 0.3 s$"),
        (["is gone"] * 99, r"takes no results: .*; it was tried for 0.3 s$"),
        (None, r"takes no results: Connection refused; it was tried for 0.3 s$"),
    ],
)
def test_a_server_that_takes_nothing(answers, told):
    """The run ends with one line, without the password, in bounded time."""
    with receiving(*(answers or [])) as server:
        port = server.port if answers else 1
        sink = eddy.sink(f"http://me:secret@127.0.0.1:{port}/in")
        sink.retry = 0.3
        began = time.monotonic()
        with pytest.raises(eddy.EddyError, match=told) as caught:
            eddy.run(QUERY, {"t": ROWS}, sink)
    assert (
        time.monotonic() - began < 5 and "secret" not in str(caught.value) and "\n" not in str(caught.value)
    )


def test_restarts_repeat_results(tmp_path):
    """With checkpoints each result is posted at least once: those since the last one come again, under other keys."""
    source = {"t": eddy.source(ROWS)}
    with receiving(*[200] * 4, *[404] * 9) as server:
        address = f"http://127.0.0.1:{server.port}/in"
        options = {"batch": 10, "checkpoint": tmp_path / "progress", "every": 0}
        with pytest.raises(eddy.EddyError, match="404"):
            eddy.run(QUERY, source, address, **options)
        server.answers.clear()
        eddy.run(QUERY, source, address, **options)
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.requests]
    assert [key.split("-")[1] for key in keys[:6]] == ["1", "2", "3", "4", "5", "5"] and len(
        set(keys)
    ) == len(keys)
    assert {row["ts"] for row in server.rows()} == set(range(100))


def test_other_formats_are_refused():
    """A format is told of."""
    with pytest.raises(eddy.EddyError, match="is sent JSON lines"):
        eddy.sink("http://127.0.0.1/in", format="csv")
