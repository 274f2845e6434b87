"""A broker with what librdkafka's mock lacks: transactions that count or do not, offsets in them, offsets by time.

It speaks the wire protocol, in the oldest versions that have transactions, to the real client; logs are in memory. As
the mock is measured (tests/sources/test_kafka.py), it shows messages of open and aborted transactions to everybody, and
drops offsets that are committed in one: so nothing that is exact can be tried on it alone.

`python -m tests.kafka_broker` prints its address, and takes a line "topic name partitions" from standard input: so many
partitions the topic has from now on.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time

from tests.kafka_log import Log, Reader, many, pack, text

API = {0: (0, 3), 1: (0, 4), 2: (0, 2), 3: (0, 4), 9: (0, 2), 10: (0, 1), 18: (0, 0)}
API |= {22: (0, 1), 24: (0, 0), 25: (0, 0), 26: (0, 1), 28: (0, 0)}
UNKNOWN_TOPIC, OUT_OF_RANGE, FENCED = 3, 1, 47


class Broker:
    """All topics, groups and transactions."""

    def __init__(self):
        self.lock = threading.Condition()
        self.topics, self.groups, self.producers, self.transactions = {}, {}, {}, {}
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.next = 1000

    def serve(self):
        while True:
            connection, _ = self.server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        file = connection.makefile("rb")
        while True:
            try:
                request = Reader(file.read(struct.unpack(">i", file.read(4))[0]))
            except (OSError, struct.error):
                return  # the client is gone
            key, version, number = request.take("h"), request.take("h"), request.take("i")
            request.text()
            if key == 18:
                answer = pack("h", 35 if version else 0) + many([pack("hhh", k, *v) for k, v in API.items()])
            else:
                answer = getattr(self, f"api_{key}")(request)
            data = pack("i", number) + answer
            try:
                connection.sendall(pack("i", len(data)) + data)
            except OSError:
                return

    def log(self, topic, partition):
        logs = self.topics.get(topic, ())
        return logs[partition] if partition < len(logs) else None

    def each(self, topics, one):
        with self.lock:
            found = [text(name) + many([one(name, *given) for given in some]) for name, some in topics]
            self.lock.notify_all()
        return many(found)

    def api_0(self, r):  # Produce
        r.text(), r.take("h"), r.take("i")
        topics = r.topics(lambda: (r.take("i"), r.raw(r.take("i"))))

        def one(name, partition, data):
            log = self.log(name, partition)
            pid, epoch = struct.unpack_from(">qh", data, 43)
            if log is None or (pid in self.producers and self.producers[pid] != epoch):
                return pack("ihqq", partition, UNKNOWN_TOPIC if log is None else FENCED, -1, -1)
            return pack("ihqq", partition, 0, log.append(data), -1)

        return self.each(topics, one) + pack("i", 0)

    def api_1(self, r):  # Fetch
        r.take("i")
        until = time.monotonic() + r.take("i") / 1000
        r.take("i"), r.take("i")
        committed = r.take("b")
        topics = r.topics(lambda: (r.take("i"), r.take("q"), r.take("i")))

        def one(name, partition, offset, most):
            log = self.log(name, partition)
            if log is None or offset > log.end:
                return pack("ihqqii", partition, UNKNOWN_TOPIC if log is None else OUT_OF_RANGE, -1, -1, 0, 0)
            data, aborted = log.read(offset, committed, most)
            listed = many([pack("qq", *one) for one in aborted])
            return pack("ihqq", partition, 0, log.end, log.stable) + listed + pack("i", len(data)) + data

        with self.lock:
            while time.monotonic() < until and not any(
                self.log(name, some[0]) is None or self.log(name, some[0]).read(some[1], committed, 1)[0]
                for name, parts in topics
                for some in parts
            ):
                self.lock.wait(until - time.monotonic())
        return pack("i", 0) + self.each(topics, one)

    def api_2(self, r):  # ListOffsets
        r.take("i")
        committed = r.take("b")

        def one(name, partition, stamp):
            log = self.log(name, partition)
            if log is None:
                return pack("ihqq", partition, UNKNOWN_TOPIC, -1, -1)
            end = log.stable if committed else log.end
            later = (first for first, _, newest, _ in log.batches if newest >= stamp)
            offset = 0 if stamp == -2 else end if stamp == -1 else next(later, -1)
            return pack("ihqq", partition, 0, -1, offset)

        return pack("i", 0) + self.each(r.topics(lambda: (r.take("i"), r.take("q"))), one)

    def api_3(self, r):  # Metadata
        names = r.many(r.text) or list(self.topics)
        found = []
        for name in names:
            count = len(self.topics.get(name, ()))
            parts = [pack("hiiiiii", 0, number, 1, 1, 1, 1, 1) for number in range(count)]
            found.append(pack("h", 0 if count else UNKNOWN_TOPIC) + text(name) + b"\0" + many(parts))
        here = pack("i", 1) + text("127.0.0.1") + pack("i", self.port) + text(None)
        return pack("i", 0) + many([here]) + text("test") + pack("i", 1) + many(found)

    def api_9(self, r):  # OffsetFetch
        group = self.groups.get(r.text(), {})

        def one(name, partition):
            return pack("iq", partition, group.get((name, partition), -1)) + text("") + pack("h", 0)

        return self.each(r.topics(lambda: (r.take("i"),)), one) + pack("h", 0)

    def api_10(self, r):  # FindCoordinator
        return pack("ih", 0, 0) + text(None) + pack("i", 1) + text("127.0.0.1") + pack("i", self.port)

    def api_22(
        self, r
    ):  # InitProducerId: a transactional id gets a new epoch, and what it left open is aborted
        name = r.text()
        with self.lock:
            if name in self.transactions:
                pid = self.transactions[name]["pid"]
                self.finish(name, False)
                self.producers[pid] += 1
            else:
                self.next += 1
                pid = self.next
                self.producers[pid] = 0
            if name is not None:
                self.transactions[name] = {"pid": pid, "offsets": []}
            return pack("ihqh", 0, 0, pid, self.producers[pid])

    def finish(self, name, committed):
        state = self.transactions[name]
        for logs in self.topics.values():
            for log in logs:
                log.finish(state["pid"], self.producers[state["pid"]], committed)
        for group, place, offset in state["offsets"] if committed else ():
            self.groups.setdefault(group, {})[place] = offset
        state["offsets"] = []
        self.lock.notify_all()

    def fenced(self, pid, epoch):
        return FENCED if self.producers.get(pid) != epoch else 0

    def api_24(self, r):  # AddPartitionsToTxn
        r.text()
        error = self.fenced(r.take("q"), r.take("h"))
        return pack("i", 0) + self.each(
            r.topics(lambda: (r.take("i"),)), lambda name, n: pack("ih", n, error)
        )

    def api_25(self, r):  # AddOffsetsToTxn
        r.text()
        return pack("ih", 0, self.fenced(r.take("q"), r.take("h")))

    def api_28(self, r):  # TxnOffsetCommit
        name, group = r.text(), r.text()
        error = self.fenced(r.take("q"), r.take("h"))

        def one(topic, partition, offset, _):
            if not error:
                self.transactions[name]["offsets"].append((group, (topic, partition), offset))
            return pack("ih", partition, error)

        return pack("i", 0) + self.each(r.topics(lambda: (r.take("i"), r.take("q"), r.text())), one)

    def api_26(self, r):  # EndTxn
        name = r.text()
        error = self.fenced(r.take("q"), r.take("h"))
        with self.lock:
            if not error:
                self.finish(name, bool(r.take("b")))
        return pack("ih", 0, error)


def main():
    broker = Broker()
    threading.Thread(target=broker.serve, daemon=True).start()
    print(f"127.0.0.1:{broker.port}", flush=True)
    for line in sys.stdin:
        _, name, count = line.split()
        with broker.lock:
            logs = broker.topics.setdefault(name, [])
            logs += [Log() for _ in range(int(count) - len(logs))]
        print("done", flush=True)


if __name__ == "__main__":
    main()
