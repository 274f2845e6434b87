"""Units of lengths of time: short and long words, and what to write in the place of one that is none."""

from __future__ import annotations

import pytest

import eddy
from eddy.values.durations import nanoseconds

SHORT = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


@pytest.mark.parametrize("unit", SHORT)
def test_short_units(unit):
    """Those that an error lists."""
    assert nanoseconds(f"5{unit}") == nanoseconds(f"5 {unit}") == 5 * SHORT[unit] * 10**9


@pytest.mark.parametrize(
    "text, meant", [("5m", "5min"), ("5 m", "5min"), ("1h 30M", "1h 30min"), ("2m 30s", "2min 30s")]
)
def test_an_m_is_no_unit_and_says_what_is(text, meant):
    """It may be a minute or a month."""
    with pytest.raises(eddy.QueryError, match=rf"did you mean {meant}[?] Use s, min, h, d, w, ms"):
        nanoseconds(text)
    assert nanoseconds(meant)
