"""Kernels: compiled once, for one signature, without the interpreter lock; and never taken stale from the cache."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.registry import CPUDispatcher

import eddy
from eddy.compiling import ready
from policies import Jisc
from stairs.kernel import known
from stairs.probe_kernels import ARRIVING, FILLING, SCAN_ARRIVING, SCAN_FILLING, join_for
from tests.by_hand import views
from tests.inside import Inside

ROOT = Path(__file__).parents[2]
SOURCES = [
    path for package in ("stairs", "eddy", "policies") for path in sorted((ROOT / package).rglob("*.py"))
]


def kernels():
    """Every kernel of the library."""
    for path in SOURCES:
        if "kernel" in path.read_text():
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return [kernel for name, kernel in known.items() if name.split(".")[0] in ("stairs", "eddy", "policies")]


def label(kernel):
    """The kernel's file and name."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"


KERNELS = kernels()


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_a_kernel_has_exactly_one_signature(kernel):
    """It is compiled when it is first needed, for nothing else, and runs without the interpreter lock."""
    ready([kernel])
    assert type(kernel) is CPUDispatcher, "it is called as any function of Numba"
    assert len(kernel.signatures) == 1
    assert kernel._can_compile is False
    assert kernel.targetoptions["nogil"] is True
    assert not isinstance(kernel._cache, numba.core.caching.NullCache)


def test_all_kernels_are_seen():
    """The list above is not empty by mistake: it has the kernels of every file that defines some."""
    files = {kernel.py_func.__module__ for kernel in KERNELS}
    for name in ("probe", "key", "ring", "hole", "sorted"):
        assert f"stairs.{name}_kernels" in files
    assert {"eddy.intake.merge", "eddy.intake.lowwater_kernels", "eddy.values.string_kernels"} <= files
    assert len(KERNELS) > 25


LOADED = """
import sys
import eddy
first = set(sys.modules)
eddy.compile_kernels()
from stairs.kernel import Pending, is_stored, known
print(*(name for name in sys.modules if name.split(".")[0] in ("eddy", "policies", "stairs")), "|")
print(*(name for name in first if name.split(".")[0] in ("eddy", "policies", "stairs", "numba", "pyarrow")), "|")
print(all(isinstance(kernel, Pending) and is_stored(kernel) for kernel in known.values()), len(known))
"""


def test_an_import_loads_nothing_and_one_call_stores_every_kernel():
    """Names are loaded when they are first used; all kernels can be had in the cache, where they wait to be called."""
    everything, first, told = (part.split() for part in " ".join(run(LOADED, ROOT)).split(" | "))
    assert first == ["eddy"]
    assert {kernel.py_func.__module__ for kernel in KERNELS} <= set(everything)
    assert told == ["True", str(len(KERNELS))]


def test_no_kernel_is_left_for_a_batch():
    """Whatever an engine may need is compiled and loaded when it is made: pushes, plan changes and questions load no
    more, neither modules nor kernels. (A kernel that is not loaded might have to be compiled.)"""
    done = run(LEFT, ROOT)
    assert done == ["[]"] * 10, done


