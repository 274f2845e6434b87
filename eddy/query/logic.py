"""AND, OR and NOT in SQL's three-valued logic, and the splitting of a predicate into conjuncts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np
from attrs import frozen

from eddy.query import typing_rules
from eddy.query.comparisons import Comparison
from eddy.query.expressions import Expression, Get
from eddy.values import arithmetic as evaluate
from eddy.values.types import BOOL, Array, Column, ColumnType

_INVERSE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@frozen
class Connective(Expression):
    """The common part of AND and OR."""

    left: Expression
    right: Expression

    def __attrs_post_init__(self) -> None:
        typing_rules.boolean(self.left)
        typing_rules.boolean(self.right)

    @property
    def type(self) -> ColumnType:
        return BOOL


@frozen
class And(Connective):
    """False if either side is false, else unknown if either is unknown."""

    @property
    def binding(self) -> int:
        return 2

    def evaluate(self, get: Get) -> Column:
        return evaluate.both_true(self.left.evaluate(get), self.right.evaluate(get))

    def holds(self, get: Get, n: int) -> Array:
        left = self.left.holds(get, n)
        return left & self.right.holds(get, n) if left.any() else left

    def __str__(self) -> str:
        return f"{self.left.within(2)} AND {self.right.within(3)}"


@frozen
class Or(Connective):
    """True if either side is true, else unknown if either is unknown."""

    @property
    def binding(self) -> int:
        return 1

    def evaluate(self, get: Get) -> Column:
        return evaluate.either_true(self.left.evaluate(get), self.right.evaluate(get))

    def holds(self, get: Get, n: int) -> Array:
        return self.left.holds(get, n) | self.right.holds(get, n)

    def __str__(self) -> str:
        return f"{self.left.within(1)} OR {self.right.within(2)}"


@frozen
class Not(Expression):
    """True where the operand is false; unknown stays unknown."""

    operand: Expression

    def __attrs_post_init__(self) -> None:
        typing_rules.boolean(self.operand)

    @property
    def type(self) -> ColumnType:
        return BOOL

    @property
    def binding(self) -> int:
        return 3

    def evaluate(self, get: Get) -> Column:
        column = self.operand.evaluate(get)
        return Column(~np.asarray(column.values), column.valid)

    def __str__(self) -> str:
        return f"NOT {self.operand.within(4)}"


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """Predicates whose conjunction is true exactly where the expression is; NOT is pushed down."""
    if isinstance(expression, And):
        yield from conjuncts(expression.left)
        yield from conjuncts(expression.right)
    elif isinstance(expression, Not):
        inner = expression.operand
        if isinstance(inner, Not):
            yield from conjuncts(inner.operand)
        elif isinstance(inner, Or):
            yield from conjuncts(Not(inner.left))
            yield from conjuncts(Not(inner.right))
        elif isinstance(inner, Comparison) and not _may_be_nan(inner):
            yield Comparison(_INVERSE[inner.op], inner.left, inner.right)
        else:
            yield expression
    else:
        yield expression


def _may_be_nan(comparison: Comparison) -> bool:
    """With NaN, `NOT a < b` is true and `a >= b` is not; only = and != are each other's inverse."""
    return comparison.op not in ("=", "!=") and "float" in (
        comparison.left.type.kind,
        comparison.right.type.kind,
    )


def conjunction(parts: Iterable[Expression]) -> Expression:
    """The parts joined with AND."""
    return reduce(And, parts)
