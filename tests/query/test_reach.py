"""Windows that follow from predicates: what is derived, what is warned of, and what is shown."""

from __future__ import annotations

import itertools
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy


def stream(window=None, **columns):
    declared = {"ts": "int64", "k": "int64", **columns}
    return eddy.Stream(declared) if window is None else eddy.Stream(declared, window=window)


def allowed(*where, names="AB", **columns):
    """The windows that lose nothing, as numbers."""
    made = eddy.Query({name: stream(**columns) for name in names}, where=["A.k = B.k", *where], cross=True)
    assert made.followed == set(made.allowed)
    return {name: window.width for name, window in made.allowed.items()}


@pytest.mark.parametrize(
    "where, widths",
    [
        (["B.ts BETWEEN A.ts AND A.ts + 10"], {"A": 10, "B": 0}),
        (["A.ts <= B.ts", "B.ts < A.ts + 10"], {"A": 9, "B": 0}),
        (["A.ts < B.ts", "B.ts - A.ts <= 10"], {"A": 10, "B": 0}),
        (["ABS(A.ts - B.ts) <= 3"], {"A": 3, "B": 3}),
        (["ABS(A.ts - B.ts) < 3"], {"A": 2, "B": 2}),
        (["NOT A.ts > B.ts + 2", "NOT B.ts > A.ts + 4"], {"A": 4, "B": 2}),
        (["A.ts = B.ts"], {"A": 0, "B": 0}),
        (["A.ts = B.ts + 7"], {"A": 0, "B": 7}),
        (["2 <= A.ts - B.ts", "A.ts - B.ts <= 5"], {"A": 0, "B": 5}),
        (["A.ts - 3 <= B.ts"], {"B": 3}),
        (["A.ts <= B.ts"], {"B": 0}),
        (["A.ts <= B.end", "B.end <= B.ts + 20"], {"B": 20}),
        (["A.ts = A.end", "A.end = B.ts"], {"A": 0, "B": 0}),
        (["A.ts <= B.ts OR A.ts <= B.ts + 5"], {}),
        (["A.ts <= B.ts + 0.5", "B.ts <= A.ts"], {"A": 0}),
        (["A.ts * 2 <= B.ts"], {}),
        (["A.ts <= 5", "B.ts >= 3"], {}),
    ],
)
def test_what_follows(where, widths):
    """The furthest that another row can come behind one, edges included, in whatever words."""
    assert allowed(*where, end="int64") == widths


def test_bounds_add_up_along_paths():
    """C is bounded by A through B; a stream that nothing bounds leaves the others without a window."""
    where = ["B.k = C.k", "B.ts BETWEEN A.ts AND A.ts + 5", "C.ts BETWEEN B.ts AND B.ts + 7"]
    assert allowed(*where, names="ABC") == {"A": 12, "B": 7, "C": 0}
    assert allowed(*where[:2], names="ABC") == {}


def test_timestamps_of_several_units():
    """In the finest unit of the times; rounded to what times can be."""
    made = eddy.Query(
        {
            "A": eddy.Stream({"ts": "timestamp[s]", "k": "int64"}),
            "B": eddy.Stream({"at": "timestamp[ms]", "k": "int64"}, time="at"),
        },
        where=["A.k = B.k", "B.at < A.ts + INTERVAL '90' SECOND", "A.ts <= B.at + INTERVAL '1' HOUR"],
    )
    assert made.allowed == {"A": eddy.Range("89999 ms"), "B": eddy.Range("1 hour")}
    assert "RANGE" not in str(made)


def test_a_declared_window_stays():
    """`Unbounded()` that is written down is one, and is written down again."""
    streams = {"A": stream(eddy.Unbounded()), "B": stream(eddy.Rows(5))}
    made = eddy.Query(streams, where=["A.k = B.k", "ABS(A.ts - B.ts) <= 3"])
    assert (made.followed, made.time_windows) == (frozenset(), False)
    assert "FROM A [UNBOUNDED], B [ROWS 5]" in str(made)
    schemas = {name: {"ts": "int64", "k": "int64"} for name in "AB"}
    assert str(eddy.sql(str(made), schemas)) == str(made)
    followed = eddy.sql("SELECT * FROM A, B [ROWS 5] WHERE A.k = B.k AND ABS(A.ts - B.ts) <= 3", schemas)
    assert (followed.streams["A"].window, followed.followed) == (eddy.Range(3), {"A"})
    assert "FROM A, B [ROWS 5]" in str(followed)