LEFT = """
import sys
import eddy
from policies import Mns
from stairs.kernel import Pending, known as kernels
columns = {"k": "int64", "v": "int64"}
streams = {n: eddy.Stream(columns, window=eddy.Rows(4)) for n in "ABCD"}
where = ["A.k = B.k", "B.k = C.k"]
AGGREGATES = {"a": "MEDIAN(B.v)", "b": "MIN(C.v)", "c": "SUM(C.v)"}
three = {n: streams[n] for n in "ABC"}
join = eddy.Query(three, where=where)
pair = eddy.Query({n: streams[n] for n in "AB"}, where=where[:1])
texts = {n: eddy.Stream({"k": "string", "v": "int64"}, window=eddy.Rows(4)) for n in "AB"}
wide = eddy.Query(streams, where=[*where, "A.v = D.v", "C.v < D.v"])
grouped = eddy.Query(three, where=where, group_by=["A.k"], aggregates=AGGREGATES)
difference = eddy.Query({n: streams[n] for n in "AB"}, minus={"B": "A.k = B.k"})
PLANS = ["(A B) C", "A (B C)", "stems"]
FOUR = ["(A B) (C D)", "((A D) B) C", "stems", "A (B (C D))"]

def ours():
    modules = {name for name in sys.modules if name.split(".")[0] in ("eddy", "policies", "stairs")}
    return modules | {name for name, kernel in kernels.items() if not isinstance(kernel, Pending)}

for query, plans, options in (
    (pair, ["B A", "stems"], {}),
    (eddy.Query(texts, where=where[:1]), ["B A", "stems"], {}),
    (join, PLANS, {}),
    (wide, FOUR, {}),
    (wide, FOUR, {"joins": "nested", "plan": "stems"}),
    (join, PLANS, {"feedback": Mns(), "plan": "(A C) B"}),
    (join, PLANS, {"threads": 2, "plan": "(A C) B"}),
    (grouped, PLANS, {"plan": "(A C) B"}),
    (difference, ["A - B"], {}),
    (join, [], {"retractions": True}),
):
    engine = eddy.Eddy(query, **options)
    known = ours()
    text = query.streams["A"].columns["k"].name == "string"
    for time in range(40):
        keys = [1, 2, time % 3]
        batch = {"k": list(map(str, keys)) if text else keys, "v": [1, 2, 3]}
        len(engine.push_all({n: batch for n in query.names}).to_pydict())
        for plan in plans:
            engine.migrate(plan)
    engine.settle(), engine.statistics(), engine.explain()
    if len(query.names) > 2:
        engine.view()
    print(sorted(ours() - known))
"""


COLD = """
import eddy
from numba.core import event
query = eddy.Query({n: eddy.Stream({"k": "int64"}) for n in "AB"}, where=["A.k = B.k"])
engine = eddy.Eddy(query)
with event.install_recorder("numba:compile") as recorder:
    for time in range(20):
        engine.push("A", {"k": [1, 2]}), engine.push("B", {"k": [2, time]}).to_pydict()
        engine.migrate(["stems", "B A"][time % 2])
print(len(recorder.buffer), engine.statistics().results)
"""


def test_a_cold_engine_compiles_what_it_needs_and_nothing_later(tmp_path):
    """With an empty cache the kernels of two streams are compiled before the first push, and no others: none that fill
    holes, sample, read text or search for plans."""
    assert run(COLD, ROOT, NUMBA_CACHE_DIR=str(tmp_path)) == ["0", str(20 * 1 + 20 * 21)]
    stored = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"program_kernels.run", "kernels.process", "probe_kernels.probe_1_1_arriving"} <= stored
    homes = {name.split(".")[0] for name in stored}
    assert not homes & {
        "hole_kernels",
        "sample_kernels",
        "string_kernels",
        "search_kernels",
        "sorted_kernels",
    }
    assert not any("filling" in name for name in stored)
    assert len(stored) < len(KERNELS) / 4


def test_every_shape_of_join_has_its_kernel():
    """Common shapes have kernels of their own, others share one by which side is a single stream."""
    assert (
        len({id(kernel) for kernel in (*ARRIVING.values(), FILLING, SCAN_ARRIVING, SCAN_FILLING)})
        == len(ARRIVING) + 3
    )
    for own in range(1, 7):
        for other in range(1, 7):
            shared = ARRIVING[0 if own > 1 else 1, 0 if other > 1 else 1]
            assert join_for(own, other, False, True) is ARRIVING.get((own, other), shared)
            assert join_for(own, other, False, False) is FILLING
            assert join_for(own, other, True, True) is SCAN_ARRIVING
            assert join_for(own, other, True, False) is SCAN_FILLING


def test_another_type_is_an_error_and_not_a_new_kernel():
    """A call that does not fit fails at once instead of compiling for seconds."""
    from stairs.key_kernels import mix_into

    with pytest.raises(TypeError):
        mix_into(np.zeros(3, np.float32), np.zeros(3, np.float32))
    with pytest.raises(TypeError):
        mix_into(np.zeros((3, 2), np.int64)[:, 0], np.zeros(3, np.int64))
    assert len(mix_into.signatures) == 1
    assert run(REFUSED, ROOT) == ["refused"]


REFUSED = """
import numpy as np
from stairs.key_kernels import mix_into
try:
    mix_into(np.zeros(3, np.float32), np.zeros(3, np.float32))
except TypeError:
    print("refused")
"""


# -- nothing is compiled while an engine works -------------------------------------------------------------------


def test_a_compilation_would_be_noticed():
    """The recorder that the next tests trust sees a function being compiled."""
    with event.install_recorder("numba:compile") as recorder:
        numba.njit(lambda x: x + 1)(1)
    assert recorder.buffer


