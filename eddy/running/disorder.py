"""How rows of a run are put in order, where nobody says how far they may be out of it: by looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.query.query import Query
from eddy.sources.base import Source
from eddy.values.durations import seconds_text

ROOM = 1 << 27
"""Bytes of all sources that are kept of such a look, about, and not read again."""


def measured(query: Query, sources: Mapping[str, Source]) -> tuple[dict[str, int | None], dict[str, Source]]:
    """How far times go back in each source, in the unit of its time column; None where nobody knows.

    What can be read twice is: its times alone, where the format has columns. And the sources, some of whose rows are at
    hand now.
    """
    found: dict[str, int | None] = {}
    read = dict(sources)
    for name, source in sources.items():
        stream = query.streams[name]
        if not stream.static and stream.time is not None:
            kind = stream.columns[stream.time].arrow
            found[name] = None
            if source.bounded and source.seekable:
                found[name], read[name] = source.look(stream.time, kind, ROOM // len(sources))
    return found, read


def lateness_of(query: Query, found: Mapping[str, int | None]) -> dict[str, Any]:
    """The same as an option of `Eddy`; nothing is known: rows are in order."""
    bounds: dict[str, Any] = {}
    for name, most in found.items():
        unit = query.streams[name].columns[query.streams[name].time or ""].unit
        bounds[name] = (most or 0) if unit is None else seconds_text(most or 0, unit)
    return bounds
