"""A query: streams with windows, the predicates between them, and the columns of a result.

A query joins its streams, or subtracts all but one of them from that one; either may be aggregated. Building
it does all checking and all analysis, once: predicates are split into filters on one stream, key classes and
residuals, and windows are brought to one unit of time. A query never changes afterwards.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from attrs import evolve, fields, frozen

from eddy.checks import flag
from eddy.errors import LossyWindow, QueryError
from eddy.query.aggregates import AggregateOutput
from eddy.query.attachment import Attach, Attachment, attachments, refuses_null
from eddy.query.clock import Clock, clock_of, window_numbers
from eddy.query.expressions import Expression, Literal
from eddy.query.function import UserFunction
from eddy.query.keys import KeyClass, key_classes
from eddy.query.logic import conjunction, conjuncts, implied
from eddy.query.minus import Minus, difference
from eddy.query.names import Scope
from eddy.query.only import Only, Rows, narrowed, parse_only, told_apart
from eddy.query.outputs import Computed, Output
from eddy.query.own_aggregate import Aggregate
from eddy.query.own_function import OwnFunction
from eddy.query.parse import condition
from eddy.query.place import shows_places
from eddy.query.predicate import UserPredicate
from eddy.query.reach import follows, is_shorter, windows_of_all
from eddy.query.residual import Residual, residuals
from eddy.query.shown import parse_shown
from eddy.query.sorting import Cut, parse_cut
from eddy.query.stream import Stream
from eddy.query.text import text_of
from eddy.query.windows import Range, Tumbling, Unbounded, Width, length, uses_time
from eddy.shown import html_table, shown
from eddy.values.types import BOOL, Array, ColumnType

__all__ = ["AggregateOutput", "Computed", "Minus", "Output", "Predicate", "Query", "Stream"]

Predicate = str | UserPredicate | UserFunction | Expression


class Restricted(Protocol):
    """A policy that says what it is for."""

    joins_only: ClassVar[bool]


@frozen(eq=False, init=False, repr=False)
class Query:
    """The streams to join, or to subtract from one of them, and what to show of it. Equal only to itself.

    `minus={"B": "A.k = B.k"}` makes it a difference: the rows of the `base`, the one stream that minus does not
    name, which no live row of B matches. `group_by` and `aggregates` ({"n": "COUNT(*)"}, or an `eddy.Aggregate`)
    aggregate the results; so do aggregates in `select`, `having` and `distinct`. The attribute `select` then holds the
    columns that this reads, and `outputs` what a result shows; so it does where expressions are selected, which are in
    `computed`. `order_by` (["n DESC"]), `limit` and `offset` sort and cut what `engine.table()` shows of the groups.

    `attach=[LeftJoin("B", on="A.k = B.k")]` attaches streams to the composites of the others, the `core`. Predicates of
    `where` that read an attached stream are tested behind all attachments, in `after`, and so are those of ``after``.
    `only={"A": "A.v > 1"}` says which rows of A take part at all: beside `RightJoin` and `FullJoin`, which give results
    without a row of A, `where` says something else. With ``changes`` results are withdrawn as soon as they do not hold
    any more.
    """

    streams: dict[str, Stream]
    predicates: tuple[Expression, ...]
    key_classes: tuple[KeyClass, ...]
    filters: dict[str, Expression]
    residuals: tuple[Residual, ...]
    select: tuple[Output, ...]
    computed: tuple[Computed, ...]
    cross: bool
    edges: tuple[frozenset[str], ...]
    base: str | None
    minus: tuple[Minus, ...]
    group_by: tuple[Output | Computed, ...]
    aggregates: tuple[AggregateOutput, ...]
    having: Expression | None
    cut: Cut
    """How `engine.table()` is sorted and cut."""
    attachments: tuple[Attachment, ...]
    after: Expression | None
    only: Rows
    """Which rows of a stream take part, where `where` does not say the same."""
    changes: bool
    core: Query
    """The query of the streams that nothing attaches, whose results the attachments are applied to; else this one."""
    allowed: dict[str, Range]
    """Windows that lose nothing, for streams whose times predicates bound, whether or not they have them."""
    followed: frozenset[str]
    """Streams that were given no window, and have the one that is allowed."""
    _clock: Clock | None

    @shows_places
    def __init__(
        self,
        streams: Mapping[str, Stream | Mapping[str, object]],
        where: Predicate | Iterable[Predicate] = (),
        select: str | UserFunction | Iterable[str | UserFunction] | None = None,
        cross: bool = False,
        minus: Mapping[str, Predicate | Iterable[Predicate]] | None = None,
        group_by: str | UserFunction | Iterable[str | UserFunction] | None = None,
        aggregates: Mapping[str, str | Aggregate | OwnFunction] | None = None,
        having: str | None = None,
        distinct: bool = False,
        attach: Attach | Iterable[Attach] = (),
        after: Predicate | Iterable[Predicate] = (),
        only: Only | None = None,
        changes: bool = False,
        order_by: str | Iterable[str] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> None:
        declared = _streams(streams)
        scope = Scope({name: stream.columns for name, stream in declared.items()})
        rows = parse_only(only, scope)
        times = {name: stream.time for name, stream in declared.items()}
        attached = narrowed(attachments(attach, scope, times), rows)
        if attached:
            if minus is not None:
                raise QueryError("minus does not go with attach: write eddy.AntiJoin in the place of minus")
            scope = _seen(scope, attached)
            last = [one.stream for one in attached]
            declared = {name: declared[name] for name in (*(n for n in declared if n not in last), *last)}
        core = {name: stream for name, stream in declared.items() if name not in {a.stream for a in attached}}
        every = tuple(_predicates(where, scope))
        predicates = tuple(predicate for predicate in every if predicate.streams <= core.keys())
        behind = [p for p in every if p not in predicates] + list(_predicates(after, scope))
        if any(one.join.keeps_right for one in attached):  # it holds for rows without a composite, too
            alone = [p for p in predicates if len(p.streams) <= 1]
            behind = list(dict.fromkeys((*alone, *behind)))
            predicates = tuple(p for p in predicates if p not in alone or refuses_null(p))
        own = [part for name in core for part in rows.get(name, ())]
        predicates = (*predicates, *(part for part in dict.fromkeys(own) if part not in predicates))
        base: str | None = None
        subtracted: tuple[Minus, ...] = ()
        classes: tuple[KeyClass, ...] = ()
        edges: list[frozenset[str]]
        if minus is None and len(core) == 1:  # a difference from which nothing is subtracted
            (base,) = core
            rest, edges = list(predicates), []
        elif minus is None:
            classes, rest = key_classes(predicates, list(core))
            edges = [frozenset(c.members) for c in classes]
        else:
            if cross:
                raise QueryError("a difference combines no rows: leave cross out, or minus")
            found = difference(minus, predicates, scope)
            base, subtracted, classes = found.base, found.minus, found.key_classes
            rest = [*predicates, *found.implied]
            edges = [frozenset((base, inner.stream)) for inner in subtracted]
            scope = scope.only(base)
        filters, between = _filters(rest, base or next(iter(core)))
        filters |= {one.stream: one.filter for one in attached if one.filter is not None}
        kept = residuals(between)
        edges += [residual.streams for residual in kept]
        clock = clock_of(declared)
        window_numbers(declared, clock)  # refuses widths that do not fit
        shows = parse_shown(
            select, group_by, aggregates, having, flag("distinct", distinct, QueryError), scope
        )
        allowed = windows_of_all(declared, clock, predicates, attached)
        signed = bool(
            minus is not None or shows.aggregates or shows.group_by or flag("changes", changes, QueryError)
        )
        followed = frozenset(name for name in allowed if follows(declared[name]) and not signed)
        for name in followed:
            declared[name] = evolve(declared[name], window=allowed[name])
        self.__attrs_init__(
            streams=declared,
            predicates=predicates,
            key_classes=classes,
            filters=filters,
            residuals=kept,
            select=shows.select,
            computed=shows.computed,
            cross=flag("cross", cross, QueryError),
            edges=tuple(dict.fromkeys(edges)),
            base=base,
            minus=subtracted,
            group_by=shows.group_by,
            aggregates=shows.aggregates,
            having=shows.having,
            attachments=attached,
            after=conjunction(behind) if behind else None,
            only=told_apart(rows, attached),
            changes=changes,
            core=self,
            cut=parse_cut(order_by, limit, offset, shows.shown, shows.grouped, scope),
            allowed=allowed,
            followed=followed,
            clock=clock,
        )
        if attached:
            object.__setattr__(self, "core", _core(self, {name: declared[name] for name in core}))
        self._warn_of_losses()
        if not self.core.connected(self.core.names) and not cross:
            raise QueryError(_unconnected(self.core))

    @property
    def outputs(self) -> tuple[tuple[str, ColumnType], ...]:
        """Name and type of each column that a result shows: those of select, or the groups' and aggregates."""
        return tuple((output.name, output.type) for output in self.shown)

    @property
    def shown(self) -> tuple[Output | AggregateOutput | Computed, ...]:
        """What a result shows."""
        return self.computed or (*self.group_by, *self.aggregates) or self.select

    @property
    def grouped(self) -> bool:
        """Whether results are aggregated: what is shown are groups, of which there may be one."""
        return bool(self.group_by or self.aggregates)

    @property
    def in_order(self) -> bool:
        """Whether an aggregate asks in which order results come."""
        return any(one.in_order for one in self.aggregates)

    @property
    def keeps_right(self) -> bool:
        """Whether there are results without a row of the core."""
        return any(one.join.keeps_right for one in self.attachments)

    @property
    def read_later(self) -> frozenset[tuple[str, str]]:
        """Streams and columns that attachments read, and the predicates behind them."""
        after = self.after.columns if self.after is not None else frozenset()
        return after.union(*[one.columns for one in self.attachments])

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

    def length_of(self, stream: str, value: Width, what: str) -> int:
        """A length of time as a number in the common unit: a duration, or a number in the unit of the stream's time."""
        if self._clock is None:
            raise QueryError(f"{what} needs a time column in every stream")
        return self._clock.width(stream, length(what, value, 0), what, False)

    def window_table(self) -> tuple[Array, Array]:
        """Kind and parameter of each stream's window, widths of time in the common unit.

        Kinds: 0 unbounded, 1 rows n, 2 range w, 3 tumbling by n rows, 4 tumbling by time w, 6 sliding w. (5 is for
        engines that have some of the rows.)
        """
        return window_numbers(self.streams, self._clock)[:2]

    def window_steps(self) -> Array:
        """By how much the window of each stream moves at a time, if it is a sliding one."""
        return window_numbers(self.streams, self._clock)[2]

    def as_declared(self) -> Query:
        """The query with the windows that it was given, for results that are withdrawn: if a row can join with nothing
        more, that is no reason to withdraw what it has joined with."""
        if not self.followed:
            return self
        streams = {
            name: evolve(stream, window=Unbounded()) if name in self.followed else stream
            for name, stream in self.streams.items()
        }
        return changed(self, streams=streams, followed=frozenset())

    def _warn_of_losses(self) -> None:
        """Tell of windows that are shorter than predicates allow."""
        for name, window in self.allowed.items():
            assert self._clock is not None
            if is_shorter(self.streams[name], name, window, self._clock):
                why = "is shorter than the predicates allow: results whose rows are further apart"
                if isinstance(self.streams[name].window, Tumbling):
                    why = "begins anew with each pane: results that the predicates allow of rows in two panes"
                warnings.warn(
                    f"the window of {name}, {self.streams[name].window!r}, {why} are lost. {window!r}, or no window at "
                    "all, loses none",
                    LossyWindow,
                    stacklevel=_outside(),
                )

    @property
    def signed(self) -> bool:
        """Whether results are withdrawn as well as given: those of a set difference and of aggregates are, and those of
        a query that asks for changes."""
        return bool(self.minus or self.grouped or self.changes)

    def accepts(self, policy: Restricted) -> bool:
        """Whether a routing policy or a migration technique can work for it: some are for joins only."""
        return self.base is None or not policy.joins_only

    def connected(self, names: Iterable[str]) -> bool:
        """Whether predicates among these streams alone connect all of them."""
        return len(_components(self, names)) <= 1

    def run(self, sources: Mapping[str, Any], sink: Any = None, **options: Any) -> Any:
        """Run it over sources: `eddy.run(query, sources, sink, ...)`, whose `eddy.Outcome` it returns."""
        import eddy

        return eddy.run(self, sources, sink, **options)

    def __str__(self) -> str:
        """SQL that `eddy.sql` reads back, user predicates excepted; own aggregates are to be given to it."""
        return text_of(self)

    def __repr__(self) -> str:
        return f"<Query {' '.join(str(self).split())}>"

    def _repr_html_(self) -> str:
        streams = [
            (name, stream.window, ", ".join(f"{column} {kind}" for column, kind in stream.columns.items()))
            for name, stream in self.streams.items()
        ]
        return f"<pre>{escape(str(self))}</pre>" + html_table(("stream", "window", "columns"), streams)


