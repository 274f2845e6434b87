"""What many streams cost besides joins: `python -m benchmarks.many_streams [--write]`.

For chains of 10 to 130 streams: the first thought of `Auto`, all of it and its longest portion; the longest batch while
it thinks, of the median one; a change of plan to orderings and back to a tree; and `explain`. Each is the least of a
few, by the processor's time of the thread.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.goals import ENGINE, load
from benchmarks.pages import put
from eddy import Eddy, Query, Rows, Stream
from policies import Auto, View
from policies.optimizer import CostModel
from policies.routing.account import Account
from policies.routing.profile import Profile
from policies.routing.thought import Thought
from policies.routing.trial import Trials

COUNTS = (10, 20, 40, 64, 130)
EVENTS = 4_000
"""Of a batch."""
TURNS = 3


def chain(count: int) -> Query:
    """Each stream is joined with the next one."""
    streams = {f"s{i}": Stream({"a": "int64", "b": "int64"}, window=Rows(400)) for i in range(count)}
    return Query(streams, where=[f"s{i}.b = s{i + 1}.a" for i in range(count - 1)])


def push(engine: Eddy, query: Query, random: np.random.Generator, times: int = 1) -> list[float]:
    """Push batches; the seconds of each."""
    rows, taken = EVENTS // len(query.names), []
    for _ in range(times):
        batch = {name: {key: random.integers(0, 500, rows) for key in "ab"} for name in query.names}
        start = time.thread_time()
        engine.push_all(batch)
        taken.append(time.thread_time() - start)
    return taken


def least(what: Callable[[], object]) -> float:
    """Milliseconds of the fastest of a few turns."""
    found = []
    for _ in range(TURNS):
        start = time.thread_time()
        what()
        found.append(time.thread_time() - start)
    return 1e3 * min(found)


def thought(view: View) -> tuple[float, float]:
    """Milliseconds of a thought, and of its longest portion, where a portion is half a millisecond, as reckoned."""
    model = CostModel()
    totals, portions = [], []
    for _ in range(TURNS):
        now = Profile.of(view, 1e-3, model)
        given = model, "any", 0.1, Trials(), Account(0.003, 0.05)
        one, taken = Thought(view, now, 100_000, False, False, *given), []
        while not one.done:
            start = time.thread_time()
            one.work(5e-4)
            taken.append(time.thread_time() - start)
        totals.append(sum(taken))
        portions.append(max(taken))
    return 1e3 * min(totals), 1e3 * min(portions)


def longest(query: Query) -> float:
    """The longest of the batches in which `Auto` thinks for the first time, of the median one; in the best of turns."""
    found = []
    for _ in range(TURNS):
        random = np.random.default_rng(1)
        tree = Eddy(query).plan
        # Thoughts are free, so that it has one, and no change is worth it.
        free = CostModel(think=0.0, sample=0.0, look=0.0, change=1e-9)
        engine = Eddy(query, tree, routing=Auto(clock=lambda seen: 0.0, gain=0.999, model=free))
        taken = push(engine, query, random, 60)[1:]
        found.append(max(taken) / statistics.median(taken))
    return min(found)


def line(count: int) -> str:
    """The figures of a number of streams."""
    query, random = chain(count), np.random.default_rng(count)
    tree = Eddy(query).plan
    engine = Eddy(query, tree)
    push(engine, query, random, 4)
    whole, portion = thought(engine.view())
    there, back = [], []
    for _ in range(TURNS):
        for plan, taken in (("stems", there), (tree, back)):
            start = time.thread_time()
            engine.migrate(plan)
            taken.append(1e3 * (time.thread_time() - start))
            push(engine, query, random)
    explained = least(engine.explain)
    figures = whole, portion, longest(query), min(there), min(back), explained
    shown = (f"{figure:.2g}" if figure < 10 else f"{figure:.0f}" for figure in figures)
    return f"| {count} | {' | '.join(shown)} |"


def main(arguments: list[str]) -> None:
    """Print the table, or put it into the page."""
    before = load()
    columns = (
        "streams",
        "a thought, ms",
        "its longest portion, ms",
        "longest batch, of the median",
        "to orderings, ms",
        "to a tree, ms",
        "`explain`, ms",
    )
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"
    lines = [head]
    for count in COUNTS:
        lines.append(line(count))
        print(lines[-1], flush=True)
    if "--write" in arguments:
        put(
            "routing.md",
            "many streams",
            "many_streams",
            lines,
            (*ENGINE, "eddy/steering", "policies"),
            before,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
