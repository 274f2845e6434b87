"""What disorder costs: the same rows in order of time, and nearly so, through a reorder buffer.

`python -m benchmarks.disorder` joins three streams, whose rows are pushed as they come, and prints for each side the
events a second and how many times the processor time of sorted rows in an engine without lateness it takes: sorted rows
with lateness, and rows that are up to 10, 100, 1,000 and 10,000 events out of place; then pushes of 64 rows.
`--strings` gives every row a text besides. All sides take the same rows in turns (`benchmarks.ratio`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import eddy
from benchmarks.ratio import Race, table

NAMES, KEYS, WINDOW = "ABC", 10_000, 30_000
CHUNK, ROUNDS = 1 << 16, 24
SPREADS = (0, 10, 100, 1_000, 10_000)
PLAIN = "sorted, without lateness"


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


def measure(size: int, strings: bool, rounds: int = ROUNDS) -> list[tuple[str, float, float]]:
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
    return [(name, timings.rate(name), 1 / timings.ratio(name, PLAIN)) for name in sides]


def main() -> None:
    strings = "--strings" in sys.argv
    for size in (4096, 64):
        print(f"pushes of {size:,} events")
        print(
            table(
                ("rows", "million events/s", "time, times"),
                measure(size, strings, ROUNDS if size > 64 else 6),
            )
        )
        print()


if __name__ == "__main__":
    main()
