"""CAST: values of one type as values of another, NULL where the other has none for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values import arrow
from eddy.values.arithmetic import both, compare_numbers, rescale
from eddy.values.cast_kinds import CASTS, kind_of
from eddy.values.compute import Datum, coerced, from_datum, known, to_datum
from eddy.values.types import UNITS, Array, Column, ColumnType

_COMMON = {"int", "uint", "float", "bool", "string", "timestamp"}
"""Kinds of types that are cast here; others are in `cast_kinds`."""
_WHOLE = r"\A\s*[+-]?0*\d{1,36}\s*\z"
_FLOAT = r"\A\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))\s*\z"
_TRUE, _FALSE = ["true", "t", "yes", "y", "on", "1"], ["false", "f", "no", "n", "off", "0"]
_TIME = r"\A\s*(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?)?\s*\z"


def castable(of: ColumnType, to: ColumnType) -> bool:
    """Whether there is a CAST from one type to another."""
    if of.kind == "null" or to.kind == of.kind == "timestamp":
        return of.kind == "null" or bool(of.zone) == bool(to.zone)
    if (kind_of(of), to.kind) in CASTS:
        return True
    if not {of.kind, to.kind} <= _COMMON:
        return False
    plain = of.is_number or of.kind in ("bool", "string")
    if to.kind == "timestamp":
        return of.kind == "string" and not to.zone
    return plain or (to.kind == "string" and of.kind == "timestamp" and not of.zone)


def cast(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    """The column in another type."""
    if of == to or of.kind == "null":
        return coerced(column, of, to)
    special = CASTS.get((kind_of(of), to.kind))
    if special is not None:
        return special(column, of, to, constant)
    if of.kind == "timestamp" and to.kind == "timestamp":
        return _moved(column, str(of.unit), str(to.unit))
    if of.kind == "string":
        return from_datum(_read(to_datum(column, of, constant), to), to)
    if to.kind == "string":
        return from_datum(_written(to_datum(column, of, constant), of), to)
    if to.kind == "bool":
        return Column(column.values != 0, column.valid)
    if to.kind == "float" or of.kind == "bool":
        with np.errstate(over="ignore"):
            return Column(column.values.astype(to.dtype), column.valid)
    return _whole(column, to)


def _whole(column: Column, to: ColumnType) -> Column:
    """Numbers as whole numbers, rounded half to even; NULL where they do not fit."""
    values: Array = column.values
    if values.dtype.kind == "f":
        values = np.rint(values.astype(np.float64))
    low, high = (np.array([limit], to.dtype) for limit in _limits(to))
    fits = compare_numbers(">=", values, low) & compare_numbers("<=", values, high)
    with np.errstate(invalid="ignore"):
        moved = (
            np.where(fits, values, 0).astype(to.dtype)
            if values.dtype.kind == "f"
            else values.astype(to.dtype)
        )
    return Column(moved, column.valid if fits.all() else both(column.valid, fits))


def _limits(to: ColumnType) -> tuple[int, int]:
    """The smallest and the largest whole number of a type."""
    size = 8 * to.dtype.itemsize
    return (0, 2**size - 1) if to.kind == "uint" else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)


def _moved(column: Column, unit: str, other: str) -> Column:
    """Times in another unit: the one before, where that is coarser."""
    if UNITS[other] >= UNITS[unit]:
        return rescale(column, unit, other)
    return Column(np.floor_divide(column.values, UNITS[unit] // UNITS[other]), column.valid)


def _read(text: Datum, to: ColumnType) -> Datum:
    """Strings as numbers, truths or times."""
    if to.kind == "timestamp":
        return _times(text, str(to.unit))
    if to.kind == "bool":
        word = pc.utf8_lower(pc.utf8_trim_whitespace(text))
        true, false = (pc.is_in(word, value_set=pa.array(words)) for words in (_TRUE, _FALSE))
        return known(true, pc.and_(pc.is_valid(text), pc.or_(true, false)))
    form = _FLOAT if to.kind == "float" else _WHOLE
    text = pc.utf8_trim_whitespace(known(text, pc.match_substring_regex(text, pattern=form)))
    text = pc.replace_substring_regex(text, pattern=r"\A\+", replacement="")
    if to.kind == "float":
        return text.cast(pa.float64()).cast(to.arrow, safe=False)
    text = pc.replace_substring_regex(text, pattern=r"\A(-?)0*(\d)", replacement=r"\1\2")
    wide = text.cast(pa.decimal128(38, 0))
    low, high = (pa.scalar(limit, pa.decimal128(38, 0)) for limit in _limits(to))
    return known(wide, pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high))).cast(to.arrow)


def _times(text: Datum, unit: str) -> Datum:
    """Strings such as '2024-01-31 12:00:00' as times; NULL for what is no day, and for what the unit cannot hold."""
    text = known(text, pc.match_substring_regex(text, pattern=_TIME))
    day = pc.replace_substring_regex(text, pattern=_TIME, replacement=r"\1")
    date = pc.strptime(day, format="%Y-%m-%d", unit="s", error_is_null=True)
    date = known(date, pc.equal(pc.strftime(date, format="%Y-%m-%d"), day))  # there is no 31st of February
    clock = pc.replace_substring_regex(text, pattern=_TIME, replacement=r"\2\3")
    hours, minutes = (_part(clock, start, start + 2) for start in (0, 3))
    seconds = _part(clock, 6, 8)
    inside = pc.and_(pc.less(hours, 24), pc.and_(pc.less(minutes, 60), pc.less(seconds, 60)))
    clock_seconds = pc.add(pc.add(pc.multiply(hours, 3600), pc.multiply(minutes, 60)), seconds)
    whole = known(pc.add(date.cast(pa.int64()), clock_seconds), inside)
    digits = len(str(UNITS[unit])) - 1
    fraction = pc.utf8_rpad(pc.utf8_slice_codeunits(clock, start=9), width=max(digits, 1), padding="0")
    part = pc.utf8_slice_codeunits(fraction, start=0, stop=max(digits, 1)).cast(pa.int64())
    limit = (2**63 - 1) // UNITS[unit] - 1
    whole = known(whole, pc.and_(pc.less(whole, limit), pc.greater(whole, -limit)))
    found = pc.add(pc.multiply(whole, UNITS[unit]), part) if digits else whole
    return found.cast(pa.timestamp(unit))


def _part(clock: Datum, start: int, stop: int) -> Datum:
    digits = pc.utf8_slice_codeunits(clock, start=start, stop=stop)
    return pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64())


def _written(values: Datum, of: ColumnType) -> Datum:
    """Numbers, truths and times as strings; floats with a point or an exponent, unlike whole numbers."""
    if of.kind == "float":
        if isinstance(values, pa.Scalar):
            return _written(pa.repeat(values, 1), of)[0]
        digits = arrow.to_numpy(values, of.dtype).astype(np.str_).tolist()
        return known(pa.array(digits, pa.string()), values.is_valid())
    text = values.cast(pa.string())
    if of.kind != "timestamp" or of.unit == "s":
        return text
    return pc.replace_substring_regex(text, pattern=r"\.?0*\z", replacement="", max_replacements=1)
