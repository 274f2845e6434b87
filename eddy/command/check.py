"""`eddy check`: what a query is over its sources, without running it."""

from __future__ import annotations

import sys
import warnings

from eddy.command.run import Asked
from eddy.command.wording import told
from eddy.inspect.described import described
from eddy.running.asked import query_of


def check(asked: Asked) -> int:
    """Print columns, times and windows of the streams, keys and results; warnings to standard error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        query, sources = query_of(asked.text(), asked.opened())
    print("\n".join(described(query, sources)))
    for warning in warned:
        print(f"warning: {told(str(warning.message))}", file=sys.stderr)
    return 0
