"""Rows that are posted to a local port."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest

import eddy
from tests.servers import free_port

SCHEMA = {"ts": "int64", "k": "int64", "note": "string"}


def post(port, path, body, method="POST", **headers):
    """Status, headers and what the answer says."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, path, body, given)
        answer = line.getresponse()
        text = answer.read()
        told = json.loads(text) if answer.headers.get("Content-Type") == "application/json" else text
        return answer.status, answer.headers, told
    finally:
        line.close()


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def listens(port):
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def until(condition, seconds=20):
    """Wait for something."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running(query, sources, **options):
    """A run in a thread, which is stopped at the end; a list that gets its results, and one that gets its outcome."""
    controls, results, outcomes = [], [], []

    class Keep(eddy.Sink):
        def write(self, table):
            results.extend(table.to_pylist())

    def go():
        outcomes.append(eddy.run(query, sources, Keep(), control=controls.append, **options))

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield results, outcomes
    finally:
        until(lambda: controls or not thread.is_alive())
        for control in controls:
            control.stop()
        thread.join(20)
        assert not thread.is_alive()


def test_two_streams_at_one_port():
    """What is posted to their paths is joined; bad lines are answered, counted, and kept as dead letters."""
    port = free_port()
    sources = {
        name: eddy.source(f"listen://127.0.0.1:{port}/{name}", schema=SCHEMA) for name in ("clicks", "orders")
    }
    query = """
        SELECT clicks.note AS c, orders.note AS o FROM clicks [RANGE 9], orders [RANGE 9] WHERE clicks.k = orders.k
    """
    with running(query, sources) as (results, outcomes):
        until(lambda: listens(port))
        rows = lines(*({"ts": n, "k": n, "note": f"c{n}"} for n in range(5)))
        until(lambda: post(port, "/clicks", rows)[::2] == (200, {"rows": 5, "bad": 0}))
        bad = b'{"ts": 5, "k": "x"}\nno json\n\n{"ts": 6, "k": 6, "note": "c6"}\n'
        assert post(port, "/clicks", bad)[::2] == (200, {"rows": 1, "bad": 2})
        status, _, told = post(port, "/clicks", b'{"ts": 1.5}')
        assert status == 400 and told["bad"] == 1 and told["error"].startswith("no row of JSON: ")
        assert post(port, "/clicks", b"")[::2] == (200, {"rows": 0, "bad": 0})
        orders = [
            {"ts": 3, "k": 2, "note": "o2"},
            {"ts": 3, "k": 4, "note": "o4"},
            {"ts": 7, "k": 6, "note": "o6"},
        ]
        until(lambda: post(port, "/orders?a=b", lines(*orders))[0] == 200)
        post(port, "/orders", lines({"ts": 100, "k": 0}))
        post(port, "/clicks", lines({"ts": 100, "k": -1}))
        until(lambda: len(results) >= 3)
    assert sorted(row["c"] + row["o"] for row in results) == ["c2o2", "c4o4", "c6o6"]
    (outcome,) = outcomes
    assert outcome.bad == {"clicks": 3} and outcome.ended == "stopped"
    assert any("clicks, row 2" in letter and "no json" in letter for letter in outcome.letters)
    until(lambda: not listens(port))


def test_requests_that_are_refused():
    """Each is told why, and takes nothing: another path or method, no length, too large, packed, from a web page,
    without the password."""
    port = free_port()
    sources = {"t": eddy.source(f"listen://:secret@:{port}/in/t?body=1000", schema=SCHEMA)}
    with running("SELECT k FROM t [ROWS 1]", sources) as (results, outcomes):
        until(lambda: listens(port))
        row, auth = lines({"ts": 1, "k": 1}), {"Authorization": "Bearer secret"}
        until(lambda: post(port, "/in/t", row, **auth)[0] == 200)
        assert post(port, "/in", row, **auth)[0] == 404
        assert post(port, "/in/t", None, "GET", **auth)[0] == 501
        assert post(port, "/in/t", iter([row]), **auth)[0] == 411
        assert post(port, "/in/t", b"x" * 1001, **auth)[0] == 413
        assert post(port, "/in/t", row, Content_Encoding="gzip", **auth)[0] == 415
        assert post(port, "/in/t", row, Origin="http://example.org", **auth)[0] == 403
        assert post(port, "/in/t", row, Authorization="Bearer guess")[0] == 401
        with socket.create_connection(("127.0.0.1", port)) as line:  # it goes away in the middle
            line.sendall(
                b"POST /in/t HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: 99\r\n\r\n" + row
            )
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(b"\x16\x03\x01 what\r\n\r\n")
            assert b"Bad request" in b"".join(iter(lambda: line.recv(1000), b""))
        post(port, "/in/t", lines({"ts": 2, "k": 2}), **auth)
        until(lambda: results)
    assert results == [{"k": 1}] and outcomes[0].bad == {}


def test_a_full_queue():
    """Whoever posts more than is read is told to come again, and nothing is lost or taken twice."""
    port = free_port()
    source = eddy.source(f"listen://127.0.0.1:{port}/t?waiting=25", schema=SCHEMA)
    pieces = source.read(None)
    assert next(pieces).rows is None and source.port == port
    answers, taken = [], 0
    for start in range(0, 200, 10):
        body = lines(*({"ts": n, "k": n} for n in range(start, start + 10)))
        while (answer := post(port, "/t", body))[0] != 200:
            answers.append(answer)
            taken += next(pieces).rows.num_rows
    assert answers and all(status == 503 and headers["Retry-After"] == "1" for status, headers, _ in answers)
    large = lines(*({"ts": n, "k": n} for n in range(200, 300)))
    found = []
    while (piece := next(pieces)).rows is not None:
        found += piece.rows.column("k").to_pylist()
    assert taken + len(found) == 200 and found[-1] == 199
    assert post(port, "/t", large)[0] == 200  # larger than the queue, which is empty
    assert next(pieces).rows.num_rows == 100
    pieces.close()
    assert not listens(port)


def test_many_at_a_time():
    """What several senders post comes once each."""
    source = eddy.source("listen://127.0.0.1:0/t", schema=SCHEMA)
    pieces = source.read(None)
    next(pieces)

    def send(sender):
        line = http.client.HTTPConnection("127.0.0.1", source.port, timeout=20)
        for n in range(20):
            line.request(
                "POST", "/t", lines(*({"ts": n, "k": 1000 * sender + 10 * n + i} for i in range(10)))
            )
            assert line.getresponse().read()
        line.close()

    senders = [threading.Thread(target=send, args=(number,)) for number in range(5)]
    for sender in senders:
        sender.start()
    found = []
    until(lambda: found.extend(taken(next(pieces))) or len(found) >= 1000)
    for sender in senders:
        sender.join()
    assert sorted(found) == sorted(1000 * s + n for s in range(5) for n in range(200))
    pieces.close()


def taken(piece):
    return [] if piece.rows is None else piece.rows.column("k").to_pylist()


def test_what_cannot_be(tmp_path):
    """Addresses that are wrong, a port that is taken, a path that is read twice, checkpoints."""
    for address, told in {
        "listen://127.0.0.1/clicks": "names no port",
        "listen://127.0.0.1:99999/clicks": "names no port",
        "listen://127.0.0.1:8080": "names no stream",
        "listen://127.0.0.1:8080/a?waiting=0": "waiting is the most rows that may wait",
        "listen://127.0.0.1:8080/a?wait=0": "has no option 'wait'",
    }.items():
        with pytest.raises(eddy.EddyError, match=told):
            eddy.source(address, schema=SCHEMA)
    with pytest.raises(eddy.EddyError, match="give schema="):
        eddy.source("listen://127.0.0.1:8080/a")
    with pytest.raises(eddy.EddyError, match="takes JSON lines"):
        eddy.source("listen://127.0.0.1:8080/a", schema=SCHEMA, format="csv")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"listen://127.0.0.1:{taken.getsockname()[1]}/a"
        source = eddy.source(address, schema=SCHEMA)
        with pytest.raises(eddy.EddyError, match="is read already"):
            eddy.source(address, schema=SCHEMA)
        with pytest.raises(eddy.EddyError, match=r"cannot listen at .*: Address already in use"):
            next(source.read(None))
        with pytest.raises(eddy.EddyError, match="cannot go back"):
            eddy.run(
                "SELECT k FROM a [ROWS 1]",
                {"a": source},
                str(tmp_path / "out.csv"),
                checkpoint=tmp_path / "progress",
            )
    del source
    eddy.source(address, schema=SCHEMA)
