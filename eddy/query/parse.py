"""SQL text to our own tree, by way of sqlglot's parser. Nothing is ever evaluated as Python.

sqlglot understands much more SQL than a stream join can mean; every node that we do not translate is refused
by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import sqlglot
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.aliases import called
from eddy.query.beside import date_literal, decimal_literal, time_literal, uuid_literal
from eddy.query.calls import call, refusal
from eddy.query.casts import Cast, named
from eddy.query.comparisons import Comparison, Distinct, InList, IsNull
from eddy.query.constants import exact, fold, integer
from eddy.query.dialect import Eddy, WholeQuotient
from eddy.query.expressions import Absolute, Arithmetic, Expression, Literal, Negation, Reference
from eddy.query.instead import INSTEAD
from eddy.query.intervals import interval, moved
from eddy.query.logic import And, Not, Or
from eddy.query.misread import misread
from eddy.query.names import Scope
from eddy.query.place import about, at, note_places
from eddy.query.struct_fields import field_of
from eddy.shown import shown
from eddy.values.instants import has_offset, parse_instant
from eddy.values.types import BOOL, FLOAT64, NULL, STRING, timestamp_type

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    WholeQuotient: "//",
    exp.Mod: "%",
}
_CHAINED = (*_COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ)
_CONNECTIVES: dict[type[exp.Expr], type[And] | type[Or]] = {exp.And: And, exp.Or: Or}


def parse_sql(
    text: str, into: type[exp.Expr] | None = None, written: str | None = None, before: str = ""
) -> exp.Expr:
    """sqlglot's tree for one statement or, with `into`, one piece of SQL; its complaints become ours.

    A complaint quotes what was `written`, should the text be a rewriting of it that keeps every position. What is put
    ``before`` it, so that it becomes a statement, is no part of what the user wrote.
    """
    written = text if written is None else written
    try:
        tree = sqlglot.parse_one(before + text, dialect=Eddy, into=into)
    except sqlglot.errors.SqlglotError as error:
        said, place = misread(error, before + text, before + written)
        raised = QueryError(f"cannot read {(before + written).strip()!r} as SQL{said}")
        if place is not None:
            start, end = (max(0, one - len(before)) for one in place)
            about((written, start, end), raised)
        raise raised from None
    note_places(tree, written, len(before))
    return tree


def condition(given: str | exp.Expr | Expression, scope: Scope) -> Expression:
    """A condition such as "A.x = B.x AND B.v > 10", as a text or as a tree of sqlglot's or of ours.

    Every condition of a query passes here, wherever it was written: it is true, false or NULL, and names columns of
    the scope only.
    """
    node = given if isinstance(given, exp.Expr | Expression) else _condition_of(given)
    if isinstance(node, exp.Expr):
        with at(node):
            predicate = translate(node, scope)
            typing_rules.boolean(predicate)
            return predicate
    typing_rules.boolean(node)
    for stream, column in node.columns:
        scope.column(stream, column)
    return node


def parts_of(node: exp.Expr) -> list[exp.Expr]:
    """What AND joins, as sqlglot has it."""
    return list(node.flatten()) if isinstance(node, exp.And) else [node]


def _condition_of(text: str) -> exp.Expr:
    if not isinstance(text, str) or not text.strip():
        raise QueryError(f"a predicate must be a text such as 'A.x = B.x', not {shown(text)}")
    return parse_sql(text, exp.Condition)


def translate(node: exp.Expr, scope: Scope) -> Expression:
    """Our tree for sqlglot's."""
    with at(node):
        return _translated(node, scope)


