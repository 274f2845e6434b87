"""Key classes: closure under transitivity, and keys that are equal exactly when values are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.query.keys import KeyClass
from eddy.query.query import Query
from eddy.values.types import UNITS, column_type, finest

NUMBERS = {
    "int8": [-128, -1, 0, 1, 127],
    "int64": [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1],
    "uint8": [0, 1, 255],
    "uint64": [0, 1, 127, 255, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2048, 2**64 - 1],
    "bool": [False, True],
    "float32": [-0.0, 0.0, 1.0, 0.5, 127.0, 2.0**63, 2.0**64, -(2.0**63), math.nan, math.inf],
    "float64": [
        -0.0,
        0.0,
        1.0,
        0.5,
        -128.0,
        2.0**53,
        2.0**63,
        2.0**64 - 2048,
        2.0**64,
        1e300,
        math.nan,
        -math.inf,
    ],
}
TIMES = {
    "timestamp[s]": [-1, 0, 1, 9_223_372_036, 9_223_372_037, 2**63 - 1],
    "timestamp[ms]": [-1000, 0, 1, 1000, 2**63 - 1],
    "timestamp[ns, UTC]": [-(10**9), 0, 10**6, 10**9, 9_223_372_036 * 10**9, 2**63 - 1],
}


def encoded(types):
    """Each member's values with their keys, None for those that can match nothing."""
    made = {f"S{i}": column_type(name) for i, name in enumerate(types)}
    keys = KeyClass(0, dict.fromkeys(made, "x"), made)
    for i, name in enumerate(types):
        values = (NUMBERS | TIMES)[name]
        found, valid = keys.encode(f"S{i}", np.array(values, made[f"S{i}"].dtype))
        assert found.dtype == np.int64
        yield [
            (value, key if valid is None or valid[j] else None)
            for j, (value, key) in enumerate(zip(values, found.tolist(), strict=True))
        ]


def in_unit(types, member, value):
    units = [column_type(name).unit for name in types]
    return value if None in units else value * (UNITS[finest(*units)] // UNITS[units[member]])


@pytest.mark.parametrize("family", [NUMBERS, TIMES])
def test_two_members(family):
    """Of two types, two keys are valid and equal exactly when the values are equal."""
    for types in [(a, b) for a in family for b in family]:
        left, right = encoded(types)
        for v, key in left:
            for w, other in right:
                same = in_unit(types, 0, v) == in_unit(types, 1, w)
                assert (key is not None and key == other) == same, (types, v, w)


@given(st.lists(st.sampled_from(list(NUMBERS)), min_size=3, max_size=5))
def test_many_members(types):
    """In a class of many types equal keys mean equal values; what all members hold is valid in all."""
    members = list(encoded(types))
    pairs = [(v, key) for member in members for v, key in member if key is not None]
    assert all((v == w) == (key == other) for v, key in pairs for w, other in pairs)
    common = [v for v, _ in members[0] if all(any(v == w for w, _ in member) for member in members)]
    assert all(key is not None for v in common for member in members for w, key in member if v == w)


def test_kinds():
    """A signed member bounds a class to int64; without one uint64 keeps its range."""
    kinds = {
        ("int64", "int8"): "int",
        ("int64", "uint64"): "int",
        ("uint64", "uint8"): "uint",
        ("uint64", "float64"): "uint",
        ("uint64", "float64", "int8"): "int",
        ("float32", "float64"): "float",
        ("bool", "float64"): "int",
        ("string", "string"): "string",
        ("timestamp[s]", "timestamp[ns]"): "timestamp",
    }
    for types, kind in kinds.items():
        made = {str(i): column_type(name) for i, name in enumerate(types)}
        assert KeyClass(0, dict.fromkeys(made, "x"), made).kind == kind


def test_no_copy():
    """int64 values, times of the common unit and string codes are their own keys."""
    values = np.arange(3)
    for names in (("int64", "int8"), ("timestamp[ns]", "timestamp[s]"), ("string", "string")):
        made = {str(i): column_type(name) for i, name in enumerate(names)}
        keys, valid = KeyClass(0, dict.fromkeys(made, "x"), made).encode("0", values)
        assert keys is values
        assert valid is None


def test_null():
    """NULL is never a valid key, and the caller's mask is not written to."""
    made = {"A": column_type("float64"), "B": column_type("float64")}
    mask = np.array([True, False, True])
    _, valid = KeyClass(0, {"A": "x", "B": "x"}, made).encode("A", np.array([1.0, 2.0, math.nan]), mask)
    assert valid.tolist() == [True, False, False]
    assert mask.tolist() == [True, False, True]


STREAMS = {name: {"x": "int64", "y": "int64", "f": "float64", "b": "bool", "s": "string"} for name in "ABCD"}


def classes(*where, cross=True):
    query = Query(STREAMS, list(where), cross=cross)
    return [str(c) for c in query.key_classes], {s: str(f) for s, f in query.filters.items()}, query


def test_transitivity():
    """Equalities chain through streams, in whatever order they are written."""
    assert classes("A.x = B.x", "C.y = D.x", "B.x = C.y")[0] == ["A.x = B.x = C.y = D.x"]
    assert classes("D.x = C.y AND B.x = A.x", "C.y = A.x")[0] == ["A.x = B.x = C.y = D.x"]
    assert classes("A.x = B.x", "A.y = B.y")[0] == ["A.x = B.x", "A.y = B.y"]


def test_two_columns_of_one_stream():
    """A second column of a stream in a class becomes a filter; the first one represents the stream."""
    found, filters, query = classes("A.x = B.x", "A.x = B.y")
    assert (found, filters) == (["A.x = B.x"], {"B": "B.x = B.y"})
    assert query.residuals == ()
    assert classes("A.x = B.x", "B.x = B.y", "B.y = C.x")[:2] == (["A.x = B.x = C.x"], {"B": "B.x = B.y"})
    assert classes("B.x = B.y", "A.x = C.x")[:2] == (["A.x = C.x"], {"B": "B.x = B.y"})


def test_constants_spread():
    """What one member is compared with holds for all of them."""
    found, filters, _ = classes("A.x = B.x", "B.x = C.x", "A.x = 5", "4 < B.x")
    assert found == ["A.x = B.x = C.x"]
    assert {s: set(f.split(" AND ")) for s, f in filters.items()} == {
        "A": {"A.x = 5", "4 < A.x"},
        "B": {"B.x = 5", "4 < B.x"},
        "C": {"C.x = 5", "4 < C.x"},
    }
    assert classes("A.x = B.f", "A.x IN (1, 2)")[1] == {"A": "A.x IN (1, 2)", "B": "B.f IN (1, 2)"}
    assert classes("A.b = B.x", "A.b = TRUE")[1] == {"A": "A.b = TRUE"}


def test_only_plain_equalities():
    """Only AND-ed equalities of plain columns make classes; everything else is a residual or a filter."""
    found, filters, query = classes("A.x = B.x OR A.y = B.y", "A.x + 1 = C.x", "NOT C.x != D.x", "A.x = A.x")
    assert found == ["C.x = D.x"]
    assert filters == {"A": "A.x = A.x"}
    assert [r.text for r in query.residuals] == ["A.x = B.x OR A.y = B.y", "A.x + 1 = C.x"]


def test_numbers():
    """Classes are numbered in the order of their predicates."""
    query = classes("A.x = B.x", "A.y = C.x")[2]
    assert [c.index for c in query.key_classes] == [0, 1]
    assert query.key_classes[1].members == {"A": "y", "C": "x"}
