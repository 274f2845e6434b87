"""What a predicate is split into: conjuncts, and what OR implies of each stream."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.query.logic import And, Not, Or, conjuncts, implied
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.query.stream import Stream
from eddy.values.types import Column

COLUMNS = Stream({"x": "int64", "y": "int64"}).columns
SCOPE = Scope({"A": COLUMNS, "B": COLUMNS})
ATOMS = ["A.x = B.x", "A.x = 1", "B.x = 2", "A.y < B.y", "B.y > 1", "A.y IS NULL", "A.x IN (0, 2)"]
TREES = st.recursive(
    st.sampled_from([condition(atom, SCOPE) for atom in ATOMS]),
    lambda inner: st.one_of(st.builds(And, inner, inner), st.builds(Or, inner, inner), st.builds(Not, inner)),
    max_leaves=9,
)


def every_pair():
    """All pairs of a row of A and one of B, as a reader of columns."""
    grid = np.array(np.meshgrid(*[np.arange(4)] * 4)).reshape(4, -1)

    def get(stream, column):
        places = grid["AB".index(stream) * 2 + "xy".index(column)]
        return Column(places.astype(np.int64), places < 3)  # the last of the values is NULL

    return get, grid.shape[1]


@given(TREES)
def test_conjuncts_and_what_is_implied_are_true_where_the_predicate_is(tree):
    """The conjuncts are all true exactly where the predicate is; what OR implies is true at least there."""
    get, n = every_pair()
    truth = tree.holds(get, n)
    parts = list(conjuncts(tree))
    assert np.array_equal(np.logical_and.reduce([part.holds(get, n) for part in parts]), truth)
    for one in [one for part in parts for one in implied(part)]:
        assert len(one.streams) == 1
        assert not (truth & ~one.holds(get, n)).any()


def test_an_equality_of_every_branch_is_a_key():
    """As in query 19 of TPC-H, which tested all pairs of rows before."""
    where = "(A.x = B.x AND A.y = 1 AND B.y = 2) OR (A.x = B.x AND A.y = 3 AND B.y = 4)"
    query = eddy.Query({"A": COLUMNS, "B": COLUMNS}, where=where)
    assert [key.members for key in query.key_classes] == [{"A": "x", "B": "x"}]
    assert {name: str(part) for name, part in query.filters.items()} == {
        "A": "A.y = 1 OR A.y = 3",
        "B": "B.y = 2 OR B.y = 4",
    }
    assert str(eddy.sql(str(query), query.streams)) == str(query)
    engine = eddy.Eddy(query)
    random = np.random.default_rng(0)
    a, b = ({"x": random.integers(0, 500, 2000), "y": random.integers(0, 5, 2000)} for _ in "AB")
    engine.push("A", a)
    found = engine.push("B", b)
    rows_b = Counter(zip(b["x"].tolist(), b["y"].tolist(), strict=True))
    pairs = zip(a["x"].tolist(), a["y"].tolist(), strict=True)
    assert len(found) == sum(rows_b[x, y + 1] for x, y in pairs if y in (1, 3)) > 100
    assert engine.statistics().evaluations < 20 * len(found)  # of 4,000,000 pairs


def test_a_branch_that_says_no_more_than_the_others_is_all():
    """`p OR (p AND q)` is p."""
    assert [str(part) for part in conjuncts(condition("A.x = B.x OR (A.x = B.x AND A.y = 1)", SCOPE))] == [
        "A.x = B.x"
    ]
