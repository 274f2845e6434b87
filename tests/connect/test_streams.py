"""Streams of Redis and of NATS JetStream as sources and sinks: what holds for both, on real servers."""

from __future__ import annotations

import json
import threading
import time

import pyarrow as pa
import pyarrow.csv
import pytest

import eddy
from tests.connect.brokers import BROKERS, Going, Nats
from tests.runs import QUERY, counted, expected, feed

SCHEMA = {"ts": "int64", "k": "int64", "id": "int64", "note": "string"}
ONE = "SELECT ts, k FROM A [ROWS 1]"


@pytest.fixture(scope="module", params=BROKERS, ids=lambda kind: kind.__name__)
def broker(request, tmp_path_factory):
    """A server for all tests of a kind of messages."""
    with request.param.kind(tmp_path_factory.mktemp("server")) as server:
        yield request.param(server)


@pytest.fixture
def own(broker, tmp_path):
    """A server that a test may stop; options as it wants them."""
    begun = []

    def start(**options):
        server = broker.kind(tmp_path, **options)
        server.start()
        begun.append(server)
        return type(broker)(server)

    yield start
    for server in begun:
        server.stop(kill=True)


@pytest.fixture
def stream(broker, request):
    """The name of a stream of this test's own, which is there."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:40]
    broker.make(name)
    return name


def numbers(count, first=0):
    return [{"ts": first + i, "k": i % 7} for i in range(count)]


def read(source, position=None):
    """All rows of a source from a position on, and the positions."""
    pieces = [piece for piece in source.read(position) if piece.rows is not None]
    tables = [pa.table(piece.rows) for piece in pieces]
    return (pa.concat_tables(tables).to_pylist() if tables else []), [piece.position for piece in pieces]


def test_three_streams_are_joined_into_a_fourth(broker, tmp_path):
    """Their columns are inferred, rows out of order are put in order, and the results are the oracle's."""
    tables = feed(3, rows=150, disorder=3)
    for name, table in tables.items():
        broker.make(name)
        broker.put(name, table.to_pylist())
    broker.make("out")
    sources = {name: eddy.source(broker.address(name)) for name in tables}
    assert [str(kind) for kind in sources["A"].schema.types] == ["int64", "int64", "int64", "string"]
    outcome = eddy.run(QUERY, sources, broker.address("out"), checkpoint=tmp_path / "progress")
    wanted = expected(tables)
    rows = [{name: int(value) for name, value in row.items()} for row in broker.rows("out")]
    assert counted(pa.Table.from_pylist(rows)) == wanted and outcome.results == wanted.total()
    eddy.run(QUERY, sources, broker.address("out"), checkpoint=tmp_path / "progress")
    assert len(broker.rows("out")) == wanted.total(), "the run had ended"


def test_values_come_back_as_they_went(broker, stream):
    """NULL, texts with anything in them, times and numbers with fractions."""
    table = pa.table(
        {
            "ts": pa.array([1, 1_700_000_000_000_000], pa.timestamp("us")),
            "x": [0.1, None],
            "s": ['a "quoted"\n\tline, ä', None],
            "b": [True, False],
            "y": [b"bytes", None],
        }
    )
    query = "SELECT ts, x, s, b, y FROM A [ROWS 1]"
    eddy.run(query, {"A": table}, broker.address(stream))
    schema = {"ts": "timestamp", "x": "float64", "s": "string", "b": "bool", "y": "binary"}
    back = eddy.run(query, {"A": eddy.source(broker.address(stream), schema=schema)}).to_arrow()
    assert back.to_pylist() == table.to_pylist()


def test_reading_goes_on_behind_any_position(broker, stream):
    """Positions are those of the stream, and survive JSON."""
    broker.put(stream, numbers(50))
    source = eddy.source(broker.address(stream)).narrowed({"ts": pa.int64()}, 8)
    rows, positions = read(source)
    assert [row["ts"] for row in rows] == list(range(50)) and len(positions) > 5
    for done, position in enumerate(positions, 1):
        rest, _ = read(source, json.loads(json.dumps(position)))
        assert [row["ts"] for row in rest] == list(range(50))[8 * done :]
    assert source.reached(positions[-1]) == source.size()


