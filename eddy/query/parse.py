"""SQL text to our own tree, by way of sqlglot's parser. Nothing is ever evaluated as Python.

sqlglot understands much more SQL than a stream join can mean; every node that we do not translate is refused
by name.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import sqlglot
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.beside import date_literal, decimal_literal, time_literal, uuid_literal
from eddy.query.calls import call, refusal
from eddy.query.casts import Cast, named
from eddy.query.comparisons import Comparison, Distinct, InList, IsNull
from eddy.query.constants import fold, integer
from eddy.query.dialect import Eddy
from eddy.query.expressions import Absolute, Arithmetic, Expression, Literal, Negation, Reference
from eddy.query.instead import INSTEAD
from eddy.query.logic import And, Not, Or
from eddy.query.names import Scope
from eddy.query.place import about, at, note_places
from eddy.shown import shown
from eddy.values.durations import coarsest, nanoseconds
from eddy.values.instants import has_offset, parse_instant
from eddy.values.types import BOOL, FLOAT64, NULL, STRING, duration_type, timestamp_type

_MISSING = re.compile(r"Required keyword: '\w+' missing for \w+")
_UNEXPECTED = re.compile("Invalid expression / Unexpected token")
_WORDS = "SELECT DISTINCT FROM JOIN NATURAL USING WHERE GROUP BY HAVING ORDER LIMIT BETWEEN EXCEPT WITH LIKE".split()
_INT64 = range(-(2**63), 2**63)

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
    exp.Mod: "%",
}
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
        said, place = _where(error, before + text, before + written)
        raised = QueryError(f"cannot read {(before + written).strip()!r} as SQL{said}")
        if place is not None:
            start, end = (max(0, one - len(before)) for one in place)
            about((written, start, end), raised)
        raise raised from None
    note_places(tree, written, len(before))
    return tree


def _where(error: sqlglot.errors.SqlglotError, text: str, written: str) -> tuple[str, tuple[int, int] | None]:
    """What sqlglot says, near what, and where that is."""
    details = getattr(error, "errors", None) or [{}]
    context = "".join(str(details[0].get(part) or "") for part in ("start_context", "highlight"))
    rest = str(details[0].get("end_context") or "")
    start = max(text.find(context + rest), 0)
    end = start + len(context)
    place = (end - len(str(details[0].get("highlight") or "")), end) if context else None
    end += len(re.split(r"\W", written[end:], maxsplit=1)[0]) if context else 0  # never half of a word
    near = written[start:end].strip()[-40:]
    said = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", str(details[0].get("description") or "")).rstrip(".")
    said = re.sub(r"<Token.*?SENTINEL.*?>", "the end", said)
    said = _MISSING.sub("something is missing here", said)
    said = _UNEXPECTED.sub(_guess(written[:end]), said)
    return (f", near {near!r}" if near else "") + (f": {said}" if said else ""), place


def _guess(before: str) -> str:
    """What may be wrong where nothing fits: the last word but one may be a word of SQL, written wrongly."""
    words = re.findall(r"\w+", before)[-2:]
    for word in [word for word in words if word.upper() not in _WORDS]:
        for close in difflib.get_close_matches(word.upper(), _WORDS, 1, 0.7):
            return f"did you mean {close} by {word}?"
    if words[:1] and words[0].upper() == "TOP":
        return "TOP is not supported: results go on for ever; take what you need of engine.table()"
    return "this is not expected here"


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
    if kind in _COMPARISONS or kind in _ARITHMETIC:
        left, right = translate(node.this, scope), translate(node.expression, scope)
        if kind in _COMPARISONS:
            return Comparison(_COMPARISONS[kind], left, right)
        return fold(Arithmetic(_ARITHMETIC[kind], left, right))
    called = call(node, lambda part: translate(part, scope))
    if called is not None:
        return called
    for known, rule in _RULES.items():
        if isinstance(node, known):
            return rule(node, scope)
    raise QueryError(refusal(node))


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
    if isinstance(node.this, exp.Star) or node.args.get("db"):
        raise QueryError(f"{node.sql()} is not a column: write stream.column")
    if node.name.startswith(("$", "@")) and not node.this.args.get("quoted"):
        raise QueryError(f"{node.name} is not supported: {INSTEAD['PARAMETER']}")
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
    operand, options = translate(node.this, scope), [translate(option, scope) for option in node.expressions]
    if isinstance(operand, Literal) or not all(isinstance(option, Literal) for option in options):
        either: list[Expression] = [Comparison("=", operand, option) for option in options]
        return reduce(Or, either)
    return InList(operand, tuple(options))


def _is(node: exp.Is, scope: Scope) -> Expression:
    operand, what = translate(node.this, scope), node.expression
    if isinstance(what, exp.Null):
        return IsNull(operand)
    if isinstance(what, exp.Boolean):
        typing_rules.boolean(operand)
        known = Not(IsNull(operand))
        return And(known, operand if what.this else Not(operand))
    raise QueryError(f"{node.sql()} is not supported: write IS NULL or IS NOT NULL")


def _interval(node: exp.Interval, scope: Scope) -> Expression:
    unit = node.args.get("unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else node.this.sql()
    if unit is not None and not isinstance(unit, exp.Var):
        raise QueryError(f"{node.sql()} is not supported: write one unit, such as INTERVAL '90' MINUTE")
    count, name = coarsest(nanoseconds(f"{text} {unit.name}" if unit is not None else text))
    if count not in _INT64:
        raise QueryError(f"{node.sql()} does not fit 64 bits")
    return Literal(count, duration_type(name))


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
    exp.Interval: _interval,
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
