"""A query: streams with windows, the predicates between them, and the columns of a result.

A query joins its streams, or subtracts all but one of them from that one; either may be aggregated. Building
it does all checking and all analysis, once: predicates are split into filters on one stream, key classes and
residuals, and windows are brought to one unit of time. A query never changes afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from attrs import field, fields, frozen

from eddy.checks import flag
from eddy.errors import QueryError
from eddy.query.aggregates import AggregateOutput, parse_shown
from eddy.query.clock import TIMES, Clock, clock_of, may_be_time, window_numbers
from eddy.query.declared import columns_of
from eddy.query.expressions import Expression, Literal
from eddy.query.keys import KeyClass, key_classes
from eddy.query.logic import conjunction, conjuncts
from eddy.query.minus import Minus, difference
from eddy.query.names import Scope, nearest
from eddy.query.outputs import Output
from eddy.query.own_aggregate import Aggregate
from eddy.query.parse import condition
from eddy.query.predicate import UserPredicate
from eddy.query.residual import Residual, residuals
from eddy.query.text import text_of
from eddy.query.windows import Range, Rows, Tumbling, Unbounded, Window, uses_time
from eddy.shown import shown
from eddy.values.types import BOOL, Array, ColumnType

__all__ = ["AggregateOutput", "Minus", "Output", "Predicate", "Query", "Stream"]

Predicate = str | UserPredicate | Expression


@frozen(unsafe_hash=False)
class Stream:
    """What a stream looks like: its columns, its window, and the column that holds its time (default ts).

    A static one is a relation that is loaded once, before the first row of any other stream: it has no window, and no
    time, being older than everything.
    """

    columns: dict[str, ColumnType] = field(converter=columns_of)
    window: Window = field(factory=Unbounded)
    time: str | None = None
    static: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.window, (Rows, Range, Tumbling, Unbounded)):
            raise QueryError(f"a window is Rows, Range, Tumbling or Unbounded, not {shown(self.window)}")
        flag("static", self.static, QueryError)
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


class Restricted(Protocol):
    """A policy that says what it is for."""

    joins_only: ClassVar[bool]


@frozen(eq=False, init=False, repr=False)
class Query:
    """The streams to join, or to subtract from one of them, and what to show of it. Equal only to itself.

    `minus={"B": "A.k = B.k"}` makes it a difference: the rows of the `base`, the one stream that minus does not
    name, which no live row of B matches. `group_by` and `aggregates` ({"n": "COUNT(*)"}, or an `eddy.Aggregate`)
    aggregate the results; `select` then holds the columns that this reads, and `outputs` what a result shows.
    """

    streams: dict[str, Stream]
    predicates: tuple[Expression, ...]
    key_classes: tuple[KeyClass, ...]
    filters: dict[str, Expression]
    residuals: tuple[Residual, ...]
    select: tuple[Output, ...]
    cross: bool
    edges: tuple[frozenset[str], ...]
    base: str | None
    minus: tuple[Minus, ...]
    group_by: tuple[Output, ...]
    aggregates: tuple[AggregateOutput, ...]
    _clock: Clock | None

    def __init__(
        self,
        streams: Mapping[str, Stream | Mapping[str, Any]],
        where: Predicate | Iterable[Predicate] = (),
        select: str | Iterable[str] | None = None,
        cross: bool = False,
        minus: Mapping[str, Predicate | Iterable[Predicate]] | None = None,
        group_by: str | Iterable[str] | None = None,
        aggregates: Mapping[str, str | Aggregate] | None = None,
    ) -> None:
        declared = _streams(streams)
        scope = Scope({name: stream.columns for name, stream in declared.items()})
        predicates = tuple(_predicates(where, scope))
        base: str | None = None
        subtracted: tuple[Minus, ...] = ()
        if minus is None:
            classes, rest = key_classes(predicates, list(declared))
            edges = [frozenset(c.members) for c in classes]
        else:
            if cross:
                raise QueryError("a difference combines no rows: leave cross out, or minus")
            found = difference(minus, predicates, scope)
            base, subtracted, classes = found.base, found.minus, found.key_classes
            rest = [*predicates, *found.implied]
            edges = [frozenset((base, inner.stream)) for inner in subtracted]
            scope = scope.only(base)
        filters, between = _filters(rest, base or next(iter(declared)))
        kept = residuals(between)
        edges += [residual.streams for residual in kept]
        clock = clock_of(declared)
        window_numbers(declared, clock)  # refuses widths that do not fit
        groups, computed, fetched = parse_shown(select, group_by, aggregates, scope)
        self.__attrs_init__(
            streams=declared,
            predicates=predicates,
            key_classes=classes,
            filters=filters,
            residuals=kept,
            select=fetched,
            cross=flag("cross", cross, QueryError),
            edges=tuple(dict.fromkeys(edges)),
            base=base,
            minus=subtracted,
            group_by=groups,
            aggregates=computed,
            clock=clock,
        )
        if not self.connected(self.names) and not cross:
            raise QueryError(_unconnected(self))

    @property
    def outputs(self) -> tuple[tuple[str, ColumnType], ...]:
        """Name and type of each column that a result shows: those of select, or the groups' and aggregates."""
        shown: tuple[Output | AggregateOutput, ...] = (*self.group_by, *self.aggregates) or self.select
        return tuple((output.name, output.type) for output in shown)

    @property
    def names(self) -> tuple[str, ...]:
        """The streams' names, in the order of declaration."""
        return tuple(self.streams)

    @property
    def time_windows(self) -> bool:
        """Whether any window uses time; then time never goes back over the whole feed."""
        return any(uses_time(stream.window) for stream in self.streams.values())

    @property
    def timed(self) -> bool:
        """Whether every stream has a time, static ones aside, and all of them can be compared."""
        return self._clock is not None

    @property
    def time_unit(self) -> str | None:
        """The common unit of time; None without a clock, and where time is a plain integer."""
        return None if self._clock is None else self._clock.unit

    def time_of(self, stream: str, values: Array) -> Array:
        """Values of the stream's time column as int64 in the common unit of the query."""
        if self._clock is None:
            return values.astype(np.int64, copy=False)
        return self._clock.time_of(stream, values)

    def window_table(self) -> tuple[Array, Array]:
        """Kind and parameter of each stream's window, widths of time in the common unit.

        Kinds: 0 unbounded, 1 rows n, 2 range w, 3 tumbling by n rows, 4 tumbling by time w.
        """
        return window_numbers(self.streams, self._clock)

    @property
    def signed(self) -> bool:
        """Whether results are withdrawn as well as given: those of a set difference and of aggregates are."""
        return bool(self.minus or self.aggregates)

    def accepts(self, policy: Restricted) -> bool:
        """Whether a routing policy or a migration technique can work for it: some are for joins only."""
        return not (self.minus and policy.joins_only)

    def connected(self, names: Iterable[str]) -> bool:
        """Whether predicates among these streams alone connect all of them."""
        return len(_components(self, names)) <= 1

    def __str__(self) -> str:
        """SQL that `eddy.sql` reads back, user predicates excepted; own aggregates are to be given to it."""
        return text_of(self)

    def __repr__(self) -> str:
        return f"<Query {' '.join(str(self).split())}>"


