"""Exact vectorised arithmetic and comparison, with NULL.

The rules, all in one place:

- Arithmetic on integers is exact or NULL: a result that does not fit 64 bits is NULL, never a wrapped number.
  So an index that rearranges `ABS(a - b) <= c` can never disagree with the predicate itself.
- Comparisons are exact for every pair of numeric types, int64 against float64 and uint64 included.
- Arithmetic on decimals is exact or NULL as well: NULL where a result has more than 18 digits.
- Division is float64 division, and `//` one of whole numbers, towards zero; `x / 0`, `x // 0` and `x % 0` are NULL. `%`
  takes the sign of its left side.
- Floats follow IEEE: NaN equals nothing and is neither less nor greater; `NaN != x` is true. NaN is not NULL.
- Literals are arrays of length 1 (strings: pyarrow scalars) and broadcast.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.types import UNITS, Array, Column, ColumnType, DType, finest

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARROW = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MODULAR = {"+": np.add, "-": np.subtract, "*": np.multiply}
_SAFE = {"+": 2**62, "-": 2**62, "*": 2**31}  # operands below this in magnitude cannot overflow int64


def both(a: Array | None, b: Array | None) -> Array | None:
    """Valid where both are valid."""
    if a is None:
        return b
    return a if b is None else a & b


def integers(values: Array) -> Array:
    """Any integers or bools as int64, or uint64 where they are uint64."""
    return values if values.dtype == np.uint64 else values.astype(np.int64, copy=False)


def _spans(values: Array, limit: int) -> bool:
    """Whether some value is outside (-limit, limit)."""
    return bool(values.size) and bool(
        values.max() >= limit or (values.dtype.kind == "i" and values.min() <= -limit)
    )


def integer_arithmetic(op: str, a: Array, b: Array, result: DType) -> tuple[Array, Array | None]:
    """`a op b` exactly, and a mask of the results that fit `result`, None if all do.

    Modular arithmetic gives the true result plus a multiple of 2**64; a float estimate, off by far less than
    2**63, tells whether that multiple is zero.
    """
    a, b = integers(a), integers(b)
    exact = _MODULAR[op](a.view(np.int64), b.view(np.int64)).view(result)
    if result == np.int64 and not _spans(a, _SAFE[op]) and not _spans(b, _SAFE[op]):
        return exact, None
    estimate = _MODULAR[op](a.astype(np.float64), b.astype(np.float64))
    fits = np.abs(estimate - exact.astype(np.float64)) < 2.0**63
    return exact, None if fits.all() else fits


def remainder(a: Array, b: Array) -> tuple[Array, Array | None]:
    """`a % b` with the sign of a, as in SQL, and a mask of where b is not zero."""
    valid = b != 0
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.fmod(a.astype(np.float64), b.astype(np.float64)), None if valid.all() else valid
    a, b = integers(a), np.where(valid, integers(b), np.asarray(1, integers(b).dtype))
    if a.dtype == b.dtype:
        return np.fmod(a, b), None if valid.all() else valid
    size = np.fmod(_magnitude(a), _magnitude(b))
    exact = size if a.dtype == np.uint64 else np.where(a < 0, -size.view(np.int64), size.view(np.int64))
    return exact, None if valid.all() else np.broadcast_to(valid, exact.shape)


def _magnitude(values: Array) -> Array:
    """Absolute values as uint64, also of -2**63."""
    return values if values.dtype == np.uint64 else np.abs(values).view(np.uint64)


def whole_quotient(a: Array, b: Array, result: DType) -> tuple[Array, Array | None]:
    """`a // b` of whole numbers, without what is behind the point, and a mask of where b is not zero and it fits."""
    a, b = integers(a), integers(b)
    valid = b != 0
    negative = (a < 0) != (b < 0)
    size = _magnitude(a) // _magnitude(np.where(valid, b, np.asarray(1, b.dtype)))
    if result == np.uint64:
        return size, None if valid.all() else np.broadcast_to(valid, size.shape)
    fits = valid & (size <= np.where(negative, np.uint64(2**63), np.uint64(2**63 - 1)))
    values = size.view(np.int64)
    return np.where(negative, -values, values), None if fits.all() else fits


def quotient(a: Array, b: Array) -> tuple[Array, Array | None]:
    """`a / b` in float64, and a mask of where b is not zero."""
    valid = b != 0
    with np.errstate(all="ignore"):
        values = a.astype(np.float64) / b.astype(np.float64)
    return values, None if valid.all() else np.broadcast_to(valid, values.shape)


def float_arithmetic(op: str, a: Array, b: Array) -> Array:
    """`a op b` in float64."""
    with np.errstate(all="ignore"):
        values: Array = _MODULAR[op](a.astype(np.float64, copy=False), b.astype(np.float64, copy=False))
    return values


def absolute(column: Column) -> Column:
    """ABS; the one integer without a positive counterpart, -2**63, gives NULL."""
    values = column.values
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)
        lowest = values == np.iinfo(np.int64).min
        return Column(np.abs(values), both(column.valid, ~lowest) if lowest.any() else column.valid)
    return Column(np.abs(values), column.valid)


def rescale(column: Column, unit: str, finer: str) -> Column:
    """Numbers of one unit of time as numbers of a finer one; NULL where that overflows."""
    factor = UNITS[finer] // UNITS[unit]
    if factor == 1:
        return column
    values, fits = integer_arithmetic("*", column.values, np.array([factor]), np.dtype("int64"))
    return Column(values, both(column.valid, fits))


def compare(op: str, a: Column, a_type: ColumnType, b: Column, b_type: ColumnType) -> Column:
    """`a op b` as a bool column, NULL where either side is."""
    valid = both(a.valid, b.valid)
    if a_type.kind == "null" or b_type.kind == "null":
        values: Array = np.zeros(1, bool)
    elif a_type.is_coded:
        values = _compare_strings(op, a.values, b.values)
    elif a_type.unit is not None and b_type.unit is not None and a_type.unit != b_type.unit:
        values = _compare_units(op, a.values, a_type.unit, b.values, b_type.unit)
    elif a_type.scale != b_type.scale:
        values = _compare_scales(op, a.values, a_type.scale, b.values, b_type.scale)
    else:
        values = compare_numbers(op, a.values, b.values)
    if valid is not None and valid.shape != values.shape:
        values, valid = np.broadcast_arrays(values, valid)
    return Column(values, valid)


def compare_numbers(op: str, a: Array, b: Array) -> Array:
    """Exact for any two of int, uint, float and bool."""
    a, b = (v.view(np.int8) if v.dtype == np.bool_ else v for v in (a, b))
    if (a.dtype.kind == "f") == (b.dtype.kind == "f"):
        same: Array = COMPARE[op](a, b)
        return same
    return _compare_mixed(op, a, b) if b.dtype.kind == "f" else _compare_mixed(MIRROR[op], b, a)


def _compare_mixed(op: str, whole: Array, fraction: Array) -> Array:
    """Integers against floats. Beyond 2**53 floats cannot hold every integer, so the float is floored."""
    fraction = fraction.astype(np.float64, copy=False)
    if whole.dtype.itemsize < 8 or not _spans(whole, 2**53):
        plain: Array = COMPARE[op](whole.astype(np.float64), fraction)
        return plain
    low, high = (0.0, 2.0**64) if whole.dtype == np.uint64 else (-(2.0**63), 2.0**63)
    inside = (fraction >= low) & (fraction < high)
    floor = np.floor(np.where(inside, fraction, 0.0))
    steps = floor.astype(whole.dtype)
    order = (whole > steps).astype(np.int8) - (whole < steps)
    order = np.where((order == 0) & (fraction > floor), -1, order)
    order = np.where(inside, order, np.where(fraction >= high, -1, 1))
    values: Array = COMPARE[op](order, 0)
    return np.where(np.isnan(fraction), op == "!=", values)


def _compare_units(op: str, a: Array, a_unit: str, b: Array, b_unit: str) -> Array:
    """Times of different units, without the overflow that multiplying would bring."""
    if finest(a_unit, b_unit) == a_unit:
        return _compare_units(MIRROR[op], b, b_unit, a, a_unit)
    return _compare_steps(op, a, b, UNITS[b_unit] // UNITS[a_unit])


def _compare_scales(op: str, a: Array, a_scale: int, b: Array, b_scale: int) -> Array:
    """Decimals with different numbers of digits behind the point, and whole numbers, which have none."""
    if a_scale > b_scale:
        return _compare_scales(MIRROR[op], b, b_scale, a, a_scale)
    return _compare_steps(op, a, b, 10 ** (b_scale - a_scale))


def _compare_steps(op: str, a: Array, b: Array, factor: int) -> Array:
    """`a * factor op b`."""
    steps, rest = np.divmod(b, factor)
    order = (a > steps).astype(np.int8) - (a < steps)
    values: Array = COMPARE[op](np.where((order == 0) & (rest > 0), -1, order), 0)
    return values


def _compare_strings(op: str, a: object, b: object) -> Array:
    """By code point: the order of UTF-8 bytes, and of Python's own strings."""
    if isinstance(a, pa.Scalar) and isinstance(b, pa.Scalar):
        return np.array([COMPARE[op](a.as_py(), b.as_py())])
    values: Array = _ARROW[op](a, b).to_numpy(zero_copy_only=False)
    return values


