"""Rows of one stream that take several ways: which of them take which, and how that is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

import eddy
from policies import ParallelTrack
from tests.plans import read

WHERE = ["A.k = B.k", "B.v = C.v"]
STREAMS = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=eddy.Rows(200)) for name in "ABC"}
QUERY = eddy.Query(STREAMS, where=WHERE)
REST = "A: B C | {} | C: B A"


def feed(batches, rows, seed=1):
    """Batches for all streams."""
    random = np.random.default_rng(seed)
    for _ in range(batches):
        yield {
            name: {"k": random.integers(0, 50, rows), "v": random.integers(0, 400, rows)} for name in "ABC"
        }


def results(engine, batches):
    """The results of all these batches, sorted."""
    return sorted(tuple(row) for batch in batches for row in engine.push_all(batch).rows.tolist())


def taken(engine, target):
    """How many rows of B have gone to a stream first."""
    return sum(
        step.probes for step in engine.view().steps if (step.source, step.target) == (("B",), (target,))
    )


@pytest.mark.parametrize(
    "text, printed",
    [
        ("B 3 drawn: A C | B 1 drawn: C A", None),
        ("B 3 drawn 17: A C | B 1 drawn 17: C A", None),
        ("B k in (3, 7): A C | B: C A", None),
        ("B v in (-5): A C | B: C A", None),
        ("B k in(7,3 , 3): A C|B: C A", "B k in (3, 7): A C | B: C A"),
        ("B k in (9): A C | B k in (1): A C | B: C A", "B k in (1, 9): A C | B: C A"),
        ("B k in (9): C A | B k in (1): A C | B: C A", "B k in (1): A C | B: C A"),
        ("B k in (9): C A | B: C A", "B: C A"),
        ("B 3 drawn: A C | B 1 drawn: A C", "B: A C"),
        ("B 3 drawn: A C | B 1 drawn: C A | B 2 drawn: A C", "B 5 drawn: A C | B 1 drawn: C A"),
        ("B 3 drawn: A C", "B: A C"),
    ],
)
def test_who_takes_a_way_is_written_in_the_plan(text, printed):
    """What an engine prints it also reads, and ways of the same order are one."""
    wanted = REST.format(printed or text)
    engine = eddy.Eddy(QUERY, plan=REST.format(text))
    assert engine.plan == wanted and str(read(wanted, "ABC")) == wanted
    engine.migrate(engine.plan)
    assert engine.statistics().migrations == 0
    engine.migrate("(A B) C")
    engine.migrate(wanted)
    assert engine.plan == wanted


@pytest.mark.parametrize(
    "text, says",
    [
        ("B k in (3): A C", ["rows of B have no way to go", "'B: ...' for all others"]),
        ("B k in (3): A C | B k in (4): C A", ["have no way to go"]),
        ("B: A C | B k in (4): C A", ["have no way to go, or two"]),
        ("B k in (4): A C | B: C A | B: A C", ["have no way to go, or two"]),
        ("B k in (4): A C | B 2: C A", ["have no way to go, or two"]),
        ("B k in (4): A C | B k in (5, 4): C A | B: C A", ["with k 4 have two ways"]),
        ("B k in (4): A C | B v in (5): C A | B: C A", ["by several columns"]),
        ("B k in (x): A C | B: C A", ["'(x)' is no list of keys"]),
        ("B k in (): A C | B: C A", ["'()' is no list of keys"]),
        (f"B k in ({2**63}): A C | B: C A", ["more than 64 bits"]),
        ("B q in (3): A C | B: C A", ["'q'", "no key column", "it has k, v"]),
        ("B 3 drawn: A C | B 1 drawn 4: C A", ["drawn for differently"]),
        ("B 3 drawn: A C | B 1: C A", ["drawn for differently"]),
        ("B 3 drawn: A C | B: C A", ["two orderings for stream B"]),
        (f"B 3 drawn {2**70}: A C | B 1 drawn {2**70}: C A", ["more than 63 bits"]),
        ("B 0 drawn: A C | B 1 drawn: C A", ["'0' is not a weight"]),
    ],
)
def test_ways_that_leave_a_row_none_or_two_are_refused(text, says):
    """The message names the plan and what to write instead."""
    engine = eddy.Eddy(QUERY)
    with pytest.raises(eddy.PlanError) as error:
        engine.migrate(REST.format(text))
    for words in says:
        assert words in str(error.value), str(error.value)
    assert engine.plan == "(A B) C"


def test_values_are_told_apart_by_any_key_of_the_stream():
    """Rows with these values take the way, whichever leaf it begins with; all others take the other."""
    batches = list(feed(10, 100))
    wanted = results(eddy.Eddy(QUERY, plan="(A B) C"), batches)
    for column, values in (("k", (3, 7, 49)), ("v", tuple(range(0, 400, 2))), ("v", (1000,))):
        engine = eddy.Eddy(
            QUERY, plan=REST.format(f"B {column} in {values}: A C | B: C A".replace(",)", ")"))
        )
        assert results(engine, batches) == wanted
        chosen = sum(int(np.isin(batch["B"][column], values).sum()) for batch in batches)
        assert taken(engine, "A") == chosen and taken(engine, "C") == 1000 - chosen


def test_a_drawn_row_takes_its_way_however_rows_come_in_batches():
    """The same rows go the same ways in pushes of one row, of seven and of all: the shares are those of draws."""
    plan = REST.format("B 3 drawn 5: A C | B 1 drawn 5: C A")
    (batch,) = feed(1, 400)
    found = []
    for rows in (1, 7, 400):
        engine = eddy.Eddy(QUERY, plan=plan, batch_size=rows)
        for at in range(0, 400, rows):
            engine.push("B", {name: column[at : at + rows] for name, column in batch["B"].items()})
        found.append((taken(engine, "A"), taken(engine, "C")))
    assert found[0] == found[1] == found[2]
    assert sum(found[0]) == 400 and abs(found[0][0] - 300) < 4 * math.sqrt(400 * 0.75 * 0.25)


def test_draws_have_the_shares_of_the_weights():
    """Over 40,000 rows each of three ways gets its part, within four deviations, under every seed that is tried."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(10)) for name in "ABCD"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.k = D.k"])
    rows, k = 40_000, np.arange(40_000)
    for seed in (0, 1, 2**40):
        ways = [f"A {w} drawn {seed}: {o}" for w, o in ((5, "B C D"), (2, "C D B"), (1, "D B C"))]
        engine = eddy.Eddy(query, plan=" | ".join([*ways, "B: A C D", "C: B A D", "D: C B A"]))
        engine.push("A", {"k": k})
        for target, share in zip("BCD", (5 / 8, 2 / 8, 1 / 8), strict=True):
            (got,) = [s.probes for s in engine.view().steps if (s.source, s.target) == (("A",), (target,))]
            assert abs(got - rows * share) < 4 * math.sqrt(rows * share * (1 - share))


