"""What SET takes: options of `eddy.run`."""

from __future__ import annotations

from typing import Any

from eddy.checks import flag, whole
from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.running.letters import way_of
from eddy.sources.paced import speed_of

OPTIONS = {
    "lateness": "how far rows may be out of order: '30s'; by default files are looked through for it",
    "late": "what becomes of rows that are later: 'error', 'drop' or 'keep:FILE'",
    "bad": "what becomes of lines that are not valid rows: 'drop', 'error' or 'keep:FILE'",
    "limit": "results after which a query is over",
    "batch": "rows that are read at a time, about",
    "speed": "how many times as fast as their times say rows come: '10x'; by default as fast as they can be read",
    "threads": "threads that join",
    "memory": "a budget for what is kept of joins: '2GB'",
    "plan": "the join order: '(A B) C'; by default the engine chooses",
    "final": "true: the groups of an aggregate at the end, sorted and cut by ORDER BY and LIMIT, not their changes",
    "idle": "how long a silent source holds up the others: '10s'",
}
"""Each, and what it says."""
ENGINE = ("threads", "memory", "plan")
"""Those that an engine has that runs nothing."""
_WHOLE = ("limit", "batch", "threads")


def checked(name: str, value: Any) -> Any:
    """The value of an option; EddyError if there is none of that name, or if it cannot have this value."""
    if name not in OPTIONS:
        raise EddyError(f"there is no option {name}: {nearest(name, OPTIONS)}")
    if name == "final":
        return flag(name, value)
    if name in _WHOLE:
        return whole(name, value)
    if name in ("late", "bad"):
        way_of(name, value)
    elif name == "speed":
        speed_of(value)
    elif isinstance(value, bool) or (name not in ("lateness", "memory") and not isinstance(value, str)):
        raise EddyError(f"{name} is {OPTIONS[name]}, not {value!r}")
    return value
