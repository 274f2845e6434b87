"""Files by name: on this machine, or wherever fsspec reaches."""

from __future__ import annotations

import contextlib
import copy
import difflib
import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from attrs import define, field

from eddy.errors import EddyError
from eddy.snapshot.remote import file_system, local, reason_of, scheme_of

_MAGIC = re.compile(r"[*?\[]")
HIDDEN = (".", "_")
"""What names of files begin with that are not data, as everywhere."""


@define(eq=False)
class Files:
    """The files that a path, a pattern or a folder stands for, in the order of their names."""

    path: str
    endings: tuple[str, ...]
    """Of the files in a folder that count; others are passed over."""
    single: bool = field(init=False, default=False)
    """Whether the path is a name as it stands, whatever is in it."""
    _remote: Any = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.path = local(self.path)
        if scheme_of(self.path) is not None:
            self._remote, self.path = file_system(self.path)

    def only(self, name: str) -> Files:
        """One of them alone."""
        made = copy.copy(self)
        made.path, made.single = name, True
        return made

    @property
    def many(self) -> bool:
        """Whether it is a pattern or a folder, which may have more files later."""
        return bool(_MAGIC.search(self.path)) or self.path.endswith("/") or self._is_folder(self.path)

    def names(self) -> list[str]:
        """The files that there are now."""
        if self.single:
            return [self.path]
        with self._explained(self.path):
            if _MAGIC.search(self.path):
                found = (
                    glob.glob(self.path, recursive=True)
                    if self._remote is None
                    else self._remote.glob(self.path)
                )
                return sorted(name for name in found if self._counts(name, self._folder_of_pattern(), True))
            if self._is_folder(self.path):
                return sorted(name for name in self._walk() if self._counts(name, self.path, False))
            there = os.path.exists(self.path) if self._remote is None else self._remote.exists(self.path)
        return [self.path] if there else []

    def absent(self) -> EddyError:
        """What to say where there is none: a name nearly like it may be meant."""
        folder, name = os.path.split(self.path)
        others: list[str] = []
        if self._remote is None and not self.many:
            with contextlib.suppress(OSError):
                others = os.listdir(folder or ".")
        close = difflib.get_close_matches(name, others, n=1, cutoff=0.75)
        if close:
            return EddyError(f"there is no file {self.path}: did you mean {os.path.join(folder, close[0])}?")
        return EddyError(f"there is no file {self.path}: give its schema, and follow, if it is still to come")

    def would_have(self, name: str) -> bool:
        """Whether a file of this machine is one of them, or would be if it were there."""
        if self._remote is not None:
            return False
        name = os.path.realpath(name)
        if self.single or not self.many:
            return name == os.path.realpath(self.path)
        magic = bool(_MAGIC.search(self.path))
        folder = os.path.realpath((self._folder_of_pattern() if magic else self.path) or ".")
        inner = os.path.relpath(name, folder)
        if inner.split(os.sep)[0] == os.pardir or not self._counts(name, folder, magic):
            return False
        if not magic:
            return True
        pattern = os.path.relpath(self.path, self._folder_of_pattern() or ".")
        as_deep = inner.count(os.sep) == pattern.count(os.sep) or "**" in pattern
        patterns = (pattern, pattern.replace("**" + os.sep, ""))
        return as_deep and any(fnmatch.fnmatch(inner, one) for one in patterns)

    def open(self, name: str) -> BinaryIO:
        """A file, to be read."""
        with self._explained(name):
            opened: BinaryIO = open(name, "rb") if self._remote is None else self._remote.open(name, "rb")
        return opened

    def size(self, name: str) -> int:
        """Its bytes."""
        with self._explained(name):
            return os.path.getsize(name) if self._remote is None else int(self._remote.size(name))

    @contextlib.contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        """Errors of the system, or of whoever has the files, as ones that name the file."""
        try:
            yield
        except EddyError:
            raise
        except Exception as error:  # each system that fsspec knows has errors of its own
            if self._remote is None and not isinstance(error, OSError):
                raise
            raise EddyError(f"cannot read {name}: {reason_of(error)}") from error

    def _is_folder(self, path: str) -> bool:
        with self._explained(path):
            return os.path.isdir(path) if self._remote is None else bool(self._remote.isdir(path))

    def _walk(self) -> list[str]:
        if self._remote is not None:
            return list(self._remote.find(self.path))
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names]

    def _folder_of_pattern(self) -> str:
        return os.path.dirname(self.path[: _MAGIC.search(self.path).start()])  # type: ignore[union-attr]

    def _counts(self, name: str, folder: str, asked: bool) -> bool:
        parts = os.path.relpath(name, folder or ".").split(os.sep)
        hidden = any(part.startswith(HIDDEN) and part not in (".", "..") for part in parts)
        known = asked or name.lower().endswith(self.endings)
        return not hidden and known and not (self._remote is None and os.path.isdir(name))
