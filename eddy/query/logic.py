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
    elif isinstance(expression, Or):
        yield from _factored(expression)
    else:
        yield expression


def disjuncts(expression: Expression) -> list[Expression]:
    """The branches of OR; of anything else itself."""
    if isinstance(expression, Or):
        return [*disjuncts(expression.left), *disjuncts(expression.right)]
    return [expression]


def _factored(either: Or) -> Iterator[Expression]:
    """The conjuncts of OR: what all branches say, and what is left of them.

    `(p AND x) OR (p AND y)` is true exactly where `p` and `x OR y` are. An equality between streams that stands in
    every branch is a key then, and not one test among others of every pair of rows.
    """
    branches = [list(conjuncts(branch)) for branch in disjuncts(either)]
    common = [part for part in dict.fromkeys(branches[0]) if all(part in other for other in branches)]
    if not common:
        yield either
        return
    yield from common
    rest = [[part for part in branch if part not in common] for branch in branches]
    if all(rest):  # else a branch says no more than the others do
        yield from conjuncts(reduce(Or, map(conjunction, rest)))


def implied(expression: Expression) -> Iterator[Expression]:
    """Predicates on one stream that are true wherever OR is, if every branch says something of that stream.

    Of `(A.x = 1 AND B.y = 2) OR (A.x = 3 AND B.y = 4)` these are `A.x = 1 OR A.x = 3` and `B.y = 2 OR B.y = 4`: rows
    that they reject can be in no result, and need not be stored.
    """
    branches = [list(conjuncts(branch)) for branch in disjuncts(expression)]
    if len(branches) > 1:
        for stream in sorted(expression.streams):
            alone = [[part for part in branch if part.streams == {stream}] for branch in branches]
            if all(alone):
                yield reduce(Or, map(conjunction, alone))


def _may_be_nan(comparison: Comparison) -> bool:
    """With NaN, `NOT a < b` is true and `a >= b` is not; only = and != are each other's inverse."""
    return comparison.op not in ("=", "!=") and "float" in (
        comparison.left.type.kind,
        comparison.right.type.kind,
    )


def conjunction(parts: Iterable[Expression]) -> Expression:
    """The parts joined with AND."""
    return reduce(And, parts)
