"""What attached streams cost: `python -m benchmarks.attachments [--quick] [--only WORDS] [--rounds N]`.

Two streams come in turns and are joined by a key: by an inner join, by one that withdraws its results, and by each kind
of attachment, final and with changes; `NOT IN` and a band of time have no key. All engines take the same pushes in
turns, by the processor time of their thread (`benchmarks.ratio`). The table has nanoseconds an event, the median of
rounds. Feeds:

- *keys*: 10,000 keys, 10,000 live rows of each stream, so about one partner a row;
- *many keys*: 500,000 of both;
- *unmatched*: as the first, and no row has a partner;
- *one key*: all rows have the same key, and two of each stream are live;
- *behind a join*: a third stream is attached to the join of two, by 10,000 keys.

Each is pushed in pieces of 256, 4,096 and 65,536 events: that is to make no difference but for the cost of a push.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

import eddy
from benchmarks.ratio import Race, table
from benchmarks.stamp import load, machine

SIZES = (256, 4_096, 65_536)
CHUNK, ROUNDS = 1 << 17, 9
WINDOW = 20_000
"""Events, of both streams."""

Pushes = list[dict[str, Any]]

JOINS: dict[str, type[eddy.Attach] | None] = {
    "inner": None,
    "LEFT": eddy.LeftJoin,
    "FULL": eddy.FullJoin,
    "SEMI": eddy.SemiJoin,
    "ANTI": eddy.AntiJoin,
    "ASOF": eddy.AsofJoin,
    "ASOF LEFT": eddy.LeftAsofJoin,
    "NOT IN": eddy.AntiJoin,
    "LEFT, band of time": eddy.LeftJoin,
}
SIDES = {
    **{name: (name, False) for name in JOINS},
    "inner, withdrawals": ("inner", True),
    "LEFT, changes": ("LEFT", True),
    "SEMI, changes": ("SEMI", True),
    "ANTI, changes": ("ANTI", True),
}


@frozen
class Feed:
    """Rows of streams that come in turns: how many keys there are, where they begin, and how long rows live."""

    keys: int
    apart: int = 0
    window: int = WINDOW
    names: str = "AB"


FEEDS = {
    "keys": Feed(10_000),
    "many keys": Feed(500_000, window=1_000_000),
    "unmatched": Feed(10_000, 10_000),
    "one key": Feed(1, window=3),
    "behind a join": Feed(10_000, window=30_000, names="ABC"),
}


def engine(side: str, feed: Feed) -> eddy.Eddy:
    """The last stream of a feed is attached to the others, or joined with them."""
    name, changes = SIDES[side]
    *core, last = feed.names
    columns = {"ts": "int64", "k": "int64"}
    streams = dict.fromkeys(feed.names, eddy.Stream(columns, window=eddy.Range(feed.window), time="ts"))
    where = [f"A.k = {other}.k" for other in core[1:]]
    kind, on = JOINS[name], [f"A.k = {last}.k"]
    if name == "NOT IN":
        on = [f"(A.k = {last}.k) IS DISTINCT FROM FALSE"]
    elif name == "LEFT, band of time":
        on = [f"{last}.ts BETWEEN A.ts - 1 AND A.ts + 1"]
    if kind is None:
        return eddy.Eddy(eddy.Query(streams, where + on), retractions=changes)
    if kind.nearest:
        on.append(f"A.ts >= {last}.ts")
    return eddy.Eddy(eddy.Query(streams, where, attach=[kind(last, on)], changes=changes))


def pushes(feed: Feed, size: int) -> Iterator[Pushes]:
    """Chunks of the feed, in pushes of so many events."""
    random, n, done = np.random.default_rng(0), len(feed.names), 0
    while True:
        chunk = []
        for start in range(done, done + CHUNK, size):
            times = np.arange(start, start + size)
            batch = {}
            for number, name in enumerate(feed.names):
                ts = np.ascontiguousarray(times[times % n == number])
                apart = feed.apart if number + 1 == n else 0
                batch[name] = {"ts": ts, "k": random.integers(0, feed.keys, len(ts)) + apart}
            chunk.append(batch)
        done += CHUNK
        yield chunk


def pushed(made: eddy.Eddy) -> Callable[[Pushes], int]:
    """Pushes a chunk, and counts its results."""
    return lambda chunk: sum(len(made.push_all(batch)) for batch in chunk)


def measure(feed: Feed, size: int, rounds: int, sides: list[str]) -> dict[str, float]:
    """Nanoseconds an event of each side."""
    source = pushes(feed, size)
    race = Race(
        {side: pushed(engine(side, feed)) for side in sides},
        lambda: dict.fromkeys(sides, next(source)),
        alike=lambda side: side,
    )
    race.warm(2 + feed.window // CHUNK)
    race.run(rounds)
    timings = race.timings(CHUNK)
    return {side: 1000 / timings.rate(side) for side in sides}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attachments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds, to see that it works")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="only feeds whose name has these words")
    parser.add_argument("--sides", default="", help="only sides whose name has one of these words")
    given = parser.parse_args()
    rounds = 2 if given.quick else given.rounds
    sides = [side for side in SIDES if any(word in side for word in given.sides.split(",") or [""])]
    print(f"{machine()}, load {load()}, {rounds} rounds of {CHUNK:,} events in turns; ns an event")
    for name, feed in FEEDS.items():
        if given.only not in name:
            continue
        found = {size: measure(feed, size, rounds, sides) for size in SIZES}
        head = [name, *(f"pushes of {size:,}" for size in SIZES)]
        print(table(head, [[side, *(f"{found[size][side]:.0f}" for size in SIZES)] for side in sides]))
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
