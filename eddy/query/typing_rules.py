"""Which types may meet in an expression, and what comes out.

Numbers (integers and floats) go with numbers, strings with strings, times with times; a bool column may be
compared with a number (as 0 or 1), nothing else. A string constant beside a time is read as a time. A
duration, the difference of two times, goes with durations and with whole numbers of its own unit. A decimal goes with
decimals and whole numbers; a date with dates and, as the time at which it begins, with times. Opaque values go with
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.errors import QueryError
from eddy.query.beside import at_midnight, both_beside
from eddy.values.types import (
    DIGITS,
    FLOAT64,
    INT64,
    NULL,
    UINT64,
    ColumnType,
    decimal_type,
    duration_type,
    finest,
    timestamp_type,
)

if TYPE_CHECKING:
    from eddy.query.expressions import Expression


def comparison(op: str, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Both sides, ready to be compared, or a QueryError."""
    comparable(left)
    comparable(right)
    left, right = both_beside(left, right)
    a, b = left.type, right.type
    if a.kind == "null" or b.kind == "null":
        return left, right
    fits = (a.is_number and b.is_number) or (a.is_exact and b.is_exact)
    fits = fits or (a.kind == b.kind and a.kind != "timestamp")
    if a.kind == b.kind == "timestamp":
        _same_clock(left, right)
        fits = True
    elif "bool" in (a.kind, b.kind) and (a.is_number or b.is_number):
        fits = _is_column(left if a.kind == "bool" else right)
    elif "duration" in (a.kind, b.kind) and (a.is_number or b.is_number):
        fits = bool((left if a.kind == "duration" else right).columns)
        fits = fits and not (_is_column(left) and _is_column(right))
    if not fits:
        raise QueryError(
            f"cannot compare {left} ({a}) with {right} ({b}) in '{left} {op} {right}'{_advice(left, right)}"
        )
    return left, right


def arithmetic(op: str, left: Expression, right: Expression) -> tuple[Expression, Expression, ColumnType]:
    """Both sides and the type of the result, or a QueryError."""
    comparable(left)
    comparable(right)
    if op == "/":
        left, right = _as_floats(left, right)
    if op == "-" or "decimal" in (left.type.kind, right.type.kind):
        left, right = both_beside(left, right, align=op != "*")
    if "duration" in (left.type.kind, right.type.kind):
        left, right = at_midnight(left), at_midnight(right)
    a, b = left.type, right.type
    result: ColumnType | None = None
    if a.kind == "null" or b.kind == "null":
        result = NULL
    elif a.is_number and b.is_number:
        result = _number(op, left, right)
    elif a.is_exact and b.is_exact:
        result = _decimal(op, left, right)
    elif "date" in (a.kind, b.kind):
        result = _date(op, a, b)
    elif a.unit is not None or b.unit is not None:
        result = _temporal(op, left, right)
    if result is None:
        raise QueryError(f"cannot compute {left} ({a}) {op} {right} ({b}){_advice(left, right)}")
    return left, right, result


