"""Where compiled kernels are kept: Numba's cache on disk, with a stamp of all sources, for many processes at once."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

OURS = {Path(__file__).parent.name, "policies", "eddy"}
"""The packages whose modules may hold pieces of kernels."""

_HOME = Path(__file__).parents[1]
_IMPORT = re.compile(
    rb"^from +(?P<package>[\w.]+) +import +(?P<names>\([^)]*\)|[^\n]*)|^import +(?P<module>[\w.]+)",
    re.MULTILINE,
)


@functools.cache
def sources(path: Path) -> frozenset[Path]:
    """A module of ours and all modules of ours that it imports, directly or not, when it is loaded."""
    found, left = set(), [path]
    while left:
        here = left.pop()
        if here not in found:
            found.add(here)
            left += _read(here)[1]
    return frozenset(found)


@functools.cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """The digest of a module, and the modules of ours that it imports.

    They are read off the lines that begin with an import; what is imported for types only, or within a function, is no
    part of a kernel.
    """
    text, found = path.read_bytes(), []
    for line in _IMPORT.finditer(text):
        package = (line["package"] or line["module"]).decode()
        if package.split(".")[0] not in OURS:
            continue
        place = _HOME.joinpath(*package.split("."))
        named = [place / f"{name}.py" for name in re.findall(r"\w+", (line["names"] or b"").decode())]
        modules = [file for file in named if file.is_file()]
        found += modules or [f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()]
    return hashlib.sha256(text).digest(), tuple(found)


@functools.cache
def fingerprint(path: Path) -> tuple[str, int]:
    """One value for all sources that the kernels of a module depend on, in place of Numba's stamp of one file.

    Kernels inline each other across files. Numba looks at the file of the cached function only, so after a change
    in another file it would go on with a kernel that hashes or lays out records in the old way.
    """
    return hashlib.sha256(b"".join(_read(source)[0] for source in sorted(sources(path)))).hexdigest(), 0


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """What is on disk of one kernel."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = fingerprint(Path(function.__code__.co_filename))
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, stamp)

    @property
    def index(self) -> Path:
        """Its index."""
        return Path(self._cache_file.index)

    def has(self, signature: Any, target: Any) -> bool:
        """Whether it is there, compiled for this processor from the sources as they are."""
        target.refresh()
        return bool(self._cache_file.has(self._index_key(signature, target.codegen())))

    def try_alone(self) -> contextlib.AbstractContextManager[bool]:
        """As `alone`, but False at once if another process compiles it now."""
        return _locked(self.index, wait=False)

    def alone(self) -> contextlib.AbstractContextManager[bool]:
        """While one process compiles a kernel others that need it wait, and find it in the cache then."""
        return _locked(self.index, wait=True)


class _Files(IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """The index of a kernel and what it lists.

    Numba writes the index first. A process that was ended between the two would leave a new index, with the stamp of
    the sources as they are, that leads to a kernel compiled from what they were.
    """

    @property
    def index(self) -> Path:
        return Path(self._index_path)

    def has(self, key: Any) -> bool:
        name = self._load_index().get(key)
        return name is not None and Path(self._data_path(name)).exists()

    def save(self, key: Any, data: Any) -> None:
        """Write what was compiled, and then the index that leads to it."""
        listed = self._load_index()
        free = (
            name for n in range(1, len(listed) + 2) if (name := self._data_name(n)) not in listed.values()
        )
        name = listed.get(key) or next(free)
        self._save_data(name, data)
        self._save_index({**listed, key: name})


@contextlib.contextmanager
def _locked(index: Path, wait: bool) -> Iterator[bool]:
    """Lock a kernel, by one byte of a file that all kernels of its folder share.

    A process may lock the same kernel again. Where there are no such locks, or nowhere to write, everybody may go on.
    """
    granted, release = True, contextlib.ExitStack()
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        file, place = _lock_file(index.parent), zlib.crc32(index.name.encode())
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
            release.callback(fcntl.lockf, file, fcntl.LOCK_UN, 1, place)
        except (BlockingIOError, PermissionError):
            granted = False
    with release:
        yield granted


@functools.cache
def _lock_file(folder: Path) -> IO[bytes]:
    """It stays open: a process that closes such a file once gives all its locks on it up."""
    folder.mkdir(parents=True, exist_ok=True)
    return open(folder / ".compiling", "wb")