def _translated(node: exp.Expr, scope: Scope) -> Expression:
    kind = type(node)
    if kind in _CONNECTIVES:
        return reduce(_CONNECTIVES[kind], [translate(part, scope) for part in node.flatten()])
    if kind in _COMPARISONS:
        _refuse_chain(node)
    if isinstance(node, exp.Add | exp.Sub):
        later = moved(node, lambda part: translate(part, scope))
        if later is not None:
            return later
    if kind in _COMPARISONS or kind in _ARITHMETIC:
        left, right = translate(node.this, scope), translate(node.expression, scope)
        if kind in _COMPARISONS:
            return Comparison(_COMPARISONS[kind], left, right)
        found = exact(_ARITHMETIC[kind], left, right)
        return fold(Arithmetic(_ARITHMETIC[kind], left, right)) if found is None else found
    called = call(node, lambda part: translate(part, scope))
    if called is not None:
        return called
    for known, rule in _RULES.items():
        if isinstance(node, known):
            return rule(node, scope)
    raise QueryError(refusal(node))


def _refuse_chain(node: exp.Expr) -> None:
    """`a < b = c` is read in different ways by different databases, and is seldom meant in any of them."""
    if type(node.this) in _CHAINED or type(node.expression) in _CHAINED:
        first = node.this if type(node.this) in _CHAINED else node.expression
        raise QueryError(
            f"comparisons do not chain: write each on its own, such as 1 < A.x AND A.x < 5, or brackets, such as "
            f"({first.sql()}) = TRUE"
        )


def _literal(node: exp.Literal, scope: Scope) -> Expression:
    if node.is_string:
        return Literal(node.this, STRING)
    text = str(node.this)
    if text.isdigit():
        return integer(int(text))
    try:
        value = float(text)
    except ValueError:
        raise QueryError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise QueryError(f"the number {text} does not fit a float64")
    return Literal(value, FLOAT64, text)


def _negative(node: exp.Neg, scope: Scope) -> Expression:
    if isinstance(node.this, exp.Literal) and not node.this.is_string and str(node.this.this).isdigit():
        return integer(-int(node.this.this))  # -9223372036854775808 fits, though its positive does not
    operand = translate(node.this, scope)
    if isinstance(operand, Literal) and operand.type.is_integer:
        return integer(-operand.value)
    if isinstance(operand, Literal) and operand.type.kind in ("float", "duration", "decimal"):
        return Literal(-operand.value, operand.type, "-" + operand.written if operand.written else "")
    return Negation(operand)


def _column(node: exp.Column, scope: Scope) -> Expression:
    found = None if isinstance(node.this, exp.Star) else field_of(node, scope)
    if found is not None:
        return found
    if isinstance(node.this, exp.Star) or node.args.get("db"):
        raise QueryError(f"{node.sql()} is not a column: write stream.column")
    if node.name.startswith(("$", "@")) and not node.this.args.get("quoted"):
        raise QueryError(f"{node.name} is not supported: {INSTEAD['PARAMETER']}")
    if node.table and node.table not in (*scope.streams, *scope.subtracted):
        other = called(node, scope.streams)
        if other:
            raise QueryError(f"unknown stream {node.table}: {other}")
    return scope.column(node.table or None, node.name)


def _between(node: exp.Between, scope: Scope) -> Expression:
    subject = translate(node.this, scope)
    low, high = translate(node.args["low"], scope), translate(node.args["high"], scope)
    if node.args.get("symmetric"):
        raise QueryError(
            f"{node.sql()}: BETWEEN SYMMETRIC is not supported: write BETWEEN LEAST(a, b) AND GREATEST(a, b)"
        )
    return And(Comparison(">=", subject, low), Comparison("<=", subject, high))


def _in(node: exp.In, scope: Scope) -> Expression:
    if not node.expressions:
        if node.args.get("query"):
            raise QueryError(refusal(node))
        raise QueryError(f"{node.sql()}: IN needs a list of values, such as A.x IN (1, 2, 3)")
    if isinstance(node.this, exp.Tuple):
        return _row_in(node, scope)
    operand, options = translate(node.this, scope), [translate(option, scope) for option in node.expressions]
    if isinstance(operand, Literal) or not all(isinstance(option, Literal) for option in options):
        either: list[Expression] = [Comparison("=", operand, option) for option in options]
        return reduce(Or, either)
    return InList(operand, tuple(options))


