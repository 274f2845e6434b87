"""`eddy check`: what a query is over its sources, without running it."""

from __future__ import annotations

import sys
import warnings

from eddy.command.run import Asked
from eddy.command.wording import told
from eddy.inspect.described import described


def check(asked: Asked) -> int:
    """Print columns, times and windows of the streams, keys and results; warnings to standard error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, sources = asked.typed()
    for name, query in found.items() if isinstance(found, dict) else [("", found)]:
        lines = described(query, {stream: sources[stream] for stream in query.names})
        print("\n".join([f"query {name}", *(f"  {line}" for line in lines)] if name else lines))
    for warning in warned:
        print(f"warning: {told(str(warning.message))}", file=sys.stderr)
    return 0