KEYS = {
    "int64": [1, 2, 1],
    "int8": [1, 2, 1],
    "uint64": [1, 2, 1],
    "float32": [1.0, 2.0, 1.0],
    "float64": [1.0, float("nan"), 1.0],
    "bool": [True, False, True],
    "string": ["a", "b", "a"],
    "timestamp[ns]": np.array([1, 2, 1], "M8[ns]"),
}
WINDOWS = [eddy.Unbounded(), eddy.Rows(5), eddy.Range(4), eddy.Tumbling(rows=3), eddy.Tumbling(time=3)]


def exercise(query, batches, plans, joins="hash"):
    """Do with an engine all that one can do; how many results came."""
    engine = Inside(query, migration=Jisc(background=1), joins=joins, batch_size=4)
    count = 0
    for turn, plan in enumerate(plans):
        engine.migrate(plan)
        for name, batch in batches(10 * turn).items():
            count += len(engine.push(name, batch).to_arrow())
        later = batches(10 * turn + 5)
        count += sum(len(part.to_pydict()) > 0 for part in engine.push_all(later, max_rows=7))
        for stair in engine.state.executor.stairs.values():
            stair.demote(np.unique(stair.carrier.keys(stair.carrier.low, stair.carrier.tail)))
        for view in views(engine):
            view.probe() if len(view.streams) == 1 else view.demote()
            view.promote(budget=1)
        count += len(engine.push_all(batches(10 * turn + 9)))
        engine.statistics()
        engine.explain()
    return count


def test_no_new_query_compiles_anything():
    """Other types, windows, predicates, numbers of streams and ways to join are data, not code."""
    results = 0
    with event.install_recorder("numba:compile") as recorder:
        for number, (kind, values) in enumerate(KEYS.items()):
            window = WINDOWS[number % len(WINDOWS)]
            streams = {n: eddy.Stream({"ts": "int64", "k": kind, "v": "int32"}, window=window) for n in "ABC"}
            query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "A.v <= C.v", "B.v > 0"])

            def batches(time, values=values):
                return {n: {"ts": [time] * 3, "k": values, "v": [1, 2, 3]} for n in "ABC"}

            results += exercise(query, batches, ["(A B) C", "stems"], ["hash", "nested"][number % 2])
        pair = {"x": "int64", "y": "string", "z": "float64"}
        streams = {name: eddy.Stream(pair, window=eddy.Rows(9)) for name in "ABCD"}
        for where in (
            ["A.x = B.x", "A.y = B.y", "B.x = C.x", "C.y = D.y", "A.z = D.z"],
            ["A.x < B.x", "ABS(B.x - C.x) <= 1", "C.y = D.y"],
            ["A.x + 1 = B.x", "B.x != C.x OR C.z > 1", "A.x + C.x < D.x * 2"],
        ):

            def batches(time):
                return {n: {"x": [1, 2, 3], "y": ["a", None, "b"], "z": [1.0, 2.0, None]} for n in "ABCD"}

            results += exercise(
                eddy.Query(streams, where=where, cross=True), batches, ["(A B) (C D)", "stems"]
            )
        names = [f"S{i}" for i in range(9)]
        wide = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(2)) for name in names}
        query = eddy.Query(wide, where=[f"S0.k = {name}.k" for name in names[1:]])
        results += exercise(query, lambda time: {n: {"k": [1]} for n in names}, ["stems"])
    assert results > 300
    assert recorder.buffer == []


def test_no_plan_change_compiles_anything():
    """Every tree over four streams, and orderings, one after the other on one engine."""
    names = "ABCD"

    def trees(some):
        if len(some) == 1:
            return [some]
        found = []
        for chosen in range(1, 2 ** (len(some) - 1)):
            left = "".join(s for i, s in enumerate(some) if chosen >> i & 1)
            right = "".join(s for s in some if s not in left)
            found += [f"({one} {other})" for one in trees(left) for other in trees(right)]
        return found

    plans = [tree[1:-1] for tree in trees(names)]
    assert len(set(plans)) == 15
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(20)) for name in names}
    with event.install_recorder("numba:compile") as recorder:
        query = eddy.Query(streams, where=["A.x = B.x", "B.y = C.y", "C.x < D.x", "A.y = D.y"])
        engine = eddy.Eddy(query)
        for plan in [*plans, "stems", *reversed(plans)]:
            engine.migrate(plan)
            for name in names:
                engine.push(name, {"x": [1, 2, 3], "y": [1, 1, 2]})
    assert engine.statistics().results > 1000
    assert recorder.buffer == []


