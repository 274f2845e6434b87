"""What several queries keep: the rows that a window holds or a result asks for, and nothing after that."""

from __future__ import annotations

import numpy as np
import pytest

import eddy

COLUMNS = {"ts": "int64", "k": "int64", "v": "int64", "s": "string"}
SCHEMAS = dict.fromkeys("ABC", COLUMNS)
JOIN = "FROM A [ROWS 100], B [ROWS 100] WHERE A.k = B.k"


def query(text):
    """A query over the streams."""
    return eddy.sql(text, schemas=SCHEMAS)


def rows(random, at, n):
    """Rows of a stream."""
    times = np.arange(at, at + n)
    return {
        "ts": times,
        "k": random.integers(0, 50, n),
        "v": random.integers(0, 9, n),
        "s": [f"text {t}" for t in times.tolist()],
    }


@pytest.mark.parametrize("kept", [0, 1, 2, 5])
@pytest.mark.parametrize("filtered", [False, True])
def test_results_that_are_kept_can_be_read_at_any_time(kept, filtered):
    """Results that nobody has read for some pushes are as they were, though their rows have left all windows."""
    text = f"SELECT A.s, B.s AS partner, A.v {JOIN}{' AND A.v > 3' * filtered}"
    engine = eddy.Eddy({"one": query(text), "other": query(f"SELECT B.s {JOIN}")})
    alone, random, waiting = eddy.Eddy(query(text)), np.random.default_rng(kept), []
    for turn in range(60):
        names = "AB" if random.random() < 0.7 else "A"
        batches = {name: rows(random, 1000 * turn, int(random.integers(1, 90))) for name in names}
        waiting.append((engine.push_all(batches), alone.push_all(batches)))
        while len(waiting) > kept:
            found, wanted = waiting.pop(0)
            assert list(found["one"].records()) == list(wanted.records())


def test_rows_that_no_window_holds_are_given_back_by_the_next_push():
    """Where nobody holds a result, rows of the push before are not kept: pushes of 300 and of 900 need the same rings.

    A thousand rows of a window and 900 of a push have room for 2,048, and with 900 more they have not.
    """
    sizes = {}
    for n in (300, 900):
        engine = eddy.Eddy(
            {"one": query("SELECT A.v, B.v AS w FROM A [ROWS 1000], B [ROWS 1000] WHERE A.k = B.k")}
        )
        for at in range(0, 20 * n, n):
            batch = {**rows(np.random.default_rng(0), at, n), "s": ["a"] * n}
            engine.push_all({"A": batch, "B": {**batch, "k": batch["k"] + 50}})
        sizes[n] = engine.nbytes
    assert sizes[900] <= 1.1 * sizes[300]
