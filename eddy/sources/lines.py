"""Files of lines, in blocks that end where a line does: a position is a file, a byte and a line in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.errors import EddyError
from eddy.sources.base import BATCH, Bad, Piece, Seen, Source, joined, names_in
from eddy.sources.compressed import damage_of, decompressed
from eddy.sources.inferring import Inferred
from eddy.sources.isolating import isolated_lines
from eddy.sources.looking import looked
from eddy.sources.mistaken import one_line, refuse_others
from eddy.sources.places import Files
from eddy.sources.progress import before, first_with_columns, known_files, total, worst
from eddy.sources.text import Format
from eddy.values.types import column_type

BLOCK_A_ROW = 64
"""Bytes of a row, about: a block has as many as a batch has rows."""
LEAST = 1 << 8
SAMPLE = 1 << 20
"""Bytes from which the types of columns are inferred, where none are given."""
END = 1 << 62
"""The byte of a position behind all that can be read of a compressed file."""
CONTENT = 500
"""Characters of a bad line that are kept."""


@frozen(eq=False)
class LineFiles(Source):
    """The rows of files that have one in a line. A line that is no row is passed over, and told of."""

    files: Files
    format: Format
    given: Mapping[str, object] | None = None
    time: str | None = None
    columns: dict[str, pa.DataType] | None = None
    batch: int = BATCH
    follow: bool = False
    rest: bool = False
    """Whether columns that ``given`` does not name are there too, as they are inferred."""
    beginning: tuple[Inferred, bool] | None = field(init=False)
    """What the first file seems to be, and whether nothing else can be in it."""
    inferred: Inferred | None = field(init=False)
    seen: Seen | None = field(init=False)
    schema: Any = field(init=False)

    @beginning.default
    def _as_it_begins(self) -> tuple[Inferred, bool] | None:
        if self.given is not None and not self.rest:
            return None
        names = self.files.names()
        if not names and self.follow:
            return None  # it is still to come, and the query says what it is to have
        if not names:
            raise self.files.absent()
        found, whole = first_with_columns(
            names, self._opened, self._inferred, lambda found: len(found[0].open) < len(found[0].schema)
        )
        only = len(names) == 1 and not (self.follow and self.files.many)
        return found, only and (self.format.has_header or (whole and not self.follow))

    @inferred.default
    def _as_it_seems(self) -> Inferred | None:
        if self.beginning is None:
            return None
        return self.beginning[0].without(() if self.given is None else names_in(self.given))

    @seen.default
    def _as_it_is(self) -> Seen | None:
        if self.beginning is None or self.given is None:
            return None
        found, whole = self.beginning
        return Seen(tuple(found.schema.names), names_in(self.given), whole, not self.format.has_header)

    @schema.default
    def _schema(self) -> Any:
        if self.beginning is None:
            return self.given
        found = self.beginning[0].schema
        return found if self.given is None else joined(found, self.given)

    def _inferred(self, name: str, file: Any) -> tuple[Inferred, bool]:
        sample = file.read(SAMPLE)
        if b"\n" not in sample:
            sample += file.readline()
        damage = damage_of(file)
        if damage is not None and b"\n" not in sample:
            raise EddyError(f"{name} is damaged: {damage}")
        refuse_others(name, sample)
        whole = sample.endswith(b"\n") and not file.read(1)
        return self.format.inferred(name, _whole_lines(sample)), whole

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.follow

    @property
    def ahead(self) -> bool:  # type: ignore[override]
        return not self.follow

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.files.path

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        kinds = dict(columns)
        return evolve(self, columns=kinds, batch=batch or self.batch, given=kinds, rest=False)

    def completed(self) -> Source:
        empty = self.files.many and not self.files.names()
        return self if self.given is None or self.rest or empty else evolve(self, rest=True)

    def read(self, position: Any) -> Iterator[Piece]:
        at = position or {"file": "", "byte": 0, "line": 0}
        while True:
            names = known_files(self.files, at["file"], self.follow)
            for name in names:
                start = at if name == at["file"] else {"file": name, "byte": 0, "line": 0}
                for piece in self._of(start, self.follow and name == names[-1]):
                    at = piece.position
                    yield piece
            if not self.follow:
                return
            yield Piece(None, at)

    def _of(self, at: Mapping[str, Any], growing: bool) -> Iterator[Piece]:
        """The pieces of one file from a position on; a last line without an end waits while the file is growing."""
        name, byte, line = at["file"], at["byte"], at["line"]
        if byte >= END:
            return
        reader = self.format.reader(name, self.columns or dict(self.schema_types()))
        with self._opened(name) as file:
            header = file.readline() if self.format.has_header else b""
            if damage_of(file) is not None and not header.endswith(b"\n"):
                yield from _damaged(name, line, file, growing)
                return
            if self.format.has_header:
                if growing and not header.endswith(b"\n"):
                    return
                several = one_line(header)
                if several is not None:
                    end = {"file": name, "byte": END, "line": 1}
                    yield Piece(None, end, (Bad(several, rows=header.count(b"\r")),), name)
                    return
                missing = reader.begin(header)
                if not byte:
                    byte, line = len(header), 1
                if missing:
                    yield from self._without(missing, name, file, byte)
                    return
            self._go_to(file, name, byte, len(header))
            for block in blocks(file, max(LEAST, self.batch * BLOCK_A_ROW), growing):
                piece = read_block(reader, block, name, byte, line)
                byte, line = piece.position["byte"], piece.position["line"]
                yield piece
            yield from _damaged(name, line, file, growing)

    def _without(self, missing: str, name: str, file: BinaryIO, byte: int) -> Iterator[Piece]:
        """All lines of a file that lacks a column, as one thing that is bad."""
        count = sum(block.count(b"\n") + (not block.endswith(b"\n")) for block in blocks(file, SAMPLE, False))
        end = self.files.size(name) if self._plain else END
        position = {"file": name, "byte": end, "line": count + 1}
        if count and byte < end:
            yield Piece(None, position, (Bad(f"column {missing} is not in the file", rows=count),), name)

    def schema_types(self) -> dict[str, pa.DataType]:
        """The types of its columns as Arrow has them."""
        if isinstance(self.schema, pa.Schema):
            return dict(zip(self.schema.names, self.schema.types, strict=True))
        return {name: column_type(spec).arrow for name, spec in self.schema.items()}

    @property
    def _plain(self) -> bool:
        return not self.files.path.endswith(COMPRESSED)

    def _opened(self, name: str) -> Any:
        if not name.endswith(COMPRESSED):
            return self.files.open(name)
        kind = "zstd" if name.endswith((".zst", ".zstd")) else "gzip"
        return decompressed(lambda: self.files.open(name), kind)

    def _go_to(self, file: Any, name: str, byte: int, here: int) -> None:
        """Go on to a byte of a file that was read up to ``here``."""
        if name.endswith(COMPRESSED):
            while here < byte and (read := len(file.read(min(byte - here, SAMPLE)))):
                here += read
            return
        if self.files.size(name) < byte:
            raise EddyError(
                f"{name} is shorter than it was, and reading was to go on at byte {byte}: put it back"
            )
        file.seek(byte)

    def there(self) -> bool:
        return bool(self.files.names())

    def size(self) -> int | None:
        return total(self.files) if self._plain else None

    def reached(self, position: Any) -> int | None:
        return before(self.files, position["file"]) + int(position["byte"])

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        if self.follow:
            return None
        return worst(self._alone(column, kind).read(None), column, kind)

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        if self.follow:
            return None, self
        return looked(self, self._alone(column, kind), column, kind, room)

    def _alone(self, column: str, kind: pa.DataType) -> LineFiles:
        """One column, in large pieces."""
        return evolve(self, columns={column: kind}, batch=2**17)


COMPRESSED = (".gz", ".zst", ".zstd")


def blocks(file: BinaryIO, size: int, growing: bool) -> Iterator[bytes]:
    """The rest of a file in blocks of whole lines, of about so many bytes."""
    while block := file.read(size):
        if not block.endswith(b"\n"):
            block += file.readline()  # without a copy of what is there
        if block.endswith(b"\n"):
            yield block
            continue
        end = block.rfind(b"\n") + 1
        if end:
            yield block[:end]
        if not growing and damage_of(file) is None:
            yield block[end:]
        return


def read_block(reader: Any, block: bytes, name: str, byte: int, line: int) -> Piece:
    """The rows of a block; where it cannot be read as a whole, all but the bad lines."""
    # in a third of the time that bytes.count takes where lines are short
    count = int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10)) + (not block.endswith(b"\n"))
    position = {"file": name, "byte": byte + len(block), "line": line + count}
    whole = reader.read(block, count)
    if not isinstance(whole, Exception):
        return Piece(whole, position, file=name, first=line + 1)
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
    starts = np.concatenate([[0], ends[: count - 1], [len(block)]])

    def one(number: int) -> bytes:
        return block[starts[number] : starts[number + 1]]

    def some(numbers: Sequence[int]) -> Any:
        first, last = numbers[0], numbers[-1]
        together = last - first + 1 == len(numbers)
        text = block[starts[first] : starts[last + 1]] if together else b"".join(map(one, numbers))
        return reader.read(text, len(numbers))

    good, failed = isolated_lines(some, lambda number: reader.suspect(one(number)), count)
    bad = []
    for number, error in failed:
        text = one(number).strip()
        if text:  # an empty line is no row, and nothing is wrong with it
            shown = text.decode("utf-8", "replace")[:CONTENT]
            bad.append(Bad(reader.reason(error), shown, line + number + 1))
    rows, where = _in_order(good)
    if where is not None:
        where += line + 1
    return Piece(rows, position, tuple(bad), name, line + 1, where)


def _in_order(good: list[tuple[Any, Sequence[int]]]) -> tuple[pa.Table | None, np.ndarray | None]:
    """What was read of some lines each, in the order of the lines, and their numbers."""
    if not good:
        return None, None
    rows = pa.Table.from_batches([found for found, _ in good]).combine_chunks()
    where = np.concatenate([np.asarray(numbers, dtype=np.int64) for _, numbers in good])
    if (where[1:] < where[:-1]).any():
        order = np.argsort(where)
        rows, where = rows.take(order), where[order]
    return rows, where


def _damaged(name: str, line: int, file: Any, growing: bool) -> Iterator[Piece]:
    """What is lost of a file that ends before its end; while it is growing, the rest may be still to come."""
    damage = damage_of(file)
    if damage is not None and not growing:
        reason = f"the file is damaged from line {line + 1} on: {damage}"
        yield Piece(None, {"file": name, "byte": END, "line": line}, (Bad(reason, row=line + 1),), name)


def _whole_lines(sample: bytes) -> bytes:
    """A sample of a file without the line that it cuts."""
    return sample[: sample.rfind(b"\n") + 1] or sample
