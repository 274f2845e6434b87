"""The contenders: one table for the tests, which run those that are installed, and for `make peers`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from attrs import field, frozen

from benchmarks.peers.spec import Spec
from benchmarks.stamp import ROOT

OWN = ROOT / ".venv-peers"
"""Environments that `make peers` makes for contenders: their dependencies conflict, so each has its own."""
Why = Callable[[Spec], str | None]


@frozen
class Contender:
    """Somebody who is asked for the joins."""

    name: str
    title: str
    runner: str
    """The module in this package."""
    needs: str = ""
    """What must be importable in its environment; for ``c++`` a compiler."""
    package: str = ""
    """What pip installs for it, into an environment of its own; without it, it runs in the one of the tests."""
    threads: int = 1
    settings: Mapping[str, Any] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=dict)
    unable: Why = lambda _: None
    """Why it cannot express a workload, if it cannot."""
    goal: Callable[[Spec], float | None] = lambda _: None
    """How many times as fast as it Eddy is to be."""
    kind: str = "stream"
    """stream, batch, or program."""

    @property
    def python(self) -> str:
        """The interpreter that it runs in."""
        if self.package:
            own = OWN / self.folder / "bin" / "python"
            if own.exists():
                return str(own)
        return sys.executable

    @property
    def folder(self) -> str:
        return self.package.partition("=")[0].partition(">")[0].removeprefix("apache-")

    @property
    def installed(self) -> bool:
        return _importable(self.python, self.needs)

    @staticmethod
    def forget() -> None:
        """Something has been installed."""
        _importable.cache_clear()


@cache
def _importable(python: str, needs: str) -> bool:
    if needs == "c++":
        return shutil.which(os.environ.get("CXX", "g++")) is not None
    if not needs:
        return True
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({needs!r}) is None)"
    return subprocess.run([python, "-c", code], cwd="/", capture_output=True).returncode == 0


def _stream(spec: Spec) -> float | None:
    return 10.0


def _flink(spec: Spec) -> float | None:
    return 40.0 if spec.name == "three" else 10.0


def _spark(spec: Spec) -> float | None:
    return 100.0 if spec.name == "three" else 10.0


def _batch(spec: Spec) -> float | None:
    return 2.0


def _cpp(spec: Spec) -> float | None:
    return 1.3


def _only_one_key(spec: Spec) -> str | None:
    if spec.shape != "one key":
        return "MultiJoin needs one key that all streams share; without it these are joins of two"
    return None


def _compiled(spec: Spec) -> str | None:
    return "no plan compiled in" if spec.shape == "nexmark" else None


def _with_range(spec: Spec) -> str | None:
    return None if spec.range is not None else "no windows to cut into buckets"


def _batchwise() -> list[Contender]:
    found = []
    for threads in (1, 2):
        for buckets in (False, True):
            tail = (", time buckets" if buckets else "") + (", 2 threads" if threads == 2 else "")
            name = ("-buckets" if buckets else "") + ("-2" if threads == 2 else "")
            settings = {"buckets": buckets, "threads": threads}
            unable: Why = _with_range if buckets else (lambda _: None)
            found.append(
                Contender(
                    f"duckdb{name}",
                    f"DuckDB{tail}",
                    "duckdb",
                    "duckdb",
                    "duckdb",
                    threads,
                    settings=settings,
                    unable=unable,
                    goal=_batch,
                    kind="batch",
                )
            )
            found.append(
                Contender(
                    f"polars{name}",
                    f"Polars{tail}",
                    "polars",
                    "polars",
                    threads=threads,
                    settings=settings,
                    environment={"POLARS_MAX_THREADS": str(threads)},
                    unable=unable,
                    goal=_batch,
                    kind="batch",
                )
            )
    return found


EDDY = Contender("eddy", "Eddy", "eddy", "numba", kind="eddy")
EDDY_2 = Contender(
    "eddy-2", "Eddy, 2 threads", "eddy", "numba", threads=2, settings={"threads": 2}, kind="eddy"
)

CONTENDERS = (
    Contender(
        "flink", "Flink, interval joins", "flink", "pyflink", "apache-flink", 2, {"multi": False}, goal=_flink
    ),
    Contender(
        "flink-multi", "Flink, MultiJoin", "flink", "pyflink", "apache-flink", 2, {"multi": True},
        unable=_only_one_key, goal=_flink,
    ),
    Contender("spark", "Spark Structured Streaming", "spark", "pyspark", threads=2, goal=_spark),
    Contender(
        "pathway", "Pathway, streaming", "pathway", "pathway", "pathway", 2, {"streaming": True},
        {"PATHWAY_THREADS": "2"}, goal=_stream,
    ),
    Contender(
        "pathway-static", "Pathway, static", "pathway", "pathway", "pathway", 2, {"streaming": False},
        {"PATHWAY_THREADS": "2"}, goal=_stream,
    ),
    Contender("bytewax", "Bytewax", "bytewax", "bytewax", "bytewax", goal=_stream),
    Contender(
        "laminardb", "LaminarDB, all at once", "laminardb", "laminardb", "laminardb", 2, {"parts": 1}, goal=_stream
    ),
    Contender(
        "laminardb-parts", "LaminarDB, in ten parts", "laminardb", "laminardb", "laminardb", 2, {"parts": 10},
        goal=_stream,
    ),
    *_batchwise(),
    Contender("dict", "a Python program", "dict", kind="program"),
    Contender("cpp", "C++ by hand, one plan", "cpp", "c++", goal=_cpp, unable=_compiled, kind="program"),
)  # fmt: skip

BY_NAME = {contender.name: contender for contender in (EDDY, EDDY_2, *CONTENDERS)}


def rival(contender: Contender) -> Contender:
    """The side of ours that is compared with it: thread for thread with those that work on bounded data."""
    return EDDY_2 if contender.kind == "batch" and contender.threads == 2 else EDDY
