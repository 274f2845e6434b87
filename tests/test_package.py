"""What is uploaded: a wheel and an sdist that have all that the library needs, and run where nothing else of it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
RUN = """
import eddy
from pathlib import Path
from eddy.page.html import page
assert Path(eddy.__file__).is_relative_to(Path.cwd()), eddy.__file__
schemas = {name: {"k": "int64"} for name in "AB"}
query = eddy.sql("SELECT A.k FROM A [ROWS 9], B [ROWS 9] WHERE A.k = B.k", schemas=schemas)
assert "<svg" in page({"title": "x"}, False)
print(query)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both, made of a copy of the sources, by setuptools as a build has it."""
    copy = tmp_path_factory.mktemp("sources") / "eddy"
    for package in ("eddy", "stairs", "policies"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    made = "from setuptools import build_meta; build_meta.build_sdist('out')"
    (copy / "out").mkdir()
    subprocess.run([sys.executable, "-c", made], cwd=copy, check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", "out", "."]
    subprocess.run(pip, cwd=copy, check=True, capture_output=True)
    return sorted((copy / "out").iterdir())


def test_both_have_every_module_and_the_page(built):
    """Nothing that git tracks in the packages is missing, and no tests are there."""
    sdist, wheel = built[1], built[0]
    if sdist.suffix == ".whl":
        sdist, wheel = wheel, sdist
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in ("eddy", "stairs", "policies")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    assert wanted - in_wheel == set() and wanted - in_sdist == set()
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in in_wheel)


@pytest.mark.parametrize("ending", [".whl", ".tar.gz"])
def test_each_is_installed_into_an_empty_folder_and_runs(built, ending, tmp_path):
    """With what it requires from this environment; the sources beside the tests are out of reach."""
    (archive,) = [path for path in built if path.name.endswith(ending)]
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet"]
    subprocess.run(
        [*pip, "--target", str(tmp_path), str(archive)], check=True, capture_output=True, cwd=tmp_path
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "SELECT A.k" in done.stdout
