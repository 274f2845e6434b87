"""The oracle itself, against answers worked out by hand."""

from __future__ import annotations

import random
from math import inf, isnan, nan

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


def test_a_sliding_window_moves_in_steps():
    """At 7 it is still where it came to be at 5: rows from 5 - 3 on; before zero too."""
    a = S(("x", "ts"), ("sliding", 3, 5), "ts")
    b = S(("x", "ts"), ("unbounded",), "ts")
    events = [("A", (1, -9)), ("A", (1, -8)), ("B", (1, -1)), ("A", (1, 2)), ("B", (1, 9)), ("B", (1, 10))]
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


# Joins with withdrawals

LAST = S(("x",), ("rows", 1))
"""It keeps its last row only, so that another row expires it."""

SHARED = [("=", ("col", a, "x"), ("col", b, "x")) for a, b in ("RS", "ST", "TU")]
RSTU = {"R": X, "S": LAST, "T": X, "U": X}
COUNT = [("COUNT",)]


def feed(text):
    """Events such as "R1 S2": a row of R with x = 1, then one of S with x = 2."""
    return [(item[0], (int(item[1:]),)) for item in text.split()]


def test_an_expired_row_takes_its_results_with_it():
    """Scenario T11 of the digest: r1 s1 t1 u1 give a result, and without s1 it is withdrawn."""
    answer = naive.signed(RSTU, SHARED, feed("R1 S1 T1 U1 S2"))
    assert answer == [[], [], [], [(1, (0, 0, 0, 0))], [(-1, (0, 0, 0, 0))]]


def test_a_count_goes_on_from_event_to_event():
    """Scenario T53: T10, T11 and T12 in one feed with keys of their own; the count is never set back."""
    t10, t11, t12 = "S1 T1 U1 R1", "R2 S2 T2 U2 S9", "R3 S3 T3 S9 U3"
    answer = naive.aggregates(RSTU, SHARED, feed(f"{t10} {t11} {t12}"), COUNT)
    up, down = [(-1, (0,)), (1, (1,))], [(-1, (1,)), (1, (0,))]
    #                 s1  t1  u1  r1  r2  s2    t2  u2  s9    and in T12 nothing stands
    assert answer == [[], [], [], up, [], down, [], up, down, [], [], [], [], []]


def test_withdrawals_come_first_and_in_the_order_of_emission():
    """Both kinds at one event: the window of A moves on as its new row finds partners."""
    a = S(("x",), ("rows", 1))
    events = feed("A1 B1 B1 A1")
    old, new = [(0, 0), (0, 1)], [(1, 0), (1, 1)]
    expected = [[], [(1, old[0])], [(1, old[1])], [(-1, it) for it in old] + [(1, it) for it in new]]
    assert naive.signed({"A": a, "B": X}, [EQUAL], events) == expected
    pane = S(("x",), ("tumbling rows", 2))
    emitted = [(1, 0), (0, 1)]  # not by row number
    *_, end = naive.signed({"A": X, "B": pane}, [EQUAL], feed("A8 A7 B7 B8 B5"))
    assert end == [(-1, it) for it in emitted]


def test_new_results_of_an_event_come_in_ascending_order():
    """By row number in the order of the streams, not in the order in which they were found."""
    y = S(("x", "y"))
    streams = {"A": X, "B": y, "C": y}
    where = [("=", ("col", "A", "x"), ("col", "C", "x")), ("=", ("col", "C", "y"), ("col", "B", "y"))]
    events = [("C", (1, 6)), ("C", (1, 7)), ("B", (0, 7)), ("B", (0, 6)), ("A", (1,))]
    assert naive.signed(streams, where, events)[-1] == [(1, (0, 0, 1)), (1, (0, 1, 0))]


