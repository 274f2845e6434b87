"""What Kafka costs: its client alone, and `eddy.run` over messages in JSON, into files and into a topic.

`python -m benchmarks.kafka [--rounds N] [--write]` writes messages into librdkafka's own mock cluster, a broker on
loopback in a process of its own (which keeps 100,000 messages of a partition at most), and prints messages a second of
wall time and of this process's processor time: read by the client alone, as it hands them over, and with their values
taken out; decoded and merged by the source; and by a run of one stream. The other way round: handed to the client
alone, and by a run, with and without checkpoints. All sides run in turns; the figure is the median of their rounds.
With ``--write`` the table goes into docs/kafka.md.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

import eddy
from benchmarks.goals import ENGINE, Line, bars
from benchmarks.pages import put
from benchmarks.stamp import load
from eddy.sources.kafka_reading import SETTINGS
from tests.kafkas import cluster

PARTITIONS, EACH, ROUNDS = 4, 90_000, 5
QUERY = "SELECT A.ts AS ts, A.k AS k, A.v AS v FROM A [ROWS 1]"
SCHEMA = {"ts": "int64", "k": "int64", "v": "int64"}
BATCH = 16_384
MEASURES = (*ENGINE, "eddy/running", "eddy/sinks", "eddy/sources", "benchmarks/kafka.py")
BARS = (
    ("eddy.run into Parquet", "the client alone, values taken out", 1.0),
    ("eddy.run into a topic", "the producer alone", 1.0),
)
"""Limited by its client: a run would be as fast by the clock as the client is alone."""


def fill(host: str, topic: str) -> None:
    """Messages whose times go on alike in all partitions."""
    producer = Producer(
        {"bootstrap.servers": host, "queue.buffering.max.messages": 1_000_000, "linger.ms": 20}
    )
    for number in range(PARTITIONS):
        values = (
            f'{{"ts": {i * PARTITIONS + number}, "k": {i % 997}, "v": {i % 1000}}}' for i in range(EACH)
        )
        producer.produce_batch(topic, [{"value": value} for value in values], partition=number)
    assert producer.flush(60) == 0


def client_alone(host: str, topic: str, values: bool) -> int:
    """Messages, in batches as a run has them."""
    consumer = Consumer({"bootstrap.servers": host, **SETTINGS})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    count, left = 0, PARTITIONS
    while left:
        messages = consumer.consume(BATCH, 0.02)
        if values:
            good = [message for message in messages if message.error() is None]
            count += len([message.value() for message in good])
            messages = [message for message in messages if message.error() is not None]
        for message in messages:
            if message.error() is None:
                count += 1
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF
                left -= 1
    consumer.close()
    return count


def source_alone(address: str) -> int:
    """The source of a run, with nobody behind it."""
    pieces: Any = eddy.source(address, schema=SCHEMA).read(None)
    return sum(piece.rows.num_rows for piece in pieces if piece.rows is not None)


def producer_alone(host: str, topic: str) -> int:
    """As many messages of the same size as a run writes, prepared before."""
    producer = Producer({"bootstrap.servers": host, "enable.idempotence": True, "linger.ms": 20})
    count = PARTITIONS * EACH
    for _ in range(0, count, 10_000):
        while len(producer) > 80_000:
            producer.poll(0.05)
        producer.produce_batch(
            topic, [{"value": b'{"ts": 100000, "k": 500, "v": 500}'} for _ in range(10_000)]
        )
    assert producer.flush(60) == 0
    return count


def run(address: str, **options: Any) -> int:
    source = eddy.source(address, schema=SCHEMA)
    return eddy.run(QUERY, {"A": source}, **options).results


def measured(rounds: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Seconds of each side, by the clock and of processor time."""
    with cluster() as broker, tempfile.TemporaryDirectory() as where:
        topic, out = broker.topic(PARTITIONS), broker.topic(PARTITIONS)
        fill(broker.host, topic)
        address, to = broker.address(topic), broker.address(out)
        number, file = iter(range(1 << 30)), f"{where}/out.parquet"

        def exactly() -> int:
            return run(address, lateness=0, sink=to, checkpoint=f"{where}/c{next(number)}", every="1 s")

        sides: dict[str, Callable[[], int]] = {
            "the client alone": lambda: client_alone(broker.host, topic, False),
            "the client alone, values taken out": lambda: client_alone(broker.host, topic, True),
            "the source alone: decoded and merged": lambda: source_alone(address),
            "eddy.run into Parquet": lambda: run(address, lateness=0, sink=file),
            "eddy.run into Parquet, looked through for disorder first": lambda: run(address, sink=file),
            "the producer alone": lambda: producer_alone(broker.host, out),
            "eddy.run into a topic": lambda: run(address, lateness=0, sink=to),
            "eddy.run into a topic, exactly once": exactly,
        }
        wall: dict[str, list[float]] = {name: [] for name in sides}
        own: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                started, used = time.perf_counter(), time.process_time()
                assert side() == PARTITIONS * EACH, name
                wall[name].append(time.perf_counter() - started)
                own[name].append(time.process_time() - used)
    medians = ({name: statistics.median(rows) for name, rows in found.items()} for found in (wall, own))
    return next(medians), next(medians)


def told(wall: Mapping[str, float], own: Mapping[str, float], rounds: int) -> list[str]:
    """The table, and how near the sides come to the client."""
    count = PARTITIONS * EACH
    made = ["| side | messages/s | messages/s of processor time |", "|---|---:|---:|"]
    made += [f"| {name} | {count / wall[name]:,.0f} | {count / own[name]:,.0f} |" for name in wall]
    goals = [
        Line(f"{side}, of '{beside}', by the clock", wall[beside] / wall[side], "", least, at_least=True)
        for side, beside, least in BARS
    ]
    return [*made, "", *bars(goals), "", f"{count:,} messages in {PARTITIONS} partitions, {rounds} rounds."]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kafka", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--write", action="store_true", help="keep the table, and write it into docs/kafka.md"
    )
    given = parser.parse_args()
    before = load()
    made = told(*measured(given.rounds), given.rounds)
    print(*made, sep="\n")
    if given.write:
        put("kafka.md", "messages beside the client", "kafka", made, MEASURES, before)


if __name__ == "__main__":
    main()
