"""Outer, semi, anti and as-of joins of a statement, EXISTS and IN (SELECT ...), as attachments of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attachment import (
    AntiJoin,
    AsofJoin,
    Attach,
    FullJoin,
    InnerJoin,
    LeftAsofJoin,
    LeftJoin,
    RightJoin,
    SemiJoin,
    refuses_null,
)
from eddy.query.comparisons import Comparison, Distinct
from eddy.query.expressions import Expression, Literal
from eddy.query.logic import conjunction, conjuncts
from eddy.query.names import Scope
from eddy.query.own_calls import has_aggregate
from eddy.query.parse import condition, parts_of, translate
from eddy.query.place import about, at, in_place_of
from eddy.values.types import BOOL, ColumnType

KINDS: dict[str, type[Attach]] = {
    "LEFT": LeftJoin,
    "LEFT OUTER": LeftJoin,
    "RIGHT": RightJoin,
    "RIGHT OUTER": RightJoin,
    "FULL": FullJoin,
    "FULL OUTER": FullJoin,
    "OUTER": FullJoin,
    "SEMI": SemiJoin,
    "LEFT SEMI": SemiJoin,
    "ANTI": AntiJoin,
    "LEFT ANTI": AntiJoin,
    "ASOF": AsofJoin,
    "ASOF INNER": AsofJoin,
    "ASOF LEFT": LeftAsofJoin,
    "ASOF LEFT OUTER": LeftAsofJoin,
}
"""How a statement says each."""
_SUBQUERY = "a subquery of EXISTS or IN reads one stream, such as EXISTS (SELECT 1 FROM B WHERE B.k = A.k)"
_OF_A_JOIN = {
    False: "put its streams into FROM, and SELECT DISTINCT what is shown: SELECT DISTINCT A.k FROM A JOIN B ON ... "
    "JOIN C ON ...",
    True: "write the join first, and what has none: FROM B JOIN C ON ... RIGHT JOIN A ON B.k = A.k WHERE B.k IS NULL",
}
"""What to write instead of EXISTS, and of NOT EXISTS, over a join of B and C."""
_REFUSED = {
    "joins": "a join",
    "group": "GROUP BY",
    "having": "HAVING",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "with_": "WITH",
}


def kind_of(join: exp.Join | None) -> str:
    """What stands before JOIN, NATURAL aside."""
    if join is None:
        return ""
    method = "" if join.method == "NATURAL" else join.method
    return " ".join(part for part in (method, join.side, join.kind) if part)


@frozen
class Asked:
    """A stream that WHERE asks about: by EXISTS, or by IN."""

    table: exp.Table
    where: exp.Expr | None
    negated: bool
    among: tuple[tuple[exp.Expr, exp.Expr], ...] = ()
    """Of IN: what is to be in, and what it is to be among; several of each in parentheses."""

    @property
    def name(self) -> str:
        """What the stream is called."""
        return self.table.alias or self.table.name


def asked_about(where: exp.Expr | None) -> tuple[list[exp.Expr], list[Asked]]:
    """The conditions that AND joins: those of columns, and those that ask about other streams."""
    plain: list[exp.Expr] = []
    asked: list[Asked] = []
    for part in [] if where is None else _conjuncts(where):
        node, negated = part.unnest(), False
        while isinstance(node, exp.Not):
            node, negated = node.this.unnest(), not negated
        query = node.this if isinstance(node, exp.Exists) else None
        if isinstance(node, (exp.EQ, exp.NEQ)):
            node = _of_any(node)
        if isinstance(node, exp.In) and node.args.get("query"):
            query = node.args["query"]
        if isinstance(node, exp.Not):  # <> ALL
            node, negated, query = node.this, not negated, node.this.args["query"]
        if query is None:
            plain.append(part)
            continue
        with at(part):
            asked.append(_asked(node, query.unnest(), negated))
    return plain, asked


def _conjuncts(where: exp.Expr) -> Iterator[exp.Expr]:
    for part in parts_of(where):
        yield from _conjuncts(part.unnest()) if isinstance(part.unnest(), exp.And) else (part,)


def _asked(node: exp.Expr, query: exp.Expr, negated: bool) -> Asked:
    if not isinstance(query, exp.Select):
        raise QueryError(f"{query.key.upper()} in a subquery is not supported: {_SUBQUERY}")
    what = next((text for clause, text in _REFUSED.items() if query.args.get(clause)), None)
    if what is None and any(map(has_aggregate, query.expressions)):
        what = "an aggregate"
    table = query.args["from_"].this if query.args.get("from_") else None
    if what is None and not isinstance(table, exp.Table):
        what = "no stream in FROM"
    if what == "a join":
        raise QueryError(f"the subquery has a join, and EXISTS and IN read one stream: {_OF_A_JOIN[negated]}")
    if what is not None or not isinstance(table, exp.Table):
        raise QueryError(f"the subquery has {what}: {_SUBQUERY}")
    where = query.args["where"].this if query.args.get("where") else None
    if not isinstance(node, exp.In):
        return Asked(table, where, negated)
    given = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    items = [item.unalias() for item in query.expressions]
    if len(items) != len(given) or any(item.is_star for item in items):
        raise QueryError(
            "the subquery of IN has as many columns as stand before it: A.k IN (SELECT B.k FROM B), or "
            "(A.k, A.x) IN (SELECT B.k, B.x FROM B)"
        )
    return Asked(table, where, negated, tuple(zip(given, items, strict=True)))


def _of_any(node: exp.EQ | exp.NEQ) -> exp.Expr:
    """`= ANY (SELECT ...)` as IN, `<> ALL (SELECT ...)` as NOT IN; any other comparison as it is."""
    quantified = exp.Any if isinstance(node, exp.EQ) else exp.All
    query = node.expression.this if isinstance(node.expression, quantified) else None
    if not isinstance(query, (exp.Select, exp.Subquery)):
        return node
    found = in_place_of(exp.In(this=node.this, query=query), node)
    return found if isinstance(node, exp.EQ) else exp.Not(this=found)


@define
class Attaching:
    """Makes the attachments of a statement, in the order in which it names them."""

    scope: Scope
    """Of the streams of FROM; bare names mean what they mean in SELECT."""
    core: list[str] = field(factory=list)
    """The streams that nothing attaches."""
    attach: list[Attach] = field(factory=list)
    where: list[Expression] = field(factory=list)
    """Predicates of the core."""
    after: list[Expression] = field(factory=list)
    only: dict[str, list[Expression]] = field(factory=dict)
    """What is said of the rows of one stream, and not of results."""
    read: set[str] = field(factory=set)
    """The streams that conditions of attachments read."""

    @property
    def hidden(self) -> list[str]:
        """The streams that are asked about, of which no column is seen."""
        return [join.stream for join in self.attach if not join.pairs]

    @property
    def keeps_right(self) -> bool:
        """Whether there are results without a row of the core."""
        return any(join.keeps_right for join in self.attach)

    def join(self, kind: str, stream: str, on: Sequence[Expression], node: exp.Expr) -> None:
        """One item of FROM."""
        made = KINDS.get(kind)
        attached = {join.stream for join in self.attach}
        reads = frozenset().union(*(part.streams for part in on)) if on else frozenset()
        if made is not None:
            if not self.core:
                raise about(
                    node, QueryError(f"{kind} JOIN has nothing on its left: write the first stream before it")
                )
            self.attach.append(made(stream, tuple(on)))
            self.read |= reads
        elif self.attach and (self.keeps_right or reads & attached):
            self.attach.append(InnerJoin(stream, tuple(on)))
        else:
            self.core.append(stream)
            self.where += [part for part in on if part != Literal(True, BOOL)]

    def filter(self, node: exp.Expr) -> None:
        """A condition of WHERE, which holds for what has gone through all joins.

        Where results may lack the rows of the core, one between its streams is a condition of the core, too, if it does
        not hold for those: what has no partner then is ruled out behind the joins.
        """
        for part in conjuncts(condition(node, self.scope)):
            if self.keeps_right:
                self.after.append(part)
                inside = part.streams <= set(self.core) and len(part.streams) > 1
                if inside and part not in self.where and refuses_null(part):
                    self.where.append(part)
            else:
                self.where.append(part)

    def ask(self, asked: Asked, columns: Mapping[str, ColumnType]) -> None:
        """EXISTS or IN, of a stream with these columns."""
        name = asked.name
        streams = {**self.scope.streams, name: columns}
        scope = Scope(streams, shown=self.scope.shown, merged=self.scope.merged)

        def own(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and not part.table and part.name in columns:
                return in_place_of(exp.column(part.name, name, quoted=True), part)
            return part

        on: list[Expression] = []
        if asked.where is not None:
            on += conjuncts(condition(asked.where.copy().transform(own), scope))
        same: list[Expression] = [
            Comparison("=", translate(one, self.scope), translate(other.copy().transform(own), scope))
            for one, other in asked.among
        ]
        if asked.negated and same:
            # NULL on either side leaves it open whether it is among them: then NOT IN is not true.
            same = [Distinct(conjunction(same), Literal(False, BOOL))]
        on += same
        self.attach.append((AntiJoin if asked.negated else SemiJoin)(name, tuple(on)))

    def subtract(self, stream: str, on: Sequence[Expression]) -> None:
        """EXCEPT, from a join."""
        self.attach.append(AntiJoin(stream, tuple(on)))

    def leave_out(self, stream: str, node: exp.Expr | None) -> None:
        """Rows of a stream that do not satisfy this take no part."""
        if node is not None:
            scope = Scope({stream: self.scope.streams[stream]})
            self.only.setdefault(stream, []).extend(conjuncts(condition(node, scope)))

    def keep_apart(self) -> None:
        """What ON says of one stream of the core is no WHERE for results that have no row of it."""
        if not self.keeps_right:
            return
        for part in [part for part in self.where if len(part.streams) < 2]:
            self.where.remove(part)
            self.only.setdefault(min(part.streams, default=self.core[0]), []).append(part)

    def connect(self) -> None:
        """Streams behind commas that WHERE connects with attached ones only are attached, too."""
        attached = {join.stream for join in self.attach}
        for stream in [stream for stream in self.core[1:] if stream not in self.read]:
            links = [part for part in self.where if stream in part.streams]
            behind = [part for part in links if part.streams & attached]
            if behind and len(behind) == len([part for part in links if len(part.streams) > 1]):
                self.core.remove(stream)
                self.where = [part for part in self.where if part not in links]
                self.attach.append(InnerJoin(stream, tuple(links)))
