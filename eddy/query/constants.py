"""Constants: expressions of constants are computed once, when a query is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from typing import NoReturn

from eddy.errors import QueryError
from eddy.query.casts import Cast, sql_name
from eddy.query.expressions import Arithmetic, Expression, Literal
from eddy.values.decimals import digits_of
from eddy.values.durations import coarsest
from eddy.values.types import (
    FLOAT64,
    INT64,
    NULL,
    STRING,
    UINT64,
    UNITS,
    ColumnType,
    decimal_type,
)

_LONGEST = Context(prec=38, traps=[Inexact])
"""How many digits a constant has."""
_EXACT: dict[str, Callable[..., Decimal]] = {
    "+": _LONGEST.add,
    "-": _LONGEST.subtract,
    "*": _LONGEST.multiply,
}
_INT64, _UINT64 = range(-(2**63), 2**63), range(2**64)


def fold(node: Expression) -> Expression:
    """An expression of constants is computed once, here."""
    if node.columns or node.type.kind == "null":
        return node
    column = node.evaluate(_no_columns)
    if column.valid is not None and not column.valid.all():
        fits = not isinstance(node, Arithmetic) or node.op not in "+-*"
        fits = fits or not all(isinstance(side, Literal) for side in node.children)  # one is NULL
        if not fits and node.type.kind in ("int", "uint", "timestamp", "duration", "decimal", "date"):
            what = f"a {node.type}" if node.type.kind in ("decimal", "date") else "64 bits"
            raise QueryError(f"{node} does not fit {what}")
        return Literal(None, NULL) if isinstance(node, Arithmetic) else typed_null(node.type)
    if node.type.kind == "string":
        return Literal(column.values.as_py(), STRING)
    if node.type.is_coded:
        return Literal(column.values.as_py(), node.type)
    value = column.values[0].item()
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryError(f"{node} does not fit a float64")
    if node.type.unit is not None:
        value, unit = coarsest(value * (UNITS["ns"] // UNITS[node.type.unit]))
        return Literal(value, node.type.with_unit(unit))
    if node.type.is_integer:
        return integer(value)
    if node.type.kind == "decimal":
        return Literal(value, decimal_type(digits_of(value, node.type.scale), node.type.scale))
    return Literal(value, FLOAT64 if node.type.kind == "float" else node.type)


def exact(op: str, left: Expression, right: Expression) -> Literal | None:
    """`left op right` of numbers as they are written, to the last digit: 0.06 - 0.01 is 0.05, as a float too; None of
    others, of which floats make do, and of whole numbers."""
    numbers = [_written(side) for side in (left, right)]
    if op not in _EXACT or None in numbers or (left.type.is_integer and right.type.is_integer):
        return None
    try:
        found = _EXACT[op](*numbers)
    except Inexact:
        return None
    value = float(found)
    return Literal(value, FLOAT64, f"{found:f}") if math.isfinite(value) else None


def _written(constant: Expression) -> Decimal | None:
    """A number that is written with all its digits; one with an exponent is a float."""
    if not isinstance(constant, Literal):
        return None
    if constant.type.is_integer:
        return Decimal(constant.value)
    plain = constant.type.kind == "float" and constant.written and "e" not in constant.written.lower()
    return Decimal(constant.written) if plain else None


def _no_columns(stream: str, column: str) -> NoReturn:
    raise AssertionError("a constant reads no column")


def typed_null(kind: ColumnType) -> Expression:
    """NULL of a type, where SQL has a name for that."""
    return Cast(Literal(None, NULL), kind) if sql_name(kind) else Literal(None, NULL)


def integer(value: int) -> Literal:
    """An integer constant: int64 if it fits, else uint64."""
    if value in _INT64:
        return Literal(value, INT64)
    if value in _UINT64:
        return Literal(value, UINT64)
    raise QueryError(
        f"the integer {value} does not fit 64 bits: write it as a float, such as 1e20, if that is meant"
    )
