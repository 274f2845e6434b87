"""What a query is over its sources, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eddy.query.query import Query
from eddy.values.durations import duration_text, nanoseconds

_INTERVAL = re.compile(r"\bINTERVAL '(\d+ (?:s|ms|us|ns))'")


def described(query: Query, sources: Mapping[str, Any]) -> list[str]:
    """Columns, times and windows of the streams, keys, and columns of the results. A stream need have no source."""
    lines = [line for name in query.names for line in _stream(query, name, sources.get(name))]
    for keys in query.key_classes:
        lines.append("key " + " = ".join(f"{stream}.{column}" for stream, column in keys.members.items()))
    lines += [f"tested {_told(residual.text)}" for residual in query.residuals]
    lines += [f"{one} ON {' AND '.join(map(str, one.on)) or 'TRUE'}" for one in query.attachments]
    lines += [f"EXCEPT {minus.stream}" for minus in query.minus]
    if query.cross:
        lines.append("streams that no predicate connects give every combination of their rows")
    if query.group_by:
        lines.append(f"groups of {', '.join(str(output.expression) for output in query.group_by)}")
    lines.append("results " + ", ".join(f"{name} {kind}" for name, kind in query.outputs))
    if query.signed:
        lines.append("results are withdrawn too: they have a sign")
    return lines


def _told(text: str) -> str:
    """A predicate, with lengths of time as people write them."""
    return _INTERVAL.sub(lambda found: f"INTERVAL '{duration_text(nanoseconds(found[1]))}'", text)


def _stream(query: Query, name: str, source: object) -> list[str]:
    stream = query.streams[name]
    columns = ", ".join(f"{column} {kind}" for column, kind in stream.columns.items())
    window = repr(stream.window) + (", by predicates" if name in query.followed else "")
    time = f"time {stream.time}" if stream.time else "static" if stream.static else "no time"
    origin = "" if source is None else f" from {source}"
    lines = [f"stream {name}{origin}", f"  columns {columns}", f"  {time}, window {window}"]
    if name in query.filters:
        lines.append(f"  filter {query.filters[name]}")
    return lines
