"""Bands: one form for what comparisons of sums say, and what float64 can tell of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.query.logic import conjuncts
from eddy.query.residual import residuals
from eddy.tracks.bands import compile_bounds
from stairs.band_kernels import decide, find_ranges
from tests.three_valued import parse, table


def bands(text, stream):
    """The bands of a predicate over a stream, as texts."""
    return [
        str(band)
        for residual in residuals([parse(part) for part in text.split(" AND ")])
        for band in residual.bands_for(stream)
    ]


@pytest.mark.parametrize(
    ("text", "stream", "expected"),
    [
        ("A.i < B.i", "A", ["A.i < B.i"]),
        ("A.i < B.i", "B", ["A.i < B.i"]),
        ("A.i + 1 = B.i", "A", ["B.i - 1 <= A.i <= B.i - 1"]),
        ("A.i - B.i >= 3", "A", ["B.i + 3 <= A.i"]),
        ("A.i - B.i >= 3", "B", ["B.i <= A.i - 3"]),
        ("3 >= B.i + A.i", "B", ["B.i <= - A.i + 3"]),
        ("ABS(A.i - B.i) <= A.h", "B", ["- A.h + A.i <= B.i <= A.h + A.i"]),
        ("A.t - B.m <= 5", "A", ["A.t * 1000 <= B.m + 5"]),
        ("A.t + 5 < B.m", "B", ["A.t * 1000 + 5000 < B.m"]),
        ("ABS(A.t - B.m) < INTERVAL 1 MINUTE", "A", ["B.m - 60000 < A.t * 1000 < B.m + 60000"]),
        ("A.i + A.h < B.i", "A", ["A.i + A.h < B.i"]),
        ("A.i + A.h - 2 < -B.i", "A", ["A.i + A.h < - B.i + 2"]),
        ("A.i < B.i - 1 AND A.i < B.i - 3 AND A.i <= B.i - 3", "A", ["A.i < B.i - 3"]),
        ("A.i < B.i AND A.i > B.h", "A", ["B.h < A.i < B.i"]),
        ("A.i < B.i AND A.i > B.h", "B", ["B.h < A.i", "A.i < B.i"]),
        ("ABS(A.i - B.i) >= 3", "A", []),
        ("ABS(A.i - B.i) <= A.h", "A", []),
        ("A.i < 1.0 / 0", "A", []),
        ("A.i != B.i", "A", []),
        ("A.s < B.s", "A", []),
        ("A.i * B.i < 3", "A", []),
        ("A.i < B.i OR A.f < B.f", "A", []),
    ],
)
def test_a_comparison_bounds_what_one_stream_has_of_it(text, stream, expected):
    assert bands(text, stream) == expected


SAME = [
    "ABS(A.i - B.i) <= 5",
    "ABS(B.i - A.i) <= 5",
    "5 >= ABS(B.i - A.i)",
    "ABS(A.i - B.i) - 2 <= 3",
    "A.i >= B.i - 5 AND A.i <= B.i + 5",
    "A.i <= B.i + 5 AND A.i >= B.i - 5",
    "A.i - B.i <= 5 AND B.i - A.i <= 5",
    "B.i + 5 >= A.i AND -5 <= A.i - B.i",
    "B.i - A.i <= 5 AND NOT A.i - B.i > 5",
    "A.i - 2 <= B.i + 3 AND A.i + 4 >= B.i - 1 AND A.i <= B.i + 9",
]


@pytest.mark.parametrize("text", SAME)
def test_one_band_has_one_form(text):
    """However it is worded it is one residual, with the same band over either stream, and nothing is left to judge."""
    (residual,) = residuals(part for text in text.split(" AND ") for part in [parse(text)])
    assert list(map(str, residual.bands_for("A"))) == ["B.i - 5 <= A.i <= B.i + 5"]
    assert list(map(str, residual.bands_for("B"))) == ["A.i - 5 <= B.i <= A.i + 5"]
    assert residual.is_told_by("A") and residual.is_told_by("B")


def test_between_is_a_band_too():
    (residual,) = residuals([parse("A.i BETWEEN B.i - 5 AND B.i + 5")])
    assert list(map(str, residual.bands_for("B"))) == ["A.i - 5 <= B.i <= A.i + 5"]


@given(st.permutations(["B.i <= A.i", "A.f < B.f", "A.i <= B.u", "A.i < B.h", "A.g + 1 < B.u"]))
def test_which_halves_belong_together_does_not_depend_on_their_order(texts):
    """Bounds of the same measure become one residual, others stay apart; and residuals have an order of their own."""

    def parts(texts):
        found = sorted(residuals(map(parse, texts)), key=lambda residual: residual.order)
        return [sorted(map(str, conjuncts(residual.expression))) for residual in found]

    assert sorted(parts(texts)) == [["A.f < B.f"], ["A.g + 1 < B.u", "A.i < B.h", "A.i <= B.u", "B.i <= A.i"]]
    assert parts(texts) == parts(sorted(texts))


def test_a_pickled_residual_has_the_same_bands():
    (residual,) = residuals([parse("ABS(A.i - B.i) <= 3")])
    copy = pickle.loads(pickle.dumps(residual))
    assert copy.bands_for("A") == residual.bands_for("A") and copy.halves == residual.halves


numbers = st.tuples(
    st.sampled_from(["A.i", "A.u", "A.f", "A.g", "A.h"]),
    st.sampled_from(["B.i", "B.u", "B.f", "B.h"]),
    st.sampled_from(["B.i", "B.f", "1", "0.1", "9007199254740993", "-3"]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
)
bounded = numbers.flatmap(
    lambda p: st.sampled_from(
        [
            "{0} {3} {1}",
            "-{0} {3} {1}",
            "{0} + {1} {3} {2}",
            "{1} - {0} {3} {2}",
            "{2} {3} {1} - ({0} - {2})",
            "{0} + 1 {3} {1} - 0.1",
            "ABS({0} - {1}) {3} {2}",
            "ABS({1} - {0} + {2}) {3} 1e18",
            "{0} BETWEEN {1} - 1 AND {1} + 1",
            "{0} BETWEEN {1} AND {2}",
        ]
    ).map(lambda form: form.format(*p))
)
times = st.sampled_from(
    [
        "A.t <= B.n",
        "ABS(A.m - B.n) <= INTERVAL '1' SECOND",
        "ABS(A.t - B.t) < INTERVAL '1500' MS",
        "A.n - INTERVAL '1' MS < B.t",
        "A.t - B.m = 999",
        "A.t - B.m <= B.i",
        "A.m + 1 > B.t",
    ]
)


@given(bounded | times, st.data())
@settings(max_examples=500, deadline=None)
def test_float64_says_no_and_surely_only_where_that_is_so(text, data):
    """At every edge of every type: where a predicate is true, no band says no; where all say surely, it is true."""
    (residual,) = residuals([parse(text)])
    rows, get = table(data.draw, residual.columns)
    n = len(rows)
    true = residual.holds(get, n)
    for stream in "AB":
        found = residual.bands_for(stream)
        if not found:
            continue
        assert all(band.index.streams == {stream} for band in found)
        terms, tables = compile_bounds(found)
        assert not any(stream in term.streams for term in terms)
        values = np.array([term.values(get, n) for term in terms]).reshape(len(terms), n)
        own = np.array([band.index.values(get, n) for band in found])
        ring = np.zeros((len(found), 8))
        ring[:, :n] = own
        ranges, verdicts = np.empty((n, len(found), 4)), np.empty(n, np.uint8)
        find_ranges(values, *tables, ranges)
        decide(np.arange(n), ring, np.arange(len(found)), ranges, verdicts)
        assert (verdicts[true] > 0).all()
        if residual.is_told_by(stream):
            assert true[verdicts == 2].all()


@given(st.sampled_from(SAME), st.integers(-20, 20), st.integers(-20, 20))
def test_whole_numbers_leave_no_doubt(text, a, b):
    (residual,) = residuals(map(parse, text.split(" AND ")))
    (band,) = residual.bands_for("A")
    _, tables = compile_bounds([band])
    ranges = np.empty((1, 1, 4))
    find_ranges(np.array([[float(b)]]), *tables, ranges)
    verdicts = np.empty(1, np.uint8)
    decide(np.zeros(1, np.int64), np.array([[float(a)]]), np.zeros(1, np.int64), ranges, verdicts)
    assert verdicts[0] == (2 if abs(a - b) <= 5 else 0)
