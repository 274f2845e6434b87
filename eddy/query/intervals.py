"""INTERVAL: lengths of time, which are values, and months, which are not: they are added to times alone."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.calls import apply
from eddy.query.constants import fold
from eddy.query.expressions import Arithmetic, Expression, Literal
from eddy.query.place import at
from eddy.values.durations import coarsest, months_and_nanoseconds
from eddy.values.types import INT64, duration_type

_INT64 = range(-(2**63), 2**63)
Length = tuple[int, int]
"""Months, and nanoseconds besides."""


def interval(node: exp.Interval) -> Expression:
    """INTERVAL '90' MINUTE."""
    months, length = _read(node)
    if months:
        raise QueryError(
            f"{node.sql()}: months and years have no length of their own: add them to a time, such as "
            "t + INTERVAL '1' MONTH, or write days"
        )
    return _duration(length, node)


def moved(node: exp.Add | exp.Sub, translate: Callable[[exp.Expr], Expression]) -> Expression | None:
    """A time and an interval of months, maybe with days and hours, which are added after them; None if of neither."""
    time, length = node.this, _length(node.expression)
    if length is None and isinstance(node, exp.Add):
        time, length = node.expression, _length(node.this)
    if length is None or not length[0] or _length(time) is not None:
        return None
    sign = -1 if isinstance(node, exp.Sub) else 1
    months, rest = (sign * part for part in length)
    with at(node):
        later = apply("+ MONTHS", [translate(time), Literal(months, INT64)])
        return fold(Arithmetic("+", later, _duration(rest, node))) if rest else later


def _duration(length: int, node: exp.Expr) -> Literal:
    count, name = coarsest(length)
    if count not in _INT64:
        raise QueryError(f"{node.sql()} does not fit 64 bits")
    return Literal(count, duration_type(name))


def _read(node: exp.Interval) -> Length:
    unit = node.args.get("unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else node.this.sql()
    if unit is not None and not isinstance(unit, exp.Var):
        raise QueryError(f"{node.sql()} is not supported: write one unit, such as INTERVAL '90' MINUTE")
    if not isinstance(node.this, exp.Literal | exp.Neg):
        raise QueryError(
            f"{node.sql()}: the number of an INTERVAL is a constant: write x * INTERVAL '1' DAY for a column"
        )
    return months_and_nanoseconds(f"{text} {unit.name}" if unit is not None else text)


def _length(node: exp.Expr) -> Length | None:
    """What an expression of intervals comes to; None if it is of anything else."""
    if isinstance(node, exp.Paren):
        return _length(node.this)
    if isinstance(node, exp.Interval):
        return _read(node) if isinstance(node.this, exp.Literal) else None
    if isinstance(node, exp.Neg):
        return _times(-1, _length(node.this))
    if isinstance(node, exp.Add | exp.Sub):
        one, two = (
            _length(node.this),
            _times(-1 if isinstance(node, exp.Sub) else 1, _length(node.expression)),
        )
        return None if one is None or two is None else (one[0] + two[0], one[1] + two[1])
    if isinstance(node, exp.Mul):
        for number, other in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(number, exp.Literal) and str(number.this).isdigit() and not number.is_string:
                return _times(int(str(number.this)), _length(other))
    return None


def _times(factor: int, length: Length | None) -> Length | None:
    return None if length is None else (factor * length[0], factor * length[1])
