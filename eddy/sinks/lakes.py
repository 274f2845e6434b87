"""Tables of lakes: results become data files, which nobody sees until a commit of the table names them.

A commit carries the name of the run and the number of the commit, so that the table itself says after a crash which one
was the last.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from attrs import asdict, frozen

from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.formats import Writer
from eddy.sinks.lake_types import LakeTypes, check_same

LARGEST = 1 << 27
"""Bytes of a data file, about."""
APP, COMMIT, FILES = "eddy.run", "eddy.commit", "eddy.files"
"""What a commit says of itself: the run, its number there, and how many data files it has."""


@frozen
class DataFile:
    """A data file that was written."""

    name: str
    bytes: int
    rows: int


@frozen
class Last:
    """What a table knows of a run."""

    commit: int
    """The number of its last commit; 0 if there was none."""
    files: dict[int, int]
    """Data files of its newest commits, by number."""


class LakeTable(Protocol):
    """A table, as `Lake` needs it. Errors of its library become an EddyError."""

    types: LakeTypes

    def columns(self) -> pa.Schema | None:
        """Of the table as it is, checked that it can be written; None if there is none yet."""

    def create(self, schema: pa.Schema) -> None:
        """Make it, unless it is there."""

    def file(self, name: str) -> Any:
        """A new data file, to be written."""

    def force(self, names: Sequence[str]) -> None:
        """Data files, to the disk."""

    def last(self, run: str) -> Last:
        """What it knows of a run."""

    def commit(self, run: str, number: int, added: Sequence[DataFile], removed: Sequence[str]) -> None:
        """In one step: data files are part of it, others no more, and this number is the run's last."""

    def live(self) -> list[str]:
        """The names of its data files."""

    def unused(self, prefix: str) -> list[str]:
        """Data files whose names begin like this, whether they are live or not, where that can be found out."""

    def remove(self, name: str) -> None:
        """A data file that is not live."""


class Lake(Sink):
    """Appends results to a table of a lake.

    A token has the run's name, the number of a commit, and the data files that it adds. Data files are called
    eddy-RUN-NUMBER-..., so that those of a commit which is to be taken back can be told.
    """

    exact = True

    def __init__(self, name: str, table: LakeTable) -> None:
        self.name, self.table = name, table
        self._schema: Any = None
        self._token: dict[str, Any] = {"run": uuid.uuid4().hex, "commit": 0, "files": []}
        self._committed = self._tried = 0
        self._file: Any = None
        self._writer: Any = None
        self._writing = ("", 0)
        self._done: list[DataFile] = []

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._schema = self.table.types.stored(schema)
        with explained(self.name):
            columns = self.table.columns()
            if columns is not None:
                check_same(self.name, columns, self._schema)
                self._schema = pa.schema([self._schema.field(name) for name in columns.names])
            if token is not None:
                self._go_on(token, columns is not None)

    def _go_on(self, token: Any, there: bool) -> None:
        """Make the table what it was at a token, or should have become then."""
        run, number = token["run"], token["commit"]
        last = self.table.last(run) if there else Last(0, {})
        if last.commit < number - 1:
            raise EddyError(
                f"the table {self.name} has no results of this run behind its commit {last.commit}, and the checkpoint "
                f"is of commit {number}: put the table back, or begin with an empty folder of checkpoints"
            )
        self._token, self._committed = token, last.commit
        if last.commit > number:
            self._take_back(run, number, last)
        elif last.commit < number:
            self.commit(token)
        if there:
            self._sweep(run, number, last)

    def _sweep(self, run: str, number: int, last: Last) -> None:
        """Remove data files that a process left before it committed them; older versions may need all others."""
        live = set(self.table.live())
        for name in self.table.unused(_prefix(run)):
            if _number(name) > number and _number(name) not in last.files and name not in live:
                self.table.remove(name)

    def _take_back(self, run: str, number: int, last: Last) -> None:
        """Remove what was committed behind the checkpoint, which was damaged since: it will be made again."""
        mine = [name for name in self.table.live() if name.startswith(_prefix(run))]
        behind = [name for name in mine if _number(name) > number]
        expected = [last.files.get(other) for other in range(number + 1, last.commit + 1)]
        if None in expected or sum(count or 0 for count in expected) != len(behind):
            raise EddyError(
                f"the table {self.name} has results from behind this checkpoint, in data files that were rewritten "
                f"since: bring it back to commit {number} of the run {run}"
            )
        self.table.commit(run, number, [], behind)
        self._committed = number

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        with explained(self.name):
            if self._writer is None:
                if not self._done:
                    self.table.create(self._schema)
                number = self._token["commit"] + 1
                name = f"{_prefix(self._token['run'])}{number:09d}-{uuid.uuid4().hex[:12]}.parquet"
                self._file, self._writing = self.table.file(name), (name, 0)
                self._writer = Writer("parquet", self._file, self._schema)
            self._writer.write(
                table.select(self._schema.names).cast(self._schema, safe=not self.table.types.cut)
            )
            self._writing = self._writing[0], self._writing[1] + table.num_rows
            if self._file.tell() >= LARGEST:
                self._end_file()

    def _end_file(self) -> None:
        self._writer.end()
        size = self._file.tell()
        self._file.close()
        name, rows = self._writing
        self._file = self._writer = None
        self._done.append(DataFile(name, size, rows))

    def prepare(self) -> Any:
        with explained(self.name):
            if self._writer is not None:
                self._end_file()
            if self._done:
                self.table.force([file.name for file in self._done])
                files = [asdict(file) for file in self._done]
                self._token = {**self._token, "commit": self._token["commit"] + 1, "files": files}
                self._done = []
        return self._token

    def commit(self, token: Any) -> None:
        """Once for each number: it may have been done before the process died."""
        if token["commit"] <= self._committed:
            return
        with explained(self.name):
            self.table.create(self._schema)
            self._tried = token["commit"]
            files = [DataFile(**file) for file in token["files"]]
            self.table.commit(token["run"], token["commit"], files, [])
            self._committed = token["commit"]

    def close(self) -> None:
        """Where there were no results, an empty table tells their columns."""
        with explained(self.name):
            self.table.create(self._schema)

    def abandon(self, kept: bool) -> None:
        """Data files that no checkpoint names are removed, unless a commit that failed may have taken them."""
        with contextlib.suppress(EddyError), explained(self.name):
            if self._writer is not None:
                self._end_file()
            gone = [file.name for file in self._done]
            if not kept and self._token["commit"] > max(self._committed, self._tried):
                gone += [file["name"] for file in self._token["files"]]
            for name in gone:
                self.table.remove(name)

    def __str__(self) -> str:
        return self.name


def _prefix(run: str) -> str:
    return f"eddy-{run}-"


def _number(name: str) -> int:
    """Of the commit that a data file is of."""
    return int(name.split("-")[2])


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Errors of a lake's library as ones that name the table."""
    try:
        yield
    except EddyError:
        raise
    except Exception as error:  # each library has errors of many kinds, without a common one
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EddyError(f"cannot write the table {name}: {told}") from error
