"""Content-based routing: what a split by hot values saves, counted, beside every single plan.

`python -m benchmarks.content` pushes two feeds through each plan that three streams have, and through `Auto`, and
prints how many entries probes looked at: no time is measured, so the figures are nearly the same everywhere. In the
skewed feed half of the rows of S have a value that B is full of, and one that C has hardly anything for, and the other
half the other way round: whatever all rows visit first, half of them find many matches in vain. In the even feed there
is nothing to tell rows apart by.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import eddy
from policies import Auto, Fixed, Routing

ROWS, HOT, OTHERS, EVEN = 400, 4, 1000, 100
"""Rows of B and C that are live; the values that most of them have in the skewed feed, and how many others there are;
and how many there are in the even feed."""
PLANS = ("(S B) C", "(S C) B", "S: B C | B: S C | C: S B", "S: C B | B: S C | C: S B")
"""All that there are, but for those with a cross product."""

Batch = dict[str, dict[str, np.ndarray]]


def query() -> eddy.Query:
    """S is joined with B by x and with C by y; it has most of the rows that arrive."""
    return eddy.Query(
        {
            "S": eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(64)),
            "B": eddy.Stream({"x": "int64"}, window=eddy.Rows(ROWS)),
            "C": eddy.Stream({"y": "int64"}, window=eddy.Rows(ROWS)),
        },
        where=["S.x = B.x", "S.y = C.y"],
    )


def feed(skewed: bool, batches: int, seed: int = 1, first: int = 0) -> Iterator[Batch]:
    """Batches of 1,000 rows of S and 50 of B and C each; hot values are from ``first`` on."""
    random = np.random.default_rng(seed)

    def values(rows: int, hot: float) -> np.ndarray:
        """Hot values, so many of them, and others, of which there are many."""
        if not skewed:
            return random.integers(0, EVEN, rows)
        others = OTHERS + random.integers(0, OTHERS, rows)
        return np.where(random.random(rows) < hot, first + random.integers(0, HOT, rows), others)

    for _ in range(batches):
        one = random.random(1000) < 0.5
        yield {
            "S": {
                "x": np.where(one, values(1000, 1.0), values(1000, 0.0)),
                "y": np.where(one, values(1000, 0.0), values(1000, 1.0)),
            },
            "B": {"x": values(50, 0.98)},
            "C": {"y": values(50, 0.98)},
        }


def work(batches: list[Batch], plan: str | None, routing: Routing) -> tuple[int, int, eddy.Eddy]:
    """Entries that probes looked at in the last half of a feed, the results of all of it, and the engine."""
    engine, results, before = eddy.Eddy(query(), plan=plan, routing=routing), 0, 0
    for number, batch in enumerate(batches):
        if number == len(batches) // 2:
            before = engine.statistics().probed
        results += len(engine.push_all(batch))
    return engine.statistics().probed - before, results, engine


def main() -> None:
    for skewed in (True, False):
        batches = list(feed(skewed, 400))
        print("skewed" if skewed else "even")
        for plan in PLANS:
            looked_at, results, _ = work(batches, plan, Fixed())
            print(f"  {plan}: {looked_at:,} entries looked at, {results:,} results")
        looked_at, results, engine = work(batches, None, Auto())
        print(f"  Auto, at last {engine.plan}: {looked_at:,} entries looked at, {results:,} results")
        for decision in engine.decisions:
            print(f"    after {decision.events:,} events: {decision.plan}: {decision.reason}")


if __name__ == "__main__":
    main()
