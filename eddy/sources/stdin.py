"""Standard input: lines, read as they come, with no way back."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sources.base import BATCH, Bad, Piece, Seen, Source, joined, names_in
from eddy.sources.inferring import Inferred
from eddy.sources.lines import BLOCK_A_ROW, blocks, read_block
from eddy.sources.text import LINES, Format

NAME = "standard input"
WAITED = 100
"""Lines that are waited for, at most, where those before say nothing of the columns."""
AT_ONCE = 1 << 16
"""Bytes that are taken of what is there already, at most."""


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
        self.given = schema
        if schema is None:
            self.inferred = self._as_it_seems()
            schema = self.inferred.schema
        self.schema = schema
        self.columns: dict[str, pa.DataType] = {}

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        narrow = copy.copy(self)
        narrow.columns, narrow.batch = dict(columns), batch or self.batch
        return narrow

    def completed(self) -> Source:
        if self.given is None or self.seen is not None or self.file is None:
            return self
        found, whole = self._as_it_seems(), copy.copy(self)
        whole.inferred = found.without(names_in(self.given))
        whole.schema = joined(found.schema, self.given)
        header = self.format.has_header
        whole.seen = Seen(tuple(found.schema.names), names_in(self.given), header, not header)
        return whole

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
        """What the first lines say: two, if there are so many, those that came with them, and more, one by one, if
        nothing can be made of these."""
        if self.begun:
            return self.format.inferred(NAME, self.begun)
        self.begun = self._two_lines()
        for waited in range(WAITED + 1):
            try:
                return self.format.inferred(NAME, self.begun)
            except EddyError:
                more = self.file.readline()
                if not more or waited == WAITED:
                    raise
                self.begun += more
        raise AssertionError("the last of them returns or raises")

    def _two_lines(self) -> bytes:
        """Two lines, and what is read with them; a third one is not waited for."""
        some = getattr(self.file, "read1", None)
        if some is None:
            return bytes(self.file.readline() + self.file.readline())
        found = b""
        while found.count(b"\n") < 2:
            more = some(AT_ONCE)
            if not more:
                return found
            found += more
        return found if found.endswith(b"\n") else bytes(found + self.file.readline())


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