def test_time_withdraws_results_of_streams_that_are_silent():
    """A row of any stream moves the time: at 10 a row of time 0 is live in Range(10), at 11 it is not."""
    stream = S(("x", "ts"), ("range", 10), "ts")
    events = [("A", (1, 0)), ("B", (1, 0)), ("A", (2, 10)), ("A", (2, 11))]
    assert pairs_signed(stream, events) == [[], [(1, (0, 0))], [], [(-1, (0, 0))]]
    pane = S(("x", "ts"), ("tumbling time", 5), "ts")
    events = [("A", (1, 3)), ("B", (1, 4)), ("A", (1, 5)), ("B", (1, 9)), ("B", (2, 10))]
    assert pairs_signed(pane, events) == [[], [(1, (0, 0))], [(-1, (0, 0))], [(1, (1, 1))], [(-1, (1, 1))]]


def pairs_signed(stream, events):
    """The changes of A.x = B.x, both streams alike."""
    return naive.signed({"A": stream, "B": stream}, [EQUAL], events)


WINDOWS = [
    ("rows", 3),
    ("range", 4),
    ("tumbling rows", 4),
    ("tumbling time", 6),
    ("sliding", 3, 4),
    ("unbounded",),
]


@pytest.mark.parametrize("window", WINDOWS)
def test_what_comes_is_the_join_and_what_goes_has_come(window):
    """The two oracles for joins agree on new results; a result goes at most once, at the first event without it."""
    source = random.Random(7)
    for _ in range(10):
        own = S(("x", "ts"), window, "ts")
        streams = {"A": own, "B": S(("x", "ts"), source.choice(WINDOWS), "ts"), "C": own}
        where = [EQUAL, ("<", ("col", "A", "x"), ("col", "C", "x")), ("!=", ("col", "B", "x"), ("lit", 0))]
        events = [(source.choice("ABC"), (source.randrange(4), i // 2)) for i in range(40)]
        answer = naive.signed(streams, where, events)
        came = [[numbers for sign, numbers in event if sign > 0] for event in answer]
        assert came == [sorted(results) for results in naive.join(streams, where, events)]
        standing = []
        for event in answer:
            for sign, numbers in event:
                if sign > 0:
                    standing.append(numbers)
                else:
                    standing.remove(numbers)
        *_, last = naive.standing(streams, where, events)
        assert standing == list(last)


def test_signed_answers_can_stop_early():
    """The limit counts combinations as it does for joins, and ends all answers on the border of an event."""
    events = feed("A1 A1 B1 B1 B1")
    assert len(naive.signed({"A": X, "B": X}, [EQUAL], events, limit=8)) == 3
    assert len(naive.aggregates({"A": X, "B": X}, [EQUAL], events, COUNT, limit=8)) == 3
    assert len(naive.signed({"A": X, "B": X}, [], events, [("B", [("x", "x")])], limit=8)) == 3


# Set differences

ABCD = {"A": X, "B": LAST, "C": LAST, "D": LAST}
MINUS = [(name, [("x", "x")]) for name in "BCD"]


def less(b, where, events, a=X):
    """The changes of A - B on x, row numbers of A without their brackets."""
    answer = naive.signed({"A": a, "B": b}, where, events, [("B", [("x", "x")])])
    return [[(sign, number) for sign, (number,) in event] for event in answer]


def test_a_difference_follows_its_inner_rows():
    """Scenario T52: {a2, a3}; d1 takes a2; b1 expires and gives a1 back; d1 expires and gives a2 back."""
    for order in (MINUS, [MINUS[2], MINUS[0], MINUS[1]]):
        answer = naive.signed(ABCD, [], feed("B1 A1 A2 A3 D2 B9 D9"), order)
        assert answer == [[], [], [(1, (1,))], [(1, (2,))], [(-1, (1,))], [(1, (0,))], [(1, (1,))]]


def test_a_row_comes_back_only_when_nothing_hides_it_any_more():
    """Both B and C hide it: one of them is not enough, and a second row of B changes nothing."""
    b = S(("x",), ("rows", 2))
    answer = naive.signed({**ABCD, "B": b}, [], feed("A1 B1 B1 C1 C9 B9 B9"), MINUS)
    assert answer == [[(1, (0,))], [(-1, (0,))], [], [], [], [], [(1, (0,))]]


def test_a_difference_shows_net_changes():
    """An inner row that replaces an equal one changes nothing; where rows go and come, those that go are first."""
    assert less(LAST, [], feed("A1 B1 B1")) == [[(1, 0)], [(-1, 0)], []]
    assert less(LAST, [], feed("A1 A2 B2 B1")) == [[(1, 0)], [(1, 1)], [(-1, 1)], [(-1, 0), (1, 1)]]
    assert less(LAST, [], feed("A2 A1 A2 B2"))[-1] == [(-1, 0), (-1, 2)]
    # Row 0 has come back after row 1 came: still ascending.
    pane = S(("x",), ("tumbling rows", 2))
    assert less(LAST, [], feed("A1 A2 B1 B9 A3"), pane)[3:] == [[(1, 0)], [(-1, 0), (-1, 1), (1, 2)]]


def test_the_base_row_itself_expires():
    """It is withdrawn if it was a result, and silently gone if it was not."""
    two = S(("x",), ("rows", 2))
    assert less(X, [], feed("B1 A1 A2 A3 A4"), two) == [[], [], [(1, 1)], [(1, 2)], [(-1, 1), (1, 3)]]
    assert less(LAST, [], feed("A1 A2 B1 A3 B9"), two)[2:] == [[(-1, 0)], [(1, 2)], []]


def test_null_and_nan_hide_nothing_and_are_not_hidden():
    """They equal nothing, so such a row of the base is always a result; 0.0 equals -0.0."""
    for odd in (None, nan):
        events = [("B", (odd,)), ("A", (odd,)), ("A", (1,)), ("B", (odd,))]
        assert less(X, [], events) == [[], [(1, 0)], [(1, 1)], []]
    assert less(X, [], [("B", (-0.0,)), ("A", (0.0,))]) == [[], []]


def test_filters_of_a_difference():
    """A base row that is rejected is no result; an inner row that is rejected hides nothing, but fills its window."""
    big = [("col", "A", "x"), ("lit", 1)]
    assert less(X, [(">", *big)], feed("A1 A2 B2")) == [[], [(1, 1)], [(-1, 1)]]
    y = S(("x", "y"), ("rows", 1))
    where = [("=", ("col", "B", "y"), ("lit", 1))]
    events = [("A", (5,)), ("B", (5, 0)), ("B", (5, 1)), ("B", (5, None))]
    assert less(y, where, events) == [[(1, 0)], [], [(-1, 0)], [(1, 0)]]


def test_a_difference_on_two_columns():
    """All pairs of columns must be equal, under whatever names."""
    streams = {"B": S(("p", "q")), "A": S(("x", "y"))}
    minus = [("B", [("x", "q"), ("y", "p")])]
    events = [("A", (1, 2)), ("A", (1, 1)), ("B", (1, 2)), ("B", (2, 1)), ("B", (None, 1))]
    assert naive.signed(streams, [], events, minus) == [[(1, (0,))], [(1, (1,))], [], [(-1, (0,))], []]


def test_differences_of_windows_by_time():
    """An inner row hides as long as it is live, its boundary included, and whoever moves the time."""
    timed = S(("x", "ts"), ("unbounded",), "ts")
    events = [("A", (1, 0)), ("B", (1, 0)), ("A", (2, 10)), ("A", (2, 11))]
    assert less(S(("x", "ts"), ("range", 10), "ts"), [], events, timed)[1:] == [
        [(-1, 0)],
        [(1, 1)],
        [(1, 0), (1, 2)],
    ]
    pane = S(("x", "ts"), ("tumbling time", 5), "ts")
    assert less(pane, [], events, timed)[2] == [(1, 0), (1, 1)]
    assert less(X, [], feed("A1 B1"), S(("x",), ("tumbling rows", 1))) == [[(1, 0)], [(-1, 0)]]
    pane = S(("x",), ("tumbling rows", 2))
    assert less(pane, [], feed("A1 B1 B2 B3")) == [[(1, 0)], [(-1, 0)], [], [(1, 0)]]


# Aggregates

VALUE = ("col", "A", "v")
GROUP = ("col", "A", "g")


def rows_of(values, outputs, group_by=(), keep=None):
    """The changelog of an aggregate of A (columns g, v) without a join: each row passes the one row of B."""
    window = ("unbounded",) if keep is None else ("rows", keep)
    streams = {"A": S(("g", "v"), window), "B": S(("x",))}
    events = [("B", (1,)), *[("A", value) for value in values]]
    first, *rest = naive.aggregates(streams, [], events, outputs, group_by)
    assert first == []
    return rest


def test_an_aggregate_without_groups_is_always_there():
    """It starts with a count of 0 and NULL for the others, which is what the first change withdraws."""
    every = [("COUNT",), *[(name, VALUE) for name in naive.AGGREGATES]]
    answer = rows_of([(1, 4), (1, None), (1, 2)], every)
    zero, one = (0, 0, None, None, None, None, None), (1, 1, 4, 4.0, 4, 4, 4.0)
    two, three = (2, 1, 4, 4.0, 4, 4, 4.0), (3, 2, 6, 3.0, 2, 4, 3.0)
    assert answer == [[(-1, zero), (1, one)], [(-1, one), (1, two)], [(-1, two), (1, three)]]


def test_a_group_lives_as_long_as_it_has_results():
    """It comes without an old row and goes without a new one."""
    answer = rows_of([("p", 1), ("p", 5), ("q", 7), ("q", 8)], [("SUM", VALUE)], [GROUP], keep=2)
    assert answer == [
        [(1, ("p", 1))],
        [(-1, ("p", 1)), (1, ("p", 6))],
        [(-1, ("p", 6)), (1, ("p", 5)), (1, ("q", 7))],
        [(-1, ("p", 5)), (-1, ("q", 7)), (1, ("q", 15))],
    ]


def test_what_does_not_change_is_not_shown():
    """A new row that leaves the minimum as it is gives nothing, and neither does NaN after NaN."""
    assert rows_of([("p", 1), ("p", 2)], [("MIN", VALUE)], [GROUP]) == [[(1, ("p", 1))], []]
    assert rows_of([("p", nan), ("p", 2.0)], [("SUM", VALUE)], [GROUP])[1] == []
    assert rows_of([("p", 1), ("p", 1)], [("COUNT", VALUE)], keep=1)[1] == []


def test_groups_of_null_nan_and_zero():
    """NULL is a group, all NaN are one, and so are both zeros, shown as 0.0."""
    assert rows_of([(None, 1), (None, 1)], COUNT, [GROUP])[1] == [(-1, (None, 1)), (1, (None, 2))]
    assert rows_of([(-0.0, 1), (0.0, 1)], COUNT, [GROUP])[1] == [(-1, (0.0, 1)), (1, (0.0, 2))]
    assert str(rows_of([(-0.0, 1)], COUNT, [GROUP])[0][0][1][0]) == "0.0"
    ((sign, (group, count)), (other, (again, more))) = rows_of([(nan, 1), (-nan, 1)], COUNT, [GROUP])[1]
    assert (sign, count, other, more) == (-1, 1, 1, 2) and isnan(group) and isnan(again)
    pair = [GROUP, VALUE]
    assert rows_of([(None, 1), (1, None), (None, None)], COUNT, pair) == [
        [(1, (None, 1, 1))],
        [(1, (1, None, 1))],
        [(1, (None, None, 1))],
    ]


@pytest.mark.parametrize(
    ("function", "values", "value"),
    [
        ("COUNT", [None, nan, 1.0], 2),
        ("COUNT", [None], 0),
        ("SUM", [None], None),
        ("SUM", [2**53, 1, -(2**53)], 1),
        ("SUM", [2**63 - 1, 1], None),
        ("SUM", [2**63 - 1, 1, -1], 2**63 - 1),
        ("SUM", [True, True, False], 2),
        ("SUM", [0.1] * 10, 1.0),
        ("SUM", [1e16, 1.0, -1e16], 1.0),
        ("SUM", [1.0, nan], nan),
        ("SUM", [inf, 1.0], inf),
        ("SUM", [inf, -inf], nan),
        ("AVG", [1, 2, None], 1.5),
        ("AVG", [2**63 - 1, 2**63 - 1], 2.0**63),
        ("AVG", [None, None], None),
        ("AVG", [1.0, nan], nan),
        ("MIN", [2, 1, None], 1),
        ("MIN", [nan, inf], inf),
        ("MIN", [nan, nan], nan),
        ("MIN", [None], None),
        ("MIN", ["b", "a"], "a"),
        ("MAX", [1, 2], 2),
        ("MAX", [nan, inf], nan),
        ("MAX", [inf, nan, 0.0], nan),
        ("MEDIAN", [3, 1, 2], 2.0),
        ("MEDIAN", [4, 1, 2, 3], 2.5),
        ("MEDIAN", [2**53, 2**53 + 2], 2.0**53),
        ("MEDIAN", [None, 7], 7.0),
        ("MEDIAN", [None], None),
        ("MEDIAN", [nan, 1.0, 2.0], 2.0),
        ("MEDIAN", [nan, 1.0], nan),
    ],
)
def test_aggregate_functions(function, values, value):
    """NULL is passed over, NaN adds to NaN and is larger than every number; a sum is rounded once, or has to fit."""
    # B's one row brings all values in at once, and the count makes sure that there is a change to be shown.
    result = naive.aggregates(
        {"A": S(("v",)), "B": LAST},
        [],
        [*[("A", (item,)) for item in values], ("B", (1,))],
        [("COUNT",), (function, VALUE)],
    )[-1][-1]
    count, found = result[1]
    assert (result[0], count) == (1, len(values)) and type(found) is type(value)
    assert found == value or (isnan(found) and isnan(value))


def test_groups_come_in_the_order_in_which_they_are_touched():
    """Withdrawals touch first, in the order of their emission; then the new results."""
    streams = {"A": S(("x", "g")), "B": S(("x",), ("rows", 1))}
    events = [("A", (2, "c")), ("A", (1, "b")), ("A", (1, "a")), ("B", (1,)), ("B", (2,)), ("B", (1,))]
    answer = naive.aggregates(streams, [EQUAL], events, COUNT, [GROUP])
    assert answer[3] == [(1, ("b", 1)), (1, ("a", 1))]
    assert answer[4] == [(-1, ("b", 1)), (-1, ("a", 1)), (1, ("c", 1))]
    assert answer[5] == [(-1, ("c", 1)), (1, ("b", 1)), (1, ("a", 1))]


def test_an_aggregate_of_a_difference():
    """It counts what the difference holds: rows that are hidden leave it, rows that come back return."""
    minus = [("B", [("x", "x")])]
    streams = {"A": S(("x", "g", "v")), "B": LAST}
    rows = [("A", (1, "p", 10)), ("A", (2, "p", 20)), ("B", (2,)), ("B", (1,)), ("B", (9,))]
    answer = naive.aggregates(streams, [], rows, [("COUNT",), ("SUM", VALUE)], [GROUP], minus)
    assert answer == [
        [(1, ("p", 1, 10))],
        [(-1, ("p", 1, 10)), (1, ("p", 2, 30))],
        [(-1, ("p", 2, 30)), (1, ("p", 1, 10))],
        [(-1, ("p", 1, 10)), (1, ("p", 1, 20))],
        [(-1, ("p", 1, 20)), (1, ("p", 2, 30))],
    ]


# Expressions


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
