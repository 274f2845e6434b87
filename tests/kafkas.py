"""A cluster for tests: librdkafka's own mock, a broker that speaks Kafka's protocol on loopback, in a process."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import uuid

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

CLUSTER = """
import ctypes, glob, json, os, sys
import confluent_kafka
there = os.path.join(os.path.dirname(confluent_kafka.__file__), "..", "confluent_kafka.libs", "librdkafka*")
library = ctypes.CDLL((glob.glob(there) or ["librdkafka.so.1"])[0])
for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
    getattr(library, name).restype = ctypes.c_void_p
library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
told = ctypes.create_string_buffer(512)
conf = ctypes.c_void_p(library.rd_kafka_conf_new())
for name, value in (("bootstrap.servers", "127.0.0.1:1"), ("log_level", "0")):
    library.rd_kafka_conf_set(conf, name.encode(), value.encode(), told, 512)
client = ctypes.c_void_p(library.rd_kafka_new(0, conf, told, 512))
cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, 1))
print(library.rd_kafka_mock_cluster_bootstraps(cluster).decode(), flush=True)
for line in sys.stdin:
    name, *given = json.loads(line)
    if name == "partition_delete_records":
        given[2] = ctypes.c_int64(given[2])
    given = [one.encode() if isinstance(one, str) else one for one in given]
    print(getattr(library, "rd_kafka_mock_" + name)(cluster, *given), flush=True)
"""


class Cluster:
    """librdkafka's mock, in a process of its own. What it can be told to do is called by name."""

    command = ("-c", CLUSTER)

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, *self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.host = self.process.stdout.readline().strip()
        assert self.host, "the broker of the tests did not start: pip install 'confluent-kafka>=2.13'"
        self._producer = None

    @property
    def producer(self):
        """One that writes to it."""
        if self._producer is None:
            self._producer = Producer({"bootstrap.servers": self.host, "linger.ms": 0, "log_level": 0})
        return self._producer

    def renew(self):
        """Write with a new producer, which asks anew what there is."""
        self._producer = None

    def told(self, line):
        """What it answers to a line."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def call(self, name, *given):
        """Have it do something."""
        assert self.told(json.dumps([name, *given])) == "0", (name, *given)

    def topic(self, partitions=1):
        """A new topic."""
        name = f"t{uuid.uuid4().hex[:8]}"
        self.call("topic_create", name, partitions, 1)
        return name

    def address(self, topic, **options):
        """Its address."""
        given = "&".join(f"{name.replace('__', '.')}={value}" for name, value in options.items())
        return f"kafka://{self.host}/{topic}" + (f"?{given}" if given else "")

    def put(self, topic, values, partition=0, keys=None, stamps=None):
        """Write messages: objects as JSON, bytes as they are."""
        for number, value in enumerate(values):
            more = {} if stamps is None else {"timestamp": stamps[number]}
            data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            key = None if keys is None else keys[number]
            self.producer.produce(topic, value=data, key=key, partition=partition, **more)
        assert self.producer.flush(10) == 0

    def stop(self):
        """End it."""
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Exact(Cluster):
    """The broker of the tests, whose transactions count or do not."""

    command = ("-m", "tests.kafka_broker")

    def topic(self, partitions=1, name=None):
        """A new topic, or more partitions of one."""
        name = name or f"t{uuid.uuid4().hex[:8]}"
        assert self.told(f"topic {name} {partitions}") == "done"
        return name


def read(host, topic, isolation="read_committed"):
    """All messages of a topic, as (key, value)."""
    settings = {"bootstrap.servers": host, "group.id": "test", "isolation.level": isolation, "log_level": 0}
    settings |= {"enable.auto.commit": False, "enable.partition.eof": True, "fetch.wait.max.ms": 10}
    consumer = Consumer(settings)
    numbers = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    found = []
    while numbers:
        for message in consumer.consume(10_000, 0.05):
            if message.error() is None:
                found.append((message.key(), message.value()))
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                numbers.discard(message.partition())
    consumer.close()
    return found


@contextlib.contextmanager
def cluster(kind=Cluster):
    """One that is stopped in the end."""
    found = kind()
    try:
        yield found
    finally:
        found.stop()
