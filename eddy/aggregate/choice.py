"""Which accumulator computes a function. What has kernels that few queries need is loaded when one of them does."""

from __future__ import annotations

from eddy.aggregate.accumulators import (
    Accumulator,
    Count,
    DecimalMean,
    DecimalSum,
    FloatMean,
    FloatSum,
    IntegerMean,
    IntegerSum,
)
from eddy.aggregate.extremes import Extreme, Median
from eddy.aggregate.order_kernels import MAX, MEDIAN, MIN, SHARE, SHARE_DISCRETE
from eddy.aggregate.own import Own
from eddy.aggregate.texts import TextExtreme
from eddy.aggregate.texts_of import Texts
from eddy.errors import QueryError
from eddy.query.own_aggregate import Compiled
from eddy.query.own_function import OwnFunction
from eddy.query.quantile import Quantile
from eddy.values.types import DIGITS, FLOAT64, INT64, STRING, ColumnType, decimal_type, list_type

Function = str | Compiled | Quantile | OwnFunction
"""The name of one of SQL's functions, a quantile, or an aggregate of the user's own."""
_NUMBERS = ("int", "uint", "bool", "float")
_RANKS = {"MIN": MIN, "MAX": MAX, "BOOL_AND": MIN, "BOOL_OR": MAX}
_MOMENTS = {
    "VAR_SAMP": (True, False),
    "VAR_POP": (False, False),
    "STDDEV_SAMP": (True, True),
    "STDDEV_POP": (False, True),
}


def accumulator(function: Function, *types: ColumnType, texts: Texts | None = None) -> Accumulator | None:
    """What computes this function of columns of these types; None for COUNT(*)."""
    if isinstance(function, Compiled):
        return Own(types, function.type, compiled=function)
    if isinstance(function, OwnFunction):
        from eddy.aggregate.called import Called

        return Called((INT64,), function.type, items=types, texts=texts, function=function)
    if not types:
        if function != "COUNT":
            raise QueryError(f"{function}(*) means nothing; name the column, such as {function}(B.v)")
        return None
    of = types[0]
    if isinstance(function, Quantile):
        return _quantile(function, of)
    if function in ("FIRST", "LAST", "ARRAY_AGG"):
        return _ordered(function, types, texts)
    if function == "COUNT":
        return Count(types, INT64)
    if function in _RANKS:
        return _value(of, _RANKS[function])
    if of.kind == "decimal" and function == "SUM":
        return DecimalSum(types, decimal_type(DIGITS, of.scale))
    if of.kind == "decimal" and function == "AVG":
        return DecimalMean(types, FLOAT64)
    if of.kind == "duration" and function == "SUM":
        return IntegerSum(types, of)
    if of.kind in _NUMBERS and function in _MOMENTS:
        from eddy.aggregate.moments import Moments

        sample, root = _MOMENTS[function]
        return Moments(types, FLOAT64, sample=sample, root=root)
    if of.kind in _NUMBERS and function in ("SUM", "AVG", "MEDIAN"):
        if function == "MEDIAN":
            return Median(types, FLOAT64, rank=MEDIAN)
        if of.kind == "float":
            return FloatSum(types, FLOAT64) if function == "SUM" else FloatMean(types, FLOAT64)
        return IntegerSum(types, INT64) if function == "SUM" else IntegerMean(types, FLOAT64)
    raise QueryError(f"there is no {function} of {of}; take COUNT of it, or another column")


def _value(of: ColumnType, rank: int, share: tuple[int, int] = (0, 1)) -> Accumulator:
    """One of the values, in order."""
    if of.kind == "string":
        return TextExtreme((INT64,), STRING, rank=rank, share=share)
    return Extreme((of,), of, rank=rank, share=share)


def _quantile(function: Quantile, of: ColumnType) -> Accumulator:
    share = (function.numerator, function.denominator)
    if function.discrete:
        return _value(of, SHARE_DISCRETE, share)
    if of.kind not in _NUMBERS:
        raise QueryError(f"there is no QUANTILE_CONT of {of}; take QUANTILE_DISC of it, or another column")
    from eddy.aggregate.quantiles import Continuous

    return Continuous((of,), FLOAT64, rank=SHARE, share=share)


def _ordered(function: str, types: tuple[ColumnType, ...], texts: Texts | None) -> Accumulator:
    of, conditional = types[0], len(types) > 1
    if function == "ARRAY_AGG":
        from eddy.aggregate.lists import Lists

        return Lists((INT64,), list_type(of), items=(of,), conditional=conditional, texts=texts)
    from eddy.aggregate.ends import End

    rank = MIN if function == "FIRST" else MAX
    return End((INT64,), of, items=(of,), conditional=conditional, texts=texts, rank=rank)
