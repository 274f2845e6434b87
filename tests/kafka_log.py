"""Requests of Kafka's protocol taken apart, and the log of one partition: for the broker of the tests."""

from __future__ import annotations

import struct
import time

TRANSACTIONAL = 0x10


class Reader:
    """Takes a request apart."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        (found,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return found

    def text(self):
        size = self.take("h")
        return None if size < 0 else self.raw(size).decode()

    def raw(self, size):
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def many(self, one):
        return [one() for _ in range(max(0, self.take("i")))]

    def topics(self, one):
        return self.many(lambda: (self.text(), self.many(one)))


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def many(parts):
    return struct.pack(">i", len(parts)) + b"".join(parts)


def pack(form, *values):
    return struct.pack(">" + form, *values)


class Log:
    """One partition."""

    def __init__(self):
        self.batches, self.end, self.open, self.aborted, self.sequences = [], 0, {}, [], {}

    def append(self, data):
        """Append batches of records; the offset of the first."""
        first = self.end
        while data:
            size = 12 + struct.unpack_from(">i", data, 8)[0]
            batch, data = data[:size], data[size:]
            attributes, last, _, newest, pid, epoch, sequence = struct.unpack_from(">hiqqqhi", batch, 21)
            before = self.sequences.get(pid)
            if pid >= 0 and sequence >= 0:
                if before is not None and before[:2] == (epoch, sequence):
                    return before[2]
                self.sequences[pid] = (epoch, sequence, self.end)
            if attributes & TRANSACTIONAL and not attributes & 0x20:
                self.open.setdefault(pid, self.end)
            self.batches.append((self.end, self.end + last + 1, newest, pack("q", self.end) + batch[8:]))
            self.end += last + 1
        return first

    def finish(self, pid, epoch, committed):
        """Write the mark of a transaction's end."""
        if pid not in self.open:
            return
        begun = self.open.pop(pid)
        if not committed:
            self.aborted.append((pid, begun, self.end))
        body = (
            b"\0\0\0"
            + bytes([4 << 1])
            + pack("hh", 0, committed)
            + bytes([6 << 1])
            + pack("hi", 0, 0)
            + b"\0"
        )
        record = bytes([len(body) << 1]) + body
        now = int(time.time() * 1000)
        rest = pack("ibIhiqqqhii", 0, 2, 0, TRANSACTIONAL | 0x20, 0, now, now, pid, epoch, -1, 1) + record
        self.append(pack("qi", 0, len(rest)) + rest)

    @property
    def stable(self):
        return min(self.open.values(), default=self.end)

    def read(self, offset, committed, most):
        """Batches from an offset on, and the aborted transactions in them."""
        end, found = self.stable if committed else self.end, b""
        for first, behind, _, batch in self.batches:
            if behind > offset and first < end and (not found or len(found) + len(batch) <= most):
                found += batch
        aborted = [(pid, begun) for pid, begun, over in self.aborted if over >= offset] if committed else []
        return found, aborted
