"""Subqueries in FROM, WITH, and parenthesised joins, put into the query that they stand in.

Windows come before predicates, so a subquery that filters, projects or joins says the same where its streams are those
of the whole query: its conditions hold for the whole, and its columns stand for what they are computed of. Beside outer
joins there is more to it (`sides`). What aggregates, or takes some rows only, cannot be put so, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import define, field
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.lines import Line
from eddy.query.merging import Entry, entries, names_of_star, put_as_on
from eddy.query.names import nearest
from eddy.query.outputs import is_everything, written
from eddy.query.own_calls import has_aggregate
from eddy.query.place import about, at, in_place_of
from eddy.query.sides import Item, Part, Sides, check_strict
from eddy.query.steps import IN_LINE, Group, Link, joins_of, needs_line

Columns = Callable[[str], Sequence[str]]
"""The columns of a stream, by the name of its schema."""
_REFUSED = {
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "order": "ORDER BY",
}

_PUSH = "push these rows to a stream of their own"
_NO_TABLE = {
    exp.Lateral: "write JOIN ... ON, or EXISTS (SELECT ...) in WHERE",
    exp.Values: f"{_PUSH}, such as v [STATIC]",
}
_BOTH = {"union": "push the rows of both to one stream"}


def is_plain(select: exp.Select) -> bool:
    """Whether a query is over streams alone, in one line."""
    joins = select.args.get("joins") or ()
    tables = [select.args["from_"].this, *(join.this for join in joins)]
    plain = all(isinstance(table, exp.Table) and not table.args.get("joins") for table in tables)
    return (
        plain and not select.args.get("with_") and not any(map(_is_turned, joins)) and not needs_line(joins)
    )


def flattened(select: exp.Select, columns: Columns) -> exp.Select:
    """The same query over streams alone, in one line; itself if it is."""
    if is_plain(select):
        return select
    return _Flat(columns).of(select.copy(), {})


@define
class _Flat:
    """Flattens one statement, and those within it."""

    columns: Columns
    nested: bool = False
    """Whether it is a subquery, whose columns have no stream in their names."""
    streams: dict[str, exp.Table] = field(factory=dict)
    """All streams so far, by the names that they have in the whole query."""
    sides: Sides = field(factory=Sides)

    def of(self, select: exp.Select, known: Mapping[str, exp.Expr]) -> exp.Select:
        """A statement whose FROM has streams alone; ``known`` are the statements of WITH."""
        with_ = select.args.pop("with_", None)
        ctes = {**known}
        for cte in with_.expressions if with_ is not None else ():
            if with_.args.get("recursive"):
                told = "WITH RECURSIVE is not supported: a query joins streams, and does not repeat"
                raise about(cte.args["alias"], QueryError(told))
            ctes[cte.alias] = exp.Subquery(this=cte.this, alias=cte.args["alias"])
        parts: list[Part] = []
        items = [(select.args["from_"].this, None)]
        items += [(join.this, join) for join in select.args.get("joins") or ()]
        tables, where, found = self._group(items, ctes, parts)
        if any(part.derived for part in parts) or any(entry.merged for entry in found):
            own = [join for join in joins_of(tables) if id(join) in self.sides.numbers]
            self._rename(select, parts, found, own)
        self.sides.say()
        for condition in where:
            select.where(condition, copy=False)
        line = Line(self.owner).of(tables)
        select.set("from_", exp.From(this=line[0][0]))
        joins = []
        for stream, join in line[1:]:
            join = exp.Join() if join is None else join
            if self.nested:
                join.meta[IN_LINE] = True
            join.set("this", stream)
            joins.append(join)
        select.set("joins", joins)
        return select

    def _group(
        self,
        items: Sequence[tuple[exp.Expr, exp.Join | None]],
        ctes: Mapping[str, exp.Expr],
        parts: list[Part],
    ) -> tuple[list[Link], list[exp.Expr], list[Entry]]:
        """Items of FROM, or of a join in parentheses, with their joins, what is true of all of them, and their
        columns."""
        found: list[Item] = []
        sides: list[list[Entry]] = []
        for table, join in items:
            item = Item(join, [], [], [])
            with at(table):
                within = self._add(table, join, ctes, item.parts, item.links, item.conditions)
            sides.append(entries(item) if within is None else within)
            found.append(item)
            parts += item.parts
        columns = put_as_on(found, sides)
        with at(items[-1][0]):
            return (*self.sides.settled(found), columns)

    def _nested(
        self,
        group: Sequence[tuple[exp.Expr, exp.Join | None]],
        join: exp.Join | None,
        ctes: Mapping[str, exp.Expr],
        parts: list[Part],
        tables: list[Link],
        where: list[exp.Expr],
    ) -> list[Entry]:
        """A join in parentheses; its columns."""
        own, conditions, found = self._group(group, ctes, parts)
        tables.append((Group(own) if len(own) > 1 else own[0][0], join))
        where += conditions
        return found

    def _add(
        self,
        table: exp.Expr,
        join: exp.Join | None,
        ctes: Mapping[str, exp.Expr],
        parts: list[Part],
        tables: list[Link],
        where: list[exp.Expr],
    ) -> list[Entry] | None:
        """One item of FROM: a stream, a join in parentheses, or a subquery; of a join its columns."""
        if isinstance(table, exp.Table) and table.name in ctes and not table.db:
            named = ctes[table.name].copy()
            if table.alias:
                named.args["alias"].set("this", exp.to_identifier(table.alias))
            table = named
        if isinstance(table, exp.Table):
            nested = table.args.pop("joins", None) or []
            if nested:
                within = [(table, None), *((inner.this, inner) for inner in nested)]
                return self._nested(within, join, ctes, parts, tables, where)
            name = table.alias or table.name
            if name in self.streams:
                raise QueryError(
                    f"stream {name} is named twice, here and in a subquery: give each its own alias, {name} AS a"
                )
            self.streams[name] = table
            with at(table):
                shown: dict[str, exp.Expr] = {
                    column: exp.column(column, name, quoted=True) for column in self.columns(table.name)
                }
            parts.append(Part(name, shown, False))
            tables.append((table, join))
            return None
        if not isinstance(table, exp.Subquery):
            instead = next((text for kind, text in _NO_TABLE.items() if isinstance(table, kind)), _PUSH)
            raise QueryError(f"FROM takes streams and subqueries, not {table.sql()}: {instead}")
        inner = table.this
        if isinstance(inner, (exp.Table, exp.Subquery)):
            joins = table.args.get("joins") or []
            if table.alias and isinstance(inner, exp.Subquery) and not joins and not inner.alias:
                inner.set("alias", table.args["alias"])  # ((SELECT ...)) AS q
            elif table.alias:
                raise QueryError(f"a join in parentheses has no name of its own: leave AS {table.alias} out")
            group = [(inner, None), *((nested.this, nested) for nested in joins)]
            return self._nested(group, join, ctes, parts, tables, where)
        beside = table.args.pop("joins", None)
        if beside:  # ((SELECT ...) AS q JOIN ...)
            group = [(table, None), *((nested.this, nested) for nested in beside)]
            return self._nested(group, join, ctes, parts, tables, where)
        if not isinstance(inner, exp.Select):
            raise QueryError(
                f"{inner.key.upper()} in FROM is not supported: a subquery filters, projects or joins streams; "
                + _BOTH.get(inner.key, _PUSH)
            )
        self._subquery(table, inner, join, ctes, parts, tables, where)
        return None

    def _subquery(
        self,
        table: exp.Subquery,
        inner: exp.Select,
        join: exp.Join | None,
        ctes: Mapping[str, exp.Expr],
        parts: list[Part],
        tables: list[Link],
        where: list[exp.Expr],
    ) -> None:
        name = table.alias
        _check(inner, name)
        within = _Flat(self.columns, nested=True)
        flat = within.of(inner, ctes)
        shown = within.outputs(flat)
        for node in (flat.args.get("where"), *(flat.args.get("joins") or ())):
            for clause in ("this", "on") if isinstance(node, exp.Where) else ("on",):
                if node is not None and node.args.get(clause):
                    node.set(clause, within.qualified(node.args[clause]))
        listed = table.args["alias"].columns if table.args.get("alias") else []
        if listed:
            if len(listed) != len(shown):
                told = f"{name} names {len(listed)} columns, and its subquery has {len(shown)}"
                raise about(table.args["alias"], QueryError(told))
            shown = {one.name: expression for one, expression in zip(listed, shown.values(), strict=True)}
        inside = list(within.streams.items())
        if (
            len(inside) == 1 and name and name not in self.streams
        ):  # its stream takes the name of the subquery
            ((old, stream),) = inside
            place = stream.args["alias"].this if stream.args.get("alias") else stream.this
            renamed = exp.to_identifier(name, quoted=True)
            renamed.meta.update(place.meta)  # where a window may stand behind
            stream.set("alias", exp.TableAlias(this=renamed))
            shown = {
                column: _moved(expression, old, name, self.columns) for column, expression in shown.items()
            }
            if flat.args.get("where"):
                flat.set("where", _moved(flat.args["where"], old, name, self.columns))
            inside = [(name, stream)]
        for one, stream in inside:
            if one in self.streams:
                raise QueryError(
                    f"stream {one} is named twice, in {name or 'a subquery'} and outside: give each its own alias, "
                    f"{one} AS a"
                )
            self.streams[one] = stream
        parts.append(Part(name, shown, True))
        if flat.args.get("where"):
            where.append(flat.args["where"].this)
        first: Link = (flat.args["from_"].this, None)
        own = [first, *((inside.this, inside) for inside in flat.args.get("joins") or ())]
        tables.append((Group(own) if len(own) > 1 else first[0], join))

    def outputs(self, select: exp.Select) -> dict[str, exp.Expr]:
        """What a statement shows, by name: a column by its own, without its stream."""
        found: dict[str, exp.Expr] = {}
        for item in select.expressions:
            if is_everything(item):
                names = [item.table] if isinstance(item, exp.Column) else list(self.streams)
                if names[0] not in self.streams:
                    told = f"unknown stream {names[0]}: {nearest(names[0], self.streams)}"
                    raise about(item, QueryError(told))
                more = {
                    column: exp.column(column, name, quoted=True)
                    for name in names
                    for column in self.columns(self.streams[name].name)
                }
                count = sum(len(self.columns(self.streams[name].name)) for name in names)
                if len(more) < count or found.keys() & more.keys():
                    told = f"{item.sql()} of a subquery has two columns of one name: name those that you mean"
                    raise about(item, QueryError(told))
                found |= more
                continue
            inner = item.unalias()
            name = item.alias if isinstance(item, exp.Alias) else inner.name or written(inner)
            if name in found:
                told = f"two columns of a subquery are called {name}: rename one with AS"
                raise about(item, QueryError(told))
            found[name] = self.qualified(inner)
        return found

    def qualified(self, node: exp.Expr) -> exp.Expr:
        """The same with a stream for each column."""

        def qualify(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.table or _is_asked(part, self.columns):
                return part
            owner = self.owner(part)
            return in_place_of(exp.column(part.name, owner, quoted=True), part) if owner else part

        return node.copy().transform(qualify)

    def owner(self, column: exp.Column) -> str:
        """The stream of a column; nothing if it may be one of several."""
        if column.table:
            return column.table
        found = [name for name, table in self.streams.items() if column.name in self.columns(table.name)]
        return found[0] if len(found) == 1 else ""

    def _rename(
        self, select: exp.Select, parts: Sequence[Part], columns: Sequence[Entry], joins: Sequence[exp.Join]
    ) -> None:
        """Put expressions in the place of the columns of subqueries, everywhere in a statement."""
        by_name = {part.name: part for part in parts}
        aliases = {item.alias for item in select.expressions if isinstance(item, exp.Alias)}

        reads: exp.Join | None = None

        def replaced(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.is_star:
                return node
            if node.table:
                part = by_name.get(node.table)
                if part is None or not part.derived:
                    return node
                return self._shown(part, node, reads)
            if _is_asked(node, self.columns):
                return node
            owners = [e for e in columns if e.column == node.name and (e.shown or reads is not None)]
            if len(owners) > 1:
                either = " or ".join(map(str, owners))
                told = f"column {node.name} is ambiguous: write {either}"
                raise about(node, QueryError(told))
            if not owners and node.name not in aliases:
                known = dict.fromkeys(column for part in parts for column in part.shown)
                told = f"no item of FROM has a column {node.name}: {nearest(node.name, known)}"
                raise about(node, QueryError(told))
            return self._entry(owners[0], node, reads) if owners else node

        items: list[exp.Expr] = []
        for item in select.expressions:
            if is_everything(item):
                if isinstance(item, exp.Column) and item.table not in by_name:
                    told = f"unknown stream {item.table}: {nearest(item.table, by_name)}"
                    raise about(item, QueryError(told))
                wanted = [*names_of_star(columns)]
                if isinstance(item, exp.Column):
                    of = by_name[item.table]
                    wanted = [*names_of_star([Entry(column, ((of, column),)) for column in of.shown])]
                for name, entry in wanted:
                    name = entry.column if self.nested else name
                    items.append(exp.alias_(self._entry(entry, item, None), name, quoted=True))
            elif isinstance(item, exp.Alias):
                items.append(exp.alias_(item.this.copy().transform(replaced), item.alias, quoted=True))
            else:
                name = item.name if self.nested and isinstance(item, exp.Column) else written(item)
                items.append(exp.alias_(item.copy().transform(replaced), name, quoted=True))
        select.set("expressions", items)
        for clause in ("where", "group", "having"):
            if select.args.get(clause):
                select.set(clause, select.args[clause].transform(replaced))
        for join in joins:
            if join.args.get("on"):
                reads = join
                join.set("on", join.args["on"].transform(replaced))

    def _entry(self, entry: Entry, node: exp.Expr, reads: exp.Join | None) -> exp.Expr:
        """What stands for a column without a stream."""
        of = [
            self._shown(part, in_place_of(exp.column(column, part.name, quoted=True), node), reads)
            for part, column in entry.of
        ]
        return in_place_of(exp.func("COALESCE", *of), node) if len(of) > 1 else of[0]

    def _shown(self, part: Part, column: exp.Column, reads: exp.Join | None) -> exp.Expr:
        """What stands for a column of a subquery where a join reads it, or what is behind all joins; an error in it is
        one of where the column is used."""
        if column.name not in part.shown:
            told = f"{part.name} has no column {column.name}: {nearest(column.name, part.shown)}"
            raise about(column, QueryError(told))
        if part.derived and self.sides.is_nulled(part, reads):
            with at(column):
                check_strict(part, column.name)
        expression = part.shown[column.name].copy()
        whole = expression if isinstance(expression, (exp.Column, exp.Literal)) else exp.paren(expression)
        return in_place_of(whole, column)


def _is_asked(column: exp.Expr, columns: Columns) -> bool:
    """Whether a bare column is one of the stream that a subquery of EXISTS or IN reads."""
    select = column.find_ancestor(exp.Select)
    if select is None or select.args.get("from_") is None:
        return False
    table = select.args["from_"].this
    return isinstance(table, exp.Table) and column.name in columns(table.name)


def _moved(node: exp.Expr, old: str, new: str, columns: Columns) -> exp.Expr:
    """The same where a stream has another name; bare columns are its, but for those of a subquery of EXISTS or IN."""

    def renamed(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.is_star or part.table not in (old, ""):
            return part
        if part.table or not _is_asked(part, columns):
            return in_place_of(exp.column(part.name, new, quoted=True), part)
        return part

    return node.copy().transform(renamed)


def _check(select: exp.Select, name: str) -> None:
    """Refuse a subquery that is more than filters, projections and joins."""
    what = next((text for clause, text in _REFUSED.items() if select.args.get(clause)), None)
    if what is None and any(item.find(exp.Window) or has_aggregate(item) for item in select.expressions):
        what = "an aggregate"
    if what is not None:
        raise QueryError(
            f"the subquery {name or '(...)'} has {what}: a subquery filters, projects or joins streams; run it in an "
            "engine of its own, and push its results"
        )
    if not select.args.get("from_"):
        raise QueryError(f"the subquery {name or '(...)'} has no FROM: name the streams that it reads")


def _is_turned(join: exp.Join) -> bool:
    """Whether USING or NATURAL merges columns of which the left one may be NULL."""
    return join.side in ("RIGHT", "FULL") and bool(join.args.get("using") or join.method == "NATURAL")
