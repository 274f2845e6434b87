"""A quantile of values: which share of them lies before it, as an exact fraction."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError

MOST_DIGITS = 9
"""Behind the point of a share: so its denominator is at most 10 ** 9, as kernels need."""


@frozen
class Quantile:
    """What kernels keep of a quantile: the share of values before it, and whether it is one of the values."""

    numerator: int
    denominator: int
    discrete: bool
    distinct: bool = False
    """Whether each value of a group counts once."""


def share_of(node: exp.Expr | None, text: str) -> str:
    """The share that is written, as a plain decimal number between 0 and 1; ``text`` is the whole aggregate."""
    wrong = QueryError(
        f"cannot aggregate {text}: the share of a quantile is a constant from 0 to 1 with at most {MOST_DIGITS} "
        "decimals, such as QUANTILE_CONT(B.v, 0.9)"
    )
    if not isinstance(node, exp.Literal) or node.is_string:
        raise wrong
    try:
        share = Decimal(str(node.this))
    except InvalidOperation:
        raise wrong from None
    if not 0 <= share <= 1 or (share * 10**MOST_DIGITS) % 1 != 0:
        raise wrong
    return plain(share)


def plain(share: Decimal) -> str:
    """A share without an exponent and zeros that say nothing."""
    return f"{share.normalize():f}"


def quantile(share: str, discrete: bool, distinct: bool) -> Quantile:
    """The quantile of a share that was read before."""
    found = Fraction(share)
    return Quantile(found.numerator, found.denominator, discrete, distinct)
