"""Which arguments a function takes: the types that they are converted to, and the type of what comes out.

A rule is given the name of the function and its arguments. It returns the arguments, of which a text beside times may
have become a time, the types that they are wanted in, and the type of the value; or it raises a QueryError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.beside import at_midnight, beside
from eddy.query.casts import Cast
from eddy.query.expressions import Expression, Literal
from eddy.values.casting import castable
from eddy.values.patterns import group_count
from eddy.values.text_functions import arrow_pattern
from eddy.values.time_functions import CLOCK, PARTS, STEPS
from eddy.values.types import (
    BOOL,
    DIGITS,
    FLOAT64,
    INT64,
    NULL,
    STRING,
    UINT64,
    ColumnType,
    decimal_type,
    finest,
    timestamp_type,
)

Signature = tuple[tuple[Expression, ...], tuple[ColumnType, ...], ColumnType]
Rule = Callable[[str, Sequence[Expression]], Signature]


def floats(least: int, most: int | None = None) -> Rule:
    """So many numbers, taken as float64, give a float64."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most or least)
        for argument in arguments:
            _number(name, argument)
        return tuple(arguments), (FLOAT64,) * len(arguments), FLOAT64

    return rule


def rounding(name: str, arguments: Sequence[Expression]) -> Signature:
    """A number, and of ROUND the digits behind the point, a constant; whole numbers keep their type, and decimals have
    so many digits behind the point then."""
    _count(name, arguments, 1, 2 if name == "ROUND" else 1)
    of = arguments[0].type if arguments[0].type.kind == "decimal" else _number(name, arguments[0])
    left = 0
    if len(arguments) > 1:
        digits = _constant(name, arguments[1], "the number of digits")
        if digits.type != INT64:
            raise QueryError(f"{name} takes a whole number of digits, such as {name}({arguments[0]}, 2)")
        if digits.value < 0 and of.kind != "float":
            what = "decimal" if of.kind == "decimal" else "whole number"
            raise QueryError(
                f"{name} of a {what} takes no negative digits: write {name}(CAST({arguments[0]} AS DOUBLE), "
                f"{digits.value})"
            )
        left = digits.value
    if of.kind == "decimal":
        kind = of if left >= of.scale else decimal_type(of.digits - of.scale + left + 1, left)
        return tuple(arguments), (of, INT64)[: len(arguments)], kind
    kind = FLOAT64 if of.kind == "float" else of
    return tuple(arguments), (kind, INT64)[: len(arguments)], kind


def sign(name: str, arguments: Sequence[Expression]) -> Signature:
    """A number gives an int64."""
    _count(name, arguments, 1, 1)
    if arguments[0].type.kind == "decimal":
        return tuple(arguments), (arguments[0].type,), INT64
    return tuple(arguments), (_number(name, arguments[0]),), INT64


def texts(least: int, most: int | None = None, *, result: ColumnType = STRING) -> Rule:
    """So many strings give a value of a type."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most or least)
        for argument in arguments:
            _text(name, argument)
        return tuple(arguments), (STRING,) * len(arguments), result

    return rule


def joined(least: int, most: int | None = None) -> Rule:
    """So many values are put together as texts; those of other types as CAST to VARCHAR writes them."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most or least)
        given = tuple(
            Cast(argument, STRING)
            if argument.type.kind != "string" and castable(argument.type, STRING)
            else argument
            for argument in arguments
        )
        for argument in given:
            _text(name, argument)
        return given, (STRING,) * len(given), STRING

    return rule


def repeated(name: str, arguments: Sequence[Expression]) -> Signature:
    """A string, and how many times it is written, a constant."""
    made = places(2)(name, arguments)
    if int(_value(arguments[1])) > MANY:
        raise QueryError(f"{name} writes a text {MANY:,} times at most, not {arguments[1]}")
    return made


MANY = 1000


def pattern(least: int, most: int | None = None, *, result: ColumnType = BOOL) -> Rule:
    """A string, and constants that say what to look for in it."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most or least)
        _text(name, arguments[0])
        for argument in arguments[1:]:
            _text(name, _constant(name, argument, "what it looks for"))
        if name.startswith("REGEXP"):
            _regular(name, arguments)
        elif name in ("LIKE", "ILIKE"):
            _escaped(name, arguments)
        return tuple(arguments), (STRING,) * len(arguments), result

    return rule


def places(least: int, most: int | None = None) -> Rule:
    """A string, and whole numbers that are constants."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most or least)
        _text(name, arguments[0])
        for i, argument in enumerate(arguments[1:]):
            number = _constant(name, argument, "places and lengths")
            lowest = int(name == "SUBSTRING" and i == 0)
            if number.type != INT64 or not lowest <= number.value < 2**31:
                raise QueryError(f"{name} takes whole numbers from {lowest}, not {argument}")
        return tuple(arguments), (STRING, *(INT64 for _ in arguments[1:])), STRING

    return rule


