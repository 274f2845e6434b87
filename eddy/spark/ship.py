"""How the library and its compiled kernels reach the workers.

On one machine workers import what the driver has compiled, and find its kernels in Numba's cache. On a cluster the
driver packs the three packages and all their kernels, compiled, into one archive, and Spark hands that to every
executor. A worker unpacks it next to where it was put, under another name first, so that many may try at once, and
imports from there. So all run the driver's version, nothing has to be installed beside the dependencies, and no worker
compiles, unless its processor is another: then the first one does, while the others of its machine wait.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eddy.compiling import compile_kernels
from eddy.spark.report import Tally
from stairs.kernel import index_of, known

if TYPE_CHECKING:
    from pyspark import SparkContext

PACKAGES = ("eddy", "policies", "stairs")
KERNELS = (".nbi", ".nbc")
"""What the files of Numba's cache are called."""


def ship(context: SparkContext, always: bool = False) -> str | None:
    """Hand the library to the executors; returns the name of the archive, or None on one machine.

    `join`, `stream` and `driver` call this by themselves. It compiles all kernels first: workers must not do so at the
    same time, and which of them a job needs is known only to the job.
    """
    compile_kernels()
    if is_local(context) and not always:
        return None
    path = archive()
    shipped: set[str] = context.__dict__.setdefault("_eddy_shipped", set())
    if path.name not in shipped:
        context.addFile(str(path))
        shipped.add(path.name)
    return path.name


def is_local(context: SparkContext) -> bool:
    """Whether all workers run on this machine, as children of this very Spark."""
    master = str(context.master)
    return master == "local" or master.startswith("local[")


@functools.cache
def archive() -> Path:
    """One zip archive with the sources of the three packages and the kernels that are compiled."""
    members = sorted({**dict(_sources()), **dict(_kernels())}.items())
    digest = hashlib.sha256()
    for name, path in members:
        digest.update(name.encode() + b"\0" + path.read_bytes())
    target = Path(tempfile.mkdtemp(prefix="eddy-ship-")) / f"eddy-{digest.hexdigest()[:16]}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, path in members:
            file.write(path, name)
    return target


def _homes() -> Iterator[tuple[str, Path]]:
    import eddy.spark  # noqa: F401  (the whole library is loaded, and so compiled, before it is packed)

    compile_kernels()
    for package in PACKAGES:
        yield package, Path(str(sys.modules[package].__file__)).parent


def _sources() -> Iterator[tuple[str, Path]]:
    for package, home in _homes():
        for path in home.rglob("*"):
            if path.suffix == ".py" or path.name == "py.typed":
                yield f"{package}/{path.relative_to(home).as_posix()}", path


def _kernels() -> Iterator[tuple[str, Path]]:
    """The files of Numba's cache, under the names that they have beside the sources."""
    homes = dict(_homes())
    for kernel in known.values():
        source, index = Path(kernel.py_func.__code__.co_filename), index_of(kernel)
        package = next((name for name, home in homes.items() if home in source.parents), None)
        if package is None:
            continue
        beside = Path(package) / source.parent.relative_to(homes[package]) / "__pycache__"
        stem = index.name.removesuffix("nbi")
        for path in index.parent.iterdir():
            if path.name.startswith(stem) and path.suffix in KERNELS:
                yield (beside / path.name).as_posix(), path


def sent(job: bytes, archive: str | None, tally: Tally | None = None) -> Callable[..., Iterator[object]]:
    """The function that Spark calls on each partition: it gets the library first, and then runs the job.

    Spark pickles it by value, as it is made inside another, and it names nothing of the library.
    """

    def run(items: Iterator[object]) -> Iterator[object]:
        import os
        import pickle
        import shutil
        import sys
        import tempfile
        import zipfile

        if archive is not None and "eddy" not in sys.modules:
            import numba
            from pyspark import SparkFiles

            path = SparkFiles.get(archive)
            home = path.removesuffix(".zip")
            if not os.path.isdir(home):
                draft = tempfile.mkdtemp(dir=os.path.dirname(path))
                with zipfile.ZipFile(path) as file:
                    file.extractall(draft)
                try:
                    os.rename(draft, home)
                except OSError:  # another worker was quicker
                    shutil.rmtree(draft, ignore_errors=True)
            sys.path.insert(0, home)
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, ""  # kernels are beside their sources
            try:
                import eddy

                eddy.compile_kernels()
            finally:
                numba.config.CACHE_DIR = before
        # from the driver, whose code runs here anyway
        loaded = pickle.loads(job)  # nosec B301
        from eddy.spark.ship import settle

        settle()
        yield from loaded.run(items, tally)

    return run


@functools.cache
def settle() -> None:
    """Once in a worker: what it has loaded stays, and the collector need not look at it again.

    Spark's daemon runs a full collection after every task. For a library with its kernels that takes about as long as
    all else that a small task does.
    """
    gc.collect()
    gc.freeze()


def pickled(job: object) -> bytes:
    """A job as bytes: functions of the user's own go by value."""
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(job))  # type: ignore[no-untyped-call]


def core_count(context: SparkContext) -> int:
    """How many tasks run at once."""
    return max(1, int(context.defaultParallelism)) or os.cpu_count() or 1