def test_a_run_ends_with_what_was_there_when_it_began(broker, stream):
    """What comes later is for the next run."""
    broker.put(stream, numbers(20))
    source = eddy.source(broker.address(stream)).narrowed({"ts": pa.int64()}, 8)
    pieces = source.read(None)
    first = next(pieces)
    broker.put(stream, numbers(20, 20))
    assert sum(len(piece.rows) for piece in (first, *pieces) if piece.rows is not None) == 20
    assert eddy.run(ONE, {"A": broker.address(stream)}).results == 40


def test_bad_messages_are_told_of_with_their_place(broker, stream):
    """Broken ones, those of another type, bytes that are no text, and a NULL time; the run goes on."""
    broker.put(
        stream, [*numbers(5), b"{", b"\xff", {"ts": 7, "k": "x"}, {"ts": None, "k": 1}, *numbers(3, 10)]
    )
    schema = {"ts": "int64", "k": "int64"}
    outcome = eddy.run(ONE, {"A": eddy.source(broker.address(stream), schema=schema)})
    assert outcome.results == 8 and outcome.bad == {"A": 4}
    for number, letter in zip(range(6, 10), outcome.letters, strict=True):
        place, row = broker.place(stream, number)
        assert letter.startswith(f"{place}, row {row}: " if row else f"{place}: ")


def test_rows_that_come_are_followed_until_it_is_stopped(broker, stream):
    """A source that has nothing says so, and nothing is left of it when the run ends."""
    before, connections = threading.active_count(), broker.connections()
    broker.put(stream, numbers(3))
    source = eddy.source(broker.address(stream), follow=True)
    run = Going(ONE, {"A": source})
    run.until(2)
    broker.put(stream, numbers(5, 3))
    run.until(7)
    outcome = run.end()
    assert outcome.rows == {"A": 8} and outcome.ended == "stopped"
    assert threading.active_count() <= before and broker.connections() == connections


def test_nothing_is_left_open_by_a_run_that_fails(broker, stream):
    """Here at a bad message."""
    before, connections = threading.active_count(), broker.connections()
    broker.put(stream, [*numbers(3), b"{"])
    schema = {"ts": "int64", "k": "int64"}
    with pytest.raises(eddy.BatchError) as error:
        eddy.run(ONE, {"A": eddy.source(broker.address(stream), schema=schema)}, bad="error")
    assert threading.active_count() <= before and broker.connections() == connections, error


def test_a_stopped_run_goes_on_from_its_checkpoint(broker, stream, tmp_path):
    """With every result once."""
    broker.put(stream, numbers(40))
    source = eddy.source(broker.address(stream), follow=True)
    options = {"checkpoint": tmp_path / "progress", "every": 0, "batch": 8}
    for count in (40, 70):
        run = Going(ONE, {"A": source}, sink=tmp_path / "out.csv", **options)
        end = time.monotonic() + 20
        while run.loop.results < count - 1 and time.monotonic() < end:
            time.sleep(0.01)
        run.end()
        broker.put(stream, numbers(30, count))
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == list(range(69))


def test_a_stopped_run_goes_on_writing_into_its_stream(broker, stream, tmp_path):
    """Also where it was found out which subject that is."""
    table = pa.table({"ts": list(range(60)), "k": [1] * 60})
    table_file = tmp_path / "A.csv"
    pyarrow.csv.write_csv(table, table_file)
    where = broker.address(stream).partition("?subject=")[0]
    if isinstance(broker, Nats):
        broker.ask(lambda js: js.update_stream(name=stream, subjects=[stream]))
    options = {"checkpoint": tmp_path / "progress", "every": 0, "batch": 4}
    loops = []
    first = eddy.run(
        ONE,
        {"A": table_file},
        where,
        on_progress=lambda told: loops[0].stop(),
        control=loops.append,
        **options,
    )
    assert first.ended == "stopped"
    assert eddy.run(ONE, {"A": table_file}, where, **options).ended == "end"
    assert [int(row["ts"]) for row in broker.rows(stream)] == list(range(60))


