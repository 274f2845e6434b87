"""What disorder costs: the same rows in order of time, and nearly so, through a reorder buffer.

`python -m benchmarks.disorder` joins three streams, whose rows are pushed as they come: sorted rows without lateness,
sorted rows with it, and rows that are up to 10, 100, 1,000 and 10,000 events out of place; in pushes of 4,096 and of 64
rows. Of each side it prints the events a second, and the processor time as so many times that of sorted rows with
lateness, which must be at most 1.5, and that of sorted rows without. `--write` writes this into docs/time.md.
`--strings` gives every row a text besides. All sides take the same rows in turns (`benchmarks.ratio`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import eddy
from benchmarks.goals import ENGINE
from benchmarks.pages import put
from benchmarks.ratio import Race, table
from benchmarks.stamp import load

NAMES, KEYS, WINDOW = "ABC", 10_000, 30_000
CHUNK, ROUNDS = 1 << 16, 24
SPREADS = (0, 10, 100, 1_000, 10_000)
PLAIN, SORTED = "sorted, without lateness", "sorted, lateness 100"
SIZES, FEWER = (4096, 64), 6
GOAL = 1.5
"""Times what sorted rows take in the same engine, at most."""
HEAD = ["rows", "million events/s", "time, of sorted rows", "goal", "of sorted rows without lateness"]
MEASURES = (*ENGINE, "eddy/reorder", "benchmarks/disorder.py")


def engine(lateness: int | None, strings: bool) -> eddy.Eddy:
    columns = {"ts": "int64", "k": "int64", "v": "float64", **({"s": "string"} if strings else {})}
    streams = dict.fromkeys(NAMES, eddy.Stream(columns, window=eddy.Range(WINDOW)))
    query = eddy.Query(streams, where=["A.k = B.k", "A.k = C.k"])
    return eddy.Eddy(query, plan="(A B) C", lateness=lateness)


def feed(spread: int) -> Iterator[Any]:
    """Chunks of rows (time, key, stream, value) that are at most ``spread`` events out of place."""
    rng, order, done = np.random.default_rng(1), np.random.default_rng(2), 0
    rows, places = np.empty((4, 0), np.int64), np.empty(0, np.int64)
    while True:
        times = np.arange(done, done + CHUNK)
        done += CHUNK
        fresh = np.stack([times, *(rng.integers(0, most, CHUNK) for most in (KEYS, len(NAMES), 1000))])
        rows = np.concatenate((rows, fresh), axis=1)
        places = np.concatenate((places, times + order.integers(0, spread + 1, CHUNK)))
        sort = np.argsort(places, kind="stable")
        rows, places = rows[:, sort], places[sort]
        cut = int(np.searchsorted(places, done))
        yield rows[:, :cut]
        rows, places = rows[:, cut:], places[cut:]


def pushes(rows: Any, size: int, strings: bool) -> list[dict[str, Any]]:
    """Rows as batches of all streams."""
    made = []
    for start in range(0, rows.shape[1], size):
        part = rows[:, start : start + size]
        batches = {}
        for number, name in enumerate(NAMES):
            ts, k, _, v = part[:, part[2] == number]
            batches[name] = {"ts": ts.copy(), "k": k.copy(), "v": v.astype(np.float64)}
            if strings:
                batches[name]["s"] = [f"text {x}" for x in v.tolist()]
        made.append(batches)
    return made


def measure(size: int, strings: bool, rounds: int = ROUNDS) -> list[list[str]]:
    """A line of the table for each side."""
    sides = {PLAIN: (None, 0)} | {
        f"{f'up to {spread:,} out of place' if spread else 'sorted'}, lateness {max(spread, 100):,}": (
            max(spread, 100),
            spread,
        )
        for spread in SPREADS
    }
    feeds = {name: feed(spread) for name, (_, spread) in sides.items()}
    engines = {name: engine(lateness, strings) for name, (lateness, _) in sides.items()}

    def step(name: str) -> Any:
        return lambda batches: sum(len(engines[name].push_all(batch)) for batch in batches)

    race = Race(
        {name: step(name) for name in sides},
        lambda: {name: pushes(next(feeds[name]), size, strings) for name in sides},
        alike=lambda name: name,
    )
    race.warm(3)
    race.run(rounds)
    timings = race.timings(CHUNK)
    return [
        [
            name,
            f"{timings.rate(name):.2f}",
            "" if name == PLAIN else f"{1 / timings.ratio(name, SORTED):.2f}",
            f"{GOAL}" if name not in (PLAIN, SORTED) else "",
            f"{1 / timings.ratio(name, PLAIN):.2f}",
        ]
        for name in sides
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disorder", description=__doc__)
    parser.add_argument("--strings", action="store_true", help="a text in every row")
    parser.add_argument("--quick", action="store_true", help="two rounds, to see that it works")
    parser.add_argument(
        "--write", action="store_true", help="keep the tables, and write them into docs/time.md"
    )
    given = parser.parse_args()
    before, page = load(), []
    for size in SIZES:
        rounds = 2 if given.quick else ROUNDS if size > 64 else FEWER
        lines = measure(size, given.strings, rounds)
        print(f"pushes of {size:,} events")
        print(table(HEAD, lines), flush=True)
        print()
        page += ["", f"In pushes of {size:,} events:", "", *markdown(lines)]
    if given.write:
        put("time.md", "disorder", "disorder", page[1:], MEASURES, before)
    return 0


def markdown(lines: list[list[str]]) -> list[str]:
    """A table of the docs."""
    return [f"| {' | '.join(line)} |" for line in (HEAD, ["---"] + ["---:"] * (len(HEAD) - 1), *lines)]


if __name__ == "__main__":
    sys.exit(main())
