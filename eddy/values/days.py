"""Dates and times of day as people write them: '2024-01-31', '12:00:00.5'."""

from __future__ import annotations

import re

import numpy as np

from eddy.errors import QueryError
from eddy.values.durations import coarsest
from eddy.values.instants import parse_instant
from eddy.values.types import UNITS

DAY = 86_400
"""Seconds."""

_CLOCK = re.compile(r"\s*(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*")


def parse_date(text: str) -> int:
    """Days since 1970."""
    value, unit = parse_instant(text, None)
    if unit != "s" or value % DAY:
        raise QueryError(f"{text!r} is a time, not a date: write TIMESTAMP '...', or the day alone")
    return value // DAY


def format_date(days: int) -> str | None:
    """The text that `parse_date` reads back; None where no text stands for it."""
    if not -719_162 <= days <= 2_932_896:  # the years 1 to 9999
        return None
    return str(np.datetime64(days, "D"))


def parse_time(text: str) -> tuple[int, str]:
    """A time of day as a number of its coarsest exact unit since midnight."""
    form = _CLOCK.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in form.groups()[:3]) if form else (24, 0, 0)
    if form is None or hours > 23 or minutes > 59 or seconds > 59:
        raise QueryError(f"{text!r} is not a time of day: write it as '12:00:00'")
    whole = (hours * 60 + minutes) * 60 + seconds
    return coarsest(whole * UNITS["ns"] + int((form[4] or "0").ljust(9, "0")))


def format_time(value: int, unit: str) -> str:
    """The text that `parse_time` reads back."""
    seconds, rest = divmod(value, UNITS[unit])
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if rest:
        text += "." + str(rest * (UNITS["ns"] // UNITS[unit])).zfill(9).rstrip("0")
    return text
