"""Windows: which rows of a stream are live. Each prints as it is written.

Every window reduces to one low-water row per event (the first row that is live), so a window is nothing but a
kind and a number; `Query.window_table` brings all widths to one unit of time.
"""

from __future__ import annotations

import datetime

from attrs import field, frozen

from eddy.checks import checked
from eddy.errors import QueryError
from eddy.values.durations import nanoseconds
from policies.options import whole

Width = int | str | datetime.timedelta

_LIMIT = 2**62  # so that `count - n` and `now - width` stay within int64


def _count(what: str, value: object) -> int:
    """A number of rows."""
    rule = whole(1, _LIMIT, "a whole number of rows, 1 or more")
    return checked(what, value, rule, "needs", QueryError)


def length(what: str, value: object, least: int) -> Width:
    """A length of time: a duration, which stays as it is written, or a number in the unit of the time column."""
    if isinstance(value, (str, datetime.timedelta)):
        if nanoseconds(value) < least:
            raise QueryError(f"{what} needs a width of {least} or more, not {value!r}")
        return value
    takes = (
        f"a whole number of {least} or more in the unit of the time column, or a duration such as '5 minutes'"
    )
    return checked(what, value, whole(least, _LIMIT, takes), "needs", QueryError)


@frozen(repr=False)
class Rows:
    """The last n rows of the stream."""

    n: int

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "n", _count("Rows", self.n))

    def __repr__(self) -> str:
        return f"Rows({self.n})"


@frozen(repr=False)
class Range:
    """Rows whose time is at least now - width; now is the time of the newest event of any stream."""

    width: Width

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "width", length("Range", self.width, 0))

    def __repr__(self) -> str:
        return f"Range({self.width!r})"


@frozen(repr=False)
class Tumbling:
    """The current pane: n rows, or a width of time; panes start at row 0, or at multiples of the width."""

    rows: int | None = field(default=None, kw_only=True)
    time: Width | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if (self.rows is None) == (self.time is None):
            raise QueryError(
                "Tumbling needs either rows=, such as rows=100, or time=, such as time='5 minutes'"
            )
        if self.rows is not None:
            object.__setattr__(self, "rows", _count("Tumbling", self.rows))
        else:
            object.__setattr__(self, "time", length("Tumbling", self.time, 1))

    def __repr__(self) -> str:
        return f"Tumbling(rows={self.rows})" if self.time is None else f"Tumbling(time={self.time!r})"


@frozen(repr=False)
class Sliding:
    """Rows whose time is at least that of the last step less the width: a `Range` that moves every so often.

    Steps are at multiples of ``every``, counted from 0, for timestamps from 1970.
    """

    width: Width
    every: Width = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "width", length("Sliding", self.width, 0))
        object.__setattr__(self, "every", length("Sliding(every=...)", self.every, 1))

    def __repr__(self) -> str:
        return f"Sliding({self.width!r}, every={self.every!r})"


@frozen
class Unbounded:
    """Every row, for ever."""

    declared: bool = field(default=True, kw_only=True, eq=False, repr=False)
    """False where no window was given: then one may follow from predicates."""


Window = Rows | Range | Sliding | Tumbling | Unbounded


def uses_time(window: Window) -> bool:
    """Whether the window needs a time column."""
    return isinstance(window, (Range, Sliding)) or (isinstance(window, Tumbling) and window.time is not None)
