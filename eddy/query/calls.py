"""Calls of functions in SQL: sqlglot's nodes as functions of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.comparisons import Comparison
from eddy.query.constants import fold
from eddy.query.expressions import Expression, Literal
from eddy.query.functions import BY_NODE, FUNCTIONS, Apply, Function
from eddy.query.instead import nearest_function
from eddy.query.logic import Not
from eddy.query.own_calls import own_call, own_names
from eddy.values.time_functions import STEPS
from eddy.values.types import NULL, STRING

Translate = Callable[[exp.Expr], Expression]
AGGREGATES = (
    *("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "STDDEV_SAMP", "STDDEV_POP", "VARIANCE"),
    *("VAR_SAMP", "VAR_POP", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE_CONT", "PERCENTILE_DISC"),
    *("BOOL_AND", "BOOL_OR", "FIRST", "LAST", "ARRAY_AGG"),
)
"""Those that SQL knows, which stand in SELECT and HAVING."""
_ALIASES = {"REGEXP_MATCHES": "REGEXP_LIKE", "DATE_PART": "EXTRACT", "DATEDIFF": "DATE_DIFF"}


def call(node: exp.Expr, translate: Translate) -> Expression | None:
    """Our tree for a call of a function, whose arguments ``translate`` makes ours; None if it is none."""
    own = own_call(node)
    if own is not None:
        given = node.expressions if isinstance(node, exp.Anonymous) else _given(node)
        return own([translate(part) for part in given])
    function = BY_NODE.get(type(node))
    if function is not None:
        return _call(function, node, translate)
    rule = _RULES.get(type(node))
    return None if rule is None else rule(node, translate)


def _call(function: Function, node: exp.Expr, translate: Translate) -> Expression:
    """A function of the table."""
    name, given = function.name, [*_given(node)]
    if name == "TRIM":
        name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(node.args.get("position") or "", name)
    called = apply(name, [translate(part) for part in given])
    return Not(called) if node.args.get("negate") else called


def _given(node: exp.Expr) -> Iterator[exp.Expr]:
    """The arguments of one of sqlglot's functions, in order."""
    for key in node.arg_types:
        part = node.args.get(key)
        yield from (
            item for item in (part if isinstance(part, list) else [part]) if isinstance(item, exp.Expr)
        )


def _date_diff(given: list[exp.Expr]) -> list[exp.Expr]:
    """DATE_DIFF('day', a, b), or DATE_DIFF(b, a, DAY) as others have it: the part, the first and the second time."""
    last = given[-1] if len(given) in (2, 3) else None
    named = isinstance(given[0], exp.Literal)
    if (
        isinstance(last, exp.Column)
        and not named
        and not last.table
        and last.name.lower().removesuffix("s") in STEPS
    ):
        return [exp.Literal.string(last.name), given[1], given[0]]
    return [exp.Literal.string("day"), given[1], given[0]] if len(given) == 2 else given


def apply(name: str, arguments: Sequence[Expression]) -> Expression:
    """A function of the table by its name; of constants it is computed here, once."""
    function = FUNCTIONS[name]
    if function.strict and any(argument.type.kind == "null" for argument in arguments):
        return Literal(None, NULL)
    return fold(Apply(name, tuple(arguments)))


def refusal(node: exp.Expr) -> str:
    """What to say of a part of SQL that means nothing here: what comes nearest, and what there is."""
    what = node.name if isinstance(node, exp.Anonymous) else node.key.upper()
    said = what if isinstance(node, exp.Anonymous) else node.sql()
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Binary, exp.Anonymous)):
        said = node.sql_name()
    if isinstance(node, exp.AggFunc):
        return f"{node.sql()} is an aggregate, which is not supported in a predicate: it stands in SELECT and HAVING"
    if isinstance(node, (exp.Exists, exp.In)):
        return (
            f"{node.sql()} is not supported here: EXISTS and IN (SELECT ...) stand in WHERE of a statement, with NOT "
            "before them or not, and AND between them; in Python write attach=[eddy.SemiJoin('B', on='B.k = A.k')]. "
            "Beside OR, or in SELECT, join instead: SELECT DISTINCT ... LEFT JOIN B ON B.k = A.k, and B.k IS NOT NULL"
        )
    if isinstance(node, (exp.Subquery, exp.Select)):
        return (
            f"{node.sql()} is not supported here: one value of many rows changes with each that comes, and with it all "
            "results that were given; compute it in an engine of its own, and push it as a stream to join with, or "
            "write LEFT JOIN where it is one row's. In FROM a subquery filters, projects or joins"
        )
    known = [*(name for name in FUNCTIONS if name.isidentifier()), "ABS", "CAST", "NULLIF", "MOD"]
    near = nearest_function(what, [*own_names(), *known, *AGGREGATES])
    if near:
        return f"{said} is not supported: {near}"
    return (
        f"{said} is not supported: write a function of your own, eddy.function, eddy.predicate or "
        "eddy.aggregate_function, or say it with those that docs/expressions.md lists"
    )


def _case(node: exp.Case, translate: Translate) -> Expression:
    parts: list[Expression] = []
    for branch in node.args["ifs"]:
        when: Expression = translate(branch.this)
        if node.this is not None:
            when = Comparison("=", translate(node.this), when)
        parts += [when, translate(branch.args["true"])]
    default = node.args.get("default")
    return apply("CASE", [*parts, Literal(None, NULL) if default is None else translate(default)])


def _if(node: exp.If, translate: Translate) -> Expression:
    default = node.args.get("false")
    otherwise = Literal(None, NULL) if default is None else translate(default)
    return apply("CASE", [translate(node.this), translate(node.args["true"]), otherwise])


def _nullif(node: exp.Nullif, translate: Translate) -> Expression:
    value, other = translate(node.this), translate(node.expression)
    if other.type.kind == "null":
        return value
    return apply("CASE", [Comparison("=", value, other), Literal(None, NULL), value])


def _escape(node: exp.Escape, translate: Translate) -> Expression:
    like = node.this
    if type(like) not in (exp.Like, exp.ILike):
        raise QueryError(f"{node.sql()}: ESCAPE stands behind LIKE and ILIKE")
    parts = [translate(part) for part in (like.this, like.expression, node.expression)]
    called = apply(BY_NODE[type(like)].name, parts)
    return Not(called) if like.args.get("negate") else called


def is_known(node: exp.Anonymous) -> bool:
    """Whether a function that sqlglot has no class for is one of ours, or of the user's."""
    if own_call(node) is not None:
        return True
    name = _ALIASES.get(node.name.upper(), node.name.upper())
    return name in FUNCTIONS and name.isidentifier() and name != "CASE"


def _anonymous(node: exp.Anonymous, translate: Translate) -> Expression:
    if not is_known(node):
        raise QueryError(refusal(node))
    name = _ALIASES.get(node.name.upper(), node.name.upper())
    given = _date_diff(node.expressions) if name == "DATE_DIFF" else node.expressions
    return apply(name, [translate(part) for part in given])


def _part_of_time(node: exp.Expr, translate: Translate) -> Expression:
    """YEAR(x), MONTH(x) and the like."""
    return apply("EXTRACT", [Literal(node.key, STRING), translate(node.this)])


_RULES: dict[type[exp.Expr], Callable[[Any, Translate], Expression]] = {
    exp.Case: _case,
    exp.If: _if,
    exp.Nullif: _nullif,
    exp.Escape: _escape,
    exp.Anonymous: _anonymous,
    **dict.fromkeys(
        (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.Hour, exp.Minute, exp.Second), _part_of_time
    ),
}
