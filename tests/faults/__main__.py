"""Random faults for as long as one likes: ``python -m tests.faults --minutes 10 [--seed 1]``.

Each seed is a world of its own: a query, files, a sink, and what becomes of the processes that run it. Behind a failure
stands the line that repeats it.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
import traceback
from collections import Counter

import eddy
from tests.faults.world import tried


def main(arguments=None):
    """Run until the time is up, or enough worlds have passed; the number of those that have failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="the first; the next worlds count on from it")
    parser.add_argument("--worlds", type=int, default=10**9)
    parser.add_argument("--sinks", nargs="*", help="only these")
    given = parser.parse_args(arguments)
    first = random.randrange(10**6) if given.seed is None else given.seed
    eddy.compile_kernels()
    gc.freeze()
    faults, failures, worlds = Counter(), 0, 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while worlds < given.worlds and (
            given.worlds < 10**9 or time.monotonic() - start < 60 * given.minutes
        ):
            try:
                faults += tried(folder, first + worlds, given.sinks)
            except Exception:
                traceback.print_exc()
                sys.stderr.flush()
                failures += 1
            worlds += 1
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items()))
    print(
        f"{faults.total()} faults ({kinds}) in {worlds} worlds from seed {first}: {failures or 'no'} failures"
    )
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
