"""The oracle itself, against answers worked out by hand."""

from __future__ import annotations

from math import inf, nan

import pytest
from attrs import frozen

from tests import naive


@frozen
class S:
    """A stream as the oracle wants it described."""

    columns: tuple
    window: tuple = ("unbounded",)
    time: str | None = None


X = S(("x",))
EQUAL = ("=", ("col", "A", "x"), ("col", "B", "x"))


def pairs(a, b, where, events):
    """The results of a two-stream query, event by event."""
    return naive.join({"A": a, "B": b}, where, events)


def test_each_result_comes_with_its_latest_event():
    """A result belongs to the event that completes it, and to no other."""
    events = [("A", (1,)), ("B", (1,)), ("B", (2,)), ("A", (2,)), ("A", (1,))]
    assert pairs(X, X, [EQUAL], events) == [[], [(0, 0)], [], [(1, 1)], [(2, 0)]]


def test_three_streams_join_on_all_predicates():
    """The first scenario of the digest: r1 s1 s2 t1 gives two results, t2 none."""
    streams = {"R": X, "S": X, "T": X}
    where = [("=", ("col", "R", "x"), ("col", "S", "x")), ("=", ("col", "S", "x"), ("col", "T", "x"))]
    events = [("R", (1,)), ("S", (1,)), ("S", (1,)), ("T", (1,)), ("T", (2,))]
    assert naive.join(streams, where, events) == [[], [], [], [(0, 0, 0), (0, 1, 0)], []]


def test_rows_window_counts_every_row():
    """Rows(2) keeps the last two rows of the stream, whatever they join with."""
    a = S(("x",), ("rows", 2))
    events = [("A", (1,)), ("A", (1,)), ("A", (1,)), ("B", (1,)), ("A", (9,)), ("B", (1,))]
    assert pairs(a, X, [EQUAL], events) == [[], [], [], [(1, 0), (2, 0)], [], [(2, 1)]]


def test_range_window_includes_its_boundary():
    """A row exactly w old is live, one older is not; the time is that of the latest event of any stream."""
    stream = S(("x", "ts"), ("range", 10), "ts")
    events = [("A", (1, 0)), ("B", (1, 10)), ("B", (1, 11))]
    assert pairs(stream, stream, [EQUAL], events) == [[], [(0, 0)], []]


def test_tumbling_rows_start_afresh():
    """The pane of n rows is live until the row after it arrives."""
    a = S(("x",), ("tumbling rows", 2))
    events = [("A", (1,)), ("A", (1,)), ("B", (1,)), ("A", (1,)), ("B", (1,))]
    assert pairs(a, X, [EQUAL], events) == [[], [], [(0, 0), (1, 0)], [(2, 0)], [(2, 1)]]


def test_tumbling_time_is_aligned_to_zero():
    """Panes are [0, 5), [5, 10), ..., also before zero, and end as soon as any stream's time passes them."""
    a = S(("x", "ts"), ("tumbling time", 5), "ts")
    b = S(("x", "ts"), ("unbounded",), "ts")
    events = [("A", (1, -6)), ("A", (1, -5)), ("B", (1, -1)), ("A", (1, 0)), ("B", (1, 4)), ("B", (1, 5))]
    assert pairs(a, b, [EQUAL], events) == [[], [], [(1, 0)], [(2, 0)], [(2, 1)], []]


def test_windows_come_before_filters():
    """A row that the filter rejects still takes a place in Rows(1)."""
    a = S(("x",), ("rows", 1))
    events = [("A", (1,)), ("A", (5,)), ("B", (1,))]
    assert pairs(a, X, [EQUAL, ("<", ("col", "A", "x"), ("lit", 3))], events) == [[], [], []]


def test_constant_predicates_hold_or_do_not():
    """WHERE FALSE gives nothing, WHERE TRUE changes nothing."""
    events = [("A", (1,)), ("B", (1,))]
    assert pairs(X, X, [EQUAL, ("=", ("lit", 1), ("lit", 2))], events) == [[], []]
    assert pairs(X, X, [EQUAL, ("=", ("lit", 1), ("lit", 1))], events) == [[], [(0, 0)]]


def test_the_answer_can_stop_early():
    """With a limit the oracle gives up after so many combinations, on the border of an event."""
    events = [("A", (1,))] * 10 + [("B", (1,))] * 3
    assert len(naive.join({"A": X, "B": X}, [EQUAL], events, limit=25)) == 11


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (("=", ("lit", None), ("lit", None)), None),
        (("=", ("lit", 2**53 + 1), ("lit", 2.0**53)), False),
        (("=", ("lit", nan), ("lit", nan)), False),
        (("!=", ("lit", nan), ("lit", 1)), True),
        (("<", ("lit", nan), ("lit", inf)), False),
        (("=", ("lit", 0.0), ("lit", -0.0)), True),
        (("and", ("lit", False), ("lit", None)), False),
        (("and", ("lit", True), ("lit", None)), None),
        (("or", ("lit", True), ("lit", None)), True),
        (("or", ("lit", False), ("lit", None)), None),
        (("not", ("lit", None)), None),
        (("not", ("lit", True)), False),
        (("in", ("lit", 2), [1, 2]), True),
        (("in", ("lit", None), [1, 2]), None),
        (("between", ("lit", 2), ("lit", 2), ("lit", 3)), True),
        (("between", ("lit", 4), ("lit", None), ("lit", 3)), False),
        (("between", ("lit", 2), ("lit", None), ("lit", 3)), None),
        (("is null", ("lit", None)), True),
        (("is null", ("lit", nan)), False),
        (("is not null", ("+", ("lit", 1), ("lit", None))), False),
        (("+", ("lit", 1), ("neg", ("lit", 3))), -2),
        (("abs", ("-", ("lit", 1), ("lit", 3))), 2),
        (("+", ("lit", 2**63 - 1), ("lit", 1)), None),
        (("abs", ("lit", -(2**63))), None),
        (("/", ("lit", 7), ("lit", 2)), 3.5),
        (("/", ("lit", 7), ("lit", 0)), None),
        (("%", ("lit", -7), ("lit", 3)), -1),
        (("%", ("lit", 7), ("lit", 0)), None),
        (("<", ("lit", "a"), ("lit", "b")), True),
        (("user", "sum is even", ("lit", 1), ("lit", 3)), True),
        (("user", "sum is even", ("lit", 1), ("lit", None)), None),
    ],
)
def test_three_valued_logic(tree, value):
    """Predicates and expressions are as in SQL: NULL is unknown, NaN compares as in IEEE 754."""
    result = naive.evaluator(tree, {})({})
    assert result == value
    assert type(result) is type(value)


def test_reads_names_the_streams():
    """A predicate reads the streams of its columns, however deep."""
    tree = ("or", EQUAL, ("in", ("+", ("col", "C", "y"), ("lit", 1)), [1, 2]))
    assert naive.reads(tree) == {"A", "B", "C"}
    assert naive.reads(("lit", 1)) == set()