def _row_in(node: exp.In, scope: Scope) -> Expression:
    """`(a, b) IN ((1, 2), (3, 4))`: one of the rows is equal in every place."""
    operands = [translate(part, scope) for part in node.this.expressions]
    either: list[Expression] = []
    for row in node.expressions:
        with at(row):
            values = (
                [translate(part, scope) for part in row.expressions] if isinstance(row, exp.Tuple) else []
            )
            if len(values) != len(operands):
                raise QueryError(f"{row.sql()} does not stand beside {node.this.sql()}: write as many values")
            equal: list[Expression] = [Comparison("=", a, b) for a, b in zip(operands, values, strict=True)]
            either.append(reduce(And, equal))
    return reduce(Or, either)


def _is(node: exp.Is, scope: Scope) -> Expression:
    operand, what = translate(node.this, scope), node.expression
    if isinstance(what, exp.Null):
        return IsNull(operand)
    if isinstance(what, exp.Boolean):
        typing_rules.boolean(operand)
        known = Not(IsNull(operand))
        return And(known, operand if what.this else Not(operand))
    raise QueryError(f"{node.sql()} is not supported: write IS NULL or IS NOT NULL")


def _cast(node: exp.Cast, scope: Scope) -> Expression:
    target = node.to.this.name
    operand = node.this
    if (
        isinstance(operand, exp.Literal)
        and operand.is_string
        and target in _CONSTANTS
        and not node.to.expressions
    ):
        return _CONSTANTS[target](operand.this)
    if isinstance(operand, exp.Literal) and operand.is_string and target.startswith(("TIMESTAMP", "DATE")):
        zone = "UTC" if has_offset(operand.this) else None
        value, unit = parse_instant(operand.this, zone)
        return Literal(value, timestamp_type(unit, zone))
    inner = translate(operand, scope)
    if target in ("DOUBLE", "FLOAT") and inner.type.is_number:
        return fold(Arithmetic("*", inner, Literal(1.0, FLOAT64)))
    cast = Cast(inner, named(node.to))
    return cast if inner.type.kind == "null" or cast.type.kind == "timestamp" else fold(cast)


_CONSTANTS = {"DATE": date_literal, "TIME": time_literal, "DECIMAL": decimal_literal, "UUID": uuid_literal}
"""What a text is in front of which a type stands, such as DATE '2024-01-31'."""

_RULES: dict[type[exp.Expr], Callable[[Any, Scope], Expression]] = {
    exp.Paren: lambda node, scope: translate(node.this, scope),
    exp.Not: lambda node, scope: Not(translate(node.this, scope)),
    exp.Abs: lambda node, scope: Absolute(translate(node.this, scope)),
    exp.Null: lambda node, scope: Literal(None, NULL),
    exp.Boolean: lambda node, scope: Literal(bool(node.this), BOOL),
    exp.Neg: _negative,
    exp.Literal: _literal,
    exp.Column: _column,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Interval: lambda node, scope: interval(node),
    exp.Cast: _cast,
    exp.NullSafeNEQ: lambda node, scope: Distinct(
        translate(node.this, scope), translate(node.expression, scope)
    ),
    exp.NullSafeEQ: lambda node, scope: Not(
        Distinct(translate(node.this, scope), translate(node.expression, scope))
    ),
    exp.Var: lambda node, scope: Literal(node.name, STRING),
}


def parse_column(text: str, scope: Scope) -> Reference:
    """A column such as "A.x"."""
    node = parse_sql(text)
    if not isinstance(node, exp.Column):
        raise about(node, QueryError(f"{text!r} is not a column: write stream.column, such as A.x"))
    column = translate(node, scope)
    assert isinstance(column, Reference)
    return column
