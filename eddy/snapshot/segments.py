"""Rows of one stream in files that several snapshots share: a *segment* is only ever appended to.

Rows never change once they are stored, so a snapshot adds those that have come since the last one, and names of each
segment how many bytes are its own, with their checksum. What stands behind these is of a later snapshot, or of one that
came to nothing. A segment goes when all of its rows have left their window. It is closed when it has an eighth of the
bytes that live, so no more than that is kept of rows that are gone, and there are a dozen segments at most, however
small the pieces are in which they are written; no row is written twice.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import asdict, define, field, frozen

ENDING = ".rows"
ROW = "row"
"""The column with the number of each row, where not every row of a stream is there."""
PARTS = 8
SMALLEST, LARGEST = 1 << 18, 1 << 28
"""Bytes after which a segment is closed, at the least and at the most."""
CODEC = "lz4"
"""Rows are compressed by what costs little: a disk takes fewer bytes than this makes."""


@frozen
class Segment:
    """What a snapshot has of one file: its first ``bytes`` bytes, with the rows from ``first`` to ``stop``."""

    file: str
    first: int
    stop: int
    bytes: int
    crc: int


@frozen
class Beside:
    """A table of a snapshot whose rows lie in segments: those from number ``low`` on."""

    folder: str
    low: int
    keyed: bool
    """Whether rows have their number in a column, since not all are there."""
    segments: tuple[Segment, ...]

    @classmethod
    def read(cls, folder: str, said: dict[str, Any]) -> Beside:
        """As the header of a snapshot says it."""
        segments = tuple(Segment(**one) for one in said["segments"])
        if any(os.path.basename(one.file) != one.file for one in segments):
            raise ValueError("it names files in other folders")
        return cls(folder, int(said["low"]), bool(said["keyed"]), segments)

    def said(self) -> dict[str, Any]:
        """For the header."""
        return {"low": self.low, "keyed": self.keyed, "segments": [asdict(one) for one in self.segments]}

    def check(self) -> None:
        """ValueError unless every segment is there and whole."""
        for one in self.segments:
            crc = zlib.crc32(self._bytes(one))
            if crc != one.crc:
                raise ValueError(f"the checksum of {one.file} is wrong")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in their order."""
        for one in self.segments:
            row = one.first
            for batch in pa.ipc.open_stream(pa.BufferReader(self._bytes(one))):
                if self.keyed:
                    yield batch.filter(pc.greater_equal(batch.column(ROW), self.low))
                else:
                    skip = min(max(self.low - row, 0), batch.num_rows)
                    row += batch.num_rows
                    yield batch.slice(skip)

    def _bytes(self, one: Segment) -> pa.Buffer:
        with pa.memory_map(os.path.join(self.folder, one.file)) as file:
            if file.size() < one.bytes:
                raise ValueError(f"{one.file} is cut short")
            return file.read_buffer(one.bytes)


class Counted:
    """An open file that counts its bytes, and keeps their checksum."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "xb", buffering=0)
        self.bytes = self.crc = 0

    closed = False

    def write(self, data: Any) -> int:
        """All of it."""
        view = memoryview(data).cast("B")
        self.crc = zlib.crc32(view, self.crc)
        rest = view
        while len(rest):
            rest = rest[self.file.write(rest) :]
        self.bytes += len(view)
        return len(view)

    def flush(self) -> None:
        """Nothing waits."""


@define(eq=False)
class Writing:
    """The segment that is appended to."""

    file: str
    first: int
    stop: int
    _out: Counted
    _rows: Any
    _forced: int = 0

    @classmethod
    def begun(cls, folder: str, file: str, first: int, schema: pa.Schema) -> Writing:
        """A new one."""
        out = Counted(os.path.join(folder, file))
        options = pa.ipc.IpcWriteOptions(
            compression=CODEC if pa.Codec.is_available(CODEC) else None, use_threads=False
        )
        rows = pa.ipc.new_stream(pa.PythonFile(out, "w"), schema, options=options)
        return cls(file, first, first, out, rows)

    def append(self, batch: pa.RecordBatch, stop: int) -> None:
        """Rows up to ``stop``."""
        self._rows.write_batch(batch)
        self.stop = stop

    def force(self) -> None:
        """To the disk."""
        if self._forced < self._out.bytes:
            os.fsync(self._out.file.fileno())
            self._forced = self._out.bytes

    def segment(self) -> Segment:
        """As it is now."""
        return Segment(self.file, self.first, self.stop, self._out.bytes, self._out.crc)

    def close(self) -> None:
        """Nothing more is appended."""
        self._out.file.close()


@define(eq=False)
class Log:
    """The segments of one table, the oldest first; each begins where the one before ends."""

    keyed: bool = False
    closed: list[Segment] = field(factory=list)
    open: Writing | None = None
    written: int = 0
    """Bytes that were written."""

    def append(self, batch: pa.RecordBatch, first: int, stop: int, folder: str, name: Any) -> None:
        """Rows from ``first`` to ``stop``; ``name`` gives a new file its name. Rows before them that are not there
        have left their window, with all before these."""
        if self.stop != first:
            self.clear()
        if self.open is not None and self.open.segment().bytes >= self._limit():
            self._end()
        if self.open is None:
            self.open = Writing.begun(folder, name(), first, batch.schema)
        before = self.open.segment().bytes
        self.open.append(batch, stop)
        self.written += self.open.segment().bytes - before

    @property
    def stop(self) -> int:
        """The row behind the last."""
        if self.open is not None:
            return self.open.stop
        return self.closed[-1].stop if self.closed else -1

    def settled(self, low: int) -> tuple[Segment, ...]:
        """The segments that have rows from ``low`` on, forced to the disk; the others are forgotten."""
        self.closed = [one for one in self.closed if one.stop > low]
        if self.open is not None and self.open.stop <= low:
            self.clear()
        if self.open is None:
            return tuple(self.closed)
        self.open.force()
        return (*self.closed, self.open.segment())

    def clear(self) -> None:
        """Forget all of them."""
        if self.open is not None:
            self.open.close()
        self.closed, self.open = [], None

    def files(self) -> set[str]:
        """What is in use."""
        return {one.file for one in self.closed} | ({self.open.file} if self.open is not None else set())

    def _limit(self) -> int:
        held = sum(one.bytes for one in self.closed) + (self.open.segment().bytes if self.open else 0)
        return min(max(held // PARTS, SMALLEST), LARGEST)

    def _end(self) -> None:
        assert self.open is not None
        self.open.force()
        self.closed.append(self.open.segment())
        self.open.close()
        self.open = None
