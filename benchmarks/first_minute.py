"""The first minute: what an import and the first result of a two-stream join take, with an empty cache and a full one.

    python -m benchmarks.first_minute

Each line is a fresh process. Besides the time that passed there is the processor time, of the process and of those that
it started to help with compiling: on a machine that has other work to do that is the figure to look at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from attrs import frozen

IMPORT = "import eddy"
FIRST = """
import numpy as np
import eddy
streams = {n: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(100)) for n in "AB"}
engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]))
found = engine.push_all({n: {"ts": np.arange(10), "k": np.arange(10)} for n in "AB"})
assert len(found) == 10
"""
_TIMED = """
import json, os, time
start, before = time.perf_counter(), os.times()
exec({code!r})
passed, own = time.perf_counter() - start, os.times()
spent = own.user + own.system - before.user - before.system
print(json.dumps([passed, spent, own.children_user + own.children_system]))
"""


@frozen
class Taken:
    """Seconds of one process."""

    passed: float
    own: float
    """Processor time."""
    helpers: float
    """Processor time of the processes that it has started."""


def take(code: str, cache: Path) -> Taken:
    """What some code takes in a process of its own that has its kernels in ``cache``."""
    root = Path(__file__).parents[1]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    run = subprocess.run(
        [sys.executable, "-c", _TIMED.format(code=code)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return Taken(*json.loads(run.stdout))


def main() -> None:
    """Print a table."""
    print(f"{'':28}{'passed, s':>12}{'processor, s':>14}{'helpers, s':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for title, code in (("import", IMPORT), ("first result", FIRST)):
            for state in ("empty cache", "full cache"):
                taken = take(code, Path(folder))
                print(f"{title + ', ' + state:28}{taken.passed:12.2f}{taken.own:14.2f}{taken.helpers:12.2f}")


if __name__ == "__main__":
    main()
