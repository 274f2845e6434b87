"""Columns that need no closer look: `plain` takes nothing that `convert` would refuse, or take in another way."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.errors import BatchError
from eddy.intake.intake import Intake
from eddy.values.conversion import convert
from eddy.values.plain import plain
from eddy.values.types import column_type

KINDS = ["int8", "int64", "uint8", "uint64", "float32", "float64", "bool", "string"]
KINDS += ["timestamp[s]", "timestamp[us]", "timestamp[ns, UTC]"]
INTEGERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([127, 128, 255, 256, 2**53 + 1, 2**63 - 1, 2**63, 2**64])
)
VALUES = st.one_of(
    st.lists(INTEGERS, max_size=4),
    st.lists(st.floats(), max_size=4),
    st.lists(st.booleans(), max_size=4),
    st.lists(st.one_of(INTEGERS, st.floats(), st.booleans(), st.none(), st.text(max_size=2)), max_size=4),
    st.lists(st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2100, 1, 1)), max_size=4),
)


def makes(values: list[Any]) -> list[Any]:
    """The values in every make that takes them."""
    import pandas as pd

    made: list[Any] = [values, tuple(values)]
    for make in (np.array, pa.array, lambda v: pa.chunked_array([v]), pd.Series):
        try:
            made.append(make(values))
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
    for kind in ("M8[s]", "M8[us]", "i1", "f4"):
        try:
            made.append(np.array(values, kind))
        except (ValueError, TypeError, OverflowError):
            continue
    return [*made, *(array[::2] for array in made), *(array[1:] for array in made)]


@settings(max_examples=300)
@given(st.sampled_from(KINDS), VALUES)
@pytest.mark.filterwarnings("ignore")
def test_plain_columns_are_those_that_conversion_makes(name: str, values: list[Any]) -> None:
    """Value by value, and as kernels ask for them."""
    kind = column_type(name)
    for made in makes(values):
        found = plain(kind, made)
        if found is None:
            continue
        try:
            column = convert("here", kind, made)
        except BatchError as error:
            raise AssertionError(f"{made!r} was taken") from error
        assert found.dtype == kind.dtype and found.flags.carray
        assert column.valid is None and np.array_equal(found, column.values, equal_nan=kind.kind == "float")


def batch_of(make: str, rows: dict[str, list[Any]]) -> Any:
    if make == "lists":
        return rows
    table = pa.table(rows)
    return {"arrow": lambda: table, "record batch": lambda: table.to_batches()[0], "pandas": table.to_pandas}[
        make
    ]()


@pytest.mark.parametrize("make", ["lists", "arrow", "record batch", "pandas"])
def test_batches_of_plain_columns_are_left_to_kernels(make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first pushes none of them goes the long way, and results are the same."""
    streams = dict.fromkeys(
        "AB", eddy.Stream({"ts": "int64", "k": "int64", "v": "float64"}, window=eddy.Range(50))
    )
    made = eddy.Query(streams, where=["A.k = B.k"])
    engines, admitted = [eddy.Eddy(made), eddy.Eddy(made)], []
    admit = Intake.admit
    for i in range(40):
        rows = {"ts": [10 * i, 10 * i + 1], "k": [i % 3, 1], "v": [0.5, float(i)]}
        monkeypatch.setattr(Intake, "admit", admit)
        expected = engines[0].push("AB"[i % 2], {c: np.array(values) for c, values in rows.items()})
        monkeypatch.setattr(Intake, "admit", lambda *a, i=i: admitted.append(i) or admit(*a))
        assert engines[1].push("AB"[i % 2], batch_of(make, rows)).to_pydict() == expected.to_pydict()
    assert len([i for i in admitted if i >= 4]) <= 4
    with pytest.raises(BatchError, match="differ in length"):
        engines[1].push("A", {"ts": [1000, 1001], "k": [1], "v": [0.5, 0.5]})
    with pytest.raises(BatchError, match="do not fit int64"):
        engines[1].push("A", {"ts": [1000], "k": [1.5], "v": [0.5]})
