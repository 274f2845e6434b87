"""C++ by hand: `fixed.cpp`, one join with one plan compiled in, for one workload."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec

SOURCES = Path(__file__).with_name("fixed.cpp"), Path(__file__).parents[1] / "limit.cpp"
FLAGS = ("-std=c++17", "-O3", "-march=native", "-shared", "-fPIC")
SHAPES = {"one key": 0, "chain": 1, "star": 2}


class Cpp:
    """All events in arrays in the order of time: their times, streams and join attributes."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec, self.library = spec, library()
        tables = [pq.read_table(spec.path(name)) for name in spec.names]
        times = np.concatenate([table["ts"].to_numpy() for table in tables])
        order = np.argsort(times)
        self.times = times[order]
        of = np.repeat(np.arange(len(tables), dtype=np.int32), [table.num_rows for table in tables])
        self.streams = of[order]
        links = [[name for name in types if name not in ("ts", "id")] for types in spec.streams.values()]
        self.columns = []
        for place in range(max(map(len, links))):
            parts = []
            for names, table in zip(links, tables, strict=True):
                # The first stream of a chain is joined by its attribute 1, and so has nothing at 0.
                shift = 1 if spec.shape == "chain" and names is links[0] else 0
                own = names[place - shift] if 0 <= place - shift < len(names) else None
                parts.append(np.zeros(table.num_rows, np.int64) if own is None else table[own].to_numpy())
            self.columns.append(np.concatenate(parts)[order])
        self.ids = [np.ascontiguousarray(table["id"].to_numpy()) for table in tables]
        begin = np.searchsorted(self.times, self.times - (spec.range or 0))
        each = [np.concatenate(([0], np.cumsum(self.streams == s))) for s in range(len(tables))]
        after = np.arange(len(order)) + 1
        self.most = max(int((count[after] - count[begin]).max()) for count in each)
        self.facts = {
            "version": subprocess.run(
                [_compiler(), "--version"], capture_output=True, text=True
            ).stdout.partition("\n")[0],
            "settings": " ".join(FLAGS),
            "data": "arrays in memory, all streams merged by time before the clock starts",
            "results": "records of ids in blocks of memory",
            "gigabytes a second of one core": round(self.library.limit_bandwidth() / 1e9, 2),
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        spec, lib = self.spec, self.library
        with Clock() as clock:
            join = lib.fixed_new(len(spec.names), SHAPES[spec.shape], spec.range, self.most)
            lib.fixed_run(
                join, self.times.ctypes.data, self.streams.ctypes.data,
                _pointers(self.columns), _pointers(self.ids), len(self.times),
            )  # fmt: skip
        found = np.empty((lib.fixed_results(join), len(spec.names)), np.int64)
        lib.fixed_copy(join, found.ctypes.data)
        lib.fixed_free(join)
        return clock, pa.table([found[:, c] for c in range(found.shape[1])], names=spec.outputs())


def _pointers(arrays: list[Any]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def _compiler() -> str:
    return shutil.which(os.environ.get("CXX", "g++")) or "g++"


def library() -> ctypes.CDLL:
    """The compiled `fixed.cpp`, built at first use and when it has changed."""
    content = b"".join(source.read_bytes() for source in SOURCES) + " ".join(FLAGS).encode()
    built = SOURCES[1].parent / "build" / f"fixed-{hashlib.sha256(content).hexdigest()[:16]}.so"
    if not built.exists():
        built.parent.mkdir(exist_ok=True)
        partial = built.with_suffix(f".{os.getpid()}")
        subprocess.run([_compiler(), *FLAGS, "-o", str(partial), str(SOURCES[0])], check=True)
        partial.rename(built)
    lib = ctypes.CDLL(str(built))
    long, pointer = ctypes.c_int64, ctypes.c_void_p
    lib.fixed_new.restype, lib.fixed_new.argtypes = pointer, [ctypes.c_int, ctypes.c_int, long, long]
    lib.fixed_free.restype, lib.fixed_free.argtypes = None, [pointer]
    lib.fixed_run.restype, lib.fixed_run.argtypes = None, [pointer] * 5 + [long]
    lib.fixed_results.restype, lib.fixed_results.argtypes = long, [pointer]
    lib.fixed_copy.restype, lib.fixed_copy.argtypes = None, [pointer, pointer]
    lib.limit_bandwidth.restype, lib.limit_bandwidth.argtypes = ctypes.c_double, []
    return lib


if __name__ == "__main__":
    serve(Cpp)
