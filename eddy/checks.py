"""Options that users give, checked: each error says what was wrong and what to give."""

from __future__ import annotations

import operator
from typing import Any

from eddy.errors import EddyError


def whole(what: str, value: Any) -> int:
    """A whole number of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise EddyError(f"{what} must be a whole number of at least 1, not {value!r}")
    return number


def seed_number(value: Any) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise EddyError(f"seed must be a whole number, not {value!r}") from None


def flag(what: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise EddyError(f"{what} is True or False, not {value!r}")
    return value
