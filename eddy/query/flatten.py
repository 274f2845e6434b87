"""Subqueries in FROM, WITH, and parenthesised joins, put into the query that they stand in.

All joins are inner joins, and windows come before predicates, so a subquery that filters, projects or joins says the
same where its streams are streams of the whole query: its conditions hold for the whole, and its columns stand for what
they are computed of. What aggregates, or takes some rows only, cannot be put so, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import define, field
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.names import nearest
from eddy.query.outputs import is_everything, written
from eddy.query.place import about, at, in_place_of

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


def flattened(select: exp.Select, columns: Columns) -> exp.Select:
    """The same query over streams alone; itself if it is."""
    tables = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    if not select.args.get("with_") and all(isinstance(table, exp.Table) for table in tables):
        return select
    return _Flat(columns).of(select.copy(), {})


@define
class _Part:
    """One item of FROM: what can be named of it, and by which expressions."""

    name: str
    shown: dict[str, exp.Expr]
    """Of a stream its columns, of a subquery its outputs."""
    derived: bool


@define
class _Flat:
    """Flattens one statement, and those within it."""

    columns: Columns
    streams: dict[str, exp.Table] = field(factory=dict)
    """All streams so far, by the names that they have in the whole query."""

    def of(self, select: exp.Select, known: Mapping[str, exp.Expr]) -> exp.Select:
        """A statement whose FROM has streams alone; ``known`` are the statements of WITH."""
        with_ = select.args.pop("with_", None)
        ctes = {**known}
        for cte in with_.expressions if with_ is not None else ():
            if with_.args.get("recursive"):
                told = "WITH RECURSIVE is not supported: a query joins streams, and does not repeat"
                raise about(cte.args["alias"], QueryError(told))
            ctes[cte.alias] = exp.Subquery(this=cte.this, alias=cte.args["alias"])
        parts: list[_Part] = []
        tables: list[tuple[exp.Table, exp.Join | None]] = []
        where: list[exp.Expr] = []
        items = [(select.args["from_"].this, None)]
        items += [(join.this, join) for join in select.args.get("joins") or ()]
        for table, join in items:
            with at(table):
                self._add(table, join, ctes, parts, tables, where)
        if any(part.derived for part in parts):
            self._rename(select, parts, [join for _, join in tables if join is not None])
        for condition in where:
            select.where(condition, copy=False)
        select.set("from_", exp.From(this=tables[0][0]))
        joins = []
        for stream, join in tables[1:]:
            join = exp.Join() if join is None else join
            join.set("this", stream)
            joins.append(join)
        first = tables[0][1]
        if first is not None and first.args.get("on") is not None:
            select.where(first.args["on"], copy=False)
        select.set("joins", joins)
        return select

    def _add(
        self,
        table: exp.Expr,
        join: exp.Join | None,
        ctes: Mapping[str, exp.Expr],
        parts: list[_Part],
        tables: list[tuple[exp.Table, exp.Join | None]],
        where: list[exp.Expr],
    ) -> None:
        """One item of FROM: a stream, a join in parentheses, or a subquery."""
        if isinstance(table, exp.Table) and table.name in ctes and not table.db:
            named = ctes[table.name].copy()
            if table.alias:
                named.args["alias"].set("this", exp.to_identifier(table.alias))
            table = named
        if isinstance(table, exp.Table):
            nested = table.args.pop("joins", None) or []
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
            parts.append(_Part(name, shown, False))
            tables.append((table, join))
            for inner in nested:
                self._add(inner.this, inner, ctes, parts, tables, where)
            return
        if not isinstance(table, exp.Subquery):
            raise QueryError(f"FROM takes streams and subqueries, not {table.sql()}")
        inner = table.this
        if isinstance(inner, (exp.Table, exp.Subquery)):
            if table.alias:
                raise QueryError(f"a join in parentheses has no name of its own: leave AS {table.alias} out")
            before = len(tables)
            self._add(inner, join, ctes, parts, tables, where)
            for nested in table.args.get("joins") or []:
                self._add(nested.this, nested, ctes, parts, tables, where)
            _refuse_using(join, tables[before:], "a join in parentheses")
            return
        if not isinstance(inner, exp.Select):
            raise QueryError(
                f"{inner.key.upper()} in FROM is not supported: a subquery filters, projects or joins streams"
            )
        self._subquery(table, inner, join, ctes, parts, tables, where)

    def _subquery(
        self,
        table: exp.Subquery,
        inner: exp.Select,
        join: exp.Join | None,
        ctes: Mapping[str, exp.Expr],
        parts: list[_Part],
        tables: list[tuple[exp.Table, exp.Join | None]],
        where: list[exp.Expr],
    ) -> None:
        name = table.alias
        _check(inner, name)
        within = _Flat(self.columns)
        flat = within.of(inner, ctes)
        shown = within.outputs(flat)
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
            shown = {column: _moved(expression, old, name) for column, expression in shown.items()}
            if flat.args.get("where"):
                flat.set("where", _moved(flat.args["where"], old, name))
            inside = [(name, stream)]
        for one, stream in inside:
            if one in self.streams:
                raise QueryError(
                    f"stream {one} is named twice, in {name or 'a subquery'} and outside: give each its own alias, "
                    f"{one} AS a"
                )
            self.streams[one] = stream
        parts.append(_Part(name, shown, True))
        if flat.args.get("where"):
            where.append(flat.args["where"].this)
        own = [(flat.args["from_"].this, join), *((j.this, j) for j in flat.args.get("joins") or ())]
        _refuse_using(join, own, f"the subquery {name}")
        tables += own

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
            found[name] = self._qualified(inner)
        return found

    def _qualified(self, node: exp.Expr) -> exp.Expr:
        """The same with a stream for each column."""
        owners: dict[str, list[str]] = {}
        for name, table in self.streams.items():
            for column in self.columns(table.name):
                owners.setdefault(column, []).append(name)

        def qualify(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and not part.table and len(owners.get(part.name, ())) == 1:
                return in_place_of(exp.column(part.name, owners[part.name][0], quoted=True), part)
            return part

        return node.copy().transform(qualify)

    def _rename(self, select: exp.Select, parts: Sequence[_Part], joins: Sequence[exp.Join]) -> None:
        """Put expressions in the place of the columns of subqueries, everywhere in a statement."""
        by_name = {part.name: part for part in parts}
        aliases = {item.alias for item in select.expressions if isinstance(item, exp.Alias)}

        def replaced(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.is_star:
                return node
            if node.table:
                part = by_name.get(node.table)
                if part is None or not part.derived:
                    return node
                return _shown(part, node)
            owners = [part for part in parts if node.name in part.shown]
            if len(owners) > 1:
                either = " or ".join(f"{o.name}.{node.name}" for o in owners)
                told = f"column {node.name} is ambiguous: write {either}"
                raise about(node, QueryError(told))
            if not owners and node.name not in aliases:
                known = dict.fromkeys(column for part in parts for column in part.shown)
                told = f"no item of FROM has a column {node.name}: {nearest(node.name, known)}"
                raise about(node, QueryError(told))
            return _shown(owners[0], node) if owners else node

        items: list[exp.Expr] = []
        for item in select.expressions:
            if is_everything(item):
                if any(join.args.get("using") or join.method == "NATURAL" for join in joins):
                    told = f"{item.sql()} beside USING and subqueries is not supported: name the columns"
                    raise about(item, QueryError(told))
                if isinstance(item, exp.Column) and item.table not in by_name:
                    told = f"unknown stream {item.table}: {nearest(item.table, by_name)}"
                    raise about(item, QueryError(told))
                wanted = [by_name[item.table]] if isinstance(item, exp.Column) else parts
                items += [
                    exp.alias_(in_place_of(expression.copy(), item), f"{part.name}.{column}", quoted=True)
                    for part in wanted
                    for column, expression in part.shown.items()
                ]
            elif isinstance(item, exp.Alias):
                items.append(exp.alias_(item.this.copy().transform(replaced), item.alias, quoted=True))
            else:
                items.append(exp.alias_(item.copy().transform(replaced), written(item), quoted=True))
        select.set("expressions", items)
        for clause in ("where", "group", "having"):
            if select.args.get(clause):
                select.set(clause, select.args[clause].transform(replaced))
        for join in joins:
            if join.args.get("on"):
                join.set("on", join.args["on"].transform(replaced))


def _shown(part: _Part, column: exp.Column) -> exp.Expr:
    """What stands for a column of a subquery; an error in it is one of where the column is used."""
    if column.name not in part.shown:
        told = f"{part.name} has no column {column.name}: {nearest(column.name, part.shown)}"
        raise about(column, QueryError(told))
    expression = part.shown[column.name].copy()
    whole = expression if isinstance(expression, (exp.Column, exp.Literal)) else exp.paren(expression)
    return in_place_of(whole, column)


def _moved(node: exp.Expr, old: str, new: str) -> exp.Expr:
    """The same where a stream has another name; bare columns are its."""

    def renamed(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and part.table in (old, "") and not part.is_star:
            return in_place_of(exp.column(part.name, new, quoted=True), part)
        return part

    return node.copy().transform(renamed)


def _check(select: exp.Select, name: str) -> None:
    """Refuse a subquery that is more than filters, projections and joins."""
    what = next((text for clause, text in _REFUSED.items() if select.args.get(clause)), None)
    if what is None and any(item.find(exp.AggFunc, exp.Window) for item in select.expressions):
        what = "an aggregate"
    if what is not None:
        raise QueryError(
            f"the subquery {name or '(...)'} has {what}: a subquery filters, projects or joins streams; run it in an "
            "engine of its own, and push its results"
        )
    if not select.args.get("from_"):
        raise QueryError(f"the subquery {name or '(...)'} has no FROM: name the streams that it reads")


def _refuse_using(
    join: exp.Join | None, tables: Sequence[tuple[exp.Table, exp.Join | None]], what: str
) -> None:
    """Which columns USING and NATURAL mean is plain between streams only."""
    of = [join, *(inner for _, inner in tables[1:])]
    if any(one is not None and (one.args.get("using") or one.method == "NATURAL") for one in of):
        raise QueryError(f"USING and NATURAL do not go with {what}: write ON, with both columns")
