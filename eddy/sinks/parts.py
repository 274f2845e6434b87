"""A folder of files: each commit makes one more, which appears as a whole."""

from __future__ import annotations

import os
import re
from typing import Any

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.disk import explained, force, force_folder, rename
from eddy.sinks.formats import ENDING, Writer

_PART = re.compile(r"^(\.?)part-(\d{9})\.")


class Parts(Sink):
    """Files ``part-000000000.parquet``, ... of one format in a folder. One that is not committed has a dot before it.

    A token is the number of the newest part that is prepared; -1 if there is none.
    """

    exact = overlaps = True

    def __init__(self, path: str, format: str) -> None:
        self.path, self.format = path.rstrip("/") or "/", format
        self._schema: Any = None
        self._file: Any = None
        self._writer: Any = None
        self._newest = -1
        self._ended: list[Any] = []
        """Writers and open files of parts that are to be ended."""

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._schema = schema
        with explained(self.path):
            os.makedirs(self.path, exist_ok=True)
            force_folder(os.path.dirname(os.path.abspath(self.path)))
            found = self._found()
        if token is None:
            shown = [number for hidden, number in found if not hidden]
            if shown and not self._is_own:
                raise EddyError(
                    f"the folder {self.path} has parts of another run already: give an empty one, or the checkpoints "
                    "that belong to it"
                )
            token = {"part": -1}
        self._newest = token["part"]
        with explained(self.path):
            for hidden, number in found:
                if number > self._newest:
                    os.unlink(self._name(number, hidden))
            self.commit(token)
            missing = set(range(self._newest + 1)) - {number for _, number in self._found()}
        if missing:
            raise EddyError(
                f"{self._name(min(missing), False)} is gone, which has results up to the last checkpoint: put it back, "
                "or begin with empty folders"
            )

    @property
    def _is_own(self) -> bool:
        """Whether the folder is hidden: one that is made for a file, and whose parts nobody else wrote."""
        return os.path.basename(self.path).startswith(".")

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        with explained(self.path):
            if self._writer is None:
                self._file = open(self._name(self._newest + 1, True), "wb")
                self._writer = Writer(self.format, self._file, self._schema)
            self._writer.write(table)

    def prepare(self) -> Any:
        if self._writer is not None:
            self._ended.append((self._writer, self._file))
            self._writer = self._file = None
            self._newest += 1
        return {"part": self._newest}

    def secure(self, token: Any) -> None:
        with explained(self.path):
            while self._ended:
                writer, file = self._ended[0]
                writer.end()
                file.flush()
                force(file.fileno())
                file.close()
                self._ended.pop(0)
            force_folder(self.path)

    def commit(self, token: Any) -> None:
        """Parts up to the token's get their names."""
        if self._ended:
            self.secure(token)
        with explained(self.path):
            for hidden, number in self._found():
                if hidden and number <= token["part"]:
                    rename(self._name(number, True), self._name(number, False))

    def close(self) -> None:
        """Where there were no results, one empty part tells their columns."""
        if self._newest < 0:
            with explained(self.path), open(self._name(0, True), "wb") as file:
                Writer(self.format, file, self._schema).end()
            rename(self._name(0, True), self._name(0, False))

    def abandon(self, kept: bool) -> None:
        for writer in (self._writer, *(writer for writer, _ in self._ended)):
            if writer is not None:
                writer.abandon()
        self._file = self._writer = None
        self._ended.clear()

    def committed(self) -> list[str]:
        """The parts, in their order."""
        return [self._name(number, False) for hidden, number in self._found() if not hidden]

    def _found(self) -> list[tuple[bool, int]]:
        matches = [_PART.match(name) for name in sorted(os.listdir(self.path))]
        return sorted(((bool(m[1]), int(m[2])) for m in matches if m), key=lambda part: part[1])

    def _name(self, number: int, hidden: bool) -> str:
        return os.path.join(self.path, f"{'.' * hidden}part-{number:09d}{ENDING[self.format]}")

    def __str__(self) -> str:
        return self.path
