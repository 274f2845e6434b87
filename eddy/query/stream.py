"""A stream as a query declares it: columns, a window, and which column is its time."""

from __future__ import annotations

from collections.abc import Mapping

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

    Columns are names and types, an Arrow schema, dtypes of pandas or polars, or a table with such columns.

    A static one is a relation that is loaded once, before the first row of any other stream: it has no window, and no
    time, being older than everything.
    """

    columns: dict[str, ColumnType] = field(converter=columns_of)
    window: Window = field(factory=lambda: Unbounded(declared=False))
    time: str | None = None
    static: bool = field(default=False, kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    """Whether a batch with a column that is not declared is refused; else the column is passed over."""
    parse: bool = field(default=False, kw_only=True)
    """Whether texts are read as values of other columns, such as '2024-01-31T12:00:00' as a timestamp; else refused."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.window, (Rows, Range, Sliding, Tumbling, Unbounded)):
            raise QueryError(
                f"a window is Rows, Range, Sliding, Tumbling or Unbounded, not {shown(self.window)}"
            )
        flag("static", self.static, QueryError)
        flag("strict", self.strict, QueryError)
        flag("parse", self.parse, QueryError)
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


def like(tables: object, schemas: object) -> dict[str, object]:
    """The schemas of a query, and streams with the columns of tables beside them; a name has one of the two."""
    for what, given in (("schemas", schemas), ("tables", tables)):
        if given is not None and not isinstance(given, Mapping):
            raise QueryError(f"{what} must be a dict of streams and their columns, not {shown(given)}")
    assert (schemas is None or isinstance(schemas, Mapping)) and (
        tables is None or isinstance(tables, Mapping)
    )
    if schemas is None and tables is None:
        raise QueryError(
            "give the columns of the streams: schemas= with names and types, or tables= with data"
        )
    declared, sampled = dict(schemas or {}), dict(tables or {})
    both = next((name for name in sampled if name in declared), None)
    if both is not None:
        raise QueryError(f"stream {both} is in schemas and in tables: give it once")
    for name, table in sampled.items():
        try:
            declared[name] = table if isinstance(table, Stream) else Stream(columns=table)
        except QueryError as error:
            raise QueryError(f"stream {name}: {error}") from None
    return declared
