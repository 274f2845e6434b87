"""A stream as a query declares it: columns, a window, and which column is its time."""

from __future__ import annotations

from attrs import field, frozen

from eddy.checks import flag
from eddy.errors import QueryError
from eddy.query.clock import TIMES, may_be_time
from eddy.query.declared import columns_of
from eddy.query.names import nearest
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded, Window
from eddy.shown import shown
from eddy.values.types import ColumnType


@frozen(unsafe_hash=False)
class Stream:
    """A stream of a query: its columns, its window, and the column that holds its time (default ts).

    A static one is a relation that is loaded once, before the first row of any other stream: it has no window, and no
    time, being older than everything.
    """

    columns: dict[str, ColumnType] = field(converter=columns_of)
    window: Window = field(factory=lambda: Unbounded(declared=False))
    time: str | None = None
    static: bool = field(default=False, kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    """Whether a batch with a column that is not declared is refused; else the column is passed over."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.window, (Rows, Range, Sliding, Tumbling, Unbounded)):
            raise QueryError(
                f"a window is Rows, Range, Sliding, Tumbling or Unbounded, not {shown(self.window)}"
            )
        flag("static", self.static, QueryError)
        flag("strict", self.strict, QueryError)
        if self.static:
            self._check_static()
        elif self.time is None:
            if "ts" in self.columns and may_be_time(self.columns["ts"]):
                object.__setattr__(self, "time", "ts")
        elif self.time not in self.columns:
            raise QueryError(
                f"no column {self.time} to take the time from: {nearest(self.time, self.columns)}"
            )
        elif not may_be_time(self.columns[self.time]):
            raise QueryError(
                f"column {self.time} is {self.columns[self.time]}, which cannot be a time: declare it as {TIMES}, "
                "or name another with time="
            )

    def _check_static(self) -> None:
        if not isinstance(self.window, Unbounded):
            raise QueryError(
                f"a static stream is loaded once and has no window: leave {self.window!r} out, or static=True"
            )
        if self.time is not None:
            raise QueryError(
                "a static stream has no time, it is older than everything: leave time= out, or static=True"
            )
