"""Queries, feeds and engines of the tests of feedback."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

import eddy
from policies import Doe, Mns

TIRELESS = Mns(restraint=False)


def clique(names, window):
    """Every pair of streams is joined on a column of its own."""
    pairs = [a + b for a, b in itertools.combinations(names, 2)]
    columns = {s: ["ts", *(pair.lower() for pair in pairs if s in pair)] for s in names}
    streams = {s: eddy.Stream(dict.fromkeys(columns[s], "int64"), window=window(s)) for s in names}
    where = [f"{a}.{(a + b).lower()} = {b}.{(a + b).lower()}" for a, b in pairs]
    return eddy.Query(streams, where=where, select=[f"{s}.ts" for s in names])


def feed(query, rng, domain, size, ts, names=None):
    """A batch of up to ``size`` rows of some streams, with uniform values."""
    batch = {}
    for name in names or query.names:
        n = rng.integers(0, size + 1)
        columns = query.streams[name].columns
        batch[name] = {c: rng.integers(0, domain, n) for c in columns} | {
            "ts": np.sort(ts + rng.integers(0, size, n))
        }
    return batch


def signed(result):
    """The rows of a result with their signs, as a multiset."""
    return Counter(map(tuple, np.column_stack((result.rows, result.sign)).tolist()))


POLICIES = [
    TIRELESS,
    Mns(1, restraint=False),
    Mns(2, "bloom", False),
    Mns(),
    Doe(),
    Mns(restraint=False, pairs=True),
]


def three(policy, window=10, **options):
    """A.x = B.x and A.y = C.y in the plan (A B) C."""
    columns = {"A": "x y", "B": "x", "C": "y"}
    streams = {
        s: eddy.Stream(dict.fromkeys(["ts", *c.split()], "int64"), window=eddy.Range(window))
        for s, c in columns.items()
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y"])
    return eddy.Eddy(query, "(A B) C", feedback=policy, **options)
