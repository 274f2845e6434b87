"""A folder of checkpoints: what belongs together is named by one manifest, which appears in a single step.

    lock               held by the process that runs
    000000012.eddy     the engine, but for its rows
    000000007.rows     rows of the engine, which several checkpoints share (`eddy.snapshot.incremental`)
    000000012.json     the manifest: a checksum, positions of all sources, tokens of all sinks, counts, the query

The two newest are kept: if the last one is damaged, the one before is used. Files are written by a thread of their own,
while the run goes on.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from attrs import asdict, define, field, fields_dict, frozen

from eddy.checks import path_to
from eddy.engine.eddy import Eddy
from eddy.errors import CheckpointWarning, EddyError, StateError
from eddy.query.query import Query
from eddy.running.queries import check_described, described
from eddy.sinks.disk import explained, force, force_folder, rename
from eddy.snapshot.format import opened
from eddy.snapshot.incremental import Following, Incremental, Taking, View
from eddy.snapshot.remote import local, scheme_of

FORMAT = 1
KEPT = 2
"""Manifests that stay."""
_MANIFEST = re.compile(r"^(\d{9})\.json$")
_NUMBERED = re.compile(r"^(\d{9})\.(json|eddy|rows)(\.tmp)?$")


@frozen
class Manifest:
    """What belongs together."""

    number: int
    query: dict[str, Any]
    """Described, to be compared."""
    positions: dict[str, Any]
    """Of each stream's source."""
    tokens: dict[str, Any]
    """Of each sink."""
    counts: dict[str, Any]
    sinks: dict[str, str]
    """What each sink is called."""
    finished: bool
    """Whether all sources had ended, and everything was written: then there is no engine."""
    library: str
    format: int = FORMAT


def _folder(path: object) -> str:
    found = path_to("a checkpoint is a folder", path)
    if scheme_of(found) is not None:
        raise EddyError(f"checkpoints are kept in a folder of this machine, not in {found}")
    return local(found)


