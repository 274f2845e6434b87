"""How much disorder an engine allows: lateness, what becomes of late rows, and when a silent stream does not count."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from eddy.checks import choice
from eddy.errors import EddyError, QueryError
from eddy.query.query import Query
from eddy.shown import shown
from eddy.values.durations import nanoseconds

Lateness = int | str | datetime.timedelta | Mapping[str, int | str | datetime.timedelta]
"""A length of time, or one for each stream."""
LATE = ("error", "drop", "keep")
"""What may become of a row behind the watermark."""


def _late(disorder: Any, option: Any, value: Any) -> None:
    choice("late", value, LATE)


@frozen
class Disorder:
    """What an engine was given of these options, checked."""

    bounds: tuple[int, ...]
    """For each stream, in the query's unit of time, how far behind its newest row another may be; 0 if it is static."""
    late: str = field(default="error", validator=_late)
    idle: float | None = None
    """Seconds of the clock after which a silent stream does not count."""
    clock: Callable[[], float] = field(default=time.monotonic, eq=False, repr=False)


def disorder_of(query: Query, lateness: Any, late: Any, idle: Any, clock: Any) -> Disorder | None:
    """The options of an engine; None without ``lateness``, which the others need. EddyError for one that is wrong."""
    if lateness is None:
        for name, value in {"late": late, "idle": idle, "clock": clock}.items():
            if value is not None:
                raise EddyError(
                    f"{name}= is for rows that come out of order: give lateness= too, as in lateness='30 s'"
                )
        return None
    if isinstance(lateness, Disorder):  # of a snapshot
        given = {"late": late, "idle": None if idle is None else _seconds(idle), "clock": clock}
        return evolve(lateness, **{name: value for name, value in given.items() if value is not None})
    if not query.timed:
        raise EddyError(
            "lateness needs times that can be compared: give every stream a time column, an integer or a timestamp, "
            "of the same kind"
        )
    if clock is not None and not callable(clock):
        raise EddyError(f"clock is a function that returns seconds, not {shown(clock)}")
    return Disorder(
        _bounds(query, lateness),
        "error" if late is None else late,
        None if idle is None else _seconds(idle),
        time.monotonic if clock is None else clock,
    )


def _bounds(query: Query, lateness: Any) -> tuple[int, ...]:
    given: Mapping[Any, Any] = (
        lateness if isinstance(lateness, Mapping) else dict.fromkeys(query.names, lateness)
    )
    for name in given:
        if name not in query.streams:
            raise EddyError(f"lateness: the query has no stream {name!r}, only {', '.join(query.names)}")
    return tuple(
        _bound(query, name, given.get(name, 0)) if not stream.static else 0
        for name, stream in query.streams.items()
    )


def _bound(query: Query, name: str, value: Any) -> int:
    try:
        return query.length_of(name, value, "lateness")
    except QueryError as error:
        raise EddyError(str(error)) from None


def _seconds(idle: Any) -> float:
    """A length of time by the clock: a duration, or a number of seconds."""
    if isinstance(idle, (str, datetime.timedelta)):
        try:
            seconds = nanoseconds(idle) / 1e9
        except QueryError as error:
            raise EddyError(f"idle: {error}") from None
    else:
        seconds = float(idle) if isinstance(idle, (int, float)) and not isinstance(idle, bool) else -1.0
    if not 0 < seconds < float("inf"):
        raise EddyError(f"idle is a length of time by the clock, such as '10 s', not {shown(idle)}")
    return seconds