def test_a_window_that_loses_results_is_warned_of():
    """Once, with the one that loses none; a longer one, and one that does not count time, are not."""
    where = ["A.k = B.k", "B.ts BETWEEN A.ts AND A.ts + 10"]
    with pytest.warns(
        eddy.LossyWindow, match=r"window of A, Range\(4\), .* Range\(10\), or no window"
    ) as told:
        eddy.Query({"A": stream(eddy.Range(4)), "B": stream(eddy.Range(0))}, where=where)
    assert (len(told), told[0].filename) == (1, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eddy.Query({"A": stream(eddy.Range(10)), "B": stream(eddy.Range(2))}, where=where)
        eddy.Query({"A": stream(eddy.Rows(1)), "B": stream(eddy.Tumbling(time=3))}, where=where)
        eddy.Query({"A": stream(eddy.Range(1)), "B": stream(eddy.Range(1))}, where="A.k = B.k")
        eddy.Query({"A": stream(eddy.Tumbling(rows=3)), "B": stream()}, where=where)
        eddy.Query({"A": stream(eddy.Tumbling(time=9)), "B": stream()}, where=["A.k = B.k", "A.ts = B.ts"])


def test_panes_lose_results_wherever_rows_may_be_apart():
    """However wide a pane is: a row at its end meets none of the next one. A window that slides loses none."""
    where = ["A.k = B.k", "B.ts BETWEEN A.ts AND A.ts + 10"]
    with pytest.warns(
        eddy.LossyWindow, match=r"window of A, Tumbling\(time=50\), begins anew .* Range\(10\), or no"
    ):
        lossy = eddy.Query({"A": stream(eddy.Tumbling(time=50)), "B": stream()}, where=where)
    whole = eddy.Query({"A": stream(eddy.Sliding(10, every=50)), "B": stream()}, where=where)
    found = []
    for query in (lossy, whole):
        engine = eddy.Eddy(query)
        engine.push("A", {"ts": [49], "k": [1]})
        found.append(len(engine.push("B", {"ts": [50], "k": [1]})))
    assert found == [0, 1]


def test_what_is_withdrawn_is_not_withdrawn_for_that():
    """A row that can join with nothing more is no reason to withdraw what it has joined with."""
    where = ["A.k = B.k", "B.ts BETWEEN A.ts AND A.ts + 10"]
    made = eddy.Query({"A": stream(), "B": stream()}, where=where)
    engine = eddy.Eddy(made, retractions=True)
    engine.push("A", {"ts": [1], "k": [1]})
    assert engine.push("B", {"ts": [2, 500], "k": [1, 1]}).sign.tolist() == [1]
    counted = eddy.Query({"A": stream(), "B": stream()}, where=where, aggregates={"n": "COUNT(*)"})
    assert counted.followed == frozenset()


def test_explain_shows_declared_and_derived_windows():
    where = ["A.k = B.k", "B.ts BETWEEN A.ts AND A.ts + 10"]
    text = eddy.Eddy(eddy.Query({"A": stream(eddy.Range(12)), "B": stream()}, where=where)).explain()
    assert "A Range(12) (Range(10) by predicates): 0 live" in text
    assert "B Range(0) by predicates: 0 live" in text


CONSTRAINTS = st.lists(
    st.tuples(st.sampled_from(list(itertools.permutations("ABC", 2))), st.integers(-4, 6), st.booleans()),
    min_size=1,
    max_size=6,
)


@given(CONSTRAINTS)
@settings(max_examples=200)
def test_reaches_are_exact(constraints):
    """By trial of all times: no result reaches further than its window, and some result reaches as far."""
    where = [f"{a}.ts - {b}.ts {'<' if strict else '<='} {most}" for (a, b), most, strict in constraints]
    widths = allowed("B.k = C.k", *where, names="ABC")
    middle, furthest = 30, dict.fromkeys("ABC", -1)
    for b, c in itertools.product(range(2 * middle + 1), repeat=2):
        times = {"A": middle, "B": b, "C": c}
        if all(times[x] - times[y] <= most - strict for (x, y), most, strict in constraints):
            for name in "ABC":
                furthest[name] = max(furthest[name], max(times.values()) - times[name])
    if max(furthest.values()) < 0:
        return  # contradictions: there are no results
    for name in "ABC":
        if name in widths:
            assert widths[name] == furthest[name]
        else:
            assert furthest[name] > 20