def regexp_extract(name: str, arguments: Sequence[Expression]) -> Signature:
    """A string, a regular expression, and the number of a group."""
    _count(name, arguments, 2, 3)
    pattern(2)(name, arguments[:2])
    if len(arguments) > 2:
        group = _constant(name, arguments[2], "the number of a group")
        count = group_count(_value(arguments[1]))
        if group.type != INT64 or not 0 <= group.value <= min(count, 8):
            raise QueryError(f"{name} takes the number of a group, at most {min(count, 8)} here, not {group}")
    return tuple(arguments), (STRING, STRING, INT64)[: len(arguments)], STRING


def times(count: int, result: ColumnType | None = None) -> Rule:
    """A part of time, as a constant text, and times on one clock; ``result`` None: a time like them."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, count + 1, count + 1)
        given = [_as_time(argument) for argument in arguments[1:]]
        clock = name == "EXTRACT" and given[0].type.kind == "time"
        for time in given:
            if not (time.type.is_day or clock):
                raise QueryError(f"{name} takes a time, but {time} is {time.type}")
        if count == 2:
            given = list(typing_rules.comparison("=", *given))
        unit = finest(*(time.type.unit or "s" for time in given))
        kinds = [given[0].type] if clock else [timestamp_type(unit, time.type.zone) for time in given]
        part = _part(name, arguments[0])
        known: Sequence[str] = CLOCK if clock else PARTS if name == "EXTRACT" else STEPS
        if part not in known:
            raise QueryError(f"{name} does not know {part!r}: it takes {', '.join(known)}")
        what = FLOAT64 if part == "epoch" else result or kinds[0]
        return (Literal(part, STRING), *given), (STRING, *kinds), what

    return rule


def months(name: str, arguments: Sequence[Expression]) -> Signature:
    """A time, and a number of months; a date is the time at which it begins."""
    time = at_midnight(arguments[0])
    if time.type.kind != "timestamp":
        hint = f": write TIMESTAMP {time}" if time.type.kind == "string" and isinstance(time, Literal) else ""
        raise QueryError(f"months are added to times, but {time} is {time.type}{hint}")
    return (time, arguments[1]), (time.type, INT64), time.type


def case(name: str, arguments: Sequence[Expression]) -> Signature:
    """Conditions and values in turns, then what else: the values have a common type."""
    for condition in arguments[:-1:2]:
        typing_rules.boolean(condition)
    values, kind = common(name, [*arguments[1:-1:2], arguments[-1]])
    pairs = [part for both in zip(arguments[:-1:2], values, strict=False) for part in both]
    wanted = [BOOL, kind] * (len(values) - 1)
    return (*pairs, values[-1]), (*wanted, kind), kind


def alike(least: int, most: int = MANY) -> Rule:
    """Values that have a common type, which is that of the result."""

    def rule(name: str, arguments: Sequence[Expression]) -> Signature:
        _count(name, arguments, least, most)
        values, kind = common(name, arguments)
        return tuple(values), (kind,) * len(values), kind

    return rule


def common(name: str, values: Sequence[Expression]) -> tuple[list[Expression], ColumnType]:
    """Values and the type that can hold all of them."""
    values = _read_alike(values)
    kinds = [value.type for value in values if value.type.kind != "null"]
    if not kinds:
        return list(values), NULL
    if all(kind.is_number for kind in kinds):
        return list(values), _number_for([value for value in values if value.type.kind != "null"])
    if all(kind.is_exact for kind in kinds):
        return values, _decimal_for(name, kinds)
    first = kinds[0]
    for value in values:
        of = value.type
        if of.kind not in (first.kind, "null") or (bool(of.zone) != bool(first.zone) and of.kind != "null"):
            raise QueryError(
                f"{name} has values of different types, {first} and {of} ({value}): CAST one to the type of the other"
            )
    if first.unit is None:
        return list(values), first
    unit = finest(*(str(kind.unit) for kind in kinds))
    return list(values), next(kind.with_unit(unit) for kind in kinds)


def _read_alike(values: Sequence[Expression]) -> list[Expression]:
    """Constants as what they are beside the others; dates beside times as the times at which they begin."""
    for kind in ("decimal", "time", "uuid", "date", "timestamp"):
        other = next((value for value in values if value.type.kind == kind), None)
        if other is not None:
            values = [beside(value, other) for value in values]
    if any(value.type.kind == "timestamp" for value in values):
        values = [at_midnight(value) for value in values]
    return list(values)


def _decimal_for(name: str, kinds: Sequence[ColumnType]) -> ColumnType:
    """The decimal type that holds values of decimals and whole numbers."""
    scale = max(kind.scale for kind in kinds)
    digits = max(typing_rules.digits(kind) - kind.scale for kind in kinds) + scale
    if digits > DIGITS and not all(kind.kind == "decimal" for kind in kinds):
        raise QueryError(
            f"{name}: no decimal of {DIGITS} digits holds all of these numbers; CAST them to one type"
        )
    if digits > DIGITS:
        raise QueryError(
            f"{name} has values of {kinds[0]} and others that together need {digits} digits, and decimals have "
            f"{DIGITS} at most: CAST them to one type"
        )
    return decimal_type(digits, scale)


def _number_for(values: Sequence[Expression]) -> ColumnType:
    kinds = [value.type for value in values]
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if any(kind.kind == "float" for kind in kinds):
        return FLOAT64
    if all(kind.name != "uint64" for kind in kinds):
        return INT64
    if all(kind.kind == "uint" or _not_negative(value) for kind, value in zip(kinds, values, strict=True)):
        return UINT64
    raise QueryError(
        f"no type holds all of {', '.join(map(str, values))}, which are {', '.join(map(str, kinds))}: "
        "CAST them to BIGINT or DOUBLE"
    )


def _not_negative(value: Expression) -> bool:
    return isinstance(value, Literal) and value.value >= 0


def _count(name: str, arguments: Sequence[Expression], least: int, most: int) -> None:
    if not least <= len(arguments) <= most:
        takes = str(least) if least == most else f"{least} to {most}" if most < MANY else f"at least {least}"
        raise QueryError(
            f"{name} takes {takes} argument{'' if takes == '1' else 's'}, and is given {len(arguments)}"
        )


def _number(name: str, argument: Expression) -> ColumnType:
    if not argument.type.is_number:
        raise QueryError(f"{name} takes a number, but {argument} is {argument.type}{_hint(argument)}")
    return argument.type


def _text(name: str, argument: Expression) -> None:
    if argument.type.kind != "string":
        raise QueryError(
            f"{name} takes a string, but {argument} is {argument.type}: write CAST({argument} AS VARCHAR)"
        )


def _hint(argument: Expression) -> str:
    return (
        f": write CAST({argument} AS DOUBLE)" if argument.type.kind in ("string", "bool", "decimal") else ""
    )


def _constant(name: str, argument: Expression, what: str) -> Literal:
    if not isinstance(argument, Literal):
        raise QueryError(
            f"of {name}, {what} must be a constant, not {argument}: a function of your own (eddy.function) may take "
            "two columns"
        )
    return argument


def _value(argument: Expression) -> str:
    assert isinstance(argument, Literal)
    return str(argument.value)


def _part(name: str, argument: Expression) -> str:
    part = str(_constant(name, argument, "the part of time").value).lower()
    aliases = {"dayofweek": "dow", "dayofyear": "doy", "weekofyear": "week"}
    return aliases.get(part, part.removesuffix("s") if part.removesuffix("s") in STEPS else part)


def _as_time(argument: Expression) -> Expression:
    """A constant text is a time where nothing else can be meant."""
    if isinstance(argument, Literal) and argument.type.kind == "string":
        from eddy.values.instants import has_offset, parse_instant

        zone = "UTC" if has_offset(argument.value) else None
        value, unit = parse_instant(argument.value, zone)
        return Literal(value, timestamp_type(unit, zone))
    return argument


def _regular(name: str, arguments: Sequence[Expression]) -> None:
    try:
        group_count(_value(arguments[1]))
    except ValueError as error:
        raise QueryError(f"{_value(arguments[1])!r} is no regular expression: {error}") from None
    if name == "REGEXP_REPLACE" and len(arguments) > 3 and _value(arguments[3]) not in ("", "g"):
        raise QueryError(f"{name} has the option 'g', which replaces all, and no {_value(arguments[3])!r}")


def _escaped(name: str, arguments: Sequence[Expression]) -> None:
    escape = _value(arguments[2]) if len(arguments) > 2 else None
    if escape is not None and len(escape) != 1:
        raise QueryError(f"ESCAPE takes one character, not {escape!r}")
    try:
        arrow_pattern(_value(arguments[1]), escape)
    except ValueError as error:
        raise QueryError(f"{name}: {error}; write it twice") from None
