"""Aggregates: what a query computes of each group of its results. Declarations only; nothing is computed here.

Those that SQL knows are texts, those of the user's own are instances of `Aggregate`.

NULL counts for COUNT(*) alone; the others pass over it, and are NULL themselves where nothing is left, except
COUNT, which is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from attrs import evolve, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.calls import apply
from eddy.query.casts import Cast
from eddy.query.comparisons import IsNull
from eddy.query.dialect import BoolAnd, BoolOr, QuantileCont, QuantileDisc, VarPop, VarSamp
from eddy.query.expressions import Expression, Literal, quoted
from eddy.query.instead import INSTEAD
from eddy.query.logic import And, Not
from eddy.query.names import Scope
from eddy.query.outputs import refuse_repeated
from eddy.query.own_aggregate import Aggregate, columns_of, compiled
from eddy.query.own_calls import has_aggregate, own_aggregate
from eddy.query.own_function import OwnFunction
from eddy.query.parse import condition, parse_column, parse_sql, translate
from eddy.query.place import about, at, in_place_of
from eddy.query.quantile import Quantile, plain, quantile, share_of
from eddy.shown import shown
from eddy.values.types import DIGITS, FLOAT64, INT64, NULL, ColumnType, decimal_type, list_type

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Median: "MEDIAN",
    **dict.fromkeys((exp.Stddev, exp.StddevSamp), "STDDEV_SAMP"),
    exp.StddevPop: "STDDEV_POP",
    **dict.fromkeys((exp.Variance, VarSamp), "VAR_SAMP"),
    **dict.fromkeys((exp.VariancePop, VarPop), "VAR_POP"),
    **dict.fromkeys((BoolAnd, exp.LogicalAnd), "BOOL_AND"),
    **dict.fromkeys((BoolOr, exp.LogicalOr), "BOOL_OR"),
    **dict.fromkeys((exp.Quantile, QuantileCont), "QUANTILE_CONT"),
    QuantileDisc: "QUANTILE_DISC",
    exp.First: "FIRST",
    exp.Last: "LAST",
    exp.ArrayAgg: "ARRAY_AGG",
}
_PERCENTILES: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.PercentileCont: QuantileCont,
    exp.PercentileDisc: QuantileDisc,
}
QUANTILES = ("QUANTILE_CONT", "QUANTILE_DISC")
ORDERED = ("FIRST", "LAST", "ARRAY_AGG")
"""Those for which the order of events counts. NULL is a value to them; what FILTER has is their second argument."""
VALUES = ("MIN", "MAX", "QUANTILE_DISC", "BOOL_AND", "BOOL_OR", "FIRST", "LAST")
"""Those that show one of the values."""
_DEVIATIONS = ("STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
_KNOWN = (
    "COUNT, SUM, AVG, MIN, MAX, MEDIAN, STDDEV_SAMP, STDDEV_POP, VAR_SAMP, VAR_POP, QUANTILE_CONT, QUANTILE_DISC, "
    "BOOL_AND, BOOL_OR, FIRST, LAST and ARRAY_AGG"
)
_WRITE = (
    f"write one of {_KNOWN} of one value, such as SUM(B.v), or COUNT(*); others are functions of your own, "
    "eddy.aggregate_function, or subclasses of eddy.Aggregate"
)

_OVER = f"{INSTEAD['WINDOW']}; {_WRITE}"
_BOTH = (
    "write a function of your own, of the arrays of both columns, eddy.aggregate_function(f, type='float64'), which "
    "SQL calls as f(x, by) if it is given in aggregates=[...]"
)
_INSTEAD: dict[type[exp.Expr], str] = {
    exp.CountIf: "write COUNT(*) FILTER (WHERE ...)",
    exp.ApproxDistinct: "write COUNT(DISTINCT ...)",
    exp.AnyValue: "write FIRST(...), or MIN(...)",
    exp.FirstValue: "write FIRST(...), which is of the first result by event",
    exp.LastValue: "write LAST(...), which is of the last result by event",
    exp.ArgMin: _BOTH,
    exp.ArgMax: _BOTH,
    exp.GroupConcat: "write ARRAY_AGG(...), and join the texts where you read them",
    exp.List: "write ARRAY_AGG(...)",
    exp.ArrayUniqueAgg: "GROUP BY it as well, which has each value once",
    exp.ApproxQuantile: "write QUANTILE_CONT(x, 0.5), which is exact",
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), "write QUANTILE_CONT(x, 0.5)"),
}


OwnKind = type[Aggregate] | OwnFunction
"""A class of the user's own, or a Python function."""


