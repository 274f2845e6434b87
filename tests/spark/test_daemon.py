"""Workers are forked from a process that has the library loaded, and leave without a word."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark
import pytest

import eddy.spark
from eddy.spark.daemon import without_archives
from eddy.spark.session import DAEMON, PATH, workers
from tests.sparks import spark

__all__ = ["spark"]

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(pyspark.__file__).parent / "python" / "lib"


def look(_):
    """What a worker had before it got its first task of ours; pickled by value."""
    import os
    import sys

    import pyspark

    ours = [name for name in sys.modules if name.split(".")[0] in ("eddy", "stairs", "policies")]
    kernels = [
        m for name in ours for m in vars(sys.modules[name]).values() if hasattr(m, "nopython_signatures")
    ]
    yield os.getpid(), os.getppid(), len(kernels), pyspark.__file__, sys.modules["eddy"].__file__


def test_workers_have_the_library_and_its_kernels_before_their_first_task(spark):
    """They are children of one process that loaded both; PySpark is the installed one, not the archive of sources."""
    found = spark.sparkContext.parallelize(range(2), 2).mapPartitions(look).collect()
    assert len({parent for _, parent, *_ in found}) == 1
    for _, _, kernels, theirs, ours in found:
        assert kernels > 100
        assert Path(theirs).samefile(pyspark.__file__) and Path(ours).samefile(eddy.__file__)


@pytest.fixture
def daemon():
    """The daemon as Spark starts it, with the archives first in its path, and a way to connect to it."""
    sockets = tempfile.mkdtemp()  # the address of a socket has 107 characters at the most
    archives = [str(path) for path in LIBRARIES.glob("*.zip")]
    process = subprocess.Popen(
        [sys.executable, "-m", "eddy.spark.daemon", "pyspark.worker"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*archives, str(ROOT)]),
            "PYTHON_UNIX_DOMAIN_ENABLED": "true",
            "PYTHON_WORKER_FACTORY_SOCK_DIR": sockets,
            "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
            "SPARK_REUSE_WORKER": "1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        (n,) = struct.unpack("!i", process.stdout.read(4))
        address = process.stdout.read(n).decode()

        def connected():
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address)
            connection.settimeout(200)
            (pid,) = struct.unpack("!i", connection.recv(4))
            return pid, connection

        yield process, connected
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(sockets, ignore_errors=True)


def has_ended(pid):
    """Whether a process is gone, or a zombie. It may go between the look for its file and the reading of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")
def test_a_worker_that_is_no_longer_needed_leaves_without_a_traceback(daemon):
    """Spark closes the connections of its workers when it stops: before they get a task, or in the middle of one."""
    process, connected = daemon
    pids = []
    for begun in (b"", b"\x00\x00"):
        pid, connection = connected()
        connection.sendall(begun)
        connection.close()
        pids.append(pid)
    deadline = time.monotonic() + 200
    while not all(has_ended(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker whose connection is closed goes on"
        time.sleep(0.01)
    process.stdin.close()
    assert process.wait(200) is not None
    assert process.stderr.read() == b"" and process.stdout.read() == b""


def test_archives_go_only_where_the_same_is_installed(tmp_path):
    """Another Spark's archive stays in the path: its modules may be others."""
    installed, other = Path(pyspark.__file__).parent, str(tmp_path / "python" / "lib" / "pyspark.zip")
    own = [str(LIBRARIES / "pyspark.zip"), str(LIBRARIES / "py4j-0.10.9.9-src.zip")]
    path = [*own, other, str(tmp_path), str(installed / "elsewhere")]
    assert without_archives(path, installed) == path[2:]
    assert without_archives(path, None) == path


def test_only_workers_of_this_machine_and_this_python_get_it(monkeypatch, tmp_path):
    """Executors of a cluster need not have the library; and whoever asks for a module of his own has it."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    asked = {DAEMON: "eddy.spark.daemon", PATH: str(ROOT)}
    for master in ("local", "local[2]", "local[*]", "local[2,3]"):
        assert workers(master, {}) == asked
    more = workers("local[2]", {PATH: "/mine"})
    assert more == {**asked, PATH: os.pathsep.join((str(ROOT), "/mine"))}
    for master in ("local-cluster[2,1,1024]", "spark://there:7077", "yarn", "k8s://https://there"):
        assert workers(master, {}) == {}
    assert workers("local[2]", {DAEMON: "mine"}) == {}
    assert workers("local[2]", {"spark.pyspark.python": "/other/python"}) == {}
    (tmp_path / "spark-defaults.conf").write_text(f"{DAEMON} mine\n")
    assert workers("local[2]", {}) == {}
    (tmp_path / "spark-defaults.conf").unlink()
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {DAEMON}=mine pyspark-shell")
    assert workers("local[2]", {}) == {}
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    monkeypatch.setenv("PYSPARK_PYTHON", "/other/python")
    assert workers("local[2]", {}) == {}
