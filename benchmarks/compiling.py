"""From the first import to the first result, in a process of its own, with a kernel cache of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from attrs import frozen

_SCRIPT = """
import json, sys, time
start, worked = time.perf_counter(), time.process_time()
import eddy
imported = time.perf_counter() - start
from numba.core import event

def query(names, window, columns):
    streams = {n: eddy.Stream({"ts": "int64"} | columns, window=window) for n in names}
    return eddy.Query(streams, where=[f"{names[0]}.x = {n}.x" for n in names[1:]])

def push(engine, names, columns):
    return engine.push_all({n: {"ts": [0, 1]} | columns for n in names})

engine = eddy.Eddy(query("ABCD", eddy.Rows(100), {"x": "int64"}), plan="((A B) C) D")
results = len(push(engine, "ABCD", {"x": [1, 1]}))
first, processor = time.perf_counter() - start, time.process_time() - worked
assert results == 16, results

with event.install_recorder("numba:compile") as recorder:
    engine.migrate("A (B (C D))")
    push(engine, "ABCD", {"x": [1, 2]})
    engine.migrate("stems")
    push(engine, "ABCD", {"x": [1, 2]})
changes = sum(1 for _, e in recorder.buffer if e.is_start)
with event.install_recorder("numba:compile") as recorder:
    other = eddy.Eddy(query("PQR", eddy.Range(5), {"x": "string", "y": "float32"}), plan="P (Q R)")
    len(push(other, "PQR", {"x": ["a", "b"], "y": [1.0, 2.0]}).to_arrow())
another = sum(1 for _, e in recorder.buffer if e.is_start)
print(json.dumps([imported, first, processor, changes, another]))
"""


@frozen
class Start:
    """Seconds of one process: to the end of the import, to the first result; and what came after."""

    imported: float
    first_result: float
    processor: float
    """Processor time to the first result: what it would take on a machine with nothing else to do."""
    compiled_by_changes: int
    """Functions compiled by plan changes, after the first result: none, ever."""
    compiled_by_another: int
    """Functions compiled by another query, with strings: what only that needs, unless the cache has it."""

    @property
    def compiled_after(self) -> int:
        return self.compiled_by_changes + self.compiled_by_another


def start(cache: Path) -> Start:
    """A process that uses `cache` for its kernels."""
    root = Path(__file__).parents[1]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, cwd=root, check=True, capture_output=True, text=True
    )
    return Start(*json.loads(run.stdout))


def cold_and_warm() -> tuple[Start, Start]:
    """With an empty cache, then with a full one (the better of three starts: files come from disk)."""
    with tempfile.TemporaryDirectory() as cache:
        cold = start(Path(cache))
        warm = min((start(Path(cache)) for _ in range(3)), key=lambda s: s.first_result)
    return cold, warm