def changed(query: Query, **parts: object) -> Query:
    """A query with other streams or outputs that say the same of its predicates, which are not parsed again."""
    own = {field.name.lstrip("_"): getattr(query, field.name) for field in fields(Query)}
    copy: Any = object.__new__(Query)
    copy.__attrs_init__(**{**own, **parts})
    made: Query = copy
    core = {name: stream for name, stream in made.streams.items() if name in made.core.streams}
    object.__setattr__(made, "core", _core(made, core) if made.attachments else made)
    return made


def _core(query: Query, streams: dict[str, Stream]) -> Query:
    """The query of these streams, which are not attached: their joins, and every column that somebody reads later."""
    own = {field.name.lstrip("_"): getattr(query, field.name) for field in fields(Query)}
    read = {(output.stream, output.column) for output in query.select}
    read |= {pair for one in query.attachments for pair in one.columns}
    read |= query.after.columns if query.after is not None else frozenset()
    columns = [(s, c, streams[s].columns[c]) for s, c in sorted(read) if s in streams]
    core: Any = object.__new__(Query)
    core.__attrs_init__(
        **{
            **own,
            "streams": streams,
            "filters": {name: found for name, found in query.filters.items() if name in streams},
            "select": tuple(Output(f"{s}.{c}", s, c, kind) for s, c, kind in columns),
            "attachments": (),
            "after": None,
            "only": {},
            "core": core,
            **dict.fromkeys(("computed", "group_by", "aggregates"), ()),
            "having": None,
        }
    )
    found: Query = core
    return found