def _moved_dates(op: str, a: Array, b: Array) -> tuple[Array, Array | None]:
    """A date and a number of days as a date, and a mask of what is one."""
    days, fits = integer_arithmetic(op, a, b, np.dtype("int64"))
    moved = days.astype(np.int32)
    return moved, both(fits, moved == days) if (moved != days).any() else fits


def both_true(a: Column, b: Column) -> Column:
    """AND: false if either is false, else NULL if either is NULL."""
    values = a.values & b.values
    if a.valid is None and b.valid is None:
        return Column(values)
    a_valid, b_valid = _mask(a), _mask(b)
    return Column(values, (a_valid & b_valid) | (a_valid & ~a.values) | (b_valid & ~b.values))


def either_true(a: Column, b: Column) -> Column:
    """OR: true if either is true, else NULL if either is NULL."""
    inverse = both_true(Column(~a.values, a.valid), Column(~b.values, b.valid))
    return Column(~inverse.values, inverse.valid)


def _mask(column: Column) -> Array:
    return np.ones(1, bool) if column.valid is None else column.valid


def negation(column: Column) -> Column:
    """`-x`, as `0 - x`."""
    if column.values.dtype.kind == "f":
        return Column(-column.values.astype(np.float64, copy=False), column.valid)
    if column.values.dtype == np.bool_:
        return column  # NULL
    values, fits = integer_arithmetic("-", np.zeros(1, np.int64), column.values, np.dtype("int64"))
    return Column(values, both(column.valid, fits))