@frozen
class AggregateOutput:
    """One value of each group under its name: a function of columns, or COUNT(*), which has no arguments.

    COUNT is int64. SUM is float64 for floats and int64 for integers and bool: it is exact, NULL while int64
    cannot hold it, and there again as soon as it fits. AVG and MEDIAN are
    float64; the median of an even number of values is the mean of the two in the middle. MIN and MAX have the
    type of their column, as have QUANTILE_DISC, FIRST and LAST; ARRAY_AGG has lists of them. Other functions of numbers
    are float64. ``own`` is an aggregate of the user's own, whose name is the function.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...]
    type: ColumnType
    own: OwnKind | None = None
    distinct: bool = False
    """Whether each value of a group counts once."""
    share: str | None = None
    """Of a quantile: the share of the values before it, a decimal number."""

    def __str__(self) -> str:
        name = self.function if self.own is None else quoted(self.function)
        distinct, arguments = "DISTINCT " if self.distinct else "", [*map(str, self.arguments)]
        if self.ordered:
            value, *condition = arguments
            return f"{name}({value})" + (f" FILTER (WHERE {condition[0]})" if condition else "")
        arguments += [] if self.share is None else [self.share]
        return f"{name}({distinct}{', '.join(arguments) or '*'})"

    @property
    def ordered(self) -> bool:
        """Whether it is one of SQL's for which the order of events counts: it takes NULL, and maybe a condition."""
        return self.own is None and self.function in ORDERED

    @property
    def in_order(self) -> bool:
        """Whether the order of events counts, for one of SQL's or a function of the user's."""
        return self.ordered or isinstance(self.own, OwnFunction)

    @property
    def quantile(self) -> Quantile | None:
        """What kernels know it by, if it is a quantile."""
        if self.share is None:
            return None
        return quantile(self.share, self.function == "QUANTILE_DISC", self.distinct)


def parse_aggregates(aggregates: object, groups: Iterable[str], scope: Scope) -> tuple[AggregateOutput, ...]:
    """The aggregates of a query by their names, none of which a group column has."""
    if aggregates is not None and not isinstance(aggregates, Mapping):
        raise QueryError(
            f"aggregates takes a dict of names and aggregates, such as {{'n': 'COUNT(*)'}}, not {aggregates!r}"
        )
    if not aggregates:
        raise QueryError(
            "there is no aggregate for the groups: add one, such as aggregates={'n': 'COUNT(*)'}, or name what is "
            "shown, such as select=['A.x'], or leave group_by and aggregates out"
        )
    if not all(isinstance(name, str) and name for name in aggregates):
        raise QueryError(f"the names of aggregates must be texts: {list(aggregates)}")
    refuse_repeated([*groups, *aggregates])
    return tuple(_aggregate(name, text, scope) for name, text in aggregates.items())


def _aggregate(name: str, text: object, scope: Scope) -> AggregateOutput:
    if isinstance(text, Aggregate):
        return _own(name, text, scope)
    if isinstance(text, OwnFunction):
        return _own_function(name, text, scope)
    if isinstance(text, type) and issubclass(text, Aggregate):
        raise QueryError(
            f"the aggregate {name} does not say of what: write {text.__name__}('B.v'), with columns of yours"
        )
    if not isinstance(text, str) or not text.strip():
        raise QueryError(
            f"the aggregate {name} must be a text such as 'SUM(B.v)', an eddy.Aggregate of columns, or an "
            f"eddy.aggregate_function, not {text!r}"
        )
    return evolve(aggregate_of(parse_sql(text), scope), name=name)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether sqlglot's node is an aggregate, and not merely has one in it."""
    if isinstance(node, (exp.Select, exp.Subquery, exp.Window)):
        raise about(
            node,
            QueryError(f"cannot aggregate {node.sql()}: {_OVER if isinstance(node, exp.Window) else _WRITE}"),
        )
    if own_aggregate(node) is not None:
        return True
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls))


def aggregate_of(node: exp.Expr, scope: Scope) -> AggregateOutput:
    """One of SQL's aggregates, which has no name yet."""
    with at(node):
        return _aggregate_of(node, scope)