def _seen(scope: Scope, attached: Sequence[Attachment]) -> Scope:
    """What a result may show: no column of a stream that is asked about only."""
    asked = {one.stream for one in attached if not one.join.pairs}
    shows = {name: columns for name, columns in scope.streams.items() if name not in asked}
    return Scope(shows, {name: scope.streams[name] for name in asked})


def _outside() -> int:
    """How far up the stack the caller of the library is, for a warning of the function that asks."""
    level, frame = 1, inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("eddy."):
        level, frame = level + 1, frame.f_back
    return level


def _streams(streams: object) -> dict[str, Stream]:
    if not isinstance(streams, Mapping):
        raise QueryError(f"a query needs its streams as a dict of names and Streams, not {shown(streams)}")
    if not streams:
        raise QueryError("a query needs at least one stream: streams is empty")
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


def _predicates(where: object, scope: Scope) -> Iterable[Expression]:
    if isinstance(where, (str, UserPredicate, UserFunction, Expression)):
        where = [where]
    if not isinstance(where, Iterable):
        raise QueryError(
            f"where takes a predicate such as 'A.x = B.x', or a list of them, not {shown(where)}"
        )
    for given in where:
        if isinstance(given, UserPredicate):
            yield given.bind(scope)
        elif isinstance(given, UserFunction):
            yield condition(given.bind(scope), scope)
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
            for part in implied(predicate):
                alone.setdefault(next(iter(part.streams)), []).append(part)
        elif streams:
            alone.setdefault(next(iter(streams)), []).append(predicate)
        else:
            never = never or not predicate.holds(_nothing, 1)[0]
    if never:
        alone[first] = [Literal(False, BOOL)]
    return {stream: conjunction(parts) for stream, parts in alone.items()}, between


def _nothing(stream: str, column: str) -> NoReturn:
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
        "or pass cross=True, in SQL CROSS JOIN, if every combination is meant"
    )
