"""CAST from and to dates, times of day, decimals and UUIDs. NULL where the other type has no such value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.arithmetic import both, integers
from eddy.values.compute import Datum, coerced, from_datum, known, to_datum
from eddy.values.days import DAY
from eddy.values.decimals import POWERS, limited, rescaled
from eddy.values.types import UNITS, Array, Column, ColumnType

_DECIMAL = r"\A\s*[+-]?(?:\d+\.?\d*|\.\d+)\s*\z"
_DATE = r"\A\s*\d{4}-\d\d-\d\d\s*\z"
_CLOCK = r"\A\s*(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?\s*\z"
_UUID = r"\A[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\z"
_LONGEST = 38
"""Digits behind the point that are looked at, before a text is rounded."""
_PARTS = rf"\A(-?)0*(\d*)(?:\.(\d{{0,{_LONGEST}}})\d*)?\z"


def _by_arrow(read: Callable[[Datum, ColumnType], Datum]) -> Cast:
    """A cast of Arrow's values."""

    def run(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
        return from_datum(read(to_datum(column, of, constant), to), to)

    return run


Cast = Callable[[Column, ColumnType, ColumnType, bool], Column]


# -- dates and times of day --------------------------------------------------------------------------------------------


def _coerced(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    return coerced(column, of, to)


def _date_of_time(time: Datum, to: ColumnType) -> Datum:
    """The day on the clock of the time's zone."""
    local = pc.local_timestamp(time) if time.type.tz else time
    return pc.floor_temporal(local, unit="day").cast(pa.date32())


def _clock_of_time(time: Datum, to: ColumnType) -> Datum:
    local = pc.local_timestamp(time) if time.type.tz else time
    per_day = DAY * UNITS[local.type.unit]
    start = pc.floor_temporal(local, unit="day").cast(pa.int64())
    return _clock(pc.subtract(local.cast(pa.int64()), start), local.type.unit, to, per_day)


def _clock(counts: Datum, unit: str, to: ColumnType, per_day: int) -> Datum:
    """Counts of a unit since midnight as a time of day, cut to the unit of its type."""
    fine, coarse = UNITS[str(to.unit)], UNITS[unit]
    if fine >= coarse:
        counts = pc.multiply(counts, fine // coarse)
    else:
        counts = pc.divide(counts, coarse // fine)
    return counts.cast(pa.int32() if to.dtype.itemsize == 4 else pa.int64()).cast(to.arrow)


def _date_of_text(text: Datum, to: ColumnType) -> Datum:
    day = pc.utf8_trim_whitespace(known(text, pc.match_substring_regex(text, pattern=_DATE)))
    found = pc.strptime(day, format="%Y-%m-%d", unit="s", error_is_null=True)
    found = known(found, pc.equal(pc.strftime(found, format="%Y-%m-%d"), day))  # there is no 31st of February
    return found.cast(pa.date32())


def _clock_of_text(text: Datum, to: ColumnType) -> Datum:
    clock = pc.utf8_trim_whitespace(known(text, pc.match_substring_regex(text, pattern=_CLOCK)))
    time = pc.binary_join_element_wise("1970-01-01T", clock, "").cast(pa.timestamp("ns"))
    return _clock(time.cast(pa.int64()), "ns", to, DAY * UNITS["ns"])


def _clock_text(time: Datum, to: ColumnType) -> Datum:
    text = time.cast(pa.string())
    if time.type.unit == "s":
        return text
    return pc.replace_substring_regex(text, pattern=r"\.?0*\z", replacement="", max_replacements=1)


def _other_clock(time: Datum, to: ColumnType) -> Datum:
    width = pa.int32() if time.type.bit_width == 32 else pa.int64()
    return _clock(time.cast(width).cast(pa.int64()), time.type.unit, to, 0)


# -- decimals ----------------------------------------------------------------------------------------------------------


def _decimal_of_whole(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    values, fits = rescaled(column.values, of.scale, to.scale)
    values, fits = limited(values, fits, to)
    return Column(values, both(column.valid, fits))


def _decimal_of_decimal(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    if to.scale >= of.scale:
        return _decimal_of_whole(column, of, to, constant)
    values, fits = limited(_rounded(column.values, of.scale - to.scale), None, to)
    return Column(values, both(column.valid, fits))


def _rounded(values: Array, places: int) -> Array:
    """Numbers without their last digits, rounded half away from zero."""
    if not places:
        return values
    factor = POWERS[places]
    size = np.abs(values)
    whole = size // factor + (size % factor >= (factor + 1) // 2)
    return np.asarray(np.sign(values) * whole)


def _whole_of_decimal(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    whole = _rounded(column.values, of.scale)
    size = 8 * to.dtype.itemsize - (to.kind == "int")
    fits = whole < 2 ** min(size, 63)
    fits &= whole >= (0 if to.kind == "uint" else -(2**size))
    return Column(whole.astype(to.dtype), column.valid if fits.all() else both(column.valid, fits))


def _float_of_decimal(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    """The nearest float: a quotient of two numbers that floats hold is rounded once; others are found one by one."""
    values: Array = column.values
    found = values / float(10**of.scale)
    for i in np.flatnonzero(np.abs(values) > 2**53):
        found[i] = float(Decimal(int(values[i])).scaleb(-of.scale))
    return Column(found.astype(to.dtype), column.valid)


def _decimal_of_float(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    """The nearest decimal, of two that are as near the one away from zero. Where floats leave a doubt, by fractions."""
    given: Array = column.values.astype(np.float64)
    fits = np.abs(given) < 10.0 ** (to.digits - to.scale)
    values = np.where(fits, given, 0.0)
    moved = values * 10.0**to.scale
    near = np.trunc(moved + np.copysign(0.5, moved))
    doubtful = np.abs(np.abs(moved - np.trunc(moved)) - 0.5) <= 1e-3
    doubtful |= np.abs(moved) >= 2.0**40
    whole = np.where(doubtful, 0, near).astype(np.int64)
    for i in np.flatnonzero(doubtful):
        exact = abs(Fraction(float(values[i]))) * 10**to.scale
        whole[i] = int(exact + Fraction(1, 2)) * (-1 if values[i] < 0 else 1)
    whole, inside = limited(whole, None if fits.all() else fits, to)
    return Column(whole, both(column.valid, inside))


def _decimal_of_text(text: Datum, to: ColumnType) -> Datum:
    text = pc.utf8_trim_whitespace(known(text, pc.match_substring_regex(text, pattern=_DECIMAL)))
    parts = pc.replace_substring_regex(text, pattern=r"\A\+", replacement="")
    parts = pc.replace_substring_regex(parts, pattern=_PARTS, replacement=r"\1\2.\3")
    parts = known(parts, pc.match_substring_regex(parts, pattern=r"\A-?\d{0,18}\."))
    parts = pc.replace_substring_regex(parts, pattern=r"\A(-?)\.", replacement=r"\10.")
    parts = pc.replace_substring_regex(parts, pattern=r"\.\z", replacement="")
    wide = parts.cast(pa.decimal256(60, _LONGEST))
    near = pc.round(wide, ndigits=to.scale, round_mode="half_towards_infinity")
    limit = pa.scalar(Decimal(10) ** (to.digits - to.scale), pa.decimal256(60, _LONGEST))
    return known(near, pc.less(pc.abs(near), limit)).cast(to.arrow)


def _decimal_of_wide(wide: Datum, to: ColumnType) -> Datum:
    """Of an opaque column of decimals, rounded half away from zero."""
    limit = Decimal(10) ** (to.digits - to.scale)
    if to.scale > wide.type.scale:  # there is room for the limit then, and maybe none for more digits
        return known(wide, pc.less(pc.abs(wide), pa.scalar(limit, wide.type))).cast(to.arrow)
    longest = pa.decimal256(76, wide.type.scale)
    near = pc.round(wide.cast(longest), ndigits=to.scale, round_mode="half_towards_infinity")
    return known(near, pc.less(pc.abs(near), pa.scalar(limit, longest))).cast(to.arrow)


def _whole_of_wide(wide: Datum, to: ColumnType) -> Datum:
    near = pc.round(wide.cast(pa.decimal256(76, wide.type.scale)), round_mode="half_towards_infinity")
    size = 8 * to.dtype.itemsize
    low, high = (0, 2**size) if to.kind == "uint" else (-(2 ** (size - 1)), 2 ** (size - 1))
    inside = pc.and_(
        pc.greater_equal(near, pa.scalar(Decimal(low), near.type)),
        pc.less(near, pa.scalar(Decimal(high), near.type)),
    )
    return known(near, inside).cast(to.arrow)


def _float_of_wide(wide: Datum, to: ColumnType) -> Datum:
    return wide.cast(pa.string()).cast(to.arrow)  # Arrow rounds decimals twice, and texts once


def _text_of_wide(wide: Datum, to: ColumnType) -> Datum:
    return pa.array([None if one is None else f"{one:f}" for one in wide.to_pylist()], pa.string())


def _decimal_text(column: Column, of: ColumnType, to: ColumnType, constant: bool) -> Column:
    """All digits behind the point, and never an exponent."""
    values = integers(column.values)
    size = np.abs(values)
    whole, rest = (pa.array(part).cast(pa.string()) for part in np.divmod(size, 10**of.scale))
    text = whole
    if of.scale:
        text = pc.binary_join_element_wise(whole, pc.utf8_lpad(rest, of.scale, padding="0"), ".")
    text = pc.binary_join_element_wise(pc.if_else(pa.array(values < 0), "-", ""), text, "")
    if constant:
        return Column(text[0], column.valid)
    return Column(text, column.valid)


# -- UUIDs -------------------------------------------------------------------------------------------------------------


def uuids_of_text(text: pa.Array) -> pa.Array:
    """16 bytes for each text that is a UUID; null for all others. The texts have no nulls that matter."""
    form = pc.fill_null(pc.match_substring_regex(text, pattern=_UUID), False)
    plain = pc.replace_substring(text, pattern="-", replacement="")
    plain = pc.if_else(form, plain, pa.scalar("0" * 32))
    data = bytes.fromhex("".join(plain.to_pylist()))
    whole = pa.Array.from_buffers(pa.binary(16), len(plain), [None, pa.py_buffer(data)]).cast(pa.binary())
    return pc.if_else(form, whole, pa.scalar(None, pa.binary()))


def _uuid_of_text(text: Datum, to: ColumnType) -> Datum:
    if isinstance(text, pa.Scalar):
        return uuids_of_text(pa.repeat(text, 1))[0]
    whole = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return uuids_of_text(whole)


def _uuid_text(value: Datum, to: ColumnType) -> Datum:
    if isinstance(value, pa.Scalar):
        return _uuid_text(pa.repeat(value, 1), to)[0]
    whole = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    digits = [None if one is None else one.hex() for one in whole.to_pylist()]
    found = pa.array(digits, pa.string())
    form = r"\A(.{8})(.{4})(.{4})(.{4})(.{12})\z"
    return pc.replace_substring_regex(found, pattern=form, replacement=r"\1-\2-\3-\4-\5")


def _text_of(value: Datum, to: ColumnType) -> Datum:
    return value.cast(pa.string())


CASTS: dict[tuple[str, str], Cast] = {
    ("date", "timestamp"): _coerced,
    ("timestamp", "date"): _by_arrow(_date_of_time),
    ("timestamp", "time"): _by_arrow(_clock_of_time),
    ("string", "date"): _by_arrow(_date_of_text),
    ("string", "time"): _by_arrow(_clock_of_text),
    ("date", "string"): _by_arrow(_text_of),
    ("time", "string"): _by_arrow(_clock_text),
    ("time", "time"): _by_arrow(_other_clock),
    ("int", "decimal"): _decimal_of_whole,
    ("uint", "decimal"): _decimal_of_whole,
    ("float", "decimal"): _decimal_of_float,
    ("decimal", "decimal"): _decimal_of_decimal,
    ("decimal", "int"): _whole_of_decimal,
    ("decimal", "uint"): _whole_of_decimal,
    ("decimal", "float"): _float_of_decimal,
    ("string", "decimal"): _by_arrow(_decimal_of_text),
    ("decimal", "string"): _decimal_text,
    ("wide decimal", "decimal"): _by_arrow(_decimal_of_wide),
    ("wide decimal", "int"): _by_arrow(_whole_of_wide),
    ("wide decimal", "uint"): _by_arrow(_whole_of_wide),
    ("wide decimal", "float"): _by_arrow(_float_of_wide),
    ("wide decimal", "string"): _by_arrow(_text_of_wide),
    ("string", "uuid"): _by_arrow(_uuid_of_text),
    ("uuid", "string"): _by_arrow(_uuid_text),
}
"""By the kinds of both types; opaque ones of decimals are wide."""


def kind_of(kind: ColumnType) -> str:
    """The kind of a type as the table has it."""
    return "wide decimal" if kind.kind == "opaque" and pa.types.is_decimal(kind.arrow) else kind.kind
