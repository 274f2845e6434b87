"""Functions of points in time, of Arrow's. A time with a zone is read on the clocks of that zone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values import arrow
from eddy.values.arithmetic import both, integer_arithmetic
from eddy.values.compute import Datum
from eddy.values.days import DAY
from eddy.values.types import UNITS, Array, ColumnType

Arguments = Sequence[Datum]

PARTS = (
    "year", "quarter", "month", "week", "isoyear", "day", "doy", "dow", "isodow",
    "hour", "minute", "second", "millisecond", "microsecond", "epoch",
)  # fmt: skip
"""What EXTRACT knows. A week is one of ISO 8601; dow counts from Sunday as 0, isodow from Monday as 1."""
CLOCK = ("hour", "minute", "second", "millisecond", "microsecond")
"""What EXTRACT knows of a time of day."""
STEPS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
"""What DATE_TRUNC and DATE_DIFF know."""

_PLAIN = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "isoyear": pc.iso_year,
    "day": pc.day,
    "doy": pc.day_of_year,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
}


def extract(arguments: Arguments, result: ColumnType) -> Datum:
    """EXTRACT(part FROM time), a whole number; seconds since 1970 are a float."""
    part, time = arguments[0].as_py(), arguments[1]
    if part in _PLAIN:
        return _PLAIN[part](time)
    if part == "dow":
        return pc.day_of_week(time, count_from_zero=True, week_start=7)
    if part == "isodow":
        return pc.day_of_week(time, count_from_zero=False, week_start=1)
    if part == "epoch":
        return pc.divide(time.cast(pa.int64()).cast(pa.float64(), safe=False), float(UNITS[time.type.unit]))
    thousandths = pc.add(pc.multiply(pc.second(time), 1000), pc.millisecond(time))
    return (
        thousandths if part == "millisecond" else pc.add(pc.multiply(thousandths, 1000), pc.microsecond(time))
    )


def date_trunc(arguments: Arguments, result: ColumnType) -> Datum:
    """DATE_TRUNC: the beginning of the year, month, ... that a time is in; weeks begin on Monday."""
    return pc.floor_temporal(arguments[1], unit=arguments[0].as_py(), week_starts_monday=True)


def date_diff(arguments: Arguments, result: ColumnType) -> Datum:
    """DATE_DIFF: how many times a year, month, ... begins after the first time, up to the second."""
    part = arguments[0].as_py()
    first, second = (pc.local_timestamp(time) if time.type.tz else time for time in arguments[1:])
    if part == "month":
        years = pc.subtract(pc.year(second), pc.year(first))
        return pc.add(pc.multiply(years, 12), pc.subtract(pc.month(second), pc.month(first)))
    if part == "week":
        days = pc.days_between(
            pc.floor_temporal(first, unit="week", week_starts_monday=True),
            pc.floor_temporal(second, unit="week", week_starts_monday=True),
        )
        return pc.divide(days, 7)
    return getattr(pc, f"{part}s_between")(first, second)


def months_later(arguments: Arguments, result: ColumnType) -> Datum:
    """So many months after a time, on the clock of its zone; a day that the month has not is its last one."""
    time, months = arguments[0], arguments[1].as_py()
    if isinstance(time, pa.Scalar):
        return months_later([pa.repeat(time, 1), arguments[1]], result)[0]
    if isinstance(time, pa.ChunkedArray):
        time = time.combine_chunks()
    local = pc.local_timestamp(time) if time.type.tz else time
    valid = arrow.valid_of(local)
    values, fits = _moved(arrow.to_numpy(local, np.dtype(np.int64)), time.type.unit, months)
    later = arrow.from_numpy(values, both(valid, fits), local.type)
    if not time.type.tz:
        return later
    return pc.assume_timezone(later, time.type.tz, ambiguous="earliest", nonexistent="latest")


def _moved(values: Array, unit: str, months: int) -> tuple[Array, Array | None]:
    """Times so many months later, and a mask of those that 64 bits hold."""
    per_day = np.array([DAY * UNITS[unit]])
    day = np.floor_divide(values, per_day)
    first = day.astype("M8[D]").astype("M8[M]")
    later = first + months
    length = ((later + 1).astype("M8[D]") - later.astype("M8[D]")).astype(np.int64)
    behind = np.minimum(day - first.astype("M8[D]").astype(np.int64), length - 1)
    start, one = integer_arithmetic(
        "*", later.astype("M8[D]").astype(np.int64) + behind, per_day, np.dtype(np.int64)
    )
    moved, two = integer_arithmetic("+", start, values - day * per_day, np.dtype(np.int64))
    return moved, both(one, two)
