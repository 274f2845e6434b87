"""What became of a combination of rows: `why_not` and `why` agree with the oracle, and say it in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.store.row_numbers import REMEMBERED
from tests.strategies import small_cases
from tests.witness import example, interrogate, query, rows, short_history

base = settings().max_examples


@given(small_cases(most=4), st.randoms(use_true_random=False))
@settings(max_examples=max(10, base // 3))
def test_every_verdict_is_right(case, random):
    """A result exactly if the oracle emitted it, at its event; else a reason that a plain reading confirms."""
    interrogate(case, random)


@given(small_cases(most=4), st.randoms(use_true_random=False), st.sampled_from([4, 12, 40]))
@settings(max_examples=max(10, base // 3))
def test_with_a_short_history_nothing_false_is_said(case, random, events):
    """What is too long ago may be left open, and all that is said is still true."""
    with short_history(events):
        interrogate(case, random, complete=False)


# In words


@pytest.fixture
def engine():
    """The engine of the example."""
    return example()


def test_a_result_is_told_with_its_event_and_its_plan(engine):
    """The plan is the one of that moment, not the present one."""
    engine.migrate("A (B C)")
    engine.push("B", rows((7, 1, 12.0)))
    old, new = engine.why(A=0, B=0, C=0), engine.why(A=0, B=3, C=0)
    assert str(old) == "A 0, B 0 and C 0 gave a result at event 5, when C 0 arrived, under plan (A B) C."
    assert (old.verdict, old.event, old.plan) == ("result", 5, "(A B) C")
    assert (new.verdict, new.event, new.plan) == ("result", 8, "A (B C)")
    assert engine.why_not(A=0, B=0, C=0) == old


@pytest.mark.parametrize(
    "asked, verdict, text",
    [
        (
            {"A": 2, "B": 0, "C": 0},
            "not arrived",
            "A 2 has not arrived: A has rows 0 to 1 so far. "
            "(A batch that goes back in time is refused, and its rows get no numbers.)",
        ),
        (
            {"A": 1, "B": 1, "C": 2},
            "filtered",
            "B 1 was ruled out when it arrived at event 3: B.v > 10 fails: B.v is 3.0.",
        ),
        (
            {"A": 1, "B": 2, "C": 2},
            "filtered",
            "B 2 was ruled out when it arrived at event 4: B.x is NULL, which no A.x or C.x can equal.",
        ),
        (
            {"A": 1, "B": 0, "C": 0},
            "predicate",
            "A 1, B 0 and C 0 were in their windows together at event 5, when C 0 arrived, but "
            "A.x = B.x fails: A.x is 2, B.x is 1.",
        ),
        (
            {"A": 0, "B": 0, "C": 1},
            "predicate",
            "A 0, B 0 and C 1 were in their windows together at event 6, when C 1 arrived, but "
            "A.v < C.v is unknown, which is not enough: A.v is 3.0, C.v is NULL.",
        ),
    ],
)
def test_the_reason_is_told_with_its_values(engine, asked, verdict, text):
    """Each verdict has a sentence that names rows, events, predicates and values."""
    answer = engine.why_not(**asked)
    assert (answer.verdict, str(answer)) == (verdict, text)


def test_rows_that_left_their_windows_are_told_with_the_event(engine):
    """By rows, by time, and with the arrival of the last row itself."""
    engine.push("A", rows((13, 1, 0.0), (13, 1, 0.0)))
    engine.push("C", rows((14, 1, 9.0)))
    assert str(engine.why_not(A=0, B=0, C=3)) == (
        "A 0 left its window, Rows(3), at event 9, before C 3 arrived at event 10. "
        "B 0 left its window, Range(10), at event 8 (its time is 2, the event's 13), "
        "before C 3 arrived at event 10."
    )
    answer = engine.why_not(A=2, B=0, C=0)
    assert str(answer).endswith("(its time is 2, the event's 13), with the arrival of A 2.")
    assert (answer.event, answer.expired, answer.streams) == (8, {"B": 8}, ("B",))


def test_values_that_are_gone_leave_the_verdict_open(engine):
    """The windows are still judged then, and filters by what was noted of them."""
    for _ in range(4):
        engine.push("A", rows(*[(20, 1, 0.0)] * 5))
    answer = engine.why_not(A=0, B=0, C=0)
    assert answer.verdict == "forgotten"
    assert (answer.event, answer.expired) == (5, {"A": 9, "B": 8})
    assert answer.predicates == ("A.x = B.x", "B.x = C.x", "A.v < C.v")
    assert "A 0 left its window, Rows(3), at event 9; its values are not known any more." in str(answer)
    assert "They were in their windows together at event 5, when C 0 arrived." in str(answer)
    assert engine.why_not(A=0, B=0, C=10**9).verdict == "not arrived"
    filtered = engine.why_not(A=0, B=1, C=0)
    assert (filtered.verdict, filtered.predicates) == ("filtered", ("B.v > 10",))  # it was ruled out lately
    engine.push("B", rows(*[(20, 1, 0.0)] * REMEMBERED))
    filtered = engine.why_not(A=0, B=1, C=0)
    assert (filtered.verdict, filtered.predicates) == ("filtered", ("B.v > 10", "A.x = B.x = C.x"))
    assert "B.v > 10 failed, or B.x was NULL, or else no A.x or C.x could equal it" in str(filtered)


def test_what_is_known_of_some_rows_may_be_enough():
    """A row without values does not hide that two others cannot match."""
    engine = eddy.Eddy(query(B=eddy.Rows(1)))
    engine.push("B", rows((0, 1, 11.0)))
    engine.push("A", rows((0, 1, 0.0)))
    engine.push("C", rows((0, 2, 1.0)))
    for _ in range(4):
        engine.push("B", rows((0, 1, 11.0), (0, 1, 11.0)))
    answer = engine.why_not(A=0, B=0, C=0)
    assert (answer.verdict, answer.predicates) == ("predicate", ("A.x = C.x",))
    assert "A.x = C.x fails: A.x is 1, C.x is 2" in str(answer)


@pytest.mark.parametrize(
    "kinds, values, wanted",
    [
        (("int64", "uint64"), (1, 2**64 - 1), "B.x is 18446744073709551615, which no A.x can equal"),
        (("int32", "float64"), (1, 1.5), "B.x is 1.5, which no A.x can equal"),
        (("float64", "float32"), (1.0, math.nan), "B.x is NaN, which no A.x can equal"),
        (("uint64", "uint64"), (2**64 - 1, 1), "A.x = B.x fails: A.x is 18446744073709551615, B.x is 1"),
        (("float64", "float32"), (1.5, -0.0), "A.x = B.x fails: A.x is 1.5, B.x is -0.0"),
        (("string", "string"), ("it's", "b"), "A.x = B.x fails: A.x is 'it''s', B.x is 'b'"),
        (("bool", "bool"), (True, False), "A.x = B.x fails: A.x is TRUE, B.x is FALSE"),
        (
            ("timestamp[s]", "timestamp[ms]"),
            (0, 1500),
            "A.x = B.x fails: A.x is 1970-01-01 00:00:00, B.x is 1970-01-01 00:00:01.5",
        ),
    ],
)
@pytest.mark.parametrize("shown", [True, False])
def test_values_are_told_as_sql_writes_them(kinds, values, wanted, shown):
    """Also where the column itself is not kept, and only its key is known."""
    streams = {name: {"x": kind, "id": "int64"} for name, kind in zip("AB", kinds, strict=True)}
    engine = eddy.Eddy(eddy.Query(streams, where="A.x = B.x", select=None if shown else ["A.id"]))
    for name, kind, value in zip("AB", kinds, values, strict=True):
        array = np.array([value], f"datetime64[{kind[10:-1]}]") if kind.startswith("timestamp") else [value]
        engine.push(name, {"x": array, "id": [7]})
    answer = str(engine.why_not(A=0, B=0))
    if shown or "fails" in wanted:
        assert wanted.replace("-0.0", "-0.0" if shown else "0.0") in answer
    else:
        assert "B.x was NULL, or else no A.x could equal it" in answer


def test_times_are_told_as_people_write_them():
    """A window over timestamps expires at a date, not at a number."""
    stream = eddy.Stream({"ts": "timestamp[s]", "x": "int64"}, window=eddy.Range("5 minutes"))
    engine = eddy.Eddy(eddy.Query({"A": stream, "B": stream}, where="A.x = B.x"))
    for name, at in (("A", "2024-01-31T12:00:00"), ("B", "2024-01-31T12:05:01")):
        engine.push(name, {"ts": np.array([at], "datetime64[s]"), "x": [1]})
    text = "(its time is 2024-01-31 12:00:00, the event's 2024-01-31 12:05:01), with the arrival of B 0."
    assert str(engine.why_not(A=0, B=0)).endswith(text)


@pytest.mark.parametrize(
    "asked, wanted",
    [
        ({"A": 0}, "none of B, C"),
        ({"A": 0, "B": 0, "C": 0, "D": 0}, "no stream D"),
        ({"A": 0, "B": -1, "C": 0}, "B=-1 is no row number"),
        ({"A": 0, "B": True, "C": 0}, "B=True is no row number"),
        ({"A": 0, "B": "x", "C": 0}, "B='x' is no row number"),
        ({"A": 0, "B": 1.0, "C": 0}, "B=1.0 is no row number"),
    ],
)
def test_a_question_that_makes_no_sense_is_an_error(engine, asked, wanted):
    """Every stream is needed, no other, and whole numbers."""
    for ask in (engine.why, engine.why_not):
        with pytest.raises(eddy.EddyError, match=wanted):
            ask(**asked)
    assert engine.why_not(A=np.int64(0), B=np.uint8(0), C=0).verdict == "result"


def test_only_inner_joins_are_explained():
    """What an outer join owes, or has withdrawn, is not in the history."""
    streams = {name: {"x": "int64"} for name in "ABC"}
    joined = eddy.Eddy(eddy.Query(streams, "A.x = B.x", attach=eddy.LeftJoin("C", "A.x = C.x")))
    for ask in (joined.why, joined.why_not):
        with pytest.raises(eddy.EddyError, match="explain inner joins, and this query has LEFT JOIN C"):
            ask(A=0, B=0, C=0)


def test_streams_may_have_any_name():
    """Even that of the method's own argument."""
    engine = eddy.Eddy(
        eddy.Query({"self": {"x": "int64"}, "my-rows": {"x": "int64"}}, where='self.x = "my-rows".x')
    )
    engine.push_all({"self": {"x": [1]}, "my-rows": {"x": [1]}})
    assert engine.why_not(**{"self": 0, "my-rows": 0}).verdict == "result"
