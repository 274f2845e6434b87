"""`eddy doctor`: what it says of this machine, and of one that lacks something."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from eddy.cli import main
from eddy.command.doctor import OPTIONAL
from eddy.sinks.schemes import SCHEMES as SINKS
from eddy.sources.schemes import SCHEMES as SOURCES

ROOT = Path(__file__).parents[2]
# Modules of these names are not there, as if nobody had installed them.
WITHOUT = """
import sys
gone = set(sys.argv[1].split(","))

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name in gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

import importlib.util
find = importlib.util.find_spec
def absent(name, package=None):
    if name.partition(".")[0] in gone:
        if "." in name:
            raise ModuleNotFoundError(name)
        return None
    return find(name, package)
importlib.util.find_spec = absent
sys.meta_path.insert(0, Nowhere())
from eddy.cli import main
raise SystemExit(main(sys.argv[2:]))
"""


def without(*names, arguments=("doctor",), **more):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, ",".join(names), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def test_all_is_well_here(capfd):
    """Versions, Java, kernels; every kind of server has its line."""
    assert main(["doctor"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert f"pyarrow {version('pyarrow')}" in lines
    assert any(line.startswith("processors: ") and "memory: " in line and " free" in line for line in lines)
    (java,) = [line for line in lines if line.startswith("Java, for Spark: ")]
    assert int(java.split()[3]) >= 17
    (kernels,) = [line for line in lines if line.startswith("kernels: ")]
    stored, of, total = kernels.split()[1:4]
    assert of == "of" and 0 < int(stored) <= int(total) and " MB under " in kernels
    (kafka,) = [line for line in lines if line.startswith("kafka://")]
    assert kafka == f"kafka:// sources and sinks: confluent_kafka {version('confluent-kafka')}"
    schemes = [
        word.rstrip(",") for line in lines for word in line.split() if word.rstrip(",").endswith("://")
    ]
    assert sorted(schemes) == sorted(f"{scheme}://" for scheme in {**SOURCES, **SINKS})


def test_what_is_missing_is_named_with_its_command():
    """It is no error where nobody needs it."""
    done = without("prompt_toolkit", "confluent_kafka", "paho", "deltalake")
    assert (done.returncode, done.stderr) == (0, "")
    what, how = OPTIONAL["prompt_toolkit"]
    assert f"prompt_toolkit: not installed; for {what}: {how}\n" in done.stdout
    assert "kafka:// sources and sinks: not installed; pip install 'eddy-stairs[kafka]'\n" in done.stdout
    assert (
        "mqtt://, mqtts:// sources and sinks: not installed; pip install 'eddy-stairs[mqtt]'\n" in done.stdout
    )
    assert (
        "delta://, delta+s3:// sources and sinks: not installed; pip install 'eddy-stairs[delta]'\n"
        in done.stdout
    )
    assert done.stdout.count("in a clone of the sources, pip install '.[...]'\n") == 1


def test_without_spark_all_but_spark_is_well(tmp_path):
    """PySpark is an extra: doctor finds nothing amiss, and whoever wants Spark is told how to get it."""
    done = without("pyspark", "starlette")
    assert (done.returncode, done.stderr) == (0, "")
    assert "pyspark: not installed; for eddy.spark: pip install 'eddy-stairs[spark]'\n" in done.stdout
    assert "starlette: not installed; for the live page: pip install 'eddy-stairs[watch]'\n" in done.stdout
    assert "Java, for Spark: not looked for, since pyspark is missing\n" in done.stdout
    (tmp_path / "a.csv").write_text("ts,k\n1,2\n")
    query = "SELECT A.k FROM A [RANGE 3], B [RANGE 3] WHERE A.k = B.k"
    given = ["run", query, f"A={tmp_path}/a.csv", f"B={tmp_path}/a.csv"]
    assert without("pyspark", arguments=given).stdout == '{"A.k": 2}\n'
    said = "needs pyspark: pip install 'eddy-stairs[spark]'\n"
    for arguments in ([*given, "--on", "spark"], ["demo"]):
        done = without("pyspark", arguments=arguments)
        assert done.returncode == 2 and done.stderr.endswith(said), done


def test_the_shell_says_what_it_lacks():
    """At a terminal; scripts need nothing more."""
    master, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT, "prompt_toolkit", "sql"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            stdin=terminal,
        )
    finally:
        os.close(master)
        os.close(terminal)
    assert done.returncode == 2
    assert (
        done.stderr
        == "eddy: eddy sql, at a terminal, needs prompt_toolkit: pip install 'eddy-stairs[shell]'\n"
    )
    done = without("prompt_toolkit", arguments=("sql", "-c", "SHOW STREAMS"))
    assert (done.returncode, done.stdout) == (0, '"stream","source","columns","time"\n')
