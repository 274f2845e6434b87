"""Standard input: lines, read as they come, with no way back."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sources.base import BATCH, Bad, Piece, Source
from eddy.sources.inferring import Inferred
from eddy.sources.lines import BLOCK_A_ROW, blocks, read_block
from eddy.sources.text import LINES, Format

NAME = "standard input"
WAITED = 100
"""Lines that are waited for, at most, where those before say nothing of the columns."""


class StandardInput(Source):
    """Rows of CSV or JSON lines."""

    seekable = False
    name = NAME

    def __init__(self, format: str, schema: Any, time: str | None, file: BinaryIO | None = None) -> None:
        if format not in LINES:
            raise EddyError(f"standard input is read as csv, tsv or jsonl, not as {format!r}")
        self.format: Format = LINES[format]()
        self.time, self.batch = time, BATCH
        self.file: Any = sys.stdin.buffer if file is None else file
        self.begun = b""
        if schema is None:
            self.inferred = self._as_it_seems()
            schema = self.inferred.schema
        self.schema = schema
        self.columns: dict[str, pa.DataType] = {}

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        narrow = copy.copy(self)
        narrow.columns, narrow.batch = dict(columns), batch or self.batch
        return narrow

    def read(self, position: Any) -> Iterator[Piece]:
        if position is not None or self.file is None:
            raise EddyError("standard input is read once: no checkpoint can go back in it")
        file: Any = _Joined(self.begun, self.file)
        self.file = None
        reader, line = self.format.reader(NAME, self.columns), 0
        if self.format.has_header:
            missing, line = reader.begin(file.readline()), 1
            if missing:
                yield Piece(None, 0, (Bad(f"column {missing} is not in the header"),), NAME)
                return
        for block in blocks(file, self.batch * BLOCK_A_ROW, False):
            piece = read_block(reader, block, NAME, 0, line)
            line = piece.position["line"]
            yield piece

    def _as_it_seems(self) -> Inferred:
        """What the first lines say: two, if there are so many, those that are there already, and more, one by one, if
        nothing can be made of these."""
        lines = [self.file.readline(), self.file.readline()]
        lines += [self.file.readline() for _ in range(self._at_hand().count(b"\n"))]
        last = len(lines) + WAITED
        while True:
            self.begun = b"".join(lines)
            try:
                return self.format.inferred(NAME, self.begun)
            except EddyError:
                lines.append(self.file.readline())
                if not lines[-1] or len(lines) > last:
                    raise

    def _at_hand(self) -> bytes:
        """What can be read without waiting."""
        peek = getattr(self.file, "peek", None)
        return b"" if peek is None else bytes(peek())


class _Joined:
    """Bytes that were read already, and then a file; what is there is returned without waiting for more."""

    def __init__(self, begun: bytes, file: Any) -> None:
        self.begun, self.file = begun, file

    def readline(self) -> bytes:
        if not self.begun:
            return bytes(self.file.readline())
        line, end, self.begun = self.begun.partition(b"\n")
        return line + end

    def read(self, size: int) -> bytes:
        begun, self.begun = self.begun, b""
        return begun or bytes(self.file.read1(size) if hasattr(self.file, "read1") else self.file.read(size))