def _aggregate_of(node: exp.Expr, scope: Scope) -> AggregateOutput:
    """The same, without a place for errors.

    `f(x) FILTER (WHERE p)` is `f(CASE WHEN p THEN x END)`: all of them pass over NULL, but for COUNT(*), which counts
    ones then, and for those of events in order.
    """
    own = own_aggregate(node)
    if own is not None:
        columns = [part.sql() for part in node.iter_expressions()]
        if isinstance(own, OwnFunction):
            return _own_function("", own.of(*columns), scope)
        return _own("", own(*columns), scope)
    text, where, known = node.sql(), None, False
    while isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        if isinstance(node, exp.Filter):
            where = condition(node.expression.this, scope)
        known = known or isinstance(node, exp.IgnoreNulls)
        node = node.this
    if own_aggregate(node) is not None:
        raise QueryError(
            f"cannot aggregate {text}: FILTER and IGNORE NULLS are for aggregates of SQL; leave values out in your "
            "function"
        )
    node, share = _within_group(node, text)
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise QueryError(f"cannot aggregate {text}: {_INSTEAD.get(type(node), _WRITE)}")
    argument, distinct = node.this, False
    if isinstance(argument, exp.Distinct):
        if function in QUANTILES and len(argument.expressions) == 2:
            share, argument = share_of(argument.expressions[1], text), argument.copy()
            argument.set("expressions", argument.expressions[:1])
        if len(argument.expressions) != 1 or argument.args.get("on"):
            raise QueryError(
                f"cannot aggregate {text}: DISTINCT takes one value, such as COUNT(DISTINCT B.v)"
            )
        argument, distinct = argument.expressions[0], True
    of: Expression
    if function == "COUNT" and isinstance(argument, exp.Star) and not any(argument.args.values()):
        if where is None:
            return AggregateOutput("", function, (), INT64)
        of = Literal(1, INT64)
    elif (
        argument is None
        or argument.is_star
        or isinstance(argument, exp.Order)
        or node.args.get("expressions")
    ):
        raise QueryError(f"cannot aggregate {text}: {_takes(function, argument)}")
    elif has_aggregate(argument) or argument.find(exp.Select):
        raise QueryError(f"cannot aggregate {text}: an aggregate of an aggregate needs an engine of its own")
    else:
        of = translate(argument, scope)
    if function in ORDERED:
        if distinct:
            raise QueryError(f"cannot aggregate {text}: GROUP BY {of} as well, which has each value once")
        return _ordered(function, of, where, known)
    if known:
        raise QueryError(
            f"cannot aggregate {text}: {function} passes over NULL anyway; leave IGNORE NULLS out"
        )
    if function in _DEVIATIONS and of.type.kind == "decimal":
        of = Cast(of, FLOAT64)
    if where is not None:
        of = apply("CASE", [where, of, Literal(None, NULL)])
    distinct = distinct and function not in ("MIN", "MAX", "BOOL_AND", "BOOL_OR")
    if distinct and function == "QUANTILE_DISC" and of.type.kind == "string":
        raise QueryError(
            f"cannot aggregate {text}: of strings, QUANTILE_DISC takes all values; leave DISTINCT out"
        )
    if function in QUANTILES:
        share = share_of(node.args.get("quantile"), text) if share is None else share
    return AggregateOutput("", function, (of,), _type(function, of, distinct), distinct=distinct, share=share)


def _takes(function: str, argument: exp.Expr | None) -> str:
    """What to say where a function is of anything but one value."""
    if function in ORDERED and isinstance(argument, exp.Order):
        return f"{function} has the order of events, and no other: leave ORDER BY out, and sort where you read it"
    takes = "* or one value" if function == "COUNT" else "one value"
    example = f"{function}(B.v, 0.9)" if function in QUANTILES else f"{function}(B.v)"
    return f"{function} takes {takes}{' and a share' * (function in QUANTILES)}, such as {example}"


def _within_group(node: exp.Expr, text: str) -> tuple[exp.Expr, str | None]:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) as a quantile of x, and its share; any other node as it is."""
    if not isinstance(node, exp.WithinGroup):
        return node, None
    kind, order = _PERCENTILES.get(type(node.this)), node.expression
    if kind is None or not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise QueryError(
            f"cannot aggregate {text}: WITHIN GROUP is for PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY B.v) and "
            "PERCENTILE_DISC, of one value"
        )
    (by,) = order.expressions
    share = share_of(node.this.this, text)
    if by.args.get("desc"):
        share = plain(1 - Decimal(share))
        if kind is QuantileDisc:
            raise QueryError(
                f"cannot aggregate {text}: PERCENTILE_DISC counts from the least value; leave DESC out, and take the "
                f"share {share}"
            )
    return in_place_of(kind(this=by.this.copy()), node), share


def _ordered(function: str, of: Expression, where: Expression | None, known: bool) -> AggregateOutput:
    """FIRST, LAST or ARRAY_AGG of those values that a condition lets through, and that are ``known``."""
    if known:
        there = Not(IsNull(of))
        where = there if where is None else And(where, there)
    arguments = (of,) if where is None else (of, where)
    return AggregateOutput("", function, arguments, _type(function, of, False))


def _own(name: str, own: Aggregate, scope: Scope) -> AggregateOutput:
    """An aggregate of the user's own, compiled for its columns."""
    kind = type(own)
    _check_name(kind)
    columns = tuple(parse_column(column, scope) for column in columns_of(own))
    for column in columns:
        if column.type.is_coded or column.type.kind == "decimal":
            told = f"{column} is {column.type}, which no number of Numba's stands for"
            if column.type.kind == "string":
                told = f"{column} is a string, and strings are only counted"
            raise QueryError(f"cannot take {kind.__name__}({column}): {told}")
    made = compiled(kind, [column.type for column in columns])
    return AggregateOutput(name, kind.__name__, columns, made.type, kind)


