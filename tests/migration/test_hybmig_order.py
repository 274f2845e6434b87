"""The order of results while HybMig runs several plans (3.3): serialised, parallel, and as the engine does it."""

from __future__ import annotations

import itertools
from collections import deque

import pytest

import eddy
from policies import HybMig
from tests.migration.test_hybmig import BUSHY, LEFT, RIGHT, feed
from tests.trace import Trace

WARM, NEXT = 40, 60
"""Events before the first change, and before the second."""
END = None
"""In a queue: all results of an arrival are there."""


def run(first, changes, events, size):
    """The results in the order in which they come, in batches of this size: latest event, plan that makes it, rows.

    ``changes`` are the later plans, each with the pairs of streams of whose old rows it makes nothing.
    """
    windows = dict.fromkeys("ABCD", eddy.Rows(9))
    engine = Trace(first, windows=windows, migration=HybMig(patience=100), batch_size=size).engine
    number = {name: itertools.count() for name in "ABCD"}
    place = {(name, next(number[name])): event for event, (name, _) in enumerate(events)}
    lacking = [(pairs, at) for at, (_, pairs) in zip((WARM, NEXT), changes, strict=False)]
    found = []

    def label(row):
        when = {name: place[name, count] for name, count in zip("ABCD", row, strict=True)}
        latest = max(when.values())
        for plan in reversed(range(len(lacking))):
            pairs, at = lacking[plan]
            if latest >= at and not any(all(when[name] < at for name in pair) for pair in pairs):
                return latest, plan + 1, row
        return latest, 0, row

    cuts = [0, *(at for _, at in lacking), len(events)]
    for part, (start, stop) in enumerate(itertools.pairwise(cuts)):
        if part:
            engine.migrate(changes[part - 1][0])
        for name, keys in itertools.groupby(events[start:stop], lambda event: event[0]):
            rows = engine.push(name, {"k": [key for _, key in keys]}).rows.tolist()
            found += [label(tuple(row)) for row in rows]
    return found


def serialised(found, plans):
    """Of one arrival after the other the results of each plan, the oldest first."""
    events = range(max((latest for latest, _, _ in found), default=0) + 1)
    by = {}
    for latest, plan, row in found:
        by.setdefault((latest, plan), []).append(row)
    return [row for event in events for plan in range(plans) for row in sorted(by.get((event, plan), []))]


def parallel(found, plans, events):
    """Each plan has a queue of its own, with a marker for the end of each arrival; the queues are merged."""
    queues = []
    for plan in range(plans):
        queue = deque()
        for event in range(events):
            queue.extend(sorted(row for latest, by, row in found if (latest, by) == (event, plan)))
            queue.append(END)
        queues.append(queue)
    merged = []
    for _ in range(events):
        for queue in queues:
            while (row := queue.popleft()) is not END:
                merged.append(row)
    return merged


CHANGES = {
    "right-deep": (LEFT, [(RIGHT, ["CD"])]),
    "bushy": ("(A (B C)) D", [(BUSHY, ["AB", "CD"])]),
    "overlapping": (LEFT, [(RIGHT, ["CD"]), ("(A C) (B D)", ["AC", "BD"])]),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 5, 4096])
@pytest.mark.parametrize("change", CHANGES)
def test_t26_results_come_by_latest_event_and_of_one_event_by_plan(change, size, seed):
    """Whatever the size of the batches, an older plan's results of an arrival come before a newer one's."""
    found = run(*CHANGES[change], feed(seed, 120), size)
    order = [(latest, plan) for latest, plan, _ in found]
    assert order == sorted(order)
    both = [
        event for event in range(WARM, 120) if len({plan for latest, plan in order if latest == event}) > 1
    ]
    assert both, "no arrival had results of several plans"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", CHANGES)
def test_t27_the_merged_queues_the_serialised_plans_and_the_engine_agree(change, seed):
    """So there is nothing to choose: the engine's ring is the merged queue. Some arrivals have no results."""
    first, changes = CHANGES[change]
    events = feed(seed, 120)
    found = run(first, changes, events, 4096)
    plans = len(changes) + 1
    assert parallel(found, plans, len(events)) == serialised(found, plans)
    ordered = [
        row for _, group in itertools.groupby(found, lambda r: r[:2]) for row in sorted(r for *_, r in group)
    ]
    assert ordered == serialised(found, plans)
    assert {latest for latest, _, _ in found} < set(range(len(events)))