def arithmetic(
    op: str, a: Column, a_type: ColumnType, b: Column, b_type: ColumnType, result: ColumnType
) -> Column:
    """`a op b`; where both sides are times or durations, in the finer of their units."""
    valid = both(a.valid, b.valid)
    if result.kind == "null":
        return Column(np.zeros(1, bool), np.zeros(1, bool))
    if a_type.unit is not None and b_type.unit is not None:
        unit = finest(a_type.unit, b_type.unit)
        a, b = rescale(a, a_type.unit, unit), rescale(b, b_type.unit, unit)
        valid = both(a.valid, b.valid)
    fits: Array | None = None
    if result.kind == "decimal":
        from eddy.values import decimals  # which stands on this module

        values, fits = decimals.compute(op, a.values, a_type.scale, b.values, b_type.scale, result)
    elif result.kind == "date":
        values, fits = _moved_dates(op, a.values, b.values)
    elif op == "//":
        values, fits = whole_quotient(a.values, b.values, result.dtype)
    elif op == "/":
        values, fits = quotient(a.values, b.values)
    elif op == "%":
        values, fits = remainder(a.values, b.values)
    elif result.kind == "float":
        values = float_arithmetic(op, a.values, b.values)
    else:
        values, fits = integer_arithmetic(op, a.values, b.values, result.dtype)
    valid = both(valid, fits)
    return Column(values, valid if valid is None else np.broadcast_to(valid, values.shape))
