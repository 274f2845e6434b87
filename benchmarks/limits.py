"""The limits as Python objects: each takes chunks of events and returns the number of results."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from attrs import define, field

from benchmarks.workloads import SHAPES, Chunk, Workload

_SOURCE = Path(__file__).with_name("limit.cpp")
_FLAGS = ("-std=c++17", "-O3", "-march=native", "-shared", "-fPIC")


def compiler() -> str | None:
    """The C++ compiler, if there is one."""
    return shutil.which(os.environ.get("CXX", "g++"))


@cache
def library() -> ctypes.CDLL:
    """The compiled `limit.cpp`, built at first use and when it has changed."""
    compile_with = compiler()
    if compile_with is None:
        raise RuntimeError("limit.cpp needs a C++ compiler: install g++, or name one in CXX")
    digest = hashlib.sha256(_SOURCE.read_bytes() + " ".join(_FLAGS).encode()).hexdigest()[:16]
    built = _SOURCE.parent / "build" / f"limit-{digest}.so"
    if not built.exists():
        built.parent.mkdir(exist_ok=True)
        partial = built.with_suffix(f".{os.getpid()}")
        subprocess.run([compile_with, *_FLAGS, "-o", str(partial), str(_SOURCE)], check=True)
        partial.rename(built)
    lib = ctypes.CDLL(str(built))
    lib.limit_new.restype = ctypes.c_void_p
    lib.limit_new.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    lib.limit_free.restype = None
    lib.limit_free.argtypes = [ctypes.c_void_p]
    lib.limit_push.restype = ctypes.c_int64
    lib.limit_push.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_double),
    ]
    lib.limit_bandwidth.restype, lib.limit_bandwidth.argtypes = ctypes.c_double, []
    return lib


def memory_bandwidth() -> float:
    """Bytes a second that one core reads and writes, by adding two arrays that no cache holds into a third."""
    return float(library().limit_bandwidth())


@define(eq=False)
class Cpp:
    """The join of `limit.cpp`; the plan of the workload must be one that is compiled into it."""

    workload: Workload
    seconds: float = field(default=0.0, init=False)
    """What the last push took by the join's own clock."""
    _join: int = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        work = self.workload
        self._join = library().limit_new(work.streams, SHAPES[work.shape], work.window)
        if not self._join:
            raise ValueError(f"limit.cpp has no plan for {work.streams} streams, {work.shape}")

    def push(self, chunk: Chunk) -> int:
        columns = (ctypes.c_void_p * len(chunk.columns))(*(column.ctypes.data for column in chunk.columns))
        seconds = ctypes.c_double()
        results: int = library().limit_push(
            self._join, chunk.streams.ctypes.data, columns, len(chunk), ctypes.byref(seconds)
        )
        self.seconds = seconds.value
        return results

    def __del__(self) -> None:
        if getattr(self, "_join", None):
            library().limit_free(self._join)
