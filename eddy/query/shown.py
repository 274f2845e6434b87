"""What a query shows: columns, expressions of them, or groups."""

from __future__ import annotations

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.aggregates import AggregateOutput, parse_aggregates
from eddy.query.expressions import Expression
from eddy.query.grouping import fetched, grouped, grouping
from eddy.query.names import Scope
from eddy.query.outputs import Computed, Output, listed, parse_groups, parse_outputs
from eddy.query.own_calls import has_aggregate
from eddy.query.parse import parse_sql


@frozen
class Shown:
    """The parts of a query that say what it shows, as `Query` has them."""

    select: tuple[Output, ...]
    """The columns that are fetched of each result."""
    computed: tuple[Computed, ...] = ()
    group_by: tuple[Output | Computed, ...] = ()
    aggregates: tuple[AggregateOutput, ...] = ()
    having: Expression | None = None

    @property
    def grouped(self) -> bool:
        """Whether these are groups."""
        return bool(self.group_by or self.aggregates)

    @property
    def shown(self) -> tuple[Output | AggregateOutput | Computed, ...]:
        """The columns of a result."""
        return self.computed or (*self.group_by, *self.aggregates) or self.select


def parse_shown(
    select: object, group_by: object, aggregates: object, having: object, distinct: bool, scope: Scope
) -> Shown:
    """What a query shows of each result of its join or difference."""
    groups = parse_groups(group_by, scope)
    items = None if select is None else listed(select, "select")
    if aggregates is not None or (groups and items is None):
        if items is not None or having is not None or distinct:
            raise QueryError(
                "select does not go with aggregates=, and neither do having and distinct: a result shows the columns "
                "of group_by, then the aggregates; or write all of it in select, such as select=['A.x', 'COUNT(*)']"
            )
        found = parse_aggregates(aggregates, [group.name for group in groups], scope)
        keys = tuple(grouped(group.name, group.expression) for group in groups)
        return Shown(fetched(keys, found, scope), (), keys, found)
    some = any(has_aggregate(item) for item in items or () if isinstance(item, exp.Expr))
    if not groups and not some and not distinct:
        if having is not None:
            raise QueryError("having is of groups: give group_by or an aggregate in select, or use where")
        columns, computed = parse_outputs(items, scope)
        return Shown(columns, computed)
    if isinstance(having, str):
        having = parse_sql(having, exp.Condition)
    if having is not None and not isinstance(having, exp.Expr):
        raise QueryError(f"having takes a condition, such as 'COUNT(*) > 3', not {having!r}")
    if items is None:
        items = listed("*", "select")
    nodes = [item for item in items if isinstance(item, exp.Expr)]
    if len(nodes) < len(items):
        raise QueryError(
            "a function of your own does not go with groups in select: give it to group_by, with aggregates= in the "
            "place of select"
        )
    made = grouping(nodes, [group.expression for group in groups], having, distinct, scope)
    columns = fetched(made.group_by, made.aggregates, scope)
    return Shown(columns, made.computed, made.group_by, made.aggregates, made.having)
