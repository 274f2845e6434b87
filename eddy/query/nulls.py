"""Conditions that are never true where a row is missing, as sqlglot has them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Missing = Callable[[exp.Column], bool]
"""Whether a column is one of a row that is missing."""
_ANY = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe),
)
"""What is NULL where one of its two sides is."""
_FIRST = exp.Paren, exp.Neg, exp.Not, exp.Cast, exp.Upper, exp.Lower, exp.Abs, exp.Length, exp.Between
"""What is NULL where its operand is."""


def is_null(node: exp.Expr, missing: Missing) -> bool:
    """Whether it is certain to be NULL."""
    if isinstance(node, exp.Column):
        return missing(node)
    if isinstance(node, _ANY):
        return is_null(node.this, missing) or is_null(node.expression, missing)
    if isinstance(node, exp.In):
        return bool(node.expressions) and is_null(node.this, missing)
    return isinstance(node, exp.Null) or (isinstance(node, _FIRST) and is_null(node.this, missing))


def rejects(node: exp.Expr, missing: Missing) -> bool:
    """Whether it is certain not to be true."""
    if isinstance(node, exp.Paren):
        return rejects(node.this, missing)
    if isinstance(node, exp.And):
        return any(rejects(part, missing) for part in node.flatten())
    if isinstance(node, exp.Or):
        return all(rejects(part, missing) for part in node.flatten())
    if isinstance(node, exp.Boolean):
        return not node.this
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
        return isinstance(node.this.expression, exp.Null) and is_null(node.this.this, missing)
    if isinstance(node, exp.Between):
        ends = (node.args["low"], node.args["high"])
        return any(is_null(part, missing) for part in (node.this, *ends))
    return is_null(node, missing)
