"""What an event costs, whatever a batch holds: `python -m benchmarks.flat [--write]`.

One feed of three streams, pushed in batches of 256 to 65,536 events, for few and many keys, short and long windows,
trees and orderings, and every way in. Nanoseconds an event of the processor's time, results counted and not read; each
is the least of a few turns, sizes in turns. And the entries that probes have looked at, which no clock can disturb.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.goals import ENGINE, load
from benchmarks.pages import put
from eddy import Eddy, Query, Range, Rows, Stream

SIZES = (256, 1024, 4096, 16_384, 65_536)
EVENTS = 131_072
TURNS = 5
TREE, ORDERINGS = "(A B) C", "A: B C | B: A C | C: A B"
JOINED = ["A.k = B.k", "B.k = C.k"]
INTS = {"ts": "int64", "k": "int64", "v": "int64"}
Shape = Callable[[Mapping[str, Any]], Any]


def nulls(columns: Mapping[str, Any]) -> pa.Table:
    """One key in a hundred is NULL."""
    return pa.table({**columns, "k": pa.array(columns["k"], mask=columns["ts"] % 100 == 0)})


FORMS: dict[str, tuple[dict[str, str], Shape, dict[str, Any], dict[str, Any]]] = {
    "numpy": (INTS, dict, {}, {}),
    "Arrow": (INTS, pa.table, {}, {}),
    "strings": (
        {**INTS, "k": "string"},
        lambda c: pa.table({**c, "k": pa.array(c["k"]).cast(pa.string())}),
        {},
        {},
    ),
    "NULLs": (INTS, nulls, {}, {}),
    "a filter": (INTS, dict, {"where": [*JOINED, "A.v % 10 <> 3"]}, {}),
    "two columns": (
        {**INTS, "j": "int64"},
        lambda c: {**c, "j": c["k"] % 2},
        {"where": [*JOINED, "A.j = B.j", "B.j = C.j"]},
        {},
    ),
    "retractions": (INTS, dict, {}, {"retractions": True}),
    "groups": (INTS, dict, {"group_by": ["A.k"], "aggregates": {"n": "COUNT(*)"}}, {}),
    "two threads": (INTS, dict, {}, {"threads": 2}),
}
CASES: list[tuple[str, int, float, Range | Rows, str]] = [
    ("numpy", 1, 0.0, Range(4), TREE),
    ("numpy", 1, 0.0, Range(4), ORDERINGS),
    ("numpy", 1, 0.0, Rows(2), TREE),
    ("numpy", 3, 0.0, Range(16), TREE),
    ("numpy", 1000, 0.5, Range(10), TREE),
    ("numpy", 1000, 0.0, Range(3000), TREE),
    ("numpy", 10_000, 0.0, Rows(10_000), TREE),
    *((form, 1, 0.0, Range(4), TREE) for form in list(FORMS)[1:]),
]
"""Form, keys, the share of rows that one of them has besides, window and plan."""


def pushes(keys: int, share: float, size: int, shape: Shape) -> list[dict[str, Any]]:
    """The feed in batches of ``size`` events."""
    rng = np.random.default_rng(11)
    streams, k, ts = rng.integers(0, 3, EVENTS), rng.integers(0, keys, EVENTS), np.arange(EVENTS)
    k[rng.random(EVENTS) < share] = 0
    found = []
    for start in range(0, EVENTS, size):
        here = np.arange(start, min(start + size, EVENTS))
        rows = {name: here[streams[here] == s] for s, name in enumerate("ABC")}
        found.append({name: shape({"ts": ts[at], "k": k[at], "v": ts[at]}) for name, at in rows.items()})
    return found


def run(
    query: Query, plan: str, size: int, options: dict[str, Any], feed: list[Any]
) -> tuple[float, float, int]:
    """Nanoseconds and entries looked at for an event, and results."""
    engine = Eddy(query, plan, batch_size=max(4096, size), **options)
    start = time.process_time()
    for push in feed:
        engine.push_all(push)
    seconds, told = time.process_time() - start, engine.statistics()
    return 1e9 * seconds / EVENTS, told.probed / EVENTS, told.results


def line(form: str, keys: int, share: float, window: Range | Rows, plan: str) -> str:
    """The figures of a case."""
    columns, shape, asked, options = FORMS[form]
    query = Query({name: Stream(columns, window=window) for name in "ABC"}, **{"where": JOINED, **asked})
    feeds = {size: pushes(keys, share, size, shape) for size in SIZES}
    best: dict[int, tuple[float, float, int]] = {}
    for _ in range(TURNS):
        for size in SIZES:
            found = run(query, plan, size, options, feeds[size])
            best[size] = min(best.get(size, found), found)
    times, probed = [best[size][0] for size in SIZES], [best[size][1] for size in SIZES]
    which = f"{form}, {keys} key{'s' * (keys > 1)}{f', one with {share:.0%} more' if share else ''}"
    name = f"{which}, {window}, {'orderings' if plan == ORDERINGS else 'tree'}"
    results = best[SIZES[0]][2] / EVENTS
    cells = " | ".join(f"{figure:,.0f}" for figure in times)
    growth = f"{times[-1] / times[0]:.2f} | {max(times) / min(times):.2f} | {max(probed) / max(min(probed), 1):.2f}"
    return f"| {name} | {results:.1f} | {cells} | {growth} |"


def main(arguments: list[str]) -> None:
    """Print the table, or put it into the page."""
    before = load()
    columns = [
        "feed",
        "results an event",
        *(f"{size:,}" for size in SIZES),
        "last of first",
        "worst of best",
        "entries looked at, worst of best",
    ]
    lines = [f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"]
    print(lines[0])
    for case in CASES:
        lines.append(line(*case))
        print(lines[-1], flush=True)
    if "--write" in arguments:
        put("inputs.md", "flat", "flat", lines, ENGINE, before)


if __name__ == "__main__":
    main(sys.argv[1:])
