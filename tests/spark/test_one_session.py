"""Tests on Spark share one session, also where `make test` hands tests out to several processes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import os, pathlib, time, pytest

@pytest.mark.parametrize("i", range(6))
def test_it(i):
    time.sleep(0.05)
    pathlib.Path("{log}").open("a").write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_their_modules_run_in_one_process(tmp_path):
    """Of three processes one runs the modules on Spark; the tests of others are spread."""
    (tmp_path / "tests" / "spark").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    on_spark, others = tmp_path / "on spark", tmp_path / "others"
    for name, log in {"join": on_spark, "stream": on_spark, "other": others}.items():
        (tmp_path / "tests" / "spark" / f"test_{name}.py").write_text(TESTS.format(log=log))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "3",
        "--dist",
        "loadgroup",
        "-p",
        "no:cacheprovider",
    ]
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(command, cwd=tmp_path, env=outer, check=True, capture_output=True)
    assert len(on_spark.read_text().split()) == 12
    assert len(set(on_spark.read_text().split())) == 1
    assert len(set(others.read_text().split())) > 1
