"""Functions of numbers, of Arrow's: outside the domain of a function its value is NULL, as that of x / 0 is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.compute import Datum, known
from eddy.values.types import ColumnType

Arguments = Sequence[Datum]


def rounded(arguments: Arguments, result: ColumnType) -> Datum:
    """ROUND: to so many digits behind the point; halves go away from zero. Whole numbers stay what they are."""
    if result.kind == "decimal":
        return _cut(arguments[0], result, "half_towards_infinity")
    if result.kind != "float":
        return arguments[0]
    digits = arguments[1].as_py() if len(arguments) > 1 else 0
    if digits > 300:  # more digits than a float64 has
        return arguments[0]
    return pc.round(arguments[0], ndigits=digits, round_mode="half_towards_infinity")


def floor(arguments: Arguments, result: ColumnType) -> Datum:
    """FLOOR: the largest whole number that is not larger."""
    if result.kind == "decimal":
        return _cut(arguments[0], result, "down")
    return pc.floor(arguments[0]) if result.kind == "float" else arguments[0]


def ceil(arguments: Arguments, result: ColumnType) -> Datum:
    """CEIL: the smallest whole number that is not smaller."""
    if result.kind == "decimal":
        return _cut(arguments[0], result, "up")
    return pc.ceil(arguments[0]) if result.kind == "float" else arguments[0]


def trunc(arguments: Arguments, result: ColumnType) -> Datum:
    """TRUNC: without what is behind the point."""
    if result.kind == "decimal":
        return _cut(arguments[0], result, "towards_zero")
    return pc.trunc(arguments[0]) if result.kind == "float" else arguments[0]


def _cut(value: Datum, result: ColumnType, mode: str) -> Datum:
    """A decimal with as many digits behind the point as the result has. With 38 digits no carry is too long."""
    if value.type.scale <= result.scale:
        return value
    wide = value.cast(pa.decimal128(38, value.type.scale))
    return pc.round(wide, ndigits=result.scale, round_mode=mode).cast(result.arrow)


def sign(arguments: Arguments, result: ColumnType) -> Datum:
    """SIGN: -1, 0 or 1."""
    return pc.sign(arguments[0])


def sqrt(arguments: Arguments, result: ColumnType) -> Datum:
    """SQRT, NULL of negative numbers."""
    (x,) = arguments
    return known(pc.sqrt(x), pc.invert(pc.less(x, 0.0)))


def exp(arguments: Arguments, result: ColumnType) -> Datum:
    """EXP."""
    return pc.exp(arguments[0])


def ln(arguments: Arguments, result: ColumnType) -> Datum:
    """LN, NULL of what is not above 0."""
    (x,) = arguments
    return known(pc.ln(x), pc.invert(pc.less_equal(x, 0.0)))


def log(arguments: Arguments, result: ColumnType) -> Datum:
    """LOG(base, x), and LOG(x) to the base 10; NULL of what is not above 0, and where there is no such base."""
    base, x = arguments if len(arguments) > 1 else (pa.scalar(10.0), *arguments)
    inside = pc.and_(pc.invert(pc.less_equal(x, 0.0)), pc.invert(pc.less_equal(base, 0.0)))
    inside = pc.and_(inside, pc.not_equal(base, 1.0))
    constant = base.as_py() if isinstance(base, pa.Scalar) else np.nan
    exact = {10.0: pc.log10, 2.0: pc.log2}.get(constant)
    return known(pc.logb(x, base) if exact is None else exact(x), inside)


def power(arguments: Arguments, result: ColumnType) -> Datum:
    """POWER in float64; NULL where it is no real number."""
    x, y = arguments
    found = pc.power(x, y)
    wrong = pc.and_(pc.is_nan(found), pc.invert(pc.or_(pc.is_nan(x), pc.is_nan(y))))
    return known(found, pc.invert(wrong))


def least(arguments: Arguments, result: ColumnType) -> Datum:
    """LEAST: NULL counts for nothing, NaN is larger than every number."""
    if result.kind == "bool":
        return _of_flags(pc.min_element_wise, arguments)
    return pc.min_element_wise(*arguments)


def greatest(arguments: Arguments, result: ColumnType) -> Datum:
    """GREATEST: NULL counts for nothing, NaN is larger than every number."""
    if result.kind == "bool":
        return _of_flags(pc.max_element_wise, arguments)
    found = pc.max_element_wise(*arguments)  # for which NaN counts for nothing while there is a number
    if result.kind != "float":
        return found
    for x in arguments:
        found = pc.if_else(pc.fill_null(pc.is_nan(x), False), pa.scalar(np.nan), found)
    return found


def _of_flags(function: Datum, arguments: Arguments) -> Datum:
    return function(*(x.cast(pa.int8()) for x in arguments)).cast(pa.bool_())


def case(arguments: Arguments, result: ColumnType) -> Datum:
    """CASE: conditions and values in turns, then what else; the first condition that is true counts."""
    *pairs, found = arguments
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        found = pc.if_else(pc.fill_null(condition, False), value, found)
    return found


def coalesce(arguments: Arguments, result: ColumnType) -> Datum:
    """COALESCE: the first that is not NULL."""
    return pc.coalesce(*arguments)