WARM = """
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    import eddy
    query = eddy.Query({name: eddy.Stream({"k": "string"}) for name in "AB"}, where=["A.k = B.k"])
    engine = eddy.Eddy(query)
    engine.push("A", {"k": ["x", "y"]})
    assert engine.push("B", {"k": ["y"]}).to_pydict() == {"A.k": ["y"], "B.k": ["y"]}
print(len(recorder.buffer))
"""


def test_a_second_process_compiles_nothing():
    """Kernels come from the cache on disk: from import to first result nothing is compiled again."""
    assert run(WARM, ROOT) == ["0"]


# -- the cache ---------------------------------------------------------------------------------------------------

SHARED = """
from stairs.kernel import part
STEP = {step}
@part
def further(x):
    return x + STEP
"""
USES = """
import numba as nb
from stairs.kernel import kernel
from stairs.shared import further
@kernel(nb.int64(nb.int64))
def walk(x):
    return further(further(x))
"""
WALK = """
from stairs.uses import walk
print(walk(0), sum(walk.stats.cache_hits.values()), sum(walk.stats.cache_misses.values()))
"""


def run(program, folder, **environment):
    """The words that a program prints in a process of its own, with ``folder`` first on its path."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def small_package(folder):
    """A package `stairs` with one kernel, which has a part in another file."""
    package = folder / "stairs"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("kernel.py", "kernel_cache.py"):
        shutil.copy(ROOT / "stairs" / name, package / name)
    (package / "uses.py").write_text(USES)
    (package / "shared.py").write_text(SHARED.format(step=1))
    return package


def test_a_change_in_another_file_is_seen(tmp_path):
    """A cached kernel that inlines a piece from another file is compiled again when that file changes."""
    package = small_package(tmp_path)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(WALK, tmp_path, **environment) == ["2", "0", "1"]
    os.utime(package / "uses.py", (1, 1))
    os.utime(package / "shared.py", (1, 1))
    assert run(WALK, tmp_path, **environment) == ["2", "1", "0"], "the same sources are not compiled again"
    (package / "shared.py").write_text(SHARED.format(step=5))
    os.utime(package / "shared.py", (1, 1))
    assert run(WALK, tmp_path, **environment) == ["10", "0", "1"]
    (package / "shared.py").write_text(SHARED.format(step=1))
    assert run(WALK, tmp_path, **environment)[0] == "2"


def test_one_process_compiles_a_kernel_and_the_others_wait(tmp_path):
    """Four begin at once with an empty cache: one compiles, three take what it has compiled."""
    small_package(tmp_path)
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", WALK], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    told = sorted(process.communicate(timeout=600)[0] for process in begun)
    assert told == ["2 0 1\n", "2 1 0\n", "2 1 0\n", "2 1 0\n"]


def test_an_index_never_leads_to_what_was_compiled_from_other_sources(tmp_path):
    """A process that ends when it has written one of two files has written what was compiled, and no index of it."""
    package, environment = small_package(tmp_path), {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(WALK, tmp_path, **environment)[0] == "2"
    (package / "shared.py").write_text(SHARED.format(step=5))
    ended = WALK.replace("print", ENDED + "print")
    assert run(ended, tmp_path, **environment) == ["ended"]
    assert run(WALK, tmp_path, **environment) == ["10", "0", "1"]


ENDED = """
from numba.core.caching import IndexDataCacheFile
def end(*_):
    print("ended", flush=True)
    import os
    os._exit(0)
for name in ("_save_data", "_save_index"):
    def once(self, *given, before=getattr(IndexDataCacheFile, name)):
        before(self, *given)
        end()
    setattr(IndexDataCacheFile, name, once)
"""


def test_one_decorator_compiles_everything():
    """Numba's own decorators stand in `stairs.kernel` only, but for what the user writes, which is no kernel."""
    own = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Name, ast.Attribute))
        and (node.id if isinstance(node, ast.Name) else node.attr)
        in ("njit", "jit", "vectorize", "guvectorize")
    }
    assert own == {
        "stairs/kernel.py",
        "eddy/query/predicate.py",
        "eddy/query/own_aggregate.py",
        "eddy/query/own_kernels.py",
    }
