"""A value enters a column as exactly itself, whatever it came as, or is refused with a reason."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.intake.columns import normalise
from eddy.values.types import column_type
from tests.conversions import INTEGERS, NAN, listed, one, refused, stream_of


@pytest.mark.parametrize("kind", [*INTEGERS, "float32", "float64", "bool", "timestamp[ns]"])
def test_an_exact_array_is_used_as_it_is(kind: str) -> None:
    """An array of the storage dtype is not copied, and not checked value by value."""
    values = np.zeros(5, column_type(kind).dtype)
    column = one(kind, values)
    assert column.values is values and column.valid is None


def test_arrays_that_kernels_cannot_read_are_copied() -> None:
    """Read-only, strided, unaligned and byte-swapped arrays come out plain."""
    frozen = np.arange(6)
    frozen.flags.writeable = False
    unaligned = np.frombuffer(bytearray(b"\0" + np.arange(6).tobytes()), np.uint8)[1:].view(np.int64)
    assert not unaligned.flags.aligned
    for values in [frozen, np.arange(12)[::2] // 2, np.arange(6).astype(">i8"), unaligned]:
        assert listed("int64", values) == [0, 1, 2, 3, 4, 5]
    assert frozen.flags.writeable is False


def test_batches_without_rows() -> None:
    """Zero rows are a batch, in any type and make."""
    for kind in [*INTEGERS, "float32", "bool", "string", "timestamp[us, Europe/Berlin]"]:
        assert listed(kind, []) == []
        assert listed(kind, np.array([], object)) == []
        assert listed(kind, pa.array([], column_type(kind).arrow)) == []
        assert listed(kind, pa.chunked_array([], column_type(kind).arrow)) == []


@given(st.sampled_from(INTEGERS), st.lists(st.integers(-(2**64), 2**65), max_size=5))
def test_integers_fit_or_are_refused(kind: str, values: list[int]) -> None:
    """An integer comes out as itself or not at all."""
    limits = np.iinfo(kind)
    if all(limits.min <= value <= limits.max for value in values):
        assert listed(kind, values) == values
    else:
        refused(kind, values)


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_integer_arrays_fit_or_are_refused(source: str, target: str, data: st.DataObject) -> None:
    """Between integer dtypes no value wraps."""
    given_, limits = np.iinfo(source), np.iinfo(target)
    values = data.draw(st.lists(st.integers(int(given_.min), int(given_.max)), max_size=5))
    for array in (np.array(values, source), pa.array(values, column_type(source).arrow)):
        if all(limits.min <= value <= limits.max for value in values):
            assert listed(target, array) == values
        else:
            refused(target, array)


def test_floats_in_integer_columns() -> None:
    """Whole floats are integers; others are refused, and so are NaN and infinities."""
    assert listed("int64", [1.0, 2.0, None]) == [1, 2, None]
    assert listed("int8", np.array([1.0, -128.0])) == [1, -128]
    for values in ([1.5], [1, 1.5], [NAN], [math.inf], [2.0**63], [128.0 * 2**60]):
        refused("int64", values)
        refused("int64", np.array(values))
    refused("uint8", np.array([-1.0]))
    refused("int8", np.array([128.0]))


def test_bools() -> None:
    """A bool column takes bools, and integers that are 0 or 1."""
    assert listed("bool", [True, None, False]) == [True, None, False]
    assert listed("bool", np.array([0, 1], np.int8)) == [False, True]
    assert listed("int64", [True, None, False]) == [1, None, 0]
    refused("bool", [0, 2], "nothing else")
    refused("bool", [0.0, 1.0])
    refused("bool", ["true"])


def test_decimals_and_numpy_scalars() -> None:
    """Values that are whole may come as Decimal or as numpy's scalars."""
    assert listed("int64", [decimal.Decimal(3), None]) == [3, None]
    assert listed("int64", [np.int8(3), None]) == [3, None]
    refused("int64", [decimal.Decimal("3.5")])


