"""Predicates of one's own that go wrong: refused when the query is made, or harmless."""

import warnings

import numpy as np
import pytest

import eddy


def query(function):
    streams = {name: eddy.Stream({"k": "int64", "v": "float64"}, window=eddy.Rows(10)) for name in "AB"}
    return eddy.Query(streams, where=["A.k = B.k", eddy.predicate(function, "A.v", "B.v")])


def test_one_that_raises_is_refused():
    """It would stop a batch half-way."""

    def strict(a, b):
        if a > b:
            raise ValueError("no")
        return True

    with pytest.raises(eddy.QueryError, match="raises an error, which would stop a batch half-way"):
        query(strict)


def test_a_division_by_zero_stops_no_batch():
    """It is infinite or NaN, where warnings are errors too."""
    engine = eddy.Eddy(query(lambda a, b: 1 / (a - b) > 0))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        engine.push("A", {"k": np.array([1, 1]), "v": np.array([2.0, 3.0])})
        result = engine.push("B", {"k": np.array([1]), "v": np.array([2.0])})
    assert len(result) == 2
