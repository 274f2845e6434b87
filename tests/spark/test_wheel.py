"""The wheel, as docs/spark.md says to use it: installed, and beside what the driver ships; never out of an archive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from eddy.spark.java import java_home
from eddy.spark.ship import KERNELS, archive

ROOT = Path(__file__).parents[2]

JOB = """
import json, sys
import eddy, eddy.spark

columns = {"ts": "int64", "id": "int64", "k": "string"}
query = eddy.Query(
    {name: eddy.Stream(columns, window=eddy.Range(9)) for name in "AB"},
    ["A.k = B.k"], select=["A.id AS a", "B.id AS b"],
)
rows = {"A": [(i, i, f"key {i % 7}") for i in range(60)], "B": [(i, i, f"key {i % 5}") for i in range(60)]}
single = eddy.Eddy(query).push_all(
    {name: dict(zip(columns, map(list, zip(*of)))) for name, of in rows.items()}
).to_pydict()
spark = eddy.spark.session("local-cluster[2,1,1024]", **{"spark.executor.memory": "1g", "spark.driver.memory": "1g"})
spark.sparkContext.addPyFile(sys.argv[1])


def look(batches):
    import os, eddy
    import pyarrow as pa
    for batch in batches:
        yield pa.record_batch({"home": [os.path.dirname(os.path.dirname(eddy.__file__))] * batch.num_rows})


frames = {name: spark.createDataFrame(of, "ts long, id long, k string") for name, of in rows.items()}
found = [sorted(tuple(row) for row in eddy.spark.join(query, frames, partitions=2, packed=packed).collect())
         for packed in (True, False)]
homes = [row.home for row in spark.range(0, 2, 1, 2).mapInArrow(look, "home string").collect()]
print(json.dumps({
    "right": [one == sorted(zip(*single.values())) for one in found], "results": len(found[0]),
    "driver": eddy.__file__, "workers": homes,
}))
spark.stop()
"""

SUBMITTED = """
try:
    import eddy
except ImportError as error:
    print("refused:", error)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built of a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("eddy", "policies", "stairs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", str(source), "--no-deps", "-q", "-w", str(folder)]
    for more in (["--no-build-isolation"], []):  # what is installed may be too old to build wheels by itself
        done = subprocess.run([*build, *more], capture_output=True, text=True, timeout=400)
        if done.returncode == 0:
            (made,) = folder.glob("eddy_stairs-*.whl")
            return made
    pytest.skip(f"there is nothing here to build a wheel with: {done.stderr[-300:]}")


def test_an_installed_wheel_and_one_in_py_files(wheel, tmp_path):
    """The driver runs what is installed and ships that; the archive in py-files is on the workers, and harmless."""
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-compile",
        "-q",
        "--target",
        str(site),
    ]
    subprocess.run([*install, str(wheel)], check=True, timeout=400)
    assert not (site / "tests").exists() and not (site / "benchmarks").exists()
    with zipfile.ZipFile(archive()) as file:  # kernels that are compiled already, which would take a minute
        file.extractall(site, [name for name in file.namelist() if name.endswith(KERNELS)])
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(wheel)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["right"] == [True, True] and found["results"] > 50
    assert Path(found["driver"]).parents[1] == site
    for home in found["workers"]:
        assert Path(home).name.startswith("eddy-"), "workers run something else than what the driver shipped"
        shutil.rmtree(Path(home).parents[1], ignore_errors=True)


def test_a_wheel_is_not_run_as_an_archive(wheel, tmp_path):
    """`spark-submit --py-files` puts it first in the driver's path: that is refused, with what to do instead."""
    (tmp_path / "app.py").write_text(SUBMITTED)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [str(submit), "--master", "local[1]", "--py-files", str(wheel), str(tmp_path / "app.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "refused: Eddy does not run out of an archive" in done.stdout and "--py-files" in done.stdout