@define(eq=False)
class Checkpoints:
    """The checkpoints of one run, in a folder that no other process uses meanwhile."""

    folder: str = field(converter=_folder)
    number: int = 0
    """Of the newest."""
    _lock: Any = None
    _snapshots: Any = None
    _header: Mapping[str, Any] = field(factory=dict)
    """Of the snapshot of the newest."""
    _files: dict[int, set[str]] = field(factory=dict)
    """The files of rows that checkpoints need which are kept."""
    _described: Any = None
    _failed: BaseException | None = None
    """What went wrong in the thread that writes."""
    _writer: Any = None

    def __enter__(self) -> Checkpoints:
        with explained(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            self._lock = open(os.path.join(self.folder, "lock"), "a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.seek(0)
            who = self._lock.read().strip() or "?"
            self._lock.close()
            raise StateError(
                f"the checkpoint {self.folder} is in use by another process ({who}): wait for its end, or give another "
                "folder"
            ) from error
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}")
        self._lock.flush()
        self._writer = ThreadPoolExecutor(1, "eddy-checkpoint")
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.shutdown()
        if self._snapshots is not None:
            self._snapshots.close()
        self._lock.close()

    def newest(self, query: Query | Mapping[str, Query]) -> Manifest | None:
        """The newest whole checkpoint; None where there is none yet. StateError if it is of another query."""
        numbers = self._numbers()
        problems: dict[int, str] = {}
        for number in reversed(numbers):
            try:
                manifest = self._read(number)
                if not manifest.finished:
                    with opened(self.engine_file(number)) as file:
                        self._header = file.header
                        self._files[number] = file.beside
            except (StateError, OSError) as error:
                problems[number] = str(error)
                continue
            check_described(manifest.query, query, self.manifest_file(number))
            for damaged, problem in problems.items():
                warnings.warn(
                    f"{problem}. Checkpoint {number} is used instead", CheckpointWarning, stacklevel=3
                )
                os.replace(self.manifest_file(damaged), self.manifest_file(damaged) + ".damaged")
            self.number = max(numbers)
            return manifest
        if problems:
            raise StateError(f"no checkpoint in {self.folder} can be read: {'; '.join(problems.values())}")
        return None

    @property
    def snapshots(self) -> Incremental:
        """What this run adds to."""
        if self._snapshots is None:
            self._snapshots = Incremental(self.folder, self._later)
            self._snapshots.resumed(self._header)
        found: Incremental = self._snapshots
        return found

    def follow(self, engine: Eddy, ahead: bool = True) -> bool:
        """After a push: let rows be written ahead. Whether a checkpoint may be taken now.

        It may not while a change of plan holds results back, and had better not while many rows are to be copied.
        """
        self.check()
        if engine.several:
            return True
        following = Following(self.snapshots, ahead)
        try:
            engine.save(following)
        except StateError:
            return False
        return not following.behind

    def begin(
        self,
        engine: Eddy | None,
        query: Query | Mapping[str, Query],
        parts: Mapping[str, Any],
        before: Callable[[], None],
        after: Callable[[], None],
    ) -> Future[int]:
        """Take another as things are now, and write it while the run goes on; it counts when it is written.

        None for the engine of a run that has finished. That of several queries is written at once, in one file, and the
        run waits. ``before`` is called before it counts, ``after`` then; by the
        thread that writes.
        """
        from eddy import __version__

        self.check()
        number, view = self.number + 1, None
        self._described = self._described or described(query)
        manifest = Manifest(number, self._described, finished=engine is None, library=__version__, **parts)
        body = json.dumps(asdict(manifest), ensure_ascii=False, default=str).encode()
        if engine is not None and engine.several:
            with explained(self.folder):
                engine.save(self.engine_file(number))
        elif engine is not None:
            taking = Taking(self.snapshots)
            engine.save(taking)
            view = taking.found
        self.number = number
        written: Future[int] = self._writer.submit(self.written, number, view, body, before, after)
        return written

    def check(self) -> None:
        """Raises what has gone wrong in the thread that writes."""
        if self._failed is not None:
            raise self._failed

    def written(
        self,
        number: int,
        view: View | None,
        body: bytes,
        before: Callable[[], None],
        after: Callable[[], None],
    ) -> int:
        """Write what was taken, by the thread that does; its number."""
        self.check()
        before()
        self._files[number] = set()
        if view is not None:
            with explained(self.folder):
                self._files[number] = self.snapshots.write(view, os.path.basename(self.engine_file(number)))
        name = self.manifest_file(number)
        with explained(self.folder):
            with open(name + ".tmp", "wb") as file:
                file.write(f"{zlib.crc32(body):08x}\n".encode() + body)
                file.flush()
                force(file.fileno())
            rename(name + ".tmp", name)
        after()
        self._forget()
        return number

    def _later(self, job: Callable[[], None]) -> None:
        """Let it be done by the thread that writes, unless something has failed there."""
        self._writer.submit(self._guarded, job)

    def _guarded(self, job: Callable[[], None]) -> None:
        if self._failed is None:
            try:
                with explained(self.folder):
                    job()
            except BaseException as error:
                self._failed = error

    def _forget(self) -> None:
        """Remove what is older than what is kept, and what no manifest names."""
        kept = set(self._numbers()[-KEPT:])
        self._files = {number: files for number, files in self._files.items() if number in kept}
        used = set().union(*self._files.values())
        if self._snapshots is not None:
            used |= self._snapshots.files()
        with explained(self.folder):
            for name in os.listdir(self.folder):
                found = _NUMBERED.match(name)
                if (
                    not found
                    or name in used
                    or (found[2] != "rows" and int(found[1]) in kept and not found[3])
                ):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder, name))
            force_folder(self.folder)

    def engine_file(self, number: int) -> str:
        """Where the engine of a checkpoint is."""
        return os.path.join(self.folder, f"{number:09d}.eddy")

    def manifest_file(self, number: int) -> str:
        """Where the manifest of a checkpoint is."""
        return os.path.join(self.folder, f"{number:09d}.json")

    def _numbers(self) -> list[int]:
        with explained(self.folder):
            return sorted(int(m[1]) for m in map(_MANIFEST.match, os.listdir(self.folder)) if m)

    def _read(self, number: int) -> Manifest:
        name = self.manifest_file(number)
        with open(name, "rb") as file:
            crc, _, body = file.read().partition(b"\n")
        if crc != f"{zlib.crc32(body):08x}".encode():
            raise StateError(f"the checkpoint {name} is cut short or damaged")
        read = json.loads(body)
        if read.get("format") != FORMAT:
            raise StateError(
                f"the checkpoint {name} is of format {read.get('format')}, written by Eddy {read.get('library')}; this "
                f"library reads format {FORMAT}"
            )
        return Manifest(**{name: read[name] for name in fields_dict(Manifest)})


@contextlib.contextmanager
def used(folder: Any) -> Iterator[Checkpoints | None]:
    """The checkpoints in a folder, while they are used; None without a folder."""
    if folder is None:
        yield None
        return
    with Checkpoints(folder) as checkpoints:
        yield checkpoints


def check_sinks(manifest: Manifest, sinks: Mapping[str, str]) -> None:
    """StateError unless the sinks are those of the checkpoint: their parts lie where these were."""
    for what, name in manifest.sinks.items():
        if sinks.get(what) != name:
            raise EddyError(
                f"the checkpoint writes {what} to {name}, not to {sinks.get(what, 'nothing')}: give that, or another "
                "folder of checkpoints"
            )
    new = [what for what in sinks if what not in manifest.sinks]
    if new:
        raise EddyError(
            f"the checkpoint keeps no {new[0]} rows: leave keep: out, or give another folder of checkpoints"
        )
