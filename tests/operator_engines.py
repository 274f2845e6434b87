"""Small engines for tests by hand: a chain of differences, and an aggregate over a join; and their batches."""

from __future__ import annotations

import eddy


def chain(windows, kind="int64", where=(), **options):
    """The first of these streams less all others, on k; each has its window."""
    streams = {name: eddy.Stream({"k": kind}, window=window) for name, window in windows.items()}
    base, *inner = windows
    minus = {name: f"{base}.k = {name}.k" for name in inner}
    return eddy.Eddy(eddy.Query(streams, where=where, minus=minus), **options)


def four(technique):
    """((A - B) - C) - D, where one row of B, C and D is live at a time."""
    one = eddy.Rows(1)
    return chain({"A": eddy.Rows(9), "B": one, "C": one, "D": one}, migration=technique)


def joined(aggregates, group_by=None, windows=(None, None), kinds=("int64", "int64"), **options):
    """A.k = B.k; A has a group g and B a value v of these kinds."""
    held, value = (window or eddy.Rows(9) for window in windows)
    streams = {
        "A": eddy.Stream({"k": "int64", "g": kinds[0]}, window=held),
        "B": eddy.Stream({"k": "int64", "v": kinds[1]}, window=value),
    }
    query = eddy.Query(streams, where=["A.k = B.k"], group_by=group_by, aggregates=aggregates)
    return eddy.Eddy(query, **options)


def key(*values):
    """A batch of rows with these keys."""
    return {"k": list(values)}


def a(*pairs):
    """A batch of A: pairs of k and g."""
    return {"k": [k for k, _ in pairs], "g": [g for _, g in pairs]}


def b(*pairs):
    """A batch of B: pairs of k and v."""
    return {"k": [k for k, _ in pairs], "v": [v for _, v in pairs]}


def base_rows(result, place=0):
    """The signs and the rows of one stream, the base, in a result."""
    return list(zip(result.sign.tolist(), result.rows[:, place].tolist(), strict=True))


def values(result):
    """The values of each row of a result."""
    return list(zip(*result.to_pydict().values(), strict=True))


def signed_values(result):
    """The sign and the values of each row of a result."""
    return [(sign, *row) for sign, row in zip(result.sign.tolist(), values(result), strict=True)]
