"""Reading a result row by row, and by other libraries."""

from __future__ import annotations

import sys

import duckdb
import polars
import pyarrow as pa
import pytest

import eddy
from eddy.results.result import RECORDS


def pushed(n=3):
    """A join of n rows, with a string, a NULL and a time."""
    streams = {
        "A": eddy.Stream({"k": "int64", "s": "string"}),
        "B": eddy.Stream({"k": "int64", "t": "timestamp[us]"}),
    }
    engine = eddy.Eddy(eddy.Query(streams, "A.k = B.k", select=["A.k", "A.s AS name", "B.t"]))
    engine.push("A", {"k": range(n), "s": [None, *[f"s{i}" for i in range(1, n)]]})
    return engine.push("B", {"k": range(n), "t": [i * 1_000_000 for i in range(n)]})


def test_rows_are_dicts_by_name():
    """Each row of a result, in its order; the values are those of `to_pydict`."""
    result = pushed()
    columns = result.to_pydict()
    assert list(result) == [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    assert next(iter(result)) == {"A.k": 0, "name": None, "B.t": columns["B.t"][0]}
    assert next(iter(pushed(1).records(sign=True)))["sign"] == 1


def test_rows_become_values_in_parts():
    """More rows than one part has are all there, and the first ones do not need the others."""
    result, n = pushed(RECORDS + 10), RECORDS + 10
    seen = []
    rows = iter(result)
    for row in rows:
        seen.append(row["A.k"])
    assert seen == list(range(n))


def test_an_empty_result_has_no_rows():
    """Nothing to iterate, and its columns have their types all the same."""
    streams = {name: eddy.Stream({"k": "int64"}) for name in "AB"}
    result = eddy.Eddy(eddy.Query(streams, "A.k = B.k")).push("A", {"k": [1]})
    assert list(result) == []
    assert pa.table(result).schema == result.to_arrow().schema
    assert result.to_polars().shape == (0, 2)


def test_other_libraries_read_it():
    """pyarrow, polars and DuckDB take a result as it is."""
    result = pushed()
    table = result.to_arrow()
    assert pa.table(result) == table
    assert pa.RecordBatchReader.from_stream(result).read_all() == table
    assert polars.DataFrame(result).equals(result.to_polars())
    assert result.to_polars().to_dict(as_series=False) == result.to_pydict()
    assert result.to_polars(sign=True)["sign"].to_list() == [1, 1, 1]
    assert duckdb.sql('SELECT SUM("A.k"), COUNT(name) FROM result').fetchall() == [(3, 2)]


def test_lists_are_read_too():
    """What ARRAY_AGG shows is a list column everywhere."""
    streams = {"A": eddy.Stream({"g": "string", "v": "int64"})}
    query = eddy.sql("SELECT g, ARRAY_AGG(v) AS held FROM A GROUP BY g", streams)
    engine = eddy.Eddy(query)
    result = engine.push("A", {"g": ["a", "a"], "v": [1, None]})
    assert pa.table(engine.table())["held"].to_pylist() == [[1, None]]
    assert engine.table().to_polars()["held"].to_list() == [[1, None]]
    assert [row["held"] for row in result.records()] == [[1], [1], [1, None]]


def test_without_polars_the_error_says_what_to_do(monkeypatch):
    """Nothing but `to_polars` needs it."""
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(eddy.EddyError, match="pip install polars, or call to_arrow"):
        pushed().to_polars()
