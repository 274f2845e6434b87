"""Points in time as people write them: '2024-01-31', '2024-01-31 12:00:00.5', '2024-01-31T12:00:00+02:00'."""

from __future__ import annotations

import datetime
import re

from eddy.errors import QueryError
from eddy.values.durations import coarsest
from eddy.values.types import UNITS
from eddy.values.zones import seconds_east

_FORM = re.compile(
    r"\s*(\d{4})-(\d\d?)-(\d\d?)(?:[T ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?\s*"
)
_EPOCH = datetime.datetime(1970, 1, 1)
_SECOND = datetime.timedelta(seconds=1)


def parse_instant(text: str, zone: str | None) -> tuple[int, str]:
    """The time as a number of its coarsest exact unit since 1970.

    With a zone (that of the column it is compared with) it is an instant in UTC: a text without an offset is
    local time there; where clocks go back, the earlier of the two. Without a zone an offset is refused.
    """
    form = _FORM.fullmatch(text)
    try:
        if form is None:
            raise ValueError
        parts = [int(part or 0) for part in form.groups()[:6]]
        local = datetime.datetime(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
    except ValueError:
        raise QueryError(f"{text!r} is not a time: write it as '2024-01-31 12:00:00'") from None
    offset = _offset(text, form[8], local, zone)
    seconds = (local - _EPOCH) // _SECOND - offset
    return coarsest(seconds * UNITS["ns"] + int((form[7] or "0").ljust(9, "0")))


def has_offset(text: str) -> bool:
    """Whether the text says how far its clock is from UTC."""
    form = _FORM.fullmatch(text)
    return form is not None and form[8] is not None


def _offset(text: str, written: str | None, local: datetime.datetime, zone: str | None) -> int:
    """Seconds east of Greenwich."""
    if written is not None:
        if zone is None:
            raise QueryError(
                f"{text!r} has an offset, but the column has no zone: drop the offset, or declare a zone"
            )
        return 0 if written in ("Z", "UTC") else _fixed(written)
    return 0 if zone is None else seconds_east(local, zone)


def _fixed(offset: str) -> int:
    hours, minutes = int(offset[1:3]), int(offset[3:].lstrip(":") or 0)
    return (-1 if offset[0] == "-" else 1) * (hours * 3600 + minutes * 60)


def format_instant(value: int, unit: str, zone: str | None) -> str:
    """The text that `parse_instant` reads back as the same value; zoned times are written in UTC."""
    seconds, rest = divmod(value, UNITS[unit])
    try:
        text = (_EPOCH + seconds * _SECOND).isoformat(" ")
    except OverflowError:  # beyond the year 9999; no text stands for it
        return f"1970-01-01 + {value} {unit}"
    if rest:
        text += "." + str(rest * (UNITS["ns"] // UNITS[unit])).zfill(9).rstrip("0")
    return text + ("+00:00" if zone else "")
