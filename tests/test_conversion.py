"""A value enters a column as exactly itself, whatever it came as, or is refused with a reason."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.columns import normalise
from eddy.errors import BatchError
from eddy.types import Column, column_type

NAN = math.nan
UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 1, 12)
NOON_US = 1_704_110_400_000_000
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def stream_of(time: str | None = None, **columns: str) -> Any:
    return SimpleNamespace(columns={name: column_type(kind) for name, kind in columns.items()}, time=time)


def one(kind: str, values: Any) -> Column:
    """A batch of one column, normalised."""
    columns, n = normalise("A", stream_of(x=kind), {"x": values})
    column = columns["x"]
    assert n == len(column.values)
    if kind.startswith("string"):
        assert column.values.type == pa.string() and column.values.null_count == 0
    else:
        assert column.values.dtype == column_type(kind).dtype and column.values.flags.carray
    return column


def listed(kind: str, values: Any) -> list:
    """The values as Python sees them, NULL as None."""
    column = one(kind, values)
    plain = column.values.to_pylist() if kind == "string" else column.values.tolist()
    valid = [True] * len(plain) if column.valid is None else column.valid.tolist()
    return [value if known else None for value, known in zip(plain, valid, strict=True)]


def refused(kind: str, values: Any, match: str | None = None) -> None:
    with pytest.raises(BatchError, match=match) as caught:
        one(kind, values)
    assert "stream A, column 'x'" in str(caught.value)


def same(left: list, right: list) -> bool:
    return [repr(value) for value in left] == [repr(value) for value in right]


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


def test_integers_in_float_columns() -> None:
    """An integer that a float cannot hold is refused, not rounded."""
    assert listed("float64", [1, 2**53, None]) == [1.0, 2.0**53, None]
    assert listed("float32", np.array([1, 2], np.int8)) == [1.0, 2.0]
    for values in ([2**53 + 1], np.array([2**53 + 1]), np.array([2**53 + 1], np.uint64)):
        refused("float64", values)
    refused("float32", np.array([2**24 + 1]))


def test_float32_rounds_but_does_not_overflow() -> None:
    """Rounding is what a float32 column asks for; infinity it takes only from infinity."""
    assert listed("float32", [0.1, None]) == [float(np.float32(0.1)), None]
    assert same(listed("float32", np.array([math.inf, -math.inf, NAN])), [math.inf, -math.inf, NAN])
    refused("float32", [1e300, math.inf], "too large")


def test_nan_stays_and_null_is_null() -> None:
    """In a float column NaN is a value and None is not."""
    import pandas as pd

    for values in ([NAN, None, 1.0], np.array([NAN, None, 1.0], object), [NAN, pd.NA, 1.0]):
        assert same(listed("float64", values), [NAN, None, 1.0])
    assert same(listed("float64", pa.array([NAN, None, 1.0])), [NAN, None, 1.0])
    masked = np.ma.array([NAN, 5.0, 1.0], mask=[False, True, False])
    assert same(listed("float64", masked), [NAN, None, 1.0])


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


def test_a_slice_of_strings_keeps_its_place() -> None:
    """Nulls and offsets of a sliced array are those of the slice."""
    array = pa.array(["a", None, "c", None, "e"])
    assert listed("string", array.slice(1, 3)) == [None, "c", None]
    assert listed("int64", pa.array([1, None, 3, None]).slice(1, 2)) == [None, 3]


@pytest.mark.parametrize(
    "values",
    [
        [NOON, None],
        np.array(["2024-01-01T12", "NaT"], "M8[s]"),
        np.array(["2024-01-01T12", "NaT"], "M8[h]"),
        np.array(["2024-01-01T12", "NaT"], "M8[ns]"),
        [np.datetime64("2024-01-01T12", "us"), None],
        [NOON_US, None],
        pa.array([NOON, None], pa.timestamp("ms")),
        np.ma.array([NOON_US, 5], mask=[False, True]),
        np.ma.array(["2024-01-01T12", "1999"], "M8[s]", mask=[False, True]),
    ],
)
def test_timestamps_from_many_sources(values: Any) -> None:
    """Whatever the source's unit, a timestamp is a count of the column's own."""
    assert listed("timestamp[us]", values) == [NOON_US, None]


def test_dates_are_midnights() -> None:
    """A date may enter a column without a zone."""
    day = 86_400 * 10**6
    assert listed("timestamp[us]", [dt.date(1970, 1, 2)]) == [day]
    assert listed("timestamp[us]", np.array(["1970-01-02"], "M8[D]")) == [day]
    refused("timestamp[us, Europe/Berlin]", [dt.date(1970, 1, 2)])


def test_zones() -> None:
    """With a zone, an instant from any zone stays; a time without one is refused, and vice versa."""
    import pandas as pd

    kind = "timestamp[us, Europe/Berlin]"
    stamps = pd.Series(pd.to_datetime(["2024-01-01 07:00", None])).dt.tz_localize("America/New_York")
    assert listed(kind, stamps) == [NOON_US, None]
    assert listed(kind, [NOON.replace(tzinfo=UTC), pd.NaT]) == [NOON_US, None]
    assert listed(kind, [NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1)))]) == [
        NOON_US + 3_600 * 10**6
    ]
    assert listed(kind, np.array(["2024-01-01T12"], "M8[s]")) == [NOON_US]
    assert listed(kind, [NOON_US]) == [NOON_US]
    refused(kind, [NOON], "zone")
    refused(kind, stamps.dt.tz_localize(None), "zone")
    refused("timestamp[us]", stamps, "zone")


def test_timestamps_that_do_not_fit() -> None:
    """Precision is not lost, ranges are not left, and text is not parsed."""
    assert listed("timestamp[us]", np.array([5_000], "M8[ns]")) == [5]
    refused("timestamp[us]", np.array([5_001], "M8[ns]"), "lose")
    refused("timestamp[ns]", np.array(["3000-01-01"], "M8[s]"))
    refused("timestamp[ns]", np.array([5], "M8[ps]"), "finer")
    for values in ([1.5], ["2024-01-01"], [True], np.array([5], "m8[s]")):
        refused("timestamp[us]", values)
    refused("int64", [NOON])
    refused("int64", np.array([5], "M8[us]"))


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
