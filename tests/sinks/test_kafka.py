"""Topics of Kafka as sinks: what is written, exactly once with checkpoints, and what is refused."""

from __future__ import annotations

import io
import json
import logging
import os
import shutil
import threading
import time

import fastavro
import pyarrow as pa
import pytest

import eddy
from tests.kafkas import Cluster, Exact, cluster, read

QUERY = "SELECT A.ts AS ts, A.id AS id FROM A [ROWS 1]"


@pytest.fixture(scope="module")
def broker():
    """With transactions that count or do not."""
    with cluster(Exact) as found:
        yield found


@pytest.fixture(scope="module")
def mock():
    """librdkafka's."""
    with cluster() as found:
        yield found


def table(count=50, start=0):
    """Rows, each of one result."""
    return {"ts": list(range(start, start + count)), "id": [i % 5 for i in range(start, start + count)]}


def values(host, topic, isolation="read_committed"):
    """The results in a topic, by time."""
    return sorted((json.loads(value) for _, value in read(host, topic, isolation)), key=lambda row: row["ts"])


def wanted(count=50):
    """What QUERY gives over a table."""
    found = table(count)
    return [{"ts": ts, "id": i} for ts, i in zip(found["ts"], found["id"], strict=True)]


@pytest.mark.parametrize("exactly", [False, True])
def test_results_are_json_objects(mock, broker, exactly, tmp_path):
    """With and without checkpoints, on either broker; a key chooses the partition."""
    for one in (mock, broker):
        topic = one.topic(4)
        more = {"checkpoint": tmp_path / one.host, "every": 0, "batch": 20} if exactly else {}
        outcome = eddy.run(QUERY, {"A": table()}, one.address(topic, key="id"), **more)
        assert outcome.results == 50 and (outcome.checkpoints > 2) == exactly
        assert values(one.host, topic) == wanted()
        assert {(key, json.loads(value)["id"]) for key, value in read(one.host, topic)} == {
            (str(i).encode(), i) for i in range(5)
        }


def test_results_in_avro(mock, tmp_path):
    """By a schema whose fields are the columns; times as it says."""
    schema = {
        "type": "record",
        "name": "result",
        "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "id", "type": ["null", "int"]},
        ],
    }
    file = tmp_path / "result.avsc"
    file.write_text(json.dumps(schema))
    rows = pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "id": [7, None]})
    topic = mock.topic()
    query = "SELECT A.ts AS at, A.id AS id FROM A [ROWS 1]"
    eddy.run(query, {"A": rows}, mock.address(topic, avro=file))
    plain = fastavro.parse_schema(schema)
    found = [
        fastavro.schemaless_reader(io.BytesIO(value), plain, None) for _, value in read(mock.host, topic)
    ]
    assert [(row["at"].isoformat(), row["id"]) for row in found] == [
        ("1970-01-01T00:00:00+00:00", 7),
        ("1970-01-01T00:00:01+00:00", None),
    ]
    with pytest.raises(eddy.EddyError, match="at is a column of the results or a field of the Avro schema"):
        eddy.run(QUERY, {"A": table()}, mock.address(topic, avro=file))


def test_dead_letters_go_to_a_topic(mock):
    """As to any sink."""
    topic, bad = mock.topic(), mock.topic()
    mock.put(topic, [{"ts": 1, "id": 1}, b"broken"])
    source = eddy.source(mock.address(topic), schema={"ts": "int64", "id": "int64"})
    eddy.run(QUERY, {"A": source}, bad=f"keep:{mock.address(bad)}")
    ((_, letter),) = read(mock.host, bad)
    assert json.loads(letter)["file"] == f"{topic}/0" and json.loads(letter)["content"] == "broken"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"format": "csv"}, "results are written as json or avro, not 'csv'"),
        ({"format": "avro"}, "the format avro needs its schema"),
        ({"key": "user"}, "results have no column user for keys, but ts, id"),
        ({"offset": "latest"}, "no option 'offset'"),
    ],
)
def test_options_that_do_not_fit(mock, options, said):
    """Each is refused in one line, before anything is read."""
    where = mock.address(mock.topic(), **options)
    with pytest.raises(eddy.EddyError, match=said):
        eddy.run(QUERY, {"A": table()}, where)


def test_no_topic_no_broker_too_large(broker, tmp_path):
    """One line each, in bounded time; a result that no broker takes is refused before a checkpoint counts on it."""
    with pytest.raises(eddy.EddyError, match=r"there is no topic nothing at"):
        eddy.run(QUERY, {"A": table()}, broker.address("nothing"))
    began = time.monotonic()
    with pytest.raises(eddy.EddyError, match=r"127.0.0.1:1/x cannot be reached \(.*refused"):
        eddy.run(QUERY, {"A": table()}, "kafka://127.0.0.1:1/x?timeout=300ms")
    assert time.monotonic() - began < 3
    rows = {"ts": [1], "id": ["x" * 2_000_000]}
    with pytest.raises(eddy.EddyError, match="a result has 2000019 bytes, and a message may have 1000000"):
        eddy.run(QUERY, {"A": rows}, broker.address(broker.topic()), checkpoint=tmp_path)


