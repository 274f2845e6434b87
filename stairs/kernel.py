"""How kernels are compiled: once, at import, into Numba's cache on disk."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba as nb

if not Path(__file__).is_file():  # stamps are made of the sources, and what is compiled is kept beside them
    raise ImportError(
        f"Eddy does not run out of an archive ({Path(__file__).parent.parent}): its kernels are kept in files beside "
        "its sources. Install the wheel instead; with Spark, leave it out of --py-files: the driver ships the library."
    )


def fingerprint(paths: Iterable[Path]) -> tuple[str, int]:
    """One value for the sources of kernels that belong together, in place of Numba's stamp of one file.

    Kernels inline each other across files. Numba looks at the file of the cached function only, so after a change
    in another file it would go on with a kernel that hashes or lays out records in the old way.
    """
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest(), 0


FINGERPRINT = fingerprint(Path(__file__).parent.glob("*.py"))


def kernel(
    signature: Any,
    name: str | None = None,
    stamp: tuple[str, int] = FINGERPRINT,
    makes_arrays: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for exactly one signature, without the interpreter lock, cached on disk.

    What is cached holds while ``stamp`` is the same; ``options`` go to Numba.

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
        dispatcher._cache._cache_file._source_stamp = stamp
        with _alone(Path(dispatcher._cache.cache_path)), _uncollected():
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compiled


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
