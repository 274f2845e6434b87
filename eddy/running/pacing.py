"""Runs that keep to the times of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.sources.base import Source
from eddy.sources.paced import Pace, Paced, speed_of, split


def in_time(query: Query, sources: Mapping[str, Source], speed: Any) -> dict[str, Source]:
    """The sources of a query, whose rows come so many times as fast as they were recorded. Static ones do not wait."""
    times = speed_of(speed)
    if times is None:
        return dict(sources)
    pace = Pace(times)
    found: dict[str, Source] = {}
    for name, source in sources.items():
        stream = query.streams[name]
        if stream.static:
            found[name] = source
        elif stream.time is None:
            raise EddyError(f"{source} has no time to keep to: name its column by time=, or give no speed")
        else:
            found[name] = Paced(source, stream.time, stream.columns[stream.time], pace)
    return found


def resumed(query: Query, sources: dict[str, Source], positions: Mapping[str, Any]) -> dict[str, Source]:
    """The sources, to go on at positions: also where the run before kept a pace and this one keeps none."""
    found = dict(sources)
    for name, position in positions.items():
        stream = query.streams[name]
        if not isinstance(found[name], Paced) and split(position["at"])[0] is not position["at"]:
            assert stream.time is not None, "it was paced"
            found[name] = Paced(found[name], stream.time, stream.columns[stream.time], Pace(float("inf")))
    return found
