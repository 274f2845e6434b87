"""Strings that predicates between streams compare: all queries have one pool of them."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from tests.several.worlds import records

SCHEMAS = {name: {"ts": "int64", "k": "int64", "s": "string"} for name in "AB"}
JOIN = "SELECT A.s, B.s AS other FROM A [RANGE 10], B [RANGE 10] WHERE"
PREDICATES = [
    "A.k = B.k AND A.s <> B.s",
    "A.s < B.s AND A.k = 3",
    "A.s || B.s = 's7s9'",
    "A.s = B.s AND A.k <> B.k AND B.s <> 's5'",
]


def batches(random, at, n=30):
    """Rows of both streams, with strings that come once and strings that come often."""
    return {
        name: {
            "ts": at + np.arange(n),
            "k": random.integers(0, 5, n),
            "s": [f"s{value}" for value in random.integers(0, 12, n)]
            if at % 90
            else [f"s{at + i}" for i in range(n)],
        }
        for name in SCHEMAS
    }


@pytest.mark.parametrize("apart", [0, 10], ids=["at once", "added"])
def test_strings_of_two_streams_are_compared(apart):
    """Whether the queries were there from the beginning or come later, each gives what it gives alone."""
    random, engine, alone = np.random.default_rng(1), eddy.Eddy({}), {}
    for step in range(60):
        for name in [text for i, text in enumerate(PREDICATES) if i * apart == step]:
            query = eddy.sql(f"{JOIN} {name}", schemas=SCHEMAS)
            engine.add(name, query, history=False)
            alone[name] = eddy.Eddy(query)
        rows = batches(random, 30 * step)
        found = engine.push_all(rows)
        for name, own in alone.items():
            assert records(found[name]) == records(own.push_all(rows)), name
