"""Executors that share nothing with the driver: the library and its compiled kernels are shipped to them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from eddy.spark.ship import archive

ROOT = Path(__file__).parents[2]

FRESH = """
import importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
import eddy.spark
from eddy.compiling import WITH_KERNELS
from stairs.kernel import is_stored, known
for name in WITH_KERNELS:
    importlib.import_module(name)
missing = [name for name, kernel in known.items() if not is_stored(kernel)]
print(json.dumps([os.path.dirname(os.path.dirname(eddy.__file__)), len(known), missing]))
"""

JOB = """
import collections, json, sys
import eddy, eddy.spark
from tests.sparks import Feed, equal, ids, stream

spark = eddy.spark.session("local-cluster[2,2,1024]", **{"spark.executor.memory": "1g", "spark.driver.memory": "1g"})
columns = {"k": "int64", "s": "string"}
given = Feed({n: stream(**columns) for n in "ABC"}, [*equal("A.s", "B.s"), *equal("B.k", "C.k")]).fill(41)


def look(items):
    # This is pickled by value, so it is the library that this worker has.
    import os, sys
    import eddy
    ours = [m for name, m in sys.modules.items() if name.split(".")[0] in ("eddy", "policies", "stairs")]
    found = {id(v): v for m in ours for v in vars(m).values() if hasattr(getattr(v, "_cache", None), "_cache_file")}
    kernels = list(found.values())
    compiled = [kernel for kernel in kernels if sum(kernel.stats.cache_misses.values())]
    yield os.getpid(), os.path.dirname(os.path.dirname(eddy.__file__)), len(kernels), len(compiled)


begun = sys.argv[1]
# Four workers, all of them cold, begin with the same job at the same time.
items = [[item for item in given.events() if item[0] != "C"]] * 4
pair = Feed({n: given.streams[n] for n in "AB"}, equal("A.s", "B.s"))
pair.rows = given.rows
rdd = spark.sparkContext.parallelize(items, 4).flatMap(lambda part: part)
driver = eddy.spark.driver(pair.query)


def both(items):
    # None is done before all have begun: a worker that was done sooner would get a second task.
    import os, time

    open(os.path.join(begun, str(os.getpid())), "w").close()
    end = time.monotonic() + 300
    while len(os.listdir(begun)) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    results = [tuple(row) for row in driver(items)]
    return [(*next(look(())), results)]


seen = rdd.mapPartitions(both).collect()
expected = sorted(pair.expected().elements())
joined = ids(eddy.spark.join(given.query, given.frames(spark), partitions=4)) == given.expected()
print(json.dumps({
    "workers": [list(worker[:4]) for worker in seen],
    "right": [sorted(worker[4]) == expected for worker in seen],
    "joined": joined,
    "driver": eddy.__file__,
}))
spark.stop()
"""

KINDS = """
import json, sys
import eddy, eddy.spark
from tests.sparks import ZONED, Feed, equal, ids, stream
from tests.spark.test_stream import SCHEMA, arrivals, run, sources, write

spark = eddy.spark.session("local-cluster[2,1,1024]", **{"spark.executor.memory": "1g", "spark.driver.memory": "1g"})
columns = {"k": "int64", "s": "string"}
one = equal("A.k", "B.k", "C.k")
several = [*equal("A.s", "B.s"), *equal("B.k", "C.k")]
plain = {n: stream(**columns) for n in "ABC"}
counting = {**plain, "A": stream(("rows", 9), **columns)}
zoned = {n: stream(("range", 12), ZONED, **columns) for n in "ABC"}
cases = {
    "hash": (plain, one, {}, {}),
    "heavy": (plain, one, {"skew": 0.7, "sizes": 90, "span": 300}, {"sample": 1.0, "kind": "hash", "partitions": 8}),
    "hypercube": (plain, several, {}, {"partitions": 16}),
    "slices": (plain, several, {}, {"sample": 1.0, "kind": "slices"}),
    "rows": (counting, several, {}, {}),
    "zones": (zoned, several, {}, {}),
    "empty": (plain, one, {"sizes": [40, 0, 40]}, {}),
    "float": ({**plain, "A": stream(f="float64")}, [*equal("A.f", "B.k"), *equal("B.s", "C.s")], {}, {}),
}
found = {}
for seed, (name, (streams, where, filled, options)) in enumerate(cases.items()):
    given = Feed(streams, where).fill(60 + seed, **filled)
    for packed in (True, False) if name in ("hash", "hypercube", "slices") else (seed % 2 == 0,):
        frame = eddy.spark.join(given.query, given.frames(spark), packed=packed, **{"partitions": 3, **options})
        told = eddy.spark.explain(frame).splitlines()[0]
        found[f"{name}, {packed}"] = [ids(frame) == given.expected(), given.expected().total(), told]
given = Feed({n: stream(("range", 20), **columns) for n in "ABC"}, several).fill(70, sizes=200, span=200)
write(sys.argv[1], arrivals(given), 3)
for partitions in (2, 3):  # a second run has nothing new, but deals its state out anew
    run(spark, sys.argv[1], given.query, sources(spark, sys.argv[1], SCHEMA), partitions=partitions)
streamed = ids(spark.read.parquet(sys.argv[1] + "/out"))
found["stream"] = [streamed == given.expected(), given.expected().total(), "streamed"]
print(json.dumps(found))
spark.stop()
"""


def test_the_archive_has_the_packages_and_their_kernels():
    """Sources of all three, and compiled kernels beside them; no tests."""
    with zipfile.ZipFile(archive()) as file:
        names = set(file.namelist())
    assert {"eddy/__init__.py", "eddy/spark/live.py", "stairs/kernel.py", "policies/__init__.py"} <= names
    assert any(name.startswith("stairs/__pycache__/") and name.endswith(".nbc") for name in names)
    assert any(name.startswith("eddy/fast/__pycache__/") and name.endswith(".nbi") for name in names)
    assert not any(name.startswith("tests/") for name in names)


def test_nothing_is_compiled_from_the_archive(tmp_path):
    """A process that has nothing else takes every kernel from it."""
    with zipfile.ZipFile(archive()) as file:
        file.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    home, kernels, compiled = json.loads(done.stdout)
    assert Path(home) == tmp_path and kernels > 150 and compiled == []


def test_four_cold_workers_of_a_cluster(tmp_path):
    """They run what was shipped, compile nothing, and give the right results."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["right"] == [True] * 4 and found["joined"]
    assert len({pid for pid, *_ in found["workers"]}) == 4
    for _, home, kernels, compiled in found["workers"]:
        assert Path(home).name.startswith("eddy-") and Path(home) != ROOT
        assert kernels > 150 and compiled == 0
        # Spark's folder for this application, which it leaves behind.
        shutil.rmtree(Path(home).parents[1], ignore_errors=True)


def test_every_kind_of_partitioning_on_a_cluster(tmp_path):
    """Executors of one core each: hash, heavy keys, grid, slices, counted rows, zones, no rows, floats, a stream."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", KINDS, str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: right for name, (right, *_) in found.items() if not right} == {}
    assert {name for name, (_, results, _) in found.items() if not results} == {"empty, True"}
    for name in ("hash", "hypercube", "slices"):
        assert name in found[f"{name}, True"][2] and name in found[f"{name}, False"][2]
