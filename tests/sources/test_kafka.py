"""Topics of Kafka as sources: against librdkafka's own mock cluster, and a broker with transactions and times."""

from __future__ import annotations

import io
import json
import logging
import threading

import fastavro
import pyarrow as pa
import pytest
from confluent_kafka import Producer

import eddy
from eddy.cli import main
from tests.kafkas import Exact, cluster, read

QUERY = "SELECT A.ts AS ts, A.id AS id FROM A [ROWS 1]"
SCHEMA = {"ts": "int64", "id": "int64"}


@pytest.fixture(scope="module")
def mock():
    """librdkafka's."""
    with cluster() as found:
        yield found


@pytest.fixture(scope="module")
def exact():
    """The one of these tests."""
    with cluster(Exact) as found:
        yield found


def rows(times, start=0):
    """Rows of SCHEMA."""
    return [{"ts": ts, "id": start + i} for i, ts in enumerate(times)]


def collected(source, **options):
    """The results of QUERY over a source, as rows, and the outcome."""
    outcome = eddy.run(QUERY, {"A": source}, **options)
    return list(zip(*outcome.to_arrow().to_pydict().values(), strict=True)), outcome


def pieces(source, position=None):
    """(row, behind): each row, and the position behind its piece; and each position at which there are none."""
    found = []
    for piece in source.read(position):
        found.append(
            ([] if piece.rows is None else piece.rows.to_pylist(), json.loads(json.dumps(piece.position)))
        )
    return found


def test_partitions_are_merged_by_time(mock):
    """A topic of three gives one order, whatever the client fetches first, and so no row is out of it."""
    topic = mock.topic(3)
    for number in range(3):
        mock.put(topic, rows(range(number, 600, 3)), number)
    source = eddy.source(mock.address(topic))
    assert source.schema == pa.schema({"ts": pa.int64(), "id": pa.int64()})
    for given in (source, eddy.source(mock.address(topic), schema=SCHEMA)):
        found, outcome = collected(given, batch=50)
        assert [ts for ts, _ in found] == list(range(600))
        assert outcome.lateness is None and not outcome.bad


def test_disorder_within_a_partition_is_measured(mock):
    """As in files: a bounded topic is looked through, and no row is late."""
    topic = mock.topic(2)
    mock.put(topic, rows([1, 5, 9, 3, 12]), 0)
    mock.put(topic, rows([2, 4, 8]), 1)
    found, outcome = collected(mock.address(topic))
    assert [ts for ts, _ in found] == [1, 2, 3, 4, 5, 8, 9, 12]
    assert outcome.lateness == {"A": 6}


def test_every_position_goes_on_where_it_was(exact):
    """Also one between two pieces, where what comes next was told before; in batches of another size."""
    topic = exact.topic(3)
    for number in range(3):
        exact.put(topic, [*rows(range(number, 90, 3)), b"bad", *rows(range(90, 99))], number)
    source = eddy.source(exact.address(topic), schema=SCHEMA)
    types = {"ts": pa.int64(), "id": pa.int64()}
    whole = pieces(source.narrowed(types, 10))
    every = [row for some, _ in whole for row in some]
    assert len(every) == 90 + 27
    assert sum("to" in position for _, position in whole) > 5
    for number, (_, position) in enumerate(whole):
        behind = [row for some, _ in whole[number + 1 :] for row in some]
        again = [row for some, _ in pieces(source.narrowed(types, 7), position) for row in some]
        ahead = len(whole[number + 1][0]) if "to" in position else 0
        assert again[:ahead] == behind[:ahead]
        assert sorted(map(str, again)) == sorted(map(str, behind))


def test_bad_messages_are_dead_letters(mock, tmp_path):
    """With topic, partition and offset; tombstones are some, unless they are to be skipped. Nothing stops."""
    topic = mock.topic(2)
    mock.put(topic, [{"ts": 1, "id": 0}, b"{broken", None, {"ts": "x", "id": 1}, b"\xff\xfe", b"[1]"], 0)
    mock.put(
        topic, [{"ts": 2, "id": None}, {"ts": None, "id": 3}, b"", b'{"ts": 3, "id": 4}{"ts": 4, "id": 5}'], 1
    )
    kept = tmp_path / "bad.jsonl"
    found, outcome = collected(eddy.source(mock.address(topic), schema=SCHEMA), bad=f"keep:{kept}")
    assert found == [(1, 0), (2, None)]
    letters = [json.loads(line) for line in kept.read_text().splitlines()]
    places = {(one["file"], one["row"]): one for one in letters}
    assert set(places) == {
        *((f"{topic}/0", row) for row in range(1, 6)),
        *((f"{topic}/1", row) for row in (1, 2, 3)),
    }
    assert places[f"{topic}/0", 2]["reason"] == "a tombstone: it has no value"
    assert places[f"{topic}/0", 4]["reason"] == "not UTF-8"
    assert places[f"{topic}/1", 1]["reason"] == "column ts: the time is NULL"
    assert f"{topic}/0, row 1: " in outcome.letters[0]
    _, outcome = collected(eddy.source(mock.address(topic, tombstones="skip"), schema=SCHEMA))
    assert outcome.bad == {"A": 7}
    with pytest.raises(eddy.BatchError, match=f"{topic}/0, row 1: "):
        collected(eddy.source(mock.address(topic), schema=SCHEMA), bad="error")


