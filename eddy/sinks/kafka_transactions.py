"""Results in Kafka exactly once.

A transaction of Kafka does not outlive its process: a producer that begins anew aborts what the one before left open.
So it cannot be prepared now and committed later, and results are kept beside the checkpoints in the meantime:

1. `write` appends the messages to a file in the folder of checkpoints. `prepare` forces it to the disk; its number is
   in the token, which the manifest keeps together with positions and engine.
2. `commit` writes all messages of the file in one transaction. In the same transaction it sets the offset of a group of
   its own to the number: as consumers' offsets do, this counts if and only if the messages do. Then the file is emptied
   and renamed to .done.
3. A restart begins a producer of the same transactional id, which ends what the last one has left open, one way or the
   other, and only then asks for the number. If it is that of the token, the messages are in; if it is the one before,
   they are written now from the file.

So whatever happens in between, each file is in the topic as a whole and once, for readers with
`isolation.level=read_committed`. What is in a topic cannot be taken back: where the newest checkpoint is lost after its
commit, the one before is refused. Brokers forget a group a week after its last commit, unless they are told otherwise;
then a restart that would have to ask is refused, too.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from typing import Any

import pyarrow as pa
from attrs import define, field
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from eddy.connect.kafka import FENCED, LOG, OUT_OF_REACH, Contact, told
from eddy.errors import EddyError
from eddy.sinks.disk import explained, force, force_folder
from eddy.sinks.kafka_delivery import Delivery, patience
from eddy.sinks.kafka_messages import COLUMNS

_STAGED = re.compile(r"^(\d{9})\.(arrow|done)$")
SETTINGS = {"transaction.timeout.ms": 300_000, "metadata.recovery.strategy": "none"}
"""The second, since librdkafka 2.16 else waits for ever in `send_offsets_to_transaction` after all brokers were away:
it lets go of them, and of what waits for them. Here a new client is made where one has failed."""
PAUSE = 0.2
"""Seconds until a transaction is tried again."""


@define(eq=False)
class Transactions:
    """Writes files of messages, each as one transaction."""

    contact: Contact
    folder: str
    id: str = ""
    """Of this run and its restarts: the transactional id and the group."""
    number: int = 0
    """Of the newest file that is prepared."""
    done: int = 0
    """Of the newest that is in the topic."""
    _delivery: Any = None
    _markers: Any = None
    _file: Any = None
    _writer: Any = field(default=None)

    def open(self, token: Any) -> None:
        """Go on behind a commit, or begin."""
        with explained(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            force_folder(os.path.dirname(self.folder))
        if token is None:
            self.id = f"eddy-{uuid.uuid4().hex}"
            self._remove(lambda number: True)
            self._attempt(self._mark)
            return
        self.id, self.number = token["id"], token["number"]
        self.done = self._in_topic()
        self._remove(lambda number: number > self.number)
        self.commit(self.number)

    def _in_topic(self) -> int:
        """The newest commit that is in the topic; EddyError unless it is that of the token, or the one before."""
        staged = self._staged()
        marker = self._attempt(self._begun)
        if marker is None and staged.get(self.number) == "done" and self.number == max(staged):
            return self.number
        if marker is None:
            raise EddyError(
                f"{self.contact.address}: nobody knows any more whether the results of the last commit are in the "
                f"topic, since the broker has forgotten the group {self.id}. Look there; then begin a new checkpoint"
            )
        if marker < self.number and self.number not in staged:
            raise EddyError(
                f"{self._name(self.number)} is gone, which has results of the last checkpoint: put it back, or begin "
                "a new checkpoint and a new topic"
            )
        if not self.number - 1 <= marker <= self.number:
            raise EddyError(
                f"{self.contact.address} has the results up to commit {marker}, and the checkpoint is that of commit "
                f"{self.number}: what is in a topic cannot be taken back, so begin a new checkpoint and a new topic"
            )
        return int(marker)

    def write(self, messages: pa.RecordBatch) -> None:
        """Keep messages for the next commit."""
        with explained(self.folder):
            if self._writer is None:
                self._file = open(self._name(self.number + 1), "wb")
                self._writer = pa.ipc.new_file(self._file, COLUMNS)
            self._writer.write_batch(messages)

    def prepare(self) -> dict[str, Any]:
        """Make them safe."""
        if self._writer is not None:
            with explained(self.folder):
                self._writer.close()
                self._file.flush()
                force(self._file.fileno())
                self._file.close()
                force_folder(self.folder)
            self._writer = self._file = None
            self.number += 1
        return {"id": self.id, "number": self.number}

    def commit(self, number: int) -> None:
        """Have the file of this number in the topic, unless it is."""
        if number > self.done:
            self._attempt(lambda: self._transact(number))
            self.done = number
        with explained(self.folder):
            if self._staged().get(number) == "arrow":
                os.truncate(self._name(number), 0)
                os.replace(self._name(number), self._name(number, "done"))
            self._remove(lambda other: other < number)
            force_folder(self.folder)

    def close(self) -> None:
        """Let go of the client."""
        if self._file is not None:
            self._file.close()
        if self._delivery is not None:
            self._delivery.close()
            self._markers.close()
            self._delivery = None

    def _attempt(self, action: Any) -> Any:
        """Do something, and again with a new producer if it fails, for as long as brokers may be away."""
        until = time.monotonic() + patience(self.contact)
        while True:
            try:
                return action()
            except KafkaException as error:
                self._forget()
                if error.args[0].code() in FENCED:
                    raise EddyError(
                        f"{self.contact.address}: another process writes with this checkpoint, or a transaction took "
                        "longer than ?transaction.timeout.ms= allows: start again with one process"
                    ) from error
                if time.monotonic() > until or not _passing(error.args[0]):
                    raise self.contact.wrong(error) from error
                LOG.warning(
                    "%s: %s: tried again",
                    self.contact.address,
                    told(error),
                    extra={"event": "transaction failed", "server": str(self.contact.address)},
                )
                time.sleep(PAUSE)

    def _forget(self) -> None:
        """What a client has begun is aborted by the next one."""
        if self._delivery is not None:
            self._delivery.close()
            self._markers.close()
        self._delivery = None

    def _begun(self) -> int | None:
        """A new producer, which ends what the last one has left open. Then what the newest commit in the topic is."""
        if self._delivery is None:
            waits = int(patience(self.contact) * 1000)
            more = {"transactional.id": self.id, "message.timeout.ms": waits, **SETTINGS}
            delivery = Delivery.begun(self.contact, **more)
            delivery.producer.init_transactions(self.contact.timeout)
            self._delivery = delivery
            self._markers = self.contact.made(Consumer, **{"group.id": self.id, "enable.auto.commit": False})
        (found,) = self._markers.committed([self._marker()], self.contact.timeout)
        if found.error is not None:
            raise KafkaException(found.error)
        return None if found.offset == OFFSET_INVALID else int(found.offset)

    def _marker(self, number: int = 0) -> TopicPartition:
        return TopicPartition(self.contact.address.path, 0, number)

    def _transact(self, number: int) -> None:
        """One transaction: all messages of a file, and its number. Not if it is there already."""
        if self._begun() == number:
            return
        producer = self._delivery.producer
        producer.begin_transaction()
        with explained(self._name(number)), pa.OSFile(self._name(number), "rb") as file:
            reader = pa.ipc.open_file(file)
            for batch in range(reader.num_record_batches):
                self._delivery.put(reader.get_batch(batch))
        self._end(number)

    def _mark(self) -> None:
        """A transaction of no messages: from now on the broker knows the group."""
        self._begun()
        self._delivery.producer.begin_transaction()
        self._end(0)

    def _end(self, number: int) -> None:
        self._delivery.flush()
        producer, timeout = self._delivery.producer, self.contact.timeout
        group = self._markers.consumer_group_metadata()
        producer.send_offsets_to_transaction([self._marker(number)], group, timeout)
        producer.commit_transaction(timeout)

    def _staged(self) -> dict[int, str]:
        """What is in the folder: "arrow" if it may not be in the topic yet, or "done"."""
        found = [_STAGED.match(name) for name in sorted(os.listdir(self.folder))]
        return {int(m[1]): m[2] for m in found if m}

    def _remove(self, which: Any) -> None:
        with explained(self.folder):
            for number, ending in self._staged().items():
                if which(number):
                    os.unlink(self._name(number, ending))

    def _name(self, number: int, ending: str = "arrow") -> str:
        return os.path.join(self.folder, f"{number:09d}.{ending}")


def _passing(error: KafkaError) -> bool:
    """Whether it may go well the next time, with a new producer."""
    return error.retriable() or error.txn_requires_abort() or error.fatal() or error.code() in OUT_OF_REACH