def _as_floats(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """A quotient of decimals, or of a decimal and another number, is one of the floats that are next to them."""
    kinds = {left.type.kind, right.type.kind}
    if "decimal" not in kinds or not kinds <= {"decimal", "int", "uint", "float"}:
        return left, right
    from eddy.query.casts import Cast

    return Cast(left, FLOAT64) if left.type.kind == "decimal" else left, (
        Cast(right, FLOAT64) if right.type.kind == "decimal" else right
    )


def _number(op: str, left: Expression, right: Expression) -> ColumnType | None:
    a, b = left.type, right.type
    if op == "//":
        if "float" in (a.kind, b.kind):
            raise QueryError(
                f"// is of whole numbers, but {left} is {a} and {right} {b}: write TRUNC({left} / {right})"
            )
        return UINT64 if a.kind == b.kind == "uint" else INT64
    if op == "/" or "float" in (a.kind, b.kind):
        return FLOAT64
    if op == "%":
        return UINT64 if a.name == "uint64" else INT64
    # A sum or product of what is never negative may use the range of uint64; a difference may be negative.
    wide = "uint64" in (a.name, b.name)
    return UINT64 if wide and op != "-" and _never_negative(left) and _never_negative(right) else INT64


def _decimal(op: str, left: Expression, right: Expression) -> ColumnType | None:
    """Exact arithmetic of decimals and whole numbers; what has more than 18 digits is NULL."""
    a, b = left.type, right.type
    if op == "*":
        if a.scale + b.scale > DIGITS:
            raise QueryError(
                f"{left} * {right} has {a.scale + b.scale} digits behind the point, and decimals have {DIGITS} at "
                f"most: CAST one of them to fewer, such as CAST({left} AS DECIMAL(18, {DIGITS - b.scale}))"
            )
        return decimal_type(min(DIGITS, digits(a) + digits(b)), a.scale + b.scale)
    if op not in "+-%":
        return None
    scale = max(a.scale, b.scale)
    whole = max(digits(a) - a.scale, digits(b) - b.scale)
    return decimal_type(min(DIGITS, whole + scale + (op != "%")), scale)


def digits(of: ColumnType) -> int:
    """The most digits that a value of a type has."""
    return of.digits or {1: 3, 2: 5, 4: 10}.get(of.dtype.itemsize, 20 if of.kind == "uint" else 19)


def _date(op: str, a: ColumnType, b: ColumnType) -> ColumnType | None:
    """Dates and days."""
    if op == "-" and a.kind == b.kind:
        return INT64
    if (op in "+-" and a.kind == "date" and b.is_integer) or (op == "+" and a.is_integer):
        return a if a.kind == "date" else b
    return None


def _temporal(op: str, left: Expression, right: Expression) -> ColumnType | None:
    a, b = left.type, right.type
    kinds = (a.kind, b.kind)
    if "time" in kinds:
        return None
    if op != "*" and any(of.is_number for of in (a, b)) and not (left.columns if a.unit else right.columns):
        return None  # a constant time has no unit of its own that a plain number could count in
    unit = finest(*(unit for unit in (a.unit, b.unit) if unit is not None))
    if op == "-" and kinds == ("timestamp", "timestamp"):
        _same_clock(left, right)
        return duration_type(unit)
    if op in "+-" and a.kind == "timestamp" and (b.kind == "duration" or b.is_integer):
        return timestamp_type(unit, a.zone)
    if op == "+" and b.kind == "timestamp" and (a.kind == "duration" or a.is_integer):
        return timestamp_type(unit, b.zone)
    if "timestamp" in kinds:
        return None
    if op in "+-" and (a.kind == b.kind or a.is_integer or b.is_integer):
        return duration_type(unit)
    if op == "*" and (a.is_integer or b.is_integer):
        return duration_type(unit)
    if op == "/" and a.kind == "duration" and (b.kind == "duration" or b.is_number):
        return FLOAT64
    if op == "%" and a.kind == "duration" and (b.is_integer or a.unit == b.unit):
        return duration_type(unit)
    return None


def negation(operand: Expression) -> ColumnType:
    """The type of -operand."""
    kind = operand.type.kind
    if kind in ("int", "uint"):
        return INT64
    if kind in ("float", "duration", "decimal", "null"):
        return FLOAT64 if kind == "float" else operand.type
    raise QueryError(f"cannot negate {operand} ({operand.type}): only numbers and durations have a sign")


def absolute(operand: Expression) -> ColumnType:
    """The type of ABS(operand)."""
    kind = operand.type.kind
    if kind == "int":
        return INT64
    if kind in ("uint", "float", "duration", "decimal", "null"):
        return operand.type
    raise QueryError(f"ABS needs a number or a duration, but {operand} is {operand.type}")


def comparable(operand: Expression) -> None:
    """Refuse an opaque value, which is carried and shown, and that is all."""
    of = operand.type
    if not of.is_comparable:
        wide = str(of).startswith("decimal")
        advice = (
            f": decimals that are compared and computed with have {DIGITS} digits at most; declare decimal(18, s), "
            f"or write CAST({operand} AS DECIMAL({DIGITS}, {min(DIGITS, of.arrow.scale)})), which is NULL where it has "
            "more, or AS VARCHAR"
            if wide
            else ": compare a field of it, such as A.place.city, or give a function of yours, eddy.function"
            if of.name.startswith("struct")
            else ": compare a column of its own for the part that matters, or give a function of yours, eddy.function"
        )
        raise QueryError(
            f"{operand} is {of}, which is carried to results but not compared or computed with{advice}"
        )


def boolean(operand: Expression) -> None:
    """AND, OR, NOT and WHERE itself need something that is true or false."""
    if operand.type.kind not in ("bool", "null"):
        advice = f": write {operand} != 0" if operand.type.is_number else ""
        raise QueryError(f"{operand} is {operand.type}, where something true or false is needed{advice}")


def _is_column(expression: Expression) -> bool:
    from eddy.query.expressions import Reference

    return isinstance(expression, Reference)


def _never_negative(expression: Expression) -> bool:
    from eddy.query.expressions import Literal

    return expression.type.kind == "uint" or (isinstance(expression, Literal) and expression.value >= 0)


def _same_clock(left: Expression, right: Expression) -> None:
    if (left.type.zone is None) != (right.type.zone is None):
        zoned, naive = (right, left) if left.type.zone is None else (left, right)
        raise QueryError(
            f"{zoned} has a time zone and {naive} has none, so they cannot be compared: "
            "declare both with a zone, or both without"
        )


def _advice(left: Expression, right: Expression) -> str:
    kinds = {left.type.kind, right.type.kind}
    if "decimal" in kinds and "float" in kinds:
        return ": a float is no decimal exactly; CAST the decimal to DOUBLE, or the float to DECIMAL(18, 2)"
    if "decimal" in kinds and left.type.is_exact and right.type.is_exact:
        return ": // is of whole numbers; write TRUNC(x / y)"
    if kinds == {"string"}:
        return ": numbers are added, and texts joined: write ||, or CAST them"
    if "string" in kinds and kinds & {"int", "uint", "float"}:
        return ": a number and a string never match; drop the quotes, or declare both columns alike"
    if "timestamp" in kinds and kinds & {"int", "uint", "float"}:
        return ": write the time as '2024-01-31 12:00:00', or declare both columns as integers"
    if "duration" in kinds and kinds & {"int", "uint", "float"}:
        return ": an INTERVAL goes with times; a plain number counts in the unit of a time column"
    if "bool" in kinds and "<" in f"{left} {right}":
        return ": write each comparison on its own, such as 1 < A.x AND A.x < 5"
    return ""