class Stops(eddy.Source):
    """Rows, until it has to stop in the middle."""

    def __init__(self, stop=None):
        self.schema, self.stop = {"ts": "int64", "id": "int64"}, stop

    def read(self, position):
        for start in range(position or 0, 50, 10):
            if start == self.stop:
                raise eddy.EddyError("stop here")
            yield table(10, start), start + 10


def test_a_restart_goes_on(broker, tmp_path):
    """After an error and after an end; what was not committed is not in the topic, and nothing is there twice."""
    topic = broker.topic(2)
    where = broker.address(topic)
    with pytest.raises(eddy.EddyError, match="stop here"):
        eddy.run(QUERY, {"A": Stops(30)}, where, checkpoint=tmp_path, every=0, lateness=0)
    before = values(broker.host, topic)
    assert 0 < len(before) <= 30 and before == wanted(len(before))
    for _ in range(2):
        eddy.run(QUERY, {"A": Stops()}, where, checkpoint=tmp_path, every=0, lateness=0)
        assert values(broker.host, topic) == wanted()
    with pytest.raises(eddy.EddyError, match="the checkpoint writes results to kafka://"):
        eddy.run(QUERY, {"A": Stops()}, tmp_path / "other.csv", checkpoint=tmp_path)


def test_what_is_in_a_topic_cannot_be_taken_back(broker, tmp_path):
    """A checkpoint from before the last commit is refused: with it, results would be there twice."""
    topic = broker.topic(1)
    with pytest.raises(eddy.EddyError, match="stop here"):
        eddy.run(QUERY, {"A": Stops(40)}, broker.address(topic), checkpoint=tmp_path, every=0, lateness=0)
    newest = max(path for path in tmp_path.iterdir() if path.suffix == ".json")
    newest.write_bytes(newest.read_bytes()[:50])
    before = len(values(broker.host, topic))
    with (
        pytest.warns(eddy.CheckpointWarning),
        pytest.raises(eddy.EddyError, match="cannot be taken back, so begin"),
    ):
        eddy.run(QUERY, {"A": Stops()}, broker.address(topic), checkpoint=tmp_path, every=0, lateness=0)
    assert len(values(broker.host, topic)) == before


def test_two_processes_with_one_checkpoint(broker, tmp_path):
    """A copy of a folder of checkpoints is noticed by the broker: the older producer is refused, then and later."""
    topic = broker.topic(1)
    where = broker.address(topic)
    with pytest.raises(eddy.EddyError, match="stop here"):
        eddy.run(QUERY, {"A": Stops(20)}, where, checkpoint=tmp_path / "a", every=0, lateness=0)

    class Copied(Stops):
        def read(self, position):
            for number, piece in enumerate(super().read(position)):
                if number == 1:
                    shutil.copytree(tmp_path / "a", tmp_path / "b")
                    (tmp_path / "b" / "lock").unlink()
                    eddy.run(QUERY, {"A": Stops()}, where, checkpoint=tmp_path / "b", every=0, lateness=0)
                yield piece

    with pytest.raises(eddy.EddyError, match="another process writes with this checkpoint"):
        eddy.run(QUERY, {"A": Copied()}, where, checkpoint=tmp_path / "a", every=0, lateness=0)
    with pytest.raises(eddy.EddyError, match="cannot be taken back"):
        eddy.run(QUERY, {"A": Stops()}, where, checkpoint=tmp_path / "a", every=0, lateness=0)
    assert values(broker.host, topic) == wanted()


def test_a_broker_that_goes_away_and_comes_back(tmp_path, caplog):
    """The run waits and goes on; without checkpoints, results that cannot be delivered in time end it."""
    with cluster(Cluster) as broker:
        topic = broker.topic()

        class Away(Stops):
            def read(self, position):
                for number, piece in enumerate(super().read(position)):
                    if number == 2:
                        broker.call("broker_set_down", 1)
                        threading.Timer(1, lambda: broker.call("broker_set_up", 1)).start()
                    yield piece

        eddy.run(QUERY, {"A": Away()}, broker.address(topic), lateness=0)
        assert values(broker.host, topic) == wanted()
        topic = broker.topic()
        with caplog.at_level(logging.WARNING, "eddy.run"):
            eddy.run(QUERY, {"A": Away()}, broker.address(topic), checkpoint=tmp_path, every=0, lateness=0)
        assert values(broker.host, topic) == wanted()
        broker.call("broker_set_down", 1)
        began = time.monotonic()
        with pytest.raises(eddy.EddyError, match="cannot be reached"):
            eddy.run(
                QUERY, {"A": Stops()}, broker.address(topic, timeout="300ms"), checkpoint=tmp_path / "new"
            )
        assert time.monotonic() - began < 5


def test_a_folder_keeps_only_what_is_needed(broker, tmp_path):
    """What is in the topic is emptied, and only its number stays."""
    eddy.run(QUERY, {"A": Stops()}, broker.address(broker.topic()), checkpoint=tmp_path, every=0, lateness=0)
    (name,) = os.listdir(tmp_path / "results")
    assert name.endswith(".done") and os.path.getsize(tmp_path / "results" / name) == 0
