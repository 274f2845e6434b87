"""Decimals of up to 18 digits, as whole numbers of their last digit.

Arithmetic is exact or NULL: a result with more than 18 digits is NULL.
"""

from __future__ import annotations

import decimal

import numpy as np

from eddy.errors import BatchError
from eddy.values.arithmetic import both, integer_arithmetic, integers, remainder
from eddy.values.types import DIGITS, Array, ColumnType

POWERS = np.array([10**n for n in range(DIGITS + 1)])


def scaled_floats(values: Array, valid: Array | None, kind: ColumnType) -> Array:
    """Floats as decimals: each must be one exactly, as 0.5 is and 0.1 is not.

    A float has as many digits behind the point as it has bits there.
    """
    known = np.ones(len(values), np.bool_) if valid is None else valid
    floats = np.where(known, values, 0.0)
    fits = np.abs(floats) < 10.0 ** (kind.digits - kind.scale)
    units = np.ldexp(np.where(fits, floats, 0.0), kind.scale)
    exact = fits & (units == np.floor(units))
    if not exact.all():
        wrong = floats[~exact][0]
        raise BatchError(
            f"{kind} cannot hold the float {wrong!r} exactly; give Decimals, such as round(Decimal(x), {kind.scale}), "
            "or declare the column as float64"
        )
    return units.astype(np.int64) * 5**kind.scale


def unscaled(value: int, scale: int) -> decimal.Decimal:
    """The decimal that a number of last digits stands for."""
    return decimal.Decimal(value).scaleb(-scale)


def digits_of(value: int, scale: int) -> int:
    """How many digits it is written with, at least one, and all that are behind the point."""
    return max(len(str(abs(value))), scale, 1)


def rescaled(values: Array, scale: int, finer: int) -> tuple[Array, Array | None]:
    """Numbers of so many digits behind the point with more of them, and a mask of those that still fit int64."""
    if scale == finer:
        return integers(values), None
    return integer_arithmetic("*", values, POWERS[finer - scale : finer - scale + 1], np.dtype("int64"))


def compute(
    op: str, a: Array, a_scale: int, b: Array, b_scale: int, result: ColumnType
) -> tuple[Array, Array | None]:
    """`a op b` for + - * %, exactly, and a mask of what has no more digits than decimals have."""
    fits: Array | None = None
    if op != "*":
        scale = max(a_scale, b_scale)
        a, one = rescaled(a, a_scale, scale)
        b, two = rescaled(b, b_scale, scale)
        fits = both(one, two)
    if op == "%":
        values, here = remainder(a, b)
    else:
        values, here = integer_arithmetic(op, a, b, np.dtype("int64"))
    return limited(values, both(fits, here), result)


def limited(values: Array, fits: Array | None, kind: ColumnType) -> tuple[Array, Array | None]:
    """The values, and a mask of those that fit and have no more digits than the type."""
    limit = 10**kind.digits
    if values.size and (values.max() >= limit or values.min() <= -limit):
        fits = both(fits, (values < limit) & (values > -limit))
    return values.astype(np.int64, copy=False), fits