def changed(query: Query, **parts: Any) -> Query:
    """A query with other streams or outputs that say the same of its predicates, which are not parsed again."""
    own = {field.name.lstrip("_"): getattr(query, field.name) for field in fields(Query)}
    copy: Any = object.__new__(Query)
    copy.__attrs_init__(**{**own, **parts})
    made: Query = copy
    return made


def _streams(streams: Any) -> dict[str, Stream]:
    if not isinstance(streams, Mapping):
        raise QueryError(f"a query needs its streams as a dict of names and Streams, not {shown(streams)}")
    if len(streams) < 2:
        raise QueryError(f"a query joins at least two streams, and this one has {len(streams)}")
    if not all(isinstance(name, str) and name for name in streams):
        raise QueryError(f"stream names must be texts: {list(streams)}")
    for name in streams:
        if re.search(r"[\s():|]", name):
            raise QueryError(
                f"stream name {name!r} cannot be written in a plan: use a name without blanks, parentheses, ':' and '|'"
            )
    declared = {name: s if isinstance(s, Stream) else Stream(s) for name, s in streams.items()}
    if all(stream.static for stream in declared.values()):
        raise QueryError(
            "every stream is static, so nothing would ever arrive: declare one without static=True"
        )
    return declared


def _predicates(where: Any, scope: Scope) -> Iterable[Expression]:
    if isinstance(where, (str, UserPredicate, Expression)):
        where = [where]
    if not isinstance(where, Iterable):
        raise QueryError(
            f"where takes a predicate such as 'A.x = B.x', or a list of them, not {shown(where)}"
        )
    for given in where:
        if isinstance(given, UserPredicate):
            yield given.bind(scope)
        else:
            yield from conjuncts(condition(given, scope))


def _filters(predicates: Sequence[Expression], first: str) -> tuple[dict[str, Expression], list[Expression]]:
    """Predicates on one stream, by stream, and the others. A constant is decided here, once."""
    alone: dict[str, list[Expression]] = {}
    between: list[Expression] = []
    never = False
    for predicate in predicates:
        streams = predicate.streams
        if len(streams) > 1:
            between.append(predicate)
        elif streams:
            alone.setdefault(next(iter(streams)), []).append(predicate)
        else:
            never = never or not predicate.holds(_nothing, 1)[0]
    if never:
        alone[first] = [Literal(False, BOOL)]
    return {stream: conjunction(parts) for stream, parts in alone.items()}, between


def _nothing(stream: str, column: str) -> Any:
    raise AssertionError("a constant reads no column")


def _components(query: Query, names: Iterable[str]) -> list[frozenset[str]]:
    """The connected parts of some of the streams, under the predicates among them alone."""
    names = frozenset(names)
    links = [edge for edge in query.edges if edge <= names]
    if not query.minus:  # any two members of a key class of a join are equal
        links += [names & c.members.keys() for c in query.key_classes]
    parts = [frozenset([name]) for name in query.names if name in names]
    for link in links:
        touched = [part for part in parts if part & link]
        if touched:
            parts = [part for part in parts if not part & link] + [frozenset().union(*touched)]
    return parts


def _unconnected(query: Query) -> str:
    parts = [" ".join(n for n in query.names if n in part) for part in _components(query, query.names)]
    return (
        f"no predicate connects ({') and ('.join(parts)}): add one to where, "
        "or pass cross=True if every combination is meant"
    )
