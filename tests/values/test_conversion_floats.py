"""Numbers in float columns: integers as themselves, floats and decimals as the nearest value."""

from __future__ import annotations

import decimal
import fractions
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions import NAN, listed, one, refused, same


def test_integers_in_float_columns() -> None:
    """An integer that a float cannot hold is refused, not rounded."""
    assert listed("float64", [1, 2**53, None]) == [1.0, 2.0**53, None]
    assert listed("float32", np.array([1, 2], np.int8)) == [1.0, 2.0]
    for values in ([2**53 + 1], np.array([2**53 + 1]), np.array([2**53 + 1], np.uint64)):
        refused("float64", values)
    refused("float32", np.array([2**24 + 1]))


def forms(values: list) -> dict[str, Any]:
    """Numbers in every form that a column of floats may come in."""
    import pandas as pd
    import polars as pl

    plain = np.array(values, np.float64)
    decimals = [decimal.Decimal(value) for value in values]
    return {
        "list": values,
        "list and None": [*values, None],
        "objects": np.array(values, object),
        "numpy scalars": list(plain),
        "numpy": plain,
        "masked": np.ma.array([*plain, 0.0], mask=[*[False] * len(values), True]),
        "long doubles": plain.astype(np.longdouble),
        "long double scalars": list(plain.astype(np.longdouble)),
        "arrow": pa.array(plain),
        "arrow chunks": pa.chunked_array([plain[:1], plain[1:]]),
        "pandas": pd.Series(plain),
        "pandas Float64": pd.Series([*values, None], dtype="Float64"),
        "pandas objects": pd.Series(values, dtype=object),
        "polars": pl.Series(values),
        "decimals": decimals,
        "decimals and None": [*decimals, None],
        "decimals in objects": np.array(decimals, object),
        "decimals in pandas": pd.Series(decimals, dtype=object),
        "decimals and floats": [decimals[0], *values[1:]],
        "floats and decimals": [values[0], *decimals[1:]],
    }


@pytest.mark.parametrize("form", list(forms([0.5])))
def test_floats_are_rounded_to_the_nearest(form: str) -> None:
    """In every form a float or a decimal number becomes the nearest value of the column's type."""
    values = [0.1, 1 + 2**-24, 1e-50, -2.5]
    for kind in ("float32", "float64"):
        found = listed(kind, forms(values)[form])
        assert found[:4] == [float(np.dtype(kind).type(value)) for value in values]
        assert found[4:] in ([], [None])


@pytest.mark.parametrize("form", list(forms([0.5])))
def test_floats_beyond_the_range_are_refused(form: str) -> None:
    """What would become infinite is refused in every form; what rounds to the largest value is not."""
    largest = float(np.finfo(np.float32).max)
    assert listed("float32", forms([largest + 1e30, -largest])[form])[:2] == [largest, -largest]
    refused("float32", forms([0.5, 3.5e38])[form], "a value is too large for float32; declare .* float64")
    refused("float32", forms([-1e300, 0.5])[form], "too large")


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_infinities_and_nan_in_every_form(kind: str) -> None:
    """They are values of float columns, and stay what they are."""
    values = [math.inf, NAN, -math.inf]
    for form, given_ in forms(values).items():
        if form not in ("pandas Float64", "decimals in pandas"):
            found = listed(kind, given_)
            assert same(found[:3], values), form


def test_wider_numbers_beyond_float64_are_refused() -> None:
    """Decimals and long doubles reach further than float64, and integers too."""
    wide = np.longdouble(2) ** 1100 if np.finfo(np.longdouble).max > np.finfo(np.float64).max else None
    for value in (decimal.Decimal("1e400"), -decimal.Decimal("1e400"), 2**1100, wide):
        if value is not None:
            refused("float64", [0.5, value], "too large for float64")
            refused("float64", np.array([0.5, value], object), "too large for float64")
    if wide is not None:
        refused("float64", np.array([wide]), "too large for float64")


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=20))
def test_decimals_become_the_nearest_float(value: decimal.Decimal) -> None:
    """No other float is nearer, also where Arrow's own conversion finds a neighbour."""
    check_nearest(value)


@given(st.floats(-1e9, 1e9, width=32), st.sampled_from([-1, 0, 1]))
def test_decimals_beside_a_middle_are_rounded_once(value: float, beside: int) -> None:
    """A decimal number just beside the middle of two float32 goes to the nearer, not where float64 would."""
    above = float(np.nextafter(np.float32(value), np.float32(math.inf)))
    middle = (decimal.Decimal(value) + decimal.Decimal(above)) / 2
    check_nearest(middle + beside * decimal.Decimal("1e-40"))


def check_nearest(value: decimal.Decimal) -> None:
    for kind in ("float32", "float64"):
        column = one(kind, [value]).values
        exact = fractions.Fraction(value)
        errors = [
            abs(fractions.Fraction(float(near)) - exact)
            for near in (
                column[0],
                *(np.nextafter(column[0], column.dtype.type(end)) for end in (-math.inf, math.inf)),
            )
        ]
        assert errors[0] == min(errors)
        if abs(value.adjusted()) < 30 and len(value.as_tuple().digits) <= 38:
            assert listed(kind, pa.array([value])) == column.tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_large_integers_in_float_columns(exact: bool) -> None:
    """An integer enters a float column only as itself, in every form, and however large it is."""
    import pandas as pd
    import polars as pl

    value = 2**60 if exact else 2**53 + 1
    for values in (
        [value],
        [value, None],
        [value, 0.5],
        [0.5, value],
        [value, decimal.Decimal(1)],
        [np.int64(value)],
        np.array([value]),
        np.array([value], np.uint64),
        np.array([value], object),
        np.ma.array([value, 1], mask=[False, True]),
        pa.array([value]),
        pd.Series([value]),
        pd.Series([value], dtype="Int64"),
        pd.Series([value], dtype=object),
        pl.Series([value]),
    ):
        if exact:
            assert 2.0**60 in listed("float64", values)
        else:
            refused("float64", values)
    assert listed("float64", [2**70, None]) == [2.0**70, None]
    refused("float64", [2**70 + 1])


def test_nan_stays_and_null_is_null() -> None:
    """In a float column NaN is a value and None is not."""
    import pandas as pd

    for values in ([NAN, None, 1.0], np.array([NAN, None, 1.0], object), [NAN, pd.NA, 1.0]):
        assert same(listed("float64", values), [NAN, None, 1.0])
    assert same(listed("float64", pa.array([NAN, None, 1.0])), [NAN, None, 1.0])
    masked = np.ma.array([NAN, 5.0, 1.0], mask=[False, True, False])
    assert same(listed("float64", masked), [NAN, None, 1.0])
