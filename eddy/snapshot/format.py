"""The file of a snapshot: one zip archive with a JSON header and the rows of each stream as Arrow.

    header.json    format version, library version, and all that is a number or a text
    0.arrow ...    the live rows of each stream of the query, as an Arrow IPC stream

Rows may also lie beside it, in files that snapshots share: then the header says in which (`segments`).
Nothing in it is code. The archive has a checksum of every member, and all are verified before anything is
believed. A file is complete or not there at all: it is written under another name, forced to the disk, and
renamed. Which rows and which numbers a snapshot holds is the business of `snapshot`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, BinaryIO

import pyarrow as pa
from attrs import define

from eddy.checks import path_to
from eddy.errors import StateError
from eddy.snapshot.remote import got, local, put, scheme_of
from eddy.snapshot.segments import Beside

FORMAT = 5
"""Raised with every change that an older library could not read; `tests/data` keeps a file of each. A file has the
lowest that tells what is in it: 2 if there is a reorder buffer, whose rows are in tables after those of the streams; 3
if streams are attached, whose tables come after those of the core, and before those of the buffer; 4 if rows lie in
files beside it; 5 if the engine runs several queries."""

Path = str | os.PathLike[str]
"""Of a file."""
Table = tuple[pa.Schema, Iterable[pa.RecordBatch]]
"""One without columns is not written: its rows are elsewhere."""

HEADER = "header.json"
PREFIX, SUFFIX = ".eddy-", ".tmp"
LEFTOVER = 24 * 3600
"""Seconds after which an unfinished file is known to be left over from a process that died."""

BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, pa.ArrowException, LookupError, ValueError, TypeError,
    AttributeError, EOFError, NotImplementedError, RuntimeError, OSError,
)  # fmt: skip
"""What reading a damaged file may raise, in zipfile, json and pyarrow."""


def write(path: Path, header: dict[str, Any], tables: Sequence[Table]) -> None:
    """Write a snapshot, in place of the one that may be there; an error leaves that one as it was."""
    name = _checked(path)
    if scheme_of(name) is not None:
        put(name, lambda file: pack(file, header, tables))
        return
    target = os.path.realpath(local(name))
    folder = os.path.dirname(target)
    unfinished = os.path.join(folder, f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
    try:
        _remove_leftovers(folder)
        with open(unfinished, "xb") as file:
            pack(file, header, tables)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except OSError as error:
        raise StateError(
            f"cannot save to {name!r}: {error.strerror or error}. A snapshot that was there is as it was; "
            "save to a folder that exists, can be written to, and has room"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
    sync_folder(folder)


def _checked(path: Path) -> str:
    return path_to("a snapshot is a file", path, StateError)


def pack(file: BinaryIO, header: dict[str, Any], tables: Sequence[Table]) -> None:
    """Write a snapshot into a file that is open."""
    codec = "zstd" if pa.Codec.is_available("zstd") else None
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER), json.dumps(header, ensure_ascii=False, indent=1))
        for number, (schema, batches) in enumerate(tables):
            if not len(schema):
                continue
            with archive.open(f"{number}.arrow", "w", force_zip64=True) as member:
                with pa.ipc.new_stream(member, schema, options=options) as writer:
                    for batch in batches:
                        writer.write_batch(batch)


def _remove_leftovers(folder: str) -> None:
    """Files of processes that were killed while they saved would pile up otherwise."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    if entry.stat().st_mtime < time.time() - LEFTOVER:
                        os.unlink(entry.path)


def sync_folder(folder: str) -> None:
    """Force the names in it to the disk too. Some file systems cannot; the file is whole in any case."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@define(eq=False)
class SnapshotFile:
    """A snapshot that is being read: its checksums hold, and its format is one that this library knows."""

    path: str
    header: dict[str, Any]
    _archive: zipfile.ZipFile
    _beside: dict[int, Beside]
    """Tables that lie in files beside it, by their numbers."""

    @property
    def beside(self) -> set[str]:
        """The files of rows that it needs."""
        return {one.file for table in self._beside.values() for one in table.segments}

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever goes wrong inside is the file's fault."""
        try:
            yield
        except BROKEN as error:
            raise damaged(self.path, error) from error

    def schema(self, number: int) -> pa.Schema:
        """What is saved of the rows of a stream."""
        with self.reading(), self._archive.open(f"{number}.arrow") as member:
            found: pa.Schema = pa.ipc.open_stream(member).schema
            return found

    def batches(self, number: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a stream, piece by piece; they must have the columns of this schema, in any order."""
        with self.reading():
            for batch in self._read(number):
                if sorted(batch.schema, key=attrgetter("name")) != sorted(schema, key=attrgetter("name")):
                    raise ValueError(
                        f"the rows of stream {number} are {batch.schema}, and {schema} is needed"
                    )
                batch.validate(full=True)
                yield batch

    def _read(self, number: int) -> Iterator[pa.RecordBatch]:
        if number in self._beside:
            yield from self._beside[number].batches()
            return
        with self._archive.open(f"{number}.arrow") as member:
            reader = pa.ipc.open_stream(member)
            yield pa.RecordBatch.from_pylist([], reader.schema)  # it has a schema to be checked, if no rows
            yield from reader


@contextlib.contextmanager
def opened(path: Path) -> Iterator[SnapshotFile]:
    """Open a snapshot; StateError says what is wrong if it cannot be read."""
    name = _checked(path)
    if scheme_of(name) is not None:
        with got(name) as file:
            yield unpack(file, name, "")
        return
    try:
        file = open(local(name), "rb")
    except OSError as error:
        raise StateError(
            f"cannot read the snapshot {name!r}: {error.strerror}; give the path that engine.save wrote to"
        ) from error
    with file:
        yield unpack(file, name, os.path.dirname(os.path.realpath(local(name))))


def unpack(file: BinaryIO, name: str, folder: str) -> SnapshotFile:
    """The snapshot in a file: what it holds, and files of its ``folder`` that it names, have their checksums."""
    try:
        archive = zipfile.ZipFile(file)
        broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"the checksum of {broken} is wrong")
        header = json.loads(archive.read(HEADER)) if HEADER in archive.namelist() else {}
        version = header.get("format")
    except BROKEN as error:
        file.seek(0)
        if file.read(4) == b"PK\x03\x04":
            raise damaged(name, error) from error
        version = None
    if not isinstance(version, int):
        raise StateError(f"{name!r} is no snapshot of Eddy: give the path of a file that save wrote")
    if version > FORMAT:
        raise StateError(
            f"the snapshot {name!r} is of format {version}, written by Eddy {header.get('library')}; "
            f"this library reads formats up to {FORMAT}: install that version or a newer one"
        )
    try:
        beside = {int(number): Beside.read(folder, said) for number, said in header.get("beside", {}).items()}
        for table in beside.values():
            table.check()
    except BROKEN as error:
        raise damaged(name, error) from error
    return SnapshotFile(name, header, archive, beside)


def damaged(path: str, why: object) -> StateError:
    """The error for a file that once was a snapshot."""
    return StateError(
        f"the snapshot {path!r} is cut short or damaged ({why}): copy it again, or load an older one"
    )
