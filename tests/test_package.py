"""What is uploaded: a wheel and an sdist that have all that the library needs, and run where nothing else of it is."""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from eddy.spark.ship import KERNELS
from eddy.spark.ship import archive as shipped

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
engine = eddy.Eddy(query)
engine.push("A", {"k": [7]})
print(engine.push("B", {"k": [7]}).to_pydict())
import importlib.util
print(*(name for name in ("pyspark", "pytest", "starlette") if importlib.util.find_spec(name)))
"""


def required():
    """The distributions that setup.cfg requires, and what these do, without extras."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    found, left = {}, [line for line in setup["options"]["install_requires"].splitlines() if line.strip()]
    while left:
        need = Requirement(left.pop())
        if (need.marker is None or need.marker.evaluate({"extra": ""})) and need.name not in found:
            found[need.name] = distribution(need.name)
            left += found[need.name].requires or ()
    return found.values()


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
    """With what it requires, and nothing else: other packages of this environment are out of reach, and so are the
    sources beside the tests. Two rows meet; kernels that are compiled already save a minute."""
    (archive,) = [path for path in built if path.name.endswith(ending)]
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet"]
    subprocess.run(
        [*pip, "--target", str(tmp_path), str(archive)], check=True, capture_output=True, cwd=tmp_path
    )
    with zipfile.ZipFile(shipped()) as kernels:
        kernels.extractall(tmp_path, [name for name in kernels.namelist() if name.endswith(KERNELS)])
    needed = tmp_path / "needed"
    needed.mkdir()
    for one in required():
        for top in {path.parts[0] for path in one.files if path.parts[0] not in ("..", "__pycache__")}:
            with contextlib.suppress(FileExistsError):  # a folder that several share
                (needed / top).symlink_to(one.locate_file(top))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{needed}"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", RUN], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SELECT A.k") and done.stdout.endswith("{'A.k': [7]}\n\n")