def test_a_stream_without_messages_needs_a_schema(broker, stream):
    """With one it is empty, or there is none yet."""
    with pytest.raises(eddy.EddyError, match=r"give its schema|there is no stream"):
        eddy.source(broker.address(stream))
    source = eddy.source(broker.address(stream), schema={"ts": "int64", "k": "int64"}, follow=True)
    run = Going(ONE, {"A": source})
    broker.put(stream, numbers(2))
    run.until(1)
    assert run.end().rows == {"A": 2}


def test_what_cannot_be_reached_is_told_in_a_line_at_once(broker, own):
    """No server, no stream, a wrong password, an option that there is not; as a source and as a sink."""
    closed = own(**broker.closed())
    wrong = closed.address("x", "me:wrong@")
    gone = own()
    gone.server.stop()
    table = {"A": pa.table({"ts": [1], "k": [1]})}
    for address, text in [
        (gone.address("x"), "cannot reach .*refused"),
        (wrong, "does not let us in"),
        (broker.address("x", other=1), "has no option 'other': use "),
        (broker.address(""), "names no stream: write "),
        (broker.address("x", retry="soon"), "retry is a number of seconds, not 'soon'"),
    ]:
        for what in ("source", "sink"):
            began = time.monotonic()
            with pytest.raises(eddy.EddyError, match=text) as error:
                eddy.run(
                    ONE,
                    {"A": eddy.source(address, follow=True, schema=SCHEMA)} if what == "source" else table,
                    address if what == "sink" else None,
                )
            assert "\n" not in str(error.value) and "wrong" not in str(error.value).replace(
                "wrong number", ""
            )
            assert time.monotonic() - began < 5
    with pytest.raises(eddy.EddyError, match="there is no stream nowhere"):
        eddy.source(broker.address("nowhere"))


def test_a_server_that_comes_back_is_read_on(own, caplog):
    """It is killed while a run follows it, and loses nothing that it had."""
    caplog.set_level("INFO", "eddy.run")
    broker = own()
    broker.make("s")
    broker.put("s", numbers(10))
    run = Going(ONE, {"A": eddy.source(broker.address("s"), follow=True)})
    run.until(9)
    broker.server.stop(kill=True)
    time.sleep(0.3)
    broker.server.start()
    broker.put("s", numbers(10, 10))
    run.until(19)
    assert run.end().rows == {"A": 20} and run.error is None
    assert [record.event for record in caplog.records if hasattr(record, "server")] == [
        "server away",
        "server back",
    ]


def test_a_sink_waits_for_its_server(own, tmp_path):
    """Until it is back; nothing is lost."""
    broker = own()
    broker.make("s")
    run = Going(
        ONE,
        {"A": ({"ts": list(range(n, n + 50)), "k": [1] * 50} for n in slowly(broker.server, 40))},
        sink=broker.address("s"),
        every=0.1,
    )
    assert run.join() is not None, run.error
    assert sorted(int(row["ts"]) for row in broker.rows("s")) == list(range(2000))


def slowly(server, batches):
    """Numbers of first rows; in the middle the server is killed, and started again by another thread."""
    for number in range(batches):
        if number == batches // 2:
            server.stop(kill=True)
            threading.Timer(0.3, server.start).start()
        yield number * 50


def test_a_server_that_stays_away_ends_the_run(own):
    """After as long as the address says."""
    broker = own()
    broker.make("s")
    broker.put("s", numbers(10))
    run = Going(ONE, {"A": eddy.source(broker.address("s", retry=0.5), follow=True)})
    run.until(9)
    broker.server.stop(kill=True)
    run.join()
    assert "has been away for 0.5 s: " in str(run.error) and "\n" not in str(run.error)
