"""Columns of all types, as keys of several queries."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

import eddy

VALUES = {
    "int64": [1, 2, 3],
    "uint64": [1, 2**63 + 2, 3],
    "float64": [1.5, -0.0, 0.0],
    "float32": [0.1, float("nan"), 2.5],
    "bool": [True, False, True],
    "string": ["a", "b", ""],
    "binary": [b"a", b"", b"c"],
    "decimal(18,2)": [Decimal("1.50"), Decimal("9999999999999999.99"), Decimal("0.25")],
    "date": [datetime.date(2024, 1, day) for day in (1, 2, 3)],
    "time[us]": [datetime.time(1, minute) for minute in (1, 2, 3)],
    "timestamp[ms]": [datetime.datetime(2024, 1, 1, hour) for hour in (1, 2, 3)],
    "duration[s]": [datetime.timedelta(seconds=second) for second in (1, 2, 3)],
}


@pytest.mark.parametrize("batch_size", [3, 4096])
@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_every_type_with_and_without_null(kind, batch_size):
    """A key is the same value whether its batch has a NULL or not."""
    schemas = {name: {"ts": "int64", "k": kind} for name in "AB"}
    query = eddy.sql("SELECT A.ts, B.k FROM A [ROWS 9], B [ROWS 9] WHERE A.k = B.k", schemas=schemas)
    engine, alone = eddy.Eddy({"q": query}, batch_size=batch_size), eddy.Eddy(query, batch_size=batch_size)
    random = np.random.default_rng(1)
    for at in range(0, 60, 6):
        nulls = [None] * (at % 4 > 0)
        rows = {
            name: {
                "ts": list(range(at, at + 6)),
                "k": [[*VALUES[kind], *nulls][i] for i in random.integers(0, 3 + len(nulls), 6)],
            }
            for name in "AB"
        }
        found, wanted = engine.push_all(rows)["q"], alone.push_all(rows)
        assert found.rows.tolist() == wanted.rows.tolist()
        assert list(map(repr, found.records())) == list(map(repr, wanted.records()))
