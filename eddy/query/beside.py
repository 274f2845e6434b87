"""Constants beside values of other types: a text beside a time is read as a time, a number beside a decimal as one."""

from __future__ import annotations

import decimal
import uuid
from typing import TYPE_CHECKING

from eddy.errors import QueryError
from eddy.values.days import DAY, parse_date, parse_time
from eddy.values.decimals import digits_of
from eddy.values.instants import format_instant, parse_instant
from eddy.values.types import (
    DATE,
    DIGITS,
    UUID,
    ColumnType,
    decimal_type,
    time_type,
    timestamp_type,
)

if TYPE_CHECKING:
    from eddy.query.expressions import Expression, Literal


def both_beside(left: Expression, right: Expression, align: bool = True) -> tuple[Expression, Expression]:
    """Two expressions, of which a constant is read as what the other one is, and a date beside a time as a time."""
    left, right = beside(left, right, align), beside(right, left, align)
    if {left.type.kind, right.type.kind} == {"date", "timestamp"}:
        left, right = (at_midnight(side) if side.type.kind == "date" else side for side in (left, right))
    return left, right


def beside(expression: Expression, other: Expression, align: bool = True) -> Expression:
    """A constant as it is meant beside another expression; everything else as it is.

    ``align``: a number beside a decimal gets as many digits behind the point as that has, if it has fewer.
    """
    from eddy.query.expressions import Literal

    if not isinstance(expression, Literal) or expression.value is None:
        return expression
    if other.type.kind == "decimal":
        return _as_decimal(expression, other.type.scale if align else 0)
    if expression.type.kind == "string":
        return _read(expression, other.type)
    naive = expression.type.is_day and expression.type.zone is None
    if naive and other.type.zone:
        text = format_instant(*_instant(expression), None)
        return _time(text, other.type)
    return at_midnight(expression) if other.type.kind == "timestamp" else expression


def at_midnight(date: Expression) -> Expression:
    """A date as the time at which it begins; anything else as it is."""
    from eddy.query.casts import Cast
    from eddy.query.expressions import Literal

    if date.type.kind != "date":
        return date
    if isinstance(date, Literal):
        return Literal(date.value * DAY, timestamp_type("s"))
    return Cast(date, timestamp_type("s"))


def _instant(constant: Literal) -> tuple[int, str]:
    if constant.type.kind == "date":
        return constant.value * DAY, "s"
    return constant.value, str(constant.type.unit)


def _read(text: Literal, of: ColumnType) -> Expression:
    """A text beside a value of another type."""
    from eddy.query.expressions import Literal

    if of.kind == "timestamp":
        return _time(text.value, of)
    if of.kind == "date":
        value, unit = parse_instant(text.value, None)
        if unit == "s" and value % DAY == 0:
            return Literal(value // DAY, DATE)
        return Literal(value, timestamp_type(unit))
    if of.kind == "time":
        value, unit = parse_time(text.value)
        return Literal(value, time_type(unit))
    return uuid_literal(text.value) if of.kind == "uuid" else text


def _time(text: str, of: ColumnType) -> Literal:
    from eddy.query.expressions import Literal

    value, unit = parse_instant(text, of.zone)
    return Literal(value, timestamp_type(unit, "UTC" if of.zone else None))


def date_literal(text: str) -> Literal:
    """DATE '2024-01-31'."""
    from eddy.query.expressions import Literal

    return Literal(parse_date(text), DATE)


def time_literal(text: str) -> Literal:
    """TIME '12:00:00'."""
    from eddy.query.expressions import Literal

    value, unit = parse_time(text)
    return Literal(value, time_type(unit))


def uuid_literal(text: str) -> Literal:
    """UUID '550e8400-e29b-41d4-a716-446655440000'."""
    from eddy.query.expressions import Literal

    try:
        return Literal(uuid.UUID(text).bytes, UUID)
    except ValueError:
        raise QueryError(
            f"{text!r} is no UUID: write 32 hexadecimal digits, with or without hyphens"
        ) from None


def decimal_literal(text: str) -> Literal:
    """DECIMAL '12.50': as many digits as it is written with."""
    try:
        number = decimal.Decimal(text.strip())
        scale = max(0, -int(number.as_tuple().exponent))
    except (decimal.InvalidOperation, ValueError):
        raise QueryError(f"{text!r} is no decimal number: write it as '12.50'") from None
    return _decimal(_scaled(number, scale), scale, text)


def _decimal(value: int, scale: int, text: object) -> Literal:
    from eddy.query.expressions import Literal

    digits = digits_of(value, scale)
    if digits > DIGITS:
        raise QueryError(
            f"{text} has {digits} digits, and decimals have {DIGITS} at most: CAST both sides to DOUBLE"
        )
    return Literal(value, decimal_type(digits, scale))


def _as_decimal(constant: Literal, least: int) -> Expression:
    """A number as a decimal with so many digits behind the point at least, if they fit; it stays whole if none."""
    kind = constant.type
    if kind.is_integer and not least:
        return constant
    if kind.is_integer:
        value, scale = constant.value, 0
    elif kind.kind == "float":
        number = decimal.Decimal(constant.written or repr(constant.value)).normalize()
        scale = max(0, -int(number.as_tuple().exponent))
        value = _scaled(number, scale)
    elif kind.kind == "decimal":
        value, scale = constant.value, kind.scale
    else:
        return constant
    if scale < least and digits_of(value * 10 ** (least - scale), least) <= DIGITS:
        value, scale = value * 10 ** (least - scale), least
    if kind.is_integer and digits_of(value, scale) > DIGITS:
        return constant  # it is compared as it is
    return _decimal(value, scale, constant.written or constant)


def _scaled(number: decimal.Decimal, scale: int) -> int:
    """A decimal as the number of its last digits."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent + scale > DIGITS:
        raise QueryError(
            f"{number} has more digits than a decimal, which has {DIGITS}: CAST both sides to DOUBLE"
        )
    whole = int("".join(map(str, digits)) or "0") * 10 ** (exponent + scale)
    return -whole if sign else whole
