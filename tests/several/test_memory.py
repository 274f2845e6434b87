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


def test_a_query_that_is_dropped_gives_back_its_rows_at_once():
    """The rows that only the windows of a dropped query held are gone when it is, before any push."""
    n, random = 20_000, np.random.default_rng(0)
    text = f"SELECT A.v FROM A [ROWS {n}], B [ROWS {n}] WHERE A.k = B.k"
    long = text.replace(f"A [ROWS {n}]", f"A [ROWS {8 * n}]")
    engine, alone = eddy.Eddy({"short": query(text), "long": query(long)}), eddy.Eddy({"short": query(text)})

    def push(turn):
        times = np.arange(turn * n, (turn + 1) * n)
        batch = {"ts": times, "v": random.integers(0, 9, n), "s": ["a"] * n}
        both = {name: {**batch, "k": random.integers(0, n, n)} for name in "AB"}
        found, wanted = engine.push_all(both)["short"], alone.push_all(both)["short"]
        assert sorted(found.rows.tolist()) == sorted(wanted.rows.tolist())

    for turn in range(8):
        push(turn)
    before = engine.nbytes
    engine.drop("long")
    assert engine.nbytes < 0.6 * before and engine.nbytes < 1.1 * alone.nbytes
    for turn in range(8, 11):
        push(turn)


def test_withdrawals_that_nobody_asks_for_are_forgotten():
    """What was kept for a query with EMIT CHANGES goes with it, and is made again for one that comes."""
    text = f"SELECT A.v {JOIN}"
    engine, random = (
        eddy.Eddy({"plain": query(text), "changes": query(f"{text} EMIT CHANGES")}),
        np.random.default_rng(1),
    )
    alone = eddy.Eddy(query(f"{text} EMIT CHANGES"))

    def push(at):
        both = {name: rows(random, at, 60) for name in "AB"}
        return engine.push_all(both), alone.push_all(both)

    push(0), push(100)
    before = engine.nbytes
    engine.drop("changes")
    assert engine.nbytes < before
    push(200)
    engine.add("changes", query(f"{text} EMIT CHANGES"))
    for at in range(300, 900, 100):
        found, wanted = push(at)
        assert sorted(map(repr, found["changes"].records(sign=True))) == sorted(
            map(repr, wanted.records(sign=True))
        )
