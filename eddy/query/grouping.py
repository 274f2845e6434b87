"""SELECT of groups: expressions of what is grouped and of aggregates, HAVING, and DISTINCT.

What is selected is split in two: the aggregates themselves, which are kept up while rows come and go, and the
expressions of them and of the groups' values, which are computed of each row of the changelog.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.aggregates import AggregateOutput, aggregate_of, is_aggregate
from eddy.query.calls import is_known, refusal
from eddy.query.expressions import Expression, Reference
from eddy.query.names import Scope
from eddy.query.outputs import Computed, Output, expanded, refuse_repeated, written
from eddy.query.own_calls import has_aggregate
from eddy.query.parse import condition, translate
from eddy.query.place import about, at, in_place_of


@frozen
class Value(Reference):
    """A value of a group: one that it is grouped by, or an aggregate. The column is the name that it is kept by."""

    text: str = field(kw_only=True)

    def __str__(self) -> str:
        return self.text


@frozen(eq=False)
class _Kept(Scope):
    """What expressions of groups may name: their values, by the names that they are kept by, which no error shows."""

    values: Mapping[str, Value] = field(factory=dict, kw_only=True)

    def column(self, stream: str | None, column: str) -> Reference:
        return self.values[column]


@frozen
class Grouping:
    """What is kept for each group, and what is shown of that."""

    group_by: tuple[Output | Computed, ...]
    aggregates: tuple[AggregateOutput, ...]
    computed: tuple[Computed, ...]
    """Empty: the groups' values and then the aggregates are shown as they are."""
    having: Expression | None


def grouping(
    items: Sequence[exp.Expr],
    groups: Sequence[Expression],
    having: exp.Expr | None,
    distinct: bool,
    scope: Scope,
) -> Grouping:
    """What SELECT, GROUP BY, HAVING and DISTINCT of a query come to."""
    if distinct:
        if groups or having is not None or any(map(has_aggregate, items)):
            raise QueryError(
                "DISTINCT does not go with groups: select what is grouped by, and leave DISTINCT out"
            )
        groups = [column.expression for column in expanded(items, scope)]
    for group in groups:
        typing_rules.comparable(group)
    maker = _Maker(scope, _in_order(list(dict.fromkeys(groups)), items, scope))
    shown: list[Computed] = []
    for item in items:
        alias = item.alias if isinstance(item, exp.Alias) else None
        inner = item.this if alias else item
        if inner.is_star:
            if not distinct:
                refused = f"{item.sql()} does not go with aggregates: name the columns of GROUP BY"
                raise about(item, QueryError(refused))
            shown += [Computed(one.name, maker.value(one.expression)) for one in expanded([item], scope)]
        else:
            shown.append(Computed(alias or written(inner), maker.expression(inner)))
    refuse_repeated([one.name for one in shown])
    for one in shown:
        if one.type.kind == "null":
            raise QueryError(f"{one.name} is NULL of no type: write CAST(NULL AS BIGINT), or another type")
    kept = None
    if having is not None:
        kept = maker.condition(having)
    return maker.made(shown, kept)


def _in_order(groups: list[Expression], items: Sequence[exp.Expr], scope: Scope) -> list[Expression]:
    """What is grouped by in the order in which it is selected, then what is not."""
    found: dict[Expression, None] = {}
    for item in items:
        try:
            found[translate(item.unalias(), scope)] = None
        except QueryError:
            continue
    first = [expression for expression in found if expression in groups]
    return [*first, *(group for group in groups if group not in found)]