def _own_function(name: str, own: OwnFunction, scope: Scope) -> AggregateOutput:
    """A Python function of the user's own, of its expressions."""
    _check_name(own)
    if not own.columns:
        raise QueryError(
            f"the aggregate {name} does not say of what: write eddy.aggregate_function({own.name}, 'B.v', "
            f"type={own.type.name!r}), with columns of yours"
        )
    arguments = tuple(translate(parse_sql(text, exp.Condition), scope) for text in own.columns)
    for argument in arguments:
        if argument.type.kind == "null":
            raise QueryError(f"cannot take {own.name}({argument}): it is always NULL; leave it out")
    return AggregateOutput(name, own.name, arguments, own.type, own.of())


def own_by_name(kinds: object) -> dict[str, OwnKind]:
    """Aggregates of the user's own by the names, in capitals, under which SQL calls them."""
    found: dict[str, OwnKind] = {}
    listed = list(kinds) if isinstance(kinds, Iterable) else [None]
    for kind in listed:
        if not isinstance(kind, OwnFunction) and not (isinstance(kind, type) and issubclass(kind, Aggregate)):
            wrong = shown(kinds if kind is None else kind)
            raise QueryError(
                "aggregates takes a list of classes, subclasses of eddy.Aggregate, and of functions, "
                f"eddy.aggregate_function(f, type=...), not {wrong}; functions of rows go into functions="
            )
        name = _check_name(kind)
        if found.setdefault(name.upper(), kind) is not kind:
            raise QueryError(f"two aggregates are called {name}: give one another name")
    return found


def _check_name(kind: OwnKind) -> str:
    """What it is called. One of SQL's must not be called so: a query could not tell them apart when printed."""
    name = kind.name if isinstance(kind, OwnFunction) else kind.__name__
    if name.upper() in _FUNCTIONS.values():
        raise QueryError(f"the aggregate {name} is called like one of {_KNOWN}: give it another name")
    return name


_ONLY = "of these there are COUNT, MIN, MAX, QUANTILE_DISC, FIRST, LAST and ARRAY_AGG only"
_SUMMED = "of these there are COUNT, SUM, MIN, MAX, QUANTILE_DISC, FIRST, LAST and ARRAY_AGG"
_OF_THESE = {
    **dict.fromkeys(("string", "timestamp", "date", "time"), _ONLY),
    "duration": f"{_SUMMED} only",
    "decimal": f"{_SUMMED.replace('SUM,', 'SUM, AVG,')}, and deviations; for others write CAST({{0}} AS DOUBLE)",
    **dict.fromkeys(("binary", "uuid", "opaque"), "these are only counted"),
}


def _type(function: str, column: Expression, distinct: bool) -> ColumnType:
    """The type of the values, or a QueryError where the function means nothing for what it is of."""
    of = column.type
    if of.kind == "null":
        raise QueryError(
            f"cannot take {function}({column}): it is always NULL; write CAST({column} AS BIGINT)"
        )
    if distinct:
        typing_rules.comparable(column)
    if function == "COUNT":
        return INT64
    if function.startswith("BOOL") and of.kind != "bool":
        raise QueryError(
            f"cannot take {function}({column}): {column} is {of}; write {function}({column} <> 0)"
        )
    plain = of.kind not in ("binary", "uuid", "opaque")
    if function in VALUES and plain:
        return of
    if function == "ARRAY_AGG" and plain:
        return list_type(of)
    if function == "SUM" and of.kind in ("decimal", "duration"):
        return of if of.kind == "duration" else decimal_type(DIGITS, of.scale)
    if function == "AVG" and of.kind == "decimal":
        return FLOAT64
    if not of.is_number and of.kind != "bool":
        what = "a string" if of.kind == "string" else of
        raise QueryError(f"cannot take {function}({column}): {column} is {what}; {_what_else(column)}")
    return INT64 if function == "SUM" and of.kind != "float" else FLOAT64


def _what_else(column: Expression) -> str:
    """What to take in the place of an aggregate that there is not for a column."""
    of = column.type
    if of.kind == "opaque" and of.name.startswith("decimal"):
        return (
            f"these are only counted; CAST it to DECIMAL({DIGITS}, {min(DIGITS, of.arrow.scale)}), which is NULL where "
            "it has more digits, VARCHAR or DOUBLE"
        )
    return _OF_THESE[of.kind].format(column)
