"""Lengths of time as people write them: "5 minutes", "1.5 s", "1 day 2 hours"."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

from eddy.errors import QueryError
from eddy.values.types import UNITS

_NANOSECONDS = {
    "ns": 1,
    "nanosecond": 1,
    "us": 1_000,
    "microsecond": 1_000,
    "ms": 1_000_000,
    "millisecond": 1_000_000,
    "s": 1_000_000_000,
    "sec": 1_000_000_000,
    "second": 1_000_000_000,
    "min": 60_000_000_000,
    "minute": 60_000_000_000,
    "h": 3_600_000_000_000,
    "hour": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "day": 86_400_000_000_000,
    "w": 604_800_000_000_000,
    "week": 604_800_000_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*,?")


def nanoseconds(duration: str | datetime.timedelta) -> int:
    """The length in nanoseconds, exactly. Months and years are refused: they have no fixed length."""
    if isinstance(duration, datetime.timedelta):
        return (duration // datetime.timedelta(microseconds=1)) * 1_000
    months, length = months_and_nanoseconds(duration)
    if months:
        unit = next(_month_unit(part[2]) for part in _PART.finditer(duration) if _month_unit(part[2]))
        raise QueryError(f"{duration!r}: a {unit} has no fixed length; write days or hours")
    return length


def months_and_nanoseconds(duration: str) -> tuple[int, int]:
    """The months of it, those of years among them, and all else in nanoseconds, exactly."""
    total, months, end = Fraction(0), Fraction(0), 0
    while end < len(duration):
        part = _PART.match(duration, end)
        if part is None:
            raise QueryError(
                f"{duration!r} is not a duration: write a number and a unit, such as '5 minutes'"
            )
        number, month_unit = Fraction(part[1]), _month_unit(part[2])
        if month_unit:
            months += number * _MONTHS[month_unit]
        else:
            total += number * _scale(part[2], duration)
        end = part.end()
    if not duration.strip():
        raise QueryError("an empty text is not a duration: write a number and a unit, such as '5 minutes'")
    if total.denominator != 1:
        raise QueryError(f"{duration!r} is not a whole number of nanoseconds")
    if months.denominator != 1:
        raise QueryError(f"{duration!r} is not a whole number of months")
    return int(months), int(total)


def _month_unit(unit: str) -> str:
    """The name of a unit that has months; empty for others."""
    name = unit.lower().removesuffix("s")
    return name if name in _MONTHS else ""


def _scale(unit: str, duration: str) -> int:
    name = unit.lower()
    scale = _NANOSECONDS.get(name) or _NANOSECONDS.get(name.removesuffix("s"))
    if scale is not None:
        return scale
    meant = re.sub(r"\s*\bm\b|(?<=\d)m\b", "min", duration, flags=re.IGNORECASE).strip()
    guess = f"did you mean {meant}? " if name == "m" else ""  # it may be a month, too
    raise QueryError(
        f"unknown unit {unit!r} in {duration!r}: {guess}Use s, min, h, d, w, ms, us or ns, or words such as minutes"
    )


def duration_text(length: int) -> str:
    """A length in nanoseconds as people write it: a number of the coarsest unit that holds it exactly."""
    for unit in ("day", "hour", "minute", "second", "ms", "us", "ns"):
        count, rest = divmod(length, _NANOSECONDS[unit])
        if rest == 0 and (count or unit == "second"):
            return f"{count} {unit}{'s' if len(unit) > 2 and count != 1 else ''}"
    raise AssertionError("a whole number of nanoseconds fits nanoseconds")


def lag_text(length: int, unit: str | None) -> str:
    """How far times are apart: in seconds, to the millisecond; where they are whole numbers, their difference."""
    return f"{length:,}" if unit is None else f"{length / UNITS[unit]:,.3f} s"


def seconds_text(length: int, unit: str) -> str:
    """A length of time in a unit of timestamps as seconds, exactly."""
    whole, rest = divmod(length, UNITS[unit])
    part = f"{rest:0{len(str(UNITS[unit])) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{part} s" if part else f"{whole} s"


def coarsest(length: int) -> tuple[int, str]:
    """A length in nanoseconds as a number of the coarsest unit that holds it exactly."""
    for unit, per_second in UNITS.items():
        count, rest = divmod(length * per_second, UNITS["ns"])
        if rest == 0:
            return count, unit
    raise AssertionError("a whole number of nanoseconds fits nanoseconds")