def test_two_halves_of_an_object_are_no_row(mock):
    """Messages are read many at a time, and each stands for itself: what makes as many rows together does not count."""
    topic = mock.topic()
    halves = [b'{"ts": 1', b"}", b'{"ts": 2}{"ts": 3}', b'{"ts": 4,\n "id":\n 7}', b'  {"ts": 5} ']
    mock.put(topic, halves)
    found, outcome = collected(eddy.source(mock.address(topic), schema=SCHEMA))
    assert found == [(4, 7), (5, None)]
    assert outcome.bad == {"A": 3}


def test_key_and_time_of_messages_are_columns(mock):
    """By options; a key that does not fit the type that it is given is a bad row."""
    topic = mock.topic()
    keys, stamps = [b"7", b"8", None, b"x", b"\xff"], [1000, 2000, 3000, 4000, 5000]
    mock.put(topic, [{"v": i} for i in range(5)], keys=keys, stamps=stamps)
    address = mock.address(topic, key="user", timestamp="at")
    assert eddy.source(address).schema.names == ["v", "user", "at"]
    source = eddy.source(address, schema={"v": "int64", "user": "int64", "at": "timestamp[ms]"})
    outcome = eddy.run("SELECT A.user AS k, A.at AS t, A.v AS v FROM A [ROWS 1]", {"A": source})
    found = outcome.to_arrow()
    assert found.column("k").to_pylist() == [7, 8, None]
    assert found.column("t").cast(pa.int64()).to_pylist() == [1000, 2000, 3000]
    assert [letter.partition(": ")[0] for letter in outcome.letters] == [
        f"{topic}/0, row 3",
        f"{topic}/0, row 4",
    ]
    only = eddy.run("SELECT A.user AS k FROM A [ROWS 1]", {"A": eddy.source(mock.address(topic, key="user"))})
    assert only.to_arrow().column("k").to_pylist() == ["7", "8", None, "x"]
    with pytest.raises(eddy.EddyError, match="has a column v already"):
        eddy.source(mock.address(topic, key="v"))


AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "id", "type": ["null", "int"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["buy", "sell"]}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
    ],
}


def avro(ts, name, kind="buy"):
    """A row of AVRO."""
    file = io.BytesIO()
    fastavro.schemaless_writer(file, AVRO, {"ts": ts, "id": name, "kind": kind, "tags": {"a": "b"}})
    return file.getvalue()


def test_messages_in_avro(mock, tmp_path):
    """By a schema in a file or in the format; with Confluent's prefix, which is skipped; what is not whole is bad."""
    plain, prefixed = mock.topic(), mock.topic()
    good = [avro(1000, 1), avro(2000, None, "sell")]
    mock.put(plain, [*good, good[0] + b"x", good[0][:-1], b"", b"\xff" * 30])
    mock.put(prefixed, [b"\0\0\0\0\x07" + good[0], good[1], b"\0\0\0\0\x08" + good[1], b"\0\0"])
    file = tmp_path / "row.avsc"
    file.write_text(json.dumps(AVRO))
    query = "SELECT A.ts AS ts, A.id AS id, A.kind AS kind FROM A [ROWS 1]"
    wanted = {"ts": [1000, 2000], "id": [1, None], "kind": ["buy", "sell"]}
    for source in (
        eddy.source(mock.address(plain, avro=file)),
        eddy.source(mock.address(plain), format=f"avro:{json.dumps(AVRO)}"),
        eddy.source(mock.address(prefixed, format="confluent", avro=file)),
    ):
        outcome = eddy.run(query, {"A": source})
        table = outcome.to_arrow()
        assert table.schema.field("ts").type == pa.timestamp("ms", "UTC")
        assert table.set_column(0, "ts", table.column("ts").cast(pa.int64())).to_pydict() == wanted
        assert outcome.bad["A"] in (2, 4)


def test_raw_messages(mock):
    """The value is a column, of text."""
    topic = mock.topic()
    mock.put(topic, [b"one", None, b"\xff", b"two"], stamps=[1, 2, 3, 4])
    source = eddy.source(mock.address(topic, format="raw", timestamp="ts"))
    found = eddy.run("SELECT A.value AS value FROM A [ROWS 1]", {"A": source})
    assert found.to_arrow().column("value").to_pylist() == ["one", None, "two"]
    assert found.letters == (f"{topic}/0, row 2: not UTF-8: '\N{REPLACEMENT CHARACTER}'",)


