"""The state of a streaming join: one file for each cell and micro-batch, beside Spark's own checkpoint.

Micro-batch ``n`` reads version ``n - 1`` and writes version ``n``. Spark runs a micro-batch again, with the same rows,
until it is committed, and starts no other before. So whatever is killed when, the state that is read is that after the
last committed micro-batch, and a second attempt writes the same again: this is what makes every result come once.

    <checkpoint>/eddy/<batch>/<cell>-of-<cells>-<dealing>.state

A file holds a snapshot of the engine (live rows and the plan), the rows that wait for the watermark, and a few numbers.
It is written under another name and renamed. ``dealing`` tells how rows are dealt out: another number of partitions is
another one, and has files of its own. Beside them is what the query is, in ``query.json`` (`eddy.spark.identity`).
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import secrets
import tempfile
import zipfile
from typing import Any

import pyarrow as pa
from attrs import asdict, define, field, frozen
from pyarrow import fs

from eddy.engine.eddy import Eddy
from eddy.errors import StateError
from eddy.query.query import Query

FOLDER = "eddy"
HEADER, ENGINE, PENDING = "header.json", "engine.eddy", "pending.arrow"
DESCRIPTION = "query.json"


@frozen
class Header:
    """The numbers of a state."""

    batch: int
    cell: int
    dealing: str
    token: str
    """Which attempt wrote it: an engine that a worker still holds may go on only from its own file."""
    newest: dict[str, int]
    """The newest time of each stream so far, over all cells."""
    released: int | None
    """The watermark: everything up to it was processed."""
    late: int
    """Rows so far that were older, and were dropped."""
    plan: str | None
    """The plan that was asked for, which is not always the one it came to."""
    home: dict[str, bool]
    """Whether this cell's rows of a stream are the ones that count, not copies of another cell's."""
    query: str = ""
    """Which query it is the state of, in short; older states do not say."""


@frozen
class State:
    """A state that was read: the engine is still bytes."""

    header: Header
    engine: bytes
    pending: pa.Table

    def restored(self, query: Query, options: dict[str, Any]) -> Eddy:
        """The engine, under the plan that it came to, unless another one is asked for than before."""
        given = dict(options)
        if given.get("plan") == self.header.plan:
            given.pop("plan", None)
        with tempfile.TemporaryDirectory(prefix="eddy-state-") as folder:
            path = os.path.join(folder, ENGINE)
            with open(path, "wb") as file:
                file.write(self.engine)
            return Eddy.load(path, query, **given)


@define
class Store:
    """The states of one streaming query."""

    checkpoint: str
    _files: Any = field(init=False)
    _root: str = field(init=False)
    _base: str = field(init=False)
    _local: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        place = self.checkpoint
        if "://" not in place and not place.startswith("file:"):
            place = os.path.abspath(place)
        self._files, self._base = fs.FileSystem.from_uri(place)
        self._root = posixpath.join(self._base, FOLDER)
        self._local = isinstance(self._files, fs.LocalFileSystem)

    def check_owner(self, query_id: str) -> None:
        """StateError unless the streaming query with this id has its checkpoint here."""
        try:
            with self._files.open_input_file(posixpath.join(self._base, "metadata")) as file:
                owner = json.loads(file.read().decode()).get("id")
        except OSError as error:
            raise StateError(
                f"the streaming query has its checkpoint elsewhere: set the option checkpointLocation to "
                f"{self.checkpoint!r}, as given to eddy.spark.stream ({error})"
            ) from error
        if owner != query_id:
            raise StateError(
                f"{self.checkpoint!r} is the checkpoint of another streaming query ({owner}): give each its own folder"
            )

    def started(self) -> bool:
        """Whether Spark has started a query here."""
        return bool(self._files.get_file_info(posixpath.join(self._base, "metadata")).is_file)

    def looked(self) -> bool:
        """Whether Spark has looked for rows, or planned a micro-batch: from then on its sources have numbers."""
        folders = [posixpath.join(self._base, name) for name in ("sources", "offsets")]
        return any(self._files.get_file_info(fs.FileSelector(f, allow_not_found=True)) for f in folders)

    def described(self) -> bytes | None:
        """What the query is, as it was described; None if it was not."""
        try:
            with self._files.open_input_file(posixpath.join(self._root, DESCRIPTION)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def describe(self, text: bytes) -> None:
        """Write down what the query is, in place of what may be there."""
        self.create()
        self._put(posixpath.join(self._root, DESCRIPTION), text)

    def create(self) -> None:
        """Make the folder of the states."""
        self._files.create_dir(self._root, recursive=True)

    def make_folders(self, sources: int) -> None:
        """Make the folders that Spark is going to write to, on a local disk: it would start a process for each."""
        if self._local:
            for name in ("offsets", "commits", *(f"sources/{number}" for number in range(sources))):
                self._files.create_dir(posixpath.join(self._base, name), recursive=True)

    def exists(self) -> bool:
        """Whether there is a folder for states."""
        return bool(self._files.get_file_info(self._root).type.name == "Directory")

    def versions(self) -> list[int]:
        """The micro-batches of which there is state, oldest first."""
        selector = fs.FileSelector(self._root, allow_not_found=True)
        names = [
            info.base_name for info in self._files.get_file_info(selector) if info.type.name == "Directory"
        ]
        return sorted(int(name) for name in names if name.lstrip("-").isdigit())

    def members(self, version: int) -> list[str]:
        """The files of a version."""
        selector = fs.FileSelector(self._folder(version), allow_not_found=True)
        return sorted(
            i.base_name for i in self._files.get_file_info(selector) if i.base_name.endswith(".state")
        )

    def committed(self) -> int | None:
        """The last micro-batch that Spark has committed; None if there is none."""
        selector = fs.FileSelector(posixpath.join(self._base, "commits"), allow_not_found=True)
        found = [int(i.base_name) for i in self._files.get_file_info(selector) if i.base_name.isdigit()]
        return max(found, default=None)

    def last(self, before: int) -> int | None:
        """The newest version before a micro-batch; None if there is none at all."""
        found = [version for version in self.versions() if version < before and self.members(version)]
        return found[-1] if found else None

    def read(self, version: int, name: str, known: str = "") -> State:
        """One state; without the engine if that is ``known``, by the token of who wrote it."""
        path = posixpath.join(self._folder(version), name)
        try:
            with self._files.open_input_file(path) as file, zipfile.ZipFile(file) as archive:
                header = Header(**json.loads(archive.read(HEADER)))
                with pa.ipc.open_stream(archive.read(PENDING)) as reader:
                    pending = reader.read_all()
                return State(header, b"" if header.token == known else archive.read(ENGINE), pending)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, pa.ArrowException) as error:
            raise StateError(
                f"the state of the streaming query cannot be read from {path!r} ({error}): restore the folder "
                "of the checkpoint as a whole, or start with a new one"
            ) from error

    def write(self, header: Header, cells: int, engine: Eddy, pending: pa.Table) -> None:
        """Write a state, in place of one that another attempt may have written."""
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as archive:
            archive.writestr(HEADER, json.dumps(asdict(header)))
            with archive.open(PENDING, "w") as member, pa.ipc.new_stream(member, pending.schema) as writer:
                writer.write_table(pending)
            with tempfile.TemporaryDirectory(prefix="eddy-state-") as folder:
                path = os.path.join(folder, ENGINE)
                engine.save(path)
                archive.write(path, ENGINE)
        folder = self._folder(header.batch)
        self._files.create_dir(folder, recursive=True)
        self._put(posixpath.join(folder, state_name(header.cell, cells, header.dealing)), body.getbuffer())

    def _put(self, target: str, body: object) -> None:
        """Write a file, which is whole or not there."""
        draft = (
            f"{target}.{secrets.token_hex(6)}.draft" if self._local else target
        )  # object stores put a file as a whole
        with self._files.open_output_stream(draft) as out:
            out.write(body)
        if self._local:
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            self._files.move(draft, target)

    def forget(self, batch: int, retain: int, cell: int) -> None:
        """Remove a cell's states from before micro-batch ``batch``, but for the newest ``retain`` versions.

        Versions are counted, not numbered on: a micro-batch without rows leaves none, so that the one which another
        attempt would go on from may be of long ago.
        """
        former = [version for version in self.versions() if version < batch and self.members(version)]
        last = former[-max(1, retain) :]
        for version in self.versions():
            if version < batch and version not in last:
                folder = self._folder(version)
                for info in self._files.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
                    if info.base_name.startswith(f"{cell}-of-") or cell == 0:
                        _quietly(self._files.delete_file, info.path)
                if not self._files.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
                    _quietly(self._files.delete_dir, folder)

    def _folder(self, version: int) -> str:
        return posixpath.join(self._root, str(version))


def state_name(cell: int, cells: int, dealing: str) -> str:
    """What the file of a cell is called."""
    return f"{cell}-of-{cells}-{dealing}.state"


def _quietly(remove: Any, path: str) -> None:
    try:
        remove(path)
    except OSError:  # another task was quicker
        pass
