"""What travels with a row, and what an engine is told, where an engine has only some rows of a stream."""

from __future__ import annotations

from attrs import frozen

from eddy.faults import Faults
from eddy.values.strings import StringPool

EVENT, ROW = "__event", "__row"
"""Columns that travel with a row: the number of its event, and its own in its stream."""
WHEN = "__when"
"""A column that an engine adds to all rows where the order of results counts: the numbers of their events."""


def mark_column(stream: str) -> str:
    """The column that carries the marks of a stream."""
    return f"__mark_{stream}"


@frozen
class Share:
    """What makes an engine a part of a whole: it has only some rows of the streams."""

    given: frozenset[str]
    """Streams whose marks come with the events."""
    pool: StringPool | None = None
    """The whole's, if that keeps what results show; then the part has only what predicates read."""
    faults: Faults | None = None
    """The whole's, if that raises what policies of its parts have raised."""
