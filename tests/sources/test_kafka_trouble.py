"""Topics of Kafka that are not what they were, or not there: deleted messages, wrong options, brokers that go away."""

from __future__ import annotations

import logging
import threading
import time

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import eddy
from tests.kafkas import Cluster, Exact, cluster, read

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


def test_what_was_deleted_is_told_of(mock):
    """A position before the first message that is left, and one behind the last of a topic that was made anew."""
    topic = mock.topic(1)
    mock.put(topic, rows(range(100)))
    source = eddy.source(mock.address(topic), schema=SCHEMA).narrowed({"ts": pa.int64()}, 10)
    reading = source.read(None)
    position = None
    while position is None or position["at"]["0"] < 10:
        position = next(reading).position
    reading.close()
    mock.call("partition_delete_records", topic, 0, 50)
    with pytest.raises(
        eddy.EddyError, match=rf"{topic}/0: messages \d+ to 49 were deleted before they were read"
    ):
        list(source.read(position))
    assert len(collected(eddy.source(mock.address(topic), schema=SCHEMA))[0]) == 50
    with pytest.raises(eddy.EddyError, match=rf"{topic}/0 ends at offset 100, but .* 200"):
        list(source.read({"at": {"0": 200}}))
    with pytest.raises(eddy.EddyError, match="no partition 4 any more"):
        list(source.read({"at": {"4": 0}}))


def test_what_changed_within_a_piece_is_told_of(mock):
    """A checkpoint may stand within a piece: if it has other rows now, nobody knows which were read."""
    topic = mock.topic(1)
    mock.put(topic, rows(range(10)))
    source = eddy.source(mock.address(topic), schema=SCHEMA)
    promised = {"at": {"0": 0}, "end": {"0": 10}, "to": {"0": 10}, "rows": 12}
    with pytest.raises(eddy.EddyError, match="had 12 rows where it has 10 now"):
        list(source.read(promised))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"offset": "latest"}, "unless it is followed"),
        ({"offset": "yesterday"}, "offset is earliest, latest or a time"),
        ({"format": "xml"}, "messages are json, avro, confluent, raw, not 'xml'"),
        ({"format": "avro"}, "the format avro needs its schema"),
        ({"avro": "/nowhere.avsc"}, "cannot read the Avro schema /nowhere.avsc: No such file"),
        ({"avro": '{"type":"long"}'}, "is of no record"),
        ({"avro": '{"type":"recrod"}'}, "the Avro schema is none"),
        ({"format": "json", "avro": '{"type":"record","name":"r","fields":[]}'}, "has no Avro schema"),
        ({"registry": "http://localhost:8081"}, "no schema registry is asked"),
        ({"tombstones": "keep"}, "tombstones are bad rows"),
        ({"timeout": "soon"}, "timeout: "),
        ({"colour": "red"}, "no option 'colour'"),
        ({"no__such": "1"}, 'No such configuration property: "no.such"'),
    ],
)
def test_options_that_do_not_fit(mock, options, said):
    """Each is refused in one line, before anything is read."""
    topic = mock.topic()
    mock.put(topic, rows([1]))
    with pytest.raises(eddy.EddyError, match=said) as told:
        eddy.source(mock.address(topic, **options))
    assert "\n" not in str(told.value)


def test_no_topic_no_broker_no_rows(mock):
    """One line each, in bounded time."""
    with pytest.raises(eddy.EddyError, match=r"^there is no topic nothing at 127.0.0.1:\d+: make it first$"):
        eddy.source(mock.address("nothing"))
    began = time.monotonic()
    with pytest.raises(eddy.EddyError, match=r"127.0.0.1:1/x cannot be reached \(.*Connection refused"):
        eddy.source("kafka://127.0.0.1:1/x?timeout=500ms")
    assert time.monotonic() - began < 3
    with pytest.raises(eddy.EddyError, match="is empty: give its schema"):
        eddy.source(mock.address(mock.topic()))
    with pytest.raises(eddy.EddyError, match="names no topic: write kafka://localhost:9092/orders"):
        eddy.source(f"kafka://{mock.host}")
    assert collected(eddy.source(mock.address(mock.topic()), schema=SCHEMA))[0] == []


def test_a_broker_that_goes_away_and_comes_back(caplog):
    """The run waits, says so once, and goes on; if it stays away for too long, the run ends with an error."""
    with cluster(Cluster) as broker:
        topic = broker.topic()
        broker.put(topic, rows([1, 2]))
        source = eddy.source(broker.address(topic, retry="30s"), follow=True)
        told = []

        def away():
            while not told:
                time.sleep(0.01)
            broker.call("broker_set_down", 1)
            time.sleep(0.7)
            broker.call("broker_set_up", 1)
            broker.put(topic, rows([3, 4, 5]))

        later = threading.Thread(target=away)
        later.start()
        with caplog.at_level(logging.INFO, "eddy.run"):
            found, _ = collected(
                source, limit=4, on_progress=lambda one: told.append(1) if one.results else None
            )
        later.join()
        assert [ts for ts, _ in found] == [1, 2, 3, 4]
        events = [getattr(one, "event", "") for one in caplog.records]
        assert [one for one in events if one.startswith("server")] == ["server away", "server back"]


def test_a_broker_that_stays_away(caplog):
    """Ends the run with an error, after as long as it may be away."""
    with cluster(Cluster) as broker:
        topic = broker.topic()
        broker.put(topic, rows([1, 2]))
        source = eddy.source(broker.address(topic, retry="500ms"), follow=True)
        reading = source.read(None)
        while not (piece := next(reading)).rows:
            pass
        assert piece.rows.num_rows == 2
        broker.call("broker_set_down", 1)
        with pytest.raises(
            eddy.EddyError, match=r"cannot be reached for 0.5 s \(.*: start again when it is back"
        ):
            for _ in reading:
                time.sleep(0.02)


def test_what_the_mock_lacks(mock):
    """Why there is another broker for some tests: it shows what was taken back, and has no offsets by time or in
    transactions. If a newer one has them, these tests can do without the other."""
    topic = mock.topic()
    producer = Producer({"bootstrap.servers": mock.host, "transactional.id": "lacks"})
    consumer = Consumer({"bootstrap.servers": mock.host, "group.id": "lacks", "enable.auto.commit": False})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"taken back", timestamp=1000)
    producer.send_offsets_to_transaction(
        [TopicPartition(topic, 0, 5)], consumer.consumer_group_metadata(), 10
    )
    producer.flush()
    assert read(mock.host, topic) == [(None, b"taken back")]
    producer.abort_transaction(10)
    assert read(mock.host, topic) == [(None, b"taken back")]
    producer.begin_transaction()
    producer.send_offsets_to_transaction(
        [TopicPartition(topic, 0, 6)], consumer.consumer_group_metadata(), 10
    )
    producer.commit_transaction(10)
    assert consumer.committed([TopicPartition(topic, 0)], 10)[0].offset == -1001
    assert consumer.offsets_for_times([TopicPartition(topic, 0, 500)], timeout=10)[0].offset == -1
    consumer.close()
