"""One file of results: of lines, to which more is appended, or a table, which is put together at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.disk import explained, force, force_folder, rename
from eddy.sinks.formats import ENDING, Writer
from eddy.sinks.parts import Parts

OLD = ".old"
"""What a folder of parts is called while it is removed."""


class LineFile(Sink):
    """A file of lines. A commit is its length, and a restart cuts off what stands behind it."""

    exact = overlaps = True

    def __init__(self, path: str, format: str) -> None:
        self.path, self.format = path, format
        self._file: Any = None
        self._writer: Any = None

    def open(self, schema: pa.Schema, token: Any) -> None:
        with explained(self.path):
            if token is None:
                self._file = open(self.path, "wb")
                force_folder(os.path.dirname(self.path))
            else:
                self._file = self._cut(token["bytes"])
        with explained(self.path):
            self._writer = Writer(self.format, self._file, schema, header=token is None)

    def _cut(self, length: int) -> BinaryIO:
        """The file as it was at a commit, to be written on."""
        if not os.path.exists(self.path) or os.path.getsize(self.path) < length:
            raise EddyError(
                f"{self.path} is shorter than it was at the last checkpoint, which has {length} bytes of it: put it "
                "back, or begin with an empty folder of checkpoints"
            )
        file = open(self.path, "r+b")
        file.truncate(length)
        file.seek(length)
        return file

    def write(self, table: pa.Table) -> None:
        with explained(self.path):
            self._writer.write(table)

    def prepare(self) -> Any:
        with explained(self.path):
            self._file.flush()
        return {"bytes": self._file.tell()}

    def secure(self, token: Any) -> None:
        with explained(self.path):
            force(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            with explained(self.path):
                self._writer.end()
                self._file.close()
            self._file = None

    def abandon(self, kept: bool) -> None:
        if self._writer is not None:
            self._writer.abandon()
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._file = self._writer = None

    def __str__(self) -> str:
        return self.path


class TableFile(Sink):
    """A file that is a table: Parquet or Arrow IPC. It appears as a whole when the run has ended.

    Until then it is written beside its place; with checkpoints in parts, one for each commit, in a folder.
    """

    exact = overlaps = True

    def __init__(self, path: str, format: str) -> None:
        self.path, self.format = path, format
        folder, name = os.path.split(path)
        self._beside = os.path.join(folder, f".{name}.parts")
        self._parts = Parts(self._beside, format)
        self._schema: Any = None
        self._done = False

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._schema = schema
        if token is None:
            self._check_writable()
        elif not os.path.isdir(self._beside):
            if not os.path.exists(self.path):
                raise EddyError(
                    f"{self._beside} is gone, which has the results up to the last checkpoint: put it back, or begin "
                    "with an empty folder of checkpoints"
                )
            self._done = True
            self._remove()
            return
        self._parts.open(schema, token)

    def _check_writable(self) -> None:
        folder = os.path.dirname(self.path) or "."
        with explained(self.path):
            if os.path.isdir(self.path):
                raise EddyError(f"{self.path} is a folder: end it with / to have files written into it")
            if not os.path.isdir(folder):
                raise EddyError(f"cannot write {self.path}: there is no folder {folder}")

    def write(self, table: pa.Table) -> None:
        if self._done:
            raise EddyError(
                f"{self.path} is complete, and the checkpoint is from before that: begin with an empty one"
            )
        self._parts.write(table)

    def prepare(self) -> Any:
        return self._parts.prepare()

    def secure(self, token: Any) -> None:
        self._parts.secure(token)

    def commit(self, token: Any) -> None:
        if not self._done:
            self._parts.commit(token)

    def close(self) -> None:
        """Put the parts together, in one step; they are removed only then. To do it again does nothing."""
        if self._done:
            return
        token = self._parts.prepare()
        self._parts.secure(token)
        self._parts.commit(token)
        self._parts.close()
        parts = self._parts.committed()
        whole = self._beside + ENDING[self.format]
        with explained(self.path):
            self._join(parts, whole)
            rename(whole, self.path)
            shutil.rmtree(self._beside + OLD, ignore_errors=True)
            rename(self._beside, self._beside + OLD)
            self._remove()
        self._done = True

    def _remove(self) -> None:
        """The folder is let go of in one step, since half of the parts are none; then it takes what time it takes."""
        shutil.rmtree(self._beside + OLD, ignore_errors=True)
        with contextlib.suppress(OSError):  # a rename to a link of the same file leaves both
            os.unlink(self._beside + ENDING[self.format])

    def _join(self, parts: list[str], whole: str) -> None:
        if len(parts) == 1:
            with contextlib.suppress(OSError):
                os.unlink(whole)
            with contextlib.suppress(OSError):  # not every file system has links
                os.link(parts[0], whole)
                return
        with open(whole, "wb") as file:
            writer = Writer(self.format, file, self._schema)
            for part in parts:
                writer.write(read_table(part, self.format))
            writer.end()
            file.flush()
            force(file.fileno())

    def abandon(self, kept: bool) -> None:
        self._parts.abandon(kept)
        if not kept:
            shutil.rmtree(self._beside, ignore_errors=True)

    def __str__(self) -> str:
        return self.path


def read_table(path: str, format: str) -> pa.Table:
    """A part that was written."""
    if format == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetFile(path).read()
    with pa.OSFile(path, "rb") as file:
        return pa.ipc.open_file(file).read_all()
