"""Streams that a statement names otherwise than FROM calls them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from sqlglot import exp

from eddy.query.place import place_of

_JOINS = ("LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "NATURAL", "SEMI", "ANTI", "ASOF")


def called(node: exp.Column, streams: Iterable[str]) -> str:
    """What the stream of a column is called, where FROM gives it another name; empty where FROM has no such stream.

    A word before JOIN that is written wrongly is taken for a name, too.
    """
    place = place_of(node)
    of = re.escape(node.table)
    pattern = rf'(?:\bFROM|\bJOIN|,)\s+"?{of}"?(?:\s*\[[^\]]*\])?\s+(AS\s+)?(\w+)(\s+JOIN\b)?'
    found = None if place is None else re.search(pattern, place[0], re.IGNORECASE)
    if found is None or found[2] not in set(streams):
        return ""
    meant = difflib.get_close_matches(found[2].upper(), _JOINS, 1, 0.7)
    if meant and found[3] and not found[1]:
        return f"did you mean {meant[0]} JOIN by {found[2]} JOIN, which calls {node.table} {found[2]}?"
    return f"FROM calls it {found[2]}"
