"""Large pushes, windows and growing tables, against what a few lines of Python say of a key and a window of time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

import numpy as np
import pytest

import eddy
from tests.attachments.cases import KINDS

EVENTS, WINDOW = 6_000, 2_000


def feed(keys, seed=0):
    """The times and keys of A and B, which come in turns of any length."""
    random = np.random.default_rng(seed)
    here, k = random.random(EVENTS) < 0.5, random.integers(0, keys, EVENTS)
    return {
        name: (np.flatnonzero(one).tolist(), k[one].tolist()) for name, one in (("A", here), ("B", ~here))
    }


def expected(kind, rows):
    """A Counter of pairs of row numbers; -1: none."""
    places = {name: defaultdict(lambda: ([], [])) for name in "AB"}
    for name in "AB":
        for number, (time, key) in enumerate(zip(*rows[name], strict=True)):
            places[name][key][0].append(time)
            places[name][key][1].append(number)
    found = Counter()
    for a, (time, key) in enumerate(zip(*rows["A"], strict=True)):
        times, numbers = places["B"][key]
        last = bisect_right(times, time)
        partners = numbers[bisect_left(times, time - WINDOW) : bisect_right(times, time + WINDOW)]
        if "asof" in kind:
            partners = numbers[max(0, last - 1) : last] if last and times[last - 1] >= time - WINDOW else []
        elif kind == "semi":
            partners = [-1] if partners else []
        if kind == "anti":
            partners = [] if partners else [-1]
        elif not partners and kind in ("left", "full", "left asof"):
            partners = [-1]
        found.update((a, b) for b in partners)
    if kind in ("right", "full"):
        for b, (time, key) in enumerate(zip(*rows["B"], strict=True)):
            times = places["A"][key][0]
            if bisect_left(times, time - WINDOW) == bisect_right(times, time + WINDOW):
                found[-1, b] += 1
    return found


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "inner"])
@pytest.mark.parametrize(("keys", "size"), [(40, 6_000), (3_000, 500), (3_000, 6_000)])
def test_large_pushes(kind, changes, keys, size):
    """Tables grow while composites are linked in them; with changes nothing is left when all windows have passed."""
    rows = feed(keys)
    streams = dict.fromkeys("AB", eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(WINDOW)))
    on = ["A.k = B.k"] + ["A.ts >= B.ts"] * ("asof" in kind)
    engine = eddy.Eddy(eddy.Query(streams, attach=KINDS[kind]("B", on), changes=changes))
    found, stands = Counter(), Counter()
    for start in range(0, EVENTS, size):
        batch = {}
        for name in "AB":
            times, keys_of = rows[name]
            here = slice(bisect_left(times, start), bisect_left(times, start + size))
            batch[name] = {"ts": times[here], "k": keys_of[here]}
        took(engine.push_all(batch), found, stands)
    took(engine.advance(EVENTS + WINDOW + 1), found, stands)
    assert not len(engine.close())
    if changes:
        assert not +stands and not -stands
        want = expected(kind, rows)
        assert {pair for pair in found if -1 not in pair} == {pair for pair in want if -1 not in pair}
    else:
        assert found == expected(kind, rows)


def took(result, found, stands):
    """Count what is given, and what stands."""
    for pair, sign in zip(map(tuple, result.rows.tolist()), result.sign.tolist(), strict=True):
        stands[pair] += sign
        if sign > 0:
            found[pair] += 1
