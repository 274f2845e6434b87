"""Random faults for as long as one likes: ``python -m tests.faults --minutes 10 [--seed 1] [--only redis]``.

Each seed is a world of its own: a query, files or servers, a sink, and what becomes of the processes that run it. Kinds
of worlds come in turns (`tests/faults/kinds.py`). Behind a failure stands the line that repeats it. With ``--write``
the last line goes into the docs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from benchmarks.stamp import ROOT, stamp
from tests.faults.kinds import KINDS, TURNS, Trying

PAGES = ("docs/run.md", "CONTRIBUTING.md")
BEGIN, END = "<!-- faults: written by python -m tests.faults --write -->", "<!-- end of faults -->"
KILLS = ("step", "tear", "time")
"""Faults that are a SIGKILL of the process that runs."""


def main(arguments=None):
    """Run until the time is up, or enough worlds have passed; 1 if some have failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="the first of each kind; the next count on from it"
    )
    parser.add_argument("--worlds", type=int, default=10**9)
    parser.add_argument("--only", nargs="*", choices=list(KINDS), help="kinds of worlds")
    parser.add_argument("--write", action="store_true", help=f"put the last line into {' and '.join(PAGES)}")
    given = parser.parse_args(arguments)
    first = random.randrange(10**6) if given.seed is None else given.seed
    turns = [kind for kind in TURNS if kind in (given.only or KINDS)]
    start, failures = time.monotonic(), 0
    faults, worlds, trying = Counter(), Counter(), {}
    try:
        while worlds.total() < given.worlds and (
            given.worlds < 10**9 or time.monotonic() - start < 60 * given.minutes
        ):
            kind = turns[worlds.total() % len(turns)]
            seed = first + worlds[kind]
            trying[kind] = trying.get(kind) or Trying(kind)
            found = trying[kind].tried(seed)
            worlds[kind] += 1
            if found is None:
                print(
                    f"to repeat this: python -m tests.faults --only {kind} --seed {seed} --worlds 1",
                    flush=True,
                )
                failures += 1
            faults += Counter({(kind, fault): count for fault, count in (found or {}).items()})
            if worlds.total() % 50 == 0:
                print(told(faults, worlds, first, failures), file=sys.stderr, flush=True)
    finally:
        for one in trying.values():
            one.stop()
    print(told(faults, worlds, first, failures))
    if given.write:
        write(told(faults, worlds, first, failures))
    return min(failures, 1)


def told(faults, worlds, first, failures):
    """What came of it, in a line."""
    by_fault, by_kind, kills = Counter(), Counter(), 0
    for (kind, fault), count in faults.items():
        by_fault[fault] += count
        by_kind[kind] += count
        kills += count if fault in KILLS else 0
    kinds = ", ".join(f"{by_kind[kind]} {kind} in {worlds[kind]} worlds" for kind in KINDS if worlds[kind])
    each = ", ".join(f"{count} {fault}" for fault, count in sorted(by_fault.items()))
    made = stamp((), first, "", 0.0)
    return (
        f"{faults.total():,} faults, {kills:,} of them kills of the process ({each}; {kinds}), from seed {first}, "
        f"{made.date}, commit {made.commit}: {failures or 'no'} failures"
    )


def write(line):
    """Put it into the pages, between two comments."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        before, begun, rest = text.partition(BEGIN)
        _, ended, after = rest.partition(END)
        assert begun and ended, f"{page} has no place for it: {BEGIN}"
        (ROOT / page).write_text(f"{before}{BEGIN}\n{line}.\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