def test_streams_are_drawn_for_independently_of_each_other():
    """Rows of the same number do not all go the same way."""
    plan = "A 1 drawn: B C | A 1 drawn: C B | B 1 drawn: A C | B 1 drawn: C A | C: A B"
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(10)) for name in "ABC"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]), plan=plan)
    ways = []
    for _ in range(64):
        before = {(s.source, s.target): s.probes for s in engine.view().steps}
        engine.push_all({"A": {"k": [0]}, "B": {"k": [0]}})
        after = {(s.source, s.target): s.probes for s in engine.view().steps}
        ways.append(tuple(after[(a,), ("C",)] - before[(a,), ("C",)] for a in "AB"))
    assert set(ways) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_rows_that_a_filter_rejects_take_no_way():
    """They have numbers and keys, and find nothing."""
    query = eddy.Query(STREAMS, where=[*WHERE, "B.k > 10", "A.v < C.k"])
    batches = list(feed(6, 100))
    wanted = results(eddy.Eddy(query, plan="(A B) C"), batches)
    for way in ("B k in (3, 20): A C | B: C A", "B 1 drawn: A C | B 1 drawn: C A"):
        engine = eddy.Eddy(query, plan=REST.format(way))
        assert results(engine, batches) == wanted
        assert taken(engine, "A") + taken(engine, "C") == sum(int((b["B"]["k"] > 10).sum()) for b in batches)


def test_a_plan_with_selected_rows_that_is_being_left_makes_nothing_twice():
    """Rows that were selected in one batch are not there in the next, also while two plans run side by side."""
    batches = list(feed(12, 60))
    wanted = results(eddy.Eddy(QUERY, plan="(A B) C"), batches)
    split = REST.format("B k in (3, 7, 20): A C | B: C A")
    for technique in (ParallelTrack(), ParallelTrack("pt")):
        engine, found = eddy.Eddy(QUERY, plan=split, migration=technique), []
        for number, batch in enumerate(batches):
            found += results(engine, [batch])
            if number % 2:
                engine.migrate(("stems", "A (B C)", split)[number // 2 % 3])
                found += results(engine, [{"C": {"k": [], "v": []}}])
        found += [tuple(row) for row in engine.settle().rows.tolist()]
        assert sorted(found) == wanted


def test_explain_says_which_rows_take_which_way():
    """By their share, by chance, or by value."""
    engine = eddy.Eddy(QUERY, plan="A 3: B C | A 1: C B | B 3 drawn: A C | B 1 drawn: C A | C: B A")
    lines = engine.explain().splitlines()
    assert "  A visits B, then C (75% of its rows)" in lines
    assert "  B visits C, then A (25% of its rows, drawn)" in lines
    engine.migrate(REST.format("B k in (3, 7): A C | B: C A"))
    lines = engine.explain().splitlines()
    assert "  B visits A, then C (rows with k in (3, 7))" in lines
    assert "  B visits C, then A (its other rows)" in lines


def test_strings_are_split_by_their_codes_and_a_snapshot_keeps_the_plan(tmp_path):
    """A key is what the engine compares; whatever it stands for, results are the same."""
    streams = {name: eddy.Stream({"s": "string", "v": "int64"}, window=eddy.Rows(50)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.s = B.s", "B.v = C.v"])
    random = np.random.default_rng(3)
    batches = [
        {
            name: {"s": random.choice(["a", "b", "", "longer"], 30).tolist(), "v": random.integers(0, 9, 30)}
            for name in "ABC"
        }
        for _ in range(4)
    ]
    wanted = results(eddy.Eddy(query), batches)
    plan = REST.format("B s in (0, 2): A C | B: C A")
    engine = eddy.Eddy(query, plan=plan)
    found = results(engine, batches[:2])
    engine.save(tmp_path / "saved")
    loaded = eddy.Eddy.load(tmp_path / "saved")
    assert loaded.plan == plan
    assert sorted(found + results(loaded, batches[2:])) == wanted
