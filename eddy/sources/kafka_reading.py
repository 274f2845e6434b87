"""Reads a topic from a position on: a consumer without a group, whose offsets are our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field
from confluent_kafka import Consumer, KafkaException, TopicPartition

from eddy.connect.kafka import AT_END, DELETED, LOG, OUT_OF_REACH, Contact
from eddy.errors import EddyError
from eddy.sources.base import Piece
from eddy.sources.kafka_messages import Decoder
from eddy.sources.kafka_partitions import Partition, merged

WAIT = 0.02
"""Seconds in which messages may come, each time they are asked for."""
MOST, LEAST = 1 << 16, 1 << 15
"""Rows that are held of one partition while others are behind, about: there it pauses, and here it goes on."""
NONE = pa.table({})
"""No rows, where something is to be told all the same."""
SETTINGS = {
    "group.id": "eddy",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 100,
}
"""A group has to have a name; nothing is ever kept in it."""


def consumer_of(contact: Contact) -> Consumer:
    """A consumer for a topic."""
    return contact.made(Consumer, **SETTINGS)


@define(eq=False)
class Reading:
    """One reading of a topic.

    A position is {"at": the next offset of each partition, "end": where to stop, if anywhere}. Before each piece it is
    told what will be in it, since another reading would get messages of several partitions in another order: then "to"
    has the offsets behind it, and "rows" how many there are; who comes back to such a position gets that very piece.
    """

    contact: Contact
    decoder: Decoder
    batch: int
    refresh: float | None
    """Seconds between two looks for new partitions; None: there are none."""
    starts: Callable[[Consumer], tuple[dict[int, int], dict[int, int] | None]]
    """Where a first reading begins and ends."""
    _consumer: Any = None
    _partitions: dict[int, Partition] = field(factory=dict)
    _names: dict[int, str] = field(factory=dict)
    _looked: float = 0.0

    @property
    def topic(self) -> str:
        """Its name."""
        return self.contact.address.path

    def pieces(self, position: Any) -> Iterator[Piece]:
        """The pieces behind a position."""
        self._consumer = consumer_of(self.contact)
        try:
            promised = self._begin(position)
            if promised is not None:
                yield from self._again(promised)
            while True:
                to = self._reachable()
                if to:
                    yield from self._given(to)
                elif all(one.ended for one in self._partitions.values()) and self.refresh is None:
                    return
                elif not self._fetch():
                    yield Piece(None, self._position())
        except KafkaException as error:
            raise self.contact.wrong(error) from error
        finally:
            self._consumer.close()

    def _begin(self, position: Any) -> Mapping[str, Any] | None:
        """Go to a position. The piece that was promised there, if there was one."""
        there = self.contact.partitions(self._consumer)
        if position is None:
            at, end = self.starts(self._consumer)
        else:
            at = {int(number): offset for number, offset in position["at"].items()}
            end = position.get("end") and {int(n): offset for n, offset in position["end"].items()}
            self._check(at, there)
        self._looked = time.monotonic()
        for number, offset in at.items():
            self._add(number, offset, None if self.refresh is not None or end is None else end.get(number, 0))
        if self.refresh is not None:
            self._take_up([number for number in there if number not in at])
        return position if position is not None and "to" in position else None

    def _add(self, number: int, offset: int, end: int | None) -> None:
        """Read a partition from an offset on."""
        self._partitions[number] = partition = Partition(number, offset, end)
        self._names[number] = self.decoder.place(number)
        if not partition.ended:
            self._consumer.incremental_assign([TopicPartition(self.topic, number, offset)])

    def _check(self, at: Mapping[int, int], there: list[int]) -> None:
        """EddyError unless what is behind a position is still there."""
        for number, offset in at.items():
            if number not in there:
                raise EddyError(
                    f"{self.topic} has no partition {number} any more, which a checkpoint has a place in"
                )
            low, high = self._bounds(number)
            if offset < low:
                raise self._deleted(number, offset, low)
            if offset > high:
                raise EddyError(
                    f"{self.decoder.place(number)} ends at offset {high}, but reading was to go on at {offset}: it is "
                    "another topic than that of the checkpoint, so begin a new one"
                )

    def _deleted(self, number: int, offset: int, low: int) -> EddyError:
        return EddyError(
            f"{self.decoder.place(number)}: messages {offset} to {low - 1} were deleted before they were read. To go "
            "on without them, begin with an empty folder of checkpoints, and say from where by ?offset=; to lose none, "
            "let the topic keep them for longer"
        )

    def _bounds(self, number: int) -> tuple[int, int]:
        """The first offset of a partition, and the one behind its last."""
        try:
            found = self._consumer.get_watermark_offsets(
                TopicPartition(self.topic, number), timeout=self.contact.timeout
            )
        except KafkaException as error:
            raise self.contact.wrong(error) from error
        low, high = found
        return int(low), int(high)

    def _again(self, promised: Mapping[str, Any]) -> Iterator[Piece]:
        """The piece that was promised, as it would have been."""
        to = {int(number): offset for number, offset in promised["to"].items()}
        while any(one.fetched < to.get(n, 0) and not one.caught_up for n, one in self._partitions.items()):
            if not self._fetch(to):
                yield Piece(NONE, promised)
        piece = merged(self._partitions, to, None, self._names)
        count = 0 if piece.rows is None else piece.rows.num_rows
        if count != promised["rows"]:
            raise EddyError(
                f"{self.topic} had {promised['rows']} rows where it has {count} now, and some of them were read "
                "already: the topic was compacted or changed since the checkpoint, so begin a new one"
            )
        yield Piece(piece.rows, self._position(), piece.bad, None, piece.first, piece.lines, piece.files)

    def _reachable(self) -> dict[int, int]:
        """Up to where each partition can be given now; nothing where there is nothing to give."""
        share = max(1, self.batch // max(1, len(self._partitions)))
        horizon = min((one.horizon(share) for one in self._partitions.values()), default=0)
        found = {number: one.reach(horizon) for number, one in self._partitions.items()}
        return {number: to for number, to in found.items() if to > self._partitions[number].at}

    def _given(self, to: dict[int, int]) -> Iterator[Piece]:
        """The piece up to there, and before it the promise of it."""
        before = self._position()
        piece = merged(self._partitions, to, self._position_behind(to), self._names)
        count = 0 if piece.rows is None else piece.rows.num_rows
        yield Piece(NONE, {**before, "to": {str(n): offset for n, offset in to.items()}, "rows": count})
        yield piece

    def _position(self) -> dict[str, Any]:
        return self._position_behind({})

    def _position_behind(self, to: Mapping[int, int]) -> dict[str, Any]:
        parts = self._partitions.items()
        found: dict[str, Any] = {"at": {str(n): to.get(n, one.at) for n, one in parts}}
        if self.refresh is None:
            found["end"] = {str(n): one.end for n, one in parts}
        return found

    def _fetch(self, promised: Mapping[int, int] | None = None) -> bool:
        """Read some more. Whether anything has come."""
        self._pause(promised)
        messages = self._consumer.consume(min(self.batch, 1 << 16), WAIT)
        self.contact.check(self._consumer)
        by_partition: dict[int, list[Any]] = {}
        at_end: dict[int, int] = {}
        for message in messages:
            if message.error() is None:
                by_partition.setdefault(message.partition(), []).append(message)
            elif message.error().code() in AT_END:
                at_end[message.partition()] = message.offset()
            else:
                self._failed(message)
        for number, some in by_partition.items():
            self._hold(self._partitions[number], some)
        for (
            number,
            offset,
        ) in at_end.items():  # which the client tells once: there may be more behind it by now
            self._partitions[number].caught_up |= offset >= self._partitions[number].fetched
        if self.refresh is not None and time.monotonic() > self._looked + self.refresh:
            self._look()
        return bool(messages)

    def _hold(self, partition: Partition, messages: list[Any]) -> None:
        """Decode messages of one partition, and keep them; not those that were read before, or are behind the end."""
        first, last = partition.fetched, partition.end
        if messages[0].offset() < first or (last is not None and messages[-1].offset() >= last):
            stop = last if last is not None else 1 << 63
            messages = [message for message in messages if first <= message.offset() < stop]
            if last is not None:
                partition.caught_up = True  # there are none before its end any more
        if messages:
            partition.caught_up = partition.caught_up and last is not None
            partition.hold(self.decoder.decode(partition.number, messages, partition.newest))

    def _failed(self, message: Any) -> None:
        """What is no message, but an error in its place."""
        error, number = message.error(), message.partition()
        if error.code() in DELETED:
            offset = self._partitions[number].fetched
            raise self._deleted(number, offset, max(self._bounds(number)[0], offset + 1))
        elif error.code() in OUT_OF_REACH or error.retriable():
            self.contact.heard(error)
        else:
            raise self.contact.wrong(error)

    def _pause(self, promised: Mapping[int, int] | None) -> None:
        """Partitions that are far ahead of others wait for them, and those that have ended have nothing to say."""
        for number, one in self._partitions.items():
            needed = promised is not None and one.fetched < promised.get(number, 0)
            far = one.count > (LEAST if one.paused else MOST) and not needed
            if far != one.paused:
                one.paused = far
                where = [TopicPartition(self.topic, number)]
                (self._consumer.pause if far else self._consumer.resume)(where)

    def _look(self) -> None:
        """Look for new partitions."""
        self._looked = time.monotonic()
        try:
            there = self.contact.partitions(self._consumer, timeout=1.0)
        except EddyError:
            return  # the broker is away, which is told of elsewhere
        self._take_up([number for number in there if number not in self._partitions])

    def _take_up(self, new: list[int]) -> None:
        """Read partitions that were not there before from their beginning."""
        for number in new:
            low, _ = self._bounds(number)
            self._add(number, low, None)
            LOG.info(
                "%s is a new partition",
                self.decoder.place(number),
                extra={"event": "partition added", "topic": self.topic, "partition": number},
            )
