"""`eddy check`: what a query is over its sources, without running it."""

from __future__ import annotations

import sys
import warnings

from eddy.command.run import Asked
from eddy.query.query import Query
from eddy.running.asked import query_of


def check(asked: Asked) -> int:
    """Print columns, times and windows of the streams, keys and results; warnings to standard error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        query, sources = query_of(asked.text(), asked.opened())
    for name in query.names:
        print("\n".join(told(query, name, str(sources[name]))))
    for keys in query.key_classes:
        print("key " + " = ".join(f"{stream}.{column}" for stream, column in keys.members.items()))
    for residual in query.residuals:
        print(f"tested {residual.text}")
    print("results " + ", ".join(f"{name} {kind}" for name, kind in query.outputs))
    if query.signed:
        print("results are withdrawn too: they have a sign")
    for warning in warned:
        print(f"warning: {warning.message}", file=sys.stderr)
    return 0


def told(query: Query, name: str, source: str) -> list[str]:
    """A stream in words."""
    stream = query.streams[name]
    columns = ", ".join(f"{column} {kind}" for column, kind in stream.columns.items())
    window = repr(stream.window) + (", by predicates" if name in query.followed else "")
    time = f"time {stream.time}" if stream.time else "static" if stream.static else "no time"
    lines = [f"stream {name} from {source}", f"  columns {columns}", f"  {time}, window {window}"]
    if name in query.filters:
        lines.append(f"  filter {query.filters[name]}")
    return lines
