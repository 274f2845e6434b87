"""How kernels are compiled: once, at import, into Numba's cache on disk."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import numba as nb

OURS = {Path(__file__).parent.name, "policies", "eddy"}
"""The packages whose modules may hold pieces of kernels."""

if not Path(__file__).is_file():  # stamps are made of the sources, and what is compiled is kept beside them
    raise ImportError(
        f"Eddy does not run out of an archive ({Path(__file__).parent.parent}): its kernels are kept in files beside "
        "its sources. Install the wheel instead; with Spark, leave it out of --py-files: the driver ships the library."
    )


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


def kernel(
    signature: Any,
    name: str | None = None,
    makes_arrays: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for exactly one signature, without the interpreter lock, cached on disk.

    What is cached holds while no source that its module depends on changes (`fingerprint`); ``options`` go to Numba.

    Unless it ``makes_arrays`` (or views of memory), a kernel does not count references either: Numba would do so
    within loops, around every piece that is given an array, and a record copied by one took seven times as long.

    ``name``: for functions that are made several times over with other constants. Each must have a name of its own:
    Numba keeps functions of one name in one index, and processes that write to it at the same time can mix them up.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        if name is not None:
            function.__name__ = function.__qualname__ = name
        wrapped = {"nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}  # C calls no kernel
        dispatcher = nb.njit(**wrapped, _nrt=makes_arrays, **options)(function)
        dispatcher.enable_caching()
        cache = _cache(dispatcher)
        vars(_cache_file(cache)).update(_source_stamp=fingerprint(Path(function.__code__.co_filename)))
        with _alone(Path(cache.cache_path)), _uncollected():
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compiled


_cache, _cache_file, _index_path = map(attrgetter, ("_cache", "_cache_file", "_index_path"))
"""Numba's cache of a function, its file on disk, and where that is: there are no public names for them."""


def index_path(value: object) -> Path | None:
    """Where the index of a kernel is in Numba's cache; None if it is no kernel."""
    cache: Any = getattr(value, "_cache", None)
    return Path(_index_path(_cache_file(cache))) if hasattr(cache, "_cache_file") else None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: a second one waits while the first compiles, and then finds it in the cache."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):  # no such locks here, or nowhere to write
            import fcntl

            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(folder / ".compiling", "w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collector, which would go through all that a compiler makes: a quarter of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


part = nb.njit(inline="always", boundscheck=False)
"""For a piece that several kernels share: it becomes part of each."""