class _Maker:
    """Collects the aggregates that expressions name."""

    def __init__(self, scope: Scope, groups: list[Expression]) -> None:
        self._scope = scope
        self._groups = groups
        self._aggregates: list[AggregateOutput] = []

    def value(self, group: Expression) -> Value:
        """A value that is grouped by."""
        return Value("", f"group {self._groups.index(group)}", group.type, text=group.within(9))

    def _kept(self) -> _Kept:
        """All values that there are by now."""
        aggregates = [Value("", one.name, one.type, text=str(one)) for one in self._aggregates]
        values = {value.column: value for value in [*map(self.value, self._groups), *aggregates]}
        return _Kept({"": {name: value.type for name, value in values.items()}}, values=values)

    def expression(self, node: exp.Expr) -> Expression:
        """An expression of what is grouped and of aggregates."""
        if isinstance(node, exp.Literal):
            constant = translate(node, self._scope)
            return self.value(constant) if constant in self._groups else constant
        lifted = node.copy().transform(self._lift)
        loose = [c for c in lifted.find_all(exp.Column) if not c.name.startswith(("group ", "aggregate "))]
        unknown = next((call for call in lifted.find_all(exp.Anonymous) if not is_known(call)), None)
        if unknown is not None and unknown.find(exp.Column) is not None:
            raise about(unknown, QueryError(refusal(unknown)))
        if loose:
            refused = (
                f"{written(loose[0])} is neither grouped nor aggregated: add it to GROUP BY, or leave it out"
            )
            raise about(loose[0], QueryError(refused))
        return translate(lifted, self._kept())

    def condition(self, node: exp.Expr) -> Expression:
        """The condition of HAVING."""
        with at(node):
            return condition(self.expression(node), self._kept())

    def _lift(self, node: exp.Expr) -> exp.Expr:
        """A column in the place of an aggregate, or of what is grouped by."""
        if is_aggregate(node):
            name = self._aggregate(node, again=node.parent is not None).name
            return in_place_of(exp.column(name, quoted=True), node)
        if isinstance(node, (exp.Literal, exp.Identifier, exp.Var, exp.DataType)) or not self._groups:
            return node
        try:
            group = translate(node, self._scope)
        except QueryError:
            return node
        if group not in self._groups:
            return node
        return in_place_of(exp.column(self.value(group).column, quoted=True), node)

    def _aggregate(self, node: exp.Expr, again: bool) -> AggregateOutput:
        """The aggregate that a node is: one that is there already may stand for it, if it is not an item itself."""
        found = aggregate_of(node, self._scope)
        known = next((one for one in self._aggregates if again and evolve(one, name="") == found), None)
        if known is None:
            known = evolve(found, name=f"aggregate {len(self._aggregates)}")
            self._aggregates.append(known)
        return known

    def made(self, shown: Sequence[Computed], having: Expression | None) -> Grouping:
        """The parts of a query; the names of what is shown as it is are those that it is shown by."""
        values = [self.value(group) for group in self._groups]
        order = [*(value.column for value in values), *(one.name for one in self._aggregates)]
        if having is None and [getattr(one.expression, "column", None) for one in shown] == order:
            names = [one.name for one in shown]
            n = len(self._groups)
            return Grouping(
                tuple(map(grouped, names[:n], self._groups)),
                tuple(evolve(one, name=name) for name, one in zip(names[n:], self._aggregates, strict=True)),
                (),
                None,
            )
        groups = [grouped(value.column, group) for value, group in zip(values, self._groups, strict=True)]
        return Grouping(tuple(groups), tuple(self._aggregates), tuple(shown), having)


def grouped(name: str, expression: Expression) -> Output | Computed:
    """What is grouped by, under a name."""
    if isinstance(expression, Reference):
        return Output(name, expression.stream, expression.column, expression.type)
    return Computed(name, expression)


def fetched(
    groups: Iterable[Output | Computed], aggregates: Iterable[AggregateOutput], scope: Scope
) -> tuple[Output, ...]:
    """The columns that groups and aggregates are made of, each once."""
    pairs = [pair for one in groups for pair in sorted(one.expression.columns)]
    pairs += [pair for one in aggregates for of in one.arguments for pair in sorted(of.columns)]
    return tuple(
        Output(f"{stream}.{column}", stream, column, scope.column(stream, column).type)
        for stream, column in dict.fromkeys(pairs)
    )
