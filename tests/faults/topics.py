"""Runs from a topic of Kafka into another one that are killed.

The broker is that of `tests/kafka_broker.py`, since librdkafka's mock has no transactions that do not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections import Counter

import confluent_kafka
import pyarrow as pa

from eddy.sinks import kafka_delivery
from tests.faults.killed import Steps, World
from tests.kafkas import Exact, cluster, read
from tests.runs import counted


class CallSteps(Steps):
    """Steps of a transaction, before and behind each call of the client, and of what is renamed."""

    def watch(self):
        steps = self
        os.replace, os.truncate = self.before(os.replace), self.before(os.truncate)

        class Stepped(confluent_kafka.Producer):
            pass

        def stepped(name):
            def call(self, *given):
                steps()
                found = getattr(confluent_kafka.Producer, name)(self, *given)
                steps()
                return found

            return call

        names = (
            "init_transactions begin_transaction produce_batch send_offsets_to_transaction commit_transaction"
        )
        for name in names.split():
            setattr(Stepped, name, stepped(name))
        kafka_delivery.Producer = Stepped


class KafkaSteps(CallSteps):
    """And all others."""

    def watch(self):
        super().watch()
        Steps.watch(self)


class KafkaWorld(World):
    """One stream comes from a topic, and results go to one."""

    steps = KafkaSteps

    def __init__(self, folder, seed, broker, rows, disorder=0):
        super().__init__(folder, seed, "out", disorder, rows)
        self.broker, self.topic = broker, broker.topic(2)
        source = broker.topic(2)
        self.letters = Counter()
        with open(self.sources["A"], encoding="utf-8") as file:
            lines = [line.strip().split(",") for line in file][1:]
        for number, line in enumerate(lines):
            ts, k, name, note = (text.strip('"') for text in line)
            good = k != "not a number"
            row = (
                {"ts": int(ts), "k": int(k) if k else None, "id": int(name), "note": note}
                if good
                else {"ts": "x"}
            )
            if not good:
                self.letters[f"{source}/{number % 2}", number // 2] += 1
            broker.producer.produce(source, value=json.dumps(row).encode(), partition=number % 2)
        broker.producer.flush(10)
        self.sources["A"] = broker.address(source)
        self.out = broker.address(self.topic, key="a")

    def check(self):
        """Every result is there once, and so is every bad row."""
        rows = [json.loads(value) for _, value in read(self.broker.host, self.topic)]
        assert counted(pa.Table.from_pylist(rows, pa.schema({c: pa.int64() for c in "abc"}))) == self.wanted
        with open(self.folder / "bad.jsonl", encoding="utf-8") as file:
            found = Counter((json.loads(line)["file"], json.loads(line)["row"]) for line in file)
        assert found == self.letters


def again_and_again(folder, seed, broker):
    """Kill at random steps, with other sizes of batches and plans after each restart: how often that was."""
    pick = random.Random(seed)
    one = KafkaWorld(folder, seed, broker, rows=40, disorder=pick.choice([0, 4]))
    kills = 0
    while True:
        options = {"batch": pick.choice([5, 8, 30]), "plan": pick.choice([None, "(A B) C", "A (B C)"])}
        if one.killed(pick.randint(20, 150) if kills < 4 else 10**9, **options) is not None:
            break
        kills += 1
    one.check()
    return Counter({"step": kills})


@contextlib.contextmanager
def trying():
    """One broker for all seeds."""
    with cluster(Exact) as broker:
        yield lambda folder, seed: again_and_again(folder, seed, broker)
