"""How rows of a run are put in order, where nobody says how far they may be out of it: by looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.query.query import Query
from eddy.sources.base import Source


def measured(query: Query, sources: Mapping[str, Source]) -> dict[str, int | None]:
    """How far times go back in each source, in the unit of its time column; None where nobody knows.

    What can be read twice is: its times alone, where the format has columns.
    """
    found: dict[str, int | None] = {}
    for name, source in sources.items():
        stream = query.streams[name]
        if not stream.static and stream.time is not None:
            kind = stream.columns[stream.time].arrow
            twice = source.bounded and source.seekable
            found[name] = source.narrowed({stream.time: kind}).disorder(stream.time, kind) if twice else None
    return found


def lateness_of(query: Query, found: Mapping[str, int | None]) -> dict[str, Any]:
    """The same as an option of `Eddy`; nothing is known: rows are in order."""
    bounds: dict[str, Any] = {}
    for name, most in found.items():
        unit = query.streams[name].columns[query.streams[name].time or ""].unit
        bounds[name] = (most or 0) if unit is None else f"{most or 0} {unit}"
    return bounds