def test_a_run_is_bounded_unless_it_follows(mock):
    """What comes later is not read; with follow it is, until the run is stopped."""
    topic = mock.topic(2)
    mock.put(topic, rows([1, 2, 3]))
    source = eddy.source(mock.address(topic))
    assert source.bounded and source.size() == 3
    mock.put(topic, rows([4, 5]), 1)
    assert len(collected(source)[0]) == 3
    live = eddy.source(mock.address(topic), follow=True)
    assert not live.bounded and live.size() is None
    later = threading.Timer(0.3, lambda: mock.put(topic, rows([6, 7, 8])))
    later.start()
    found, outcome = collected(live, limit=7)
    later.join()
    assert [ts for ts, _ in found] == [1, 2, 3, 4, 5, 6, 7]
    assert outcome.ended == "limit"


def test_from_the_latest_offset_on(mock):
    """Only what comes later."""
    topic = mock.topic()
    mock.put(topic, rows([1, 2, 3]))
    source = eddy.source(mock.address(topic, offset="latest"), follow=True)
    assert source.size() is None
    source.reached({"at": {"0": 3}})  # asks for the offsets
    mock.put(topic, rows([4, 5, 6, 7]))  # the last one waits for the watermark
    assert [ts for ts, _ in collected(source, limit=3)[0]] == [4, 5, 6]


def test_from_a_time_on(exact):
    """By the times of messages: a number of milliseconds, or a text."""
    topic = exact.topic()
    for number in range(5):
        exact.put(topic, rows([number]), stamps=[1_700_000_000_000 + 1000 * number])
    for offset in ("1700000002000", "2023-11-14T22:13:22Z", "2023-11-14 22:13:21.5"):
        found, _ = collected(eddy.source(exact.address(topic, offset=offset), schema=SCHEMA))
        assert [ts for ts, _ in found] == [2, 3, 4]
    found, _ = collected(eddy.source(exact.address(topic, offset="2030-01-01"), schema=SCHEMA))
    assert found == []


def test_partitions_that_are_added_are_read(exact, caplog):
    """While a run follows; from their first message on."""
    topic = exact.topic(1)
    exact.put(topic, rows([1, 2]))

    def add(progress):
        if progress.results and not added:
            added.append(exact.topic(2, topic))
            exact.renew()
            exact.put(topic, rows([3, 4, 5]), 1)

    added = []
    source = eddy.source(exact.address(topic, refresh="100ms"), follow=True)
    with caplog.at_level(logging.INFO, "eddy.run"):
        found, _ = collected(source, limit=4, on_progress=add)
    assert [ts for ts, _ in found] == [1, 2, 3, 4]
    assert [one.partition for one in caplog.records if getattr(one, "event", "") == "partition added"] == [1]


def test_what_a_transaction_took_back_is_not_read(exact, mock):
    """And offsets that are no messages are passed over, with the mock's broker too."""
    for broker in (exact, mock):
        topic = broker.topic()
        producer = Producer({"bootstrap.servers": broker.host, "transactional.id": topic})
        producer.init_transactions(10)
        for number, good in enumerate([True, broker is mock, True]):
            producer.begin_transaction()
            for row in rows([2 * number, 2 * number + 1]):
                producer.produce(topic, json.dumps(row).encode())
            producer.flush()
            producer.commit_transaction(10) if good else producer.abort_transaction(10)
        found, _ = collected(eddy.source(broker.address(topic), schema=SCHEMA))
        assert [ts for ts, _ in found] == ([0, 1, 4, 5] if broker is exact else [0, 1, 2, 3, 4, 5])
        producer.begin_transaction()
        producer.produce(topic, b'{"ts": 9}')
        producer.flush()
        if broker is exact:  # a transaction that is open holds nobody up
            assert len(collected(eddy.source(broker.address(topic), schema=SCHEMA))[0]) == 4
        producer.abort_transaction(10)


def test_from_the_shell(mock, capfd, tmp_path):
    """Addresses are sources and sinks of `eddy run`; a topic that there is not is told of in a line."""
    topic, out = mock.topic(2), mock.topic()
    mock.put(topic, rows([1, 3]), 0)
    mock.put(topic, rows([2, 4], 2), 1)
    query = "SELECT A.id AS id FROM A [ROWS 1] WHERE A.ts > 1"
    assert main(["run", query, f"A={mock.address(topic)}", "--out", mock.address(out, key="id")]) == 0
    assert read(mock.host, out) == [(str(i).encode(), json.dumps({"id": i}).encode()) for i in (2, 1, 3)]
    assert capfd.readouterr().err.splitlines()[-1].startswith("3 results of 4 A rows in ")
    assert main(["run", query, f"A={mock.address('nothing')}", "--out", "-"]) == 2
    assert f"there is no topic nothing at {mock.host}: make it first" in capfd.readouterr().err
