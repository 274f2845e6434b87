"""The process that Spark's Python workers are forked from, with the library and its kernels loaded before it forks.

    spark.python.daemon.module = eddy.spark.daemon

Spark starts one such process beside each JVM, and it forks a worker for every task that runs at once. Its own,
`pyspark.daemon`, loads next to nothing, so that every worker imports all that it needs for itself, much of it out of an
archive of sources. Here that is done once, and workers share the memory. `eddy.spark.session` asks for it where workers
are on this machine; elsewhere the library would have to be installed for every executor.

It does not start threads, as whoever forks must not. Nothing is written to the standard output: Spark reads it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.machinery
import socket
import sys
from collections.abc import Callable
from pathlib import Path

Worker = Callable[[socket.socket, bool], int]

ARCHIVES = ("pyspark.zip", "py4j-")
"""What Spark puts first in the path of its workers: archives of sources, which every process would compile."""
NEEDED = ("pyspark.worker", "pyspark.sql.pandas.serializers", "pyspark.accumulators", "pyspark.taskcontext")
"""What a worker imports for a task of ours."""


def main() -> None:
    """Load everything, then do as `pyspark.daemon` does."""
    sys.path[:] = without_archives(sys.path, _installed("pyspark"))
    from pyspark import daemon

    load()
    vars(daemon)["worker"] = leaving_quietly(daemon.worker)  # `manager` calls it by its name
    daemon.manager()


def without_archives(path: list[str], installed: Path | None) -> list[str]:
    """A path without Spark's archives, where they are those of the package that is ``installed``: that has the same
    modules, compiled."""
    return [entry for entry in path if not _is_archive_of(installed, Path(entry))]


def _is_archive_of(installed: Path | None, entry: Path) -> bool:
    return (
        installed is not None
        and entry.name.startswith(ARCHIVES)
        and installed.resolve() in entry.resolve().parents
    )


def _installed(package: str) -> Path | None:
    """The folder of a package beside other installed ones; None if it is in an archive only."""
    places = [entry for entry in sys.path if not entry.endswith(".zip")]
    found = importlib.machinery.PathFinder.find_spec(package, places)
    return None if found is None or found.origin is None else Path(found.origin).parent


def load() -> None:
    """Import the library, its kernels, and what Spark needs; set all of it aside, so that no worker looks for garbage
    in it. What fails here is left to the task that needs it, which says so."""
    with contextlib.suppress(Exception):
        for name in NEEDED:
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        import eddy.spark

        eddy.compile_kernels()
    gc.collect()
    gc.freeze()


def leaving_quietly(worker: Worker) -> Worker:
    """A worker's life, without a traceback where Spark has closed the connection: it needs the worker no longer."""

    def live(connection: socket.socket, authenticated: bool) -> int:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if connection.recv(1, socket.MSG_PEEK):
                return worker(connection, authenticated)
        return 1

    return live


if __name__ == "__main__":
    main()
