"""Time zones: names that zoneinfo knows, and fixed offsets."""

from __future__ import annotations

import datetime
import re
import zoneinfo

from eddy.errors import QueryError

_FIXED = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)")


def zone_named(name: str) -> str:
    """The zone as Arrow writes it, or a QueryError if there is none of that name: '+0200' is '+02:00'."""
    fixed = _FIXED.fullmatch(name)
    if fixed is not None:
        return "{}{}:{}".format(*fixed.groups())
    if name.upper() == "UTC":
        return "UTC"
    _place(name)
    return name


def seconds_east(local: datetime.datetime, zone: str) -> int:
    """How far a zone's clock is ahead of UTC when it shows this time; where clocks go back, the first time."""
    fixed = _FIXED.fullmatch(zone)
    if fixed is not None:
        return (-1 if fixed[1] == "-" else 1) * (int(fixed[2]) * 3600 + int(fixed[3]) * 60)
    if zone.upper() == "UTC":
        return 0
    difference = local.replace(tzinfo=_place(zone)).utcoffset()
    return 0 if difference is None else difference // datetime.timedelta(seconds=1)


def _place(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder, such as Europe
        raise QueryError(
            f"unknown time zone {name!r}: use a name such as 'Europe/Berlin', or '+01:00'"
        ) from None