def test_long_doubles_and_half_floats_in_integer_columns() -> None:
    """Whole ones are integers; others are refused, as those are that do not fit."""
    import pandas as pd

    for kind in (np.longdouble, np.float16):
        assert listed("int64", np.array([3, -2], kind)) == [3, -2]
        assert listed("int64", [kind(3), None]) == [3, None]
        assert listed("uint8", pd.Series([3, NAN], dtype=kind)) == [3, None]
        for values in ([2.5], [NAN], [math.inf], [-1]):
            refused("uint8", np.array(values, kind))
            refused("uint8", [kind(values[0])])
    tiny = np.longdouble(1) + np.finfo(np.longdouble).eps
    refused("int64", np.array([tiny]))
    refused("int64", [tiny])


@pytest.mark.parametrize("kind", ["int64", "float64", "bool", "string", "timestamp[us]"])
def test_columns_of_nothing_but_null(kind: str) -> None:
    """Nulls have no type of their own and fit every column."""
    for values in ([None, None], pa.nulls(2), np.array([None, None], object)):
        assert listed(kind, values) == [None, None]


def test_strings() -> None:
    """Text comes from any string-like source; bytes must be UTF-8."""
    for values in (
        np.array(["a", "ü"]),
        np.array([b"a", "ü".encode()]),
        np.array(["a", "ü"], object),
        [b"a", "ü".encode()],
        pa.array(["a", "ü"]).cast(pa.string_view()),
    ):
        assert listed("string", values) == ["a", "ü"]
    for values in ([1], np.array([1]), [b"\xff"], ["\ud800"], ["a", 1], [1.5], [["a"]]):
        refused("string", values)
    refused("int64", ["1"])
    refused("int64", np.array(["1"]))
    refused("string", [NAN])


@pytest.mark.parametrize("index", INTEGERS)
def test_dictionaries_of_strings(index: str) -> None:
    """A dictionary of strings of any sort, with indices of any sort, is a column of strings."""
    for text in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()):
        indices = pa.array([1, None, 0, 2, 1], column_type(index).arrow)
        array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "ü", None]).cast(text))
        assert listed("string", array) == ["ü", None, "a", None, "ü"]
        assert listed("string", array.slice(1, 3)) == [None, "a", None]
        other = pa.DictionaryArray.from_arrays(indices.slice(2, 1), pa.array(["z"]).cast(text))
        assert listed("string", pa.chunked_array([array.slice(3), other])) == [None, "ü", "z"]
        assert listed("string", pa.chunked_array([], array.type)) == []
        refused("int64", array)


def test_categories_of_polars() -> None:
    """Categorical and Enum are strings, with nulls, in slices and in chunks."""
    import polars as pl

    for kind in (pl.Categorical, pl.Enum(["b", "a", "c"])):
        series = pl.Series("x", ["a", None, "b", "a"], dtype=kind)
        assert listed("string", series) == ["a", None, "b", "a"]
        assert listed("string", series[1:3]) == [None, "b"]
        assert listed("string", series[:0]) == []
        assert listed("string", series.append(pl.Series("x", ["c", None], dtype=kind))) == [
            *("a", None, "b", "a"),
            *("c", None),
        ]
        refused("int64", series)
    assert listed("string", pl.Series([b"a", None])) == ["a", None]


def test_a_slice_of_strings_keeps_its_place() -> None:
    """Nulls and offsets of a sliced array are those of the slice."""
    array = pa.array(["a", None, "c", None, "e"])
    assert listed("string", array.slice(1, 3)) == [None, "c", None]
    assert listed("int64", pa.array([1, None, 3, None]).slice(1, 2)) == [None, 3]


@pytest.mark.parametrize(
    "values", [5, "abc", b"abc", np.array(5), np.zeros((2, 2)), {1, 2}, iter([1]), [[1], [2]]]
)
def test_what_is_not_a_column(values: Any) -> None:
    """Scalars, text, matrices, sets and iterators are not columns."""
    refused("int64", values)
    refused("string", values)


def test_the_caller_s_arrays_are_left_alone() -> None:
    """Normalising writes to nothing that the caller owns."""
    values = np.ma.array([1, 2, 3], mask=[True, False, False])
    objects = np.array(["a", None], object)
    normalise("A", stream_of(x="int8"), {"x": values})
    normalise("A", stream_of(x="string"), {"x": objects})
    assert values.data.tolist() == [1, 2, 3] and values.mask.tolist() == [True, False, False]
    assert objects.tolist() == ["a", None]
    owned = np.array([1, 2, 3])
    array = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(owned)])
    assert listed("int64", array) == [1, None, 3]
    assert owned.tolist() == [1, 2, 3]
