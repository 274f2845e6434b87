"""Predicates that compare: = != < <= > >=, IS NULL, IS DISTINCT FROM and IN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import frozen

from eddy.query import typing_rules
from eddy.query.beside import at_midnight
from eddy.query.expressions import Expression, Get, Literal
from eddy.values import arithmetic as evaluate
from eddy.values.among import among
from eddy.values.types import BOOL, Column, ColumnType


@frozen
class Test(Expression):
    """What says true, false or unknown, and binds as comparisons do."""

    @property
    def type(self) -> ColumnType:
        return BOOL

    @property
    def binding(self) -> int:
        return 4


@frozen
class Comparison(Test):
    """`left op right` for = != < <= > >=, exact for every pair of types that may be compared."""

    op: str
    left: Expression
    right: Expression

    def __attrs_post_init__(self) -> None:
        left, right = typing_rules.comparison(self.op, self.left, self.right)
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    def evaluate(self, get: Get) -> Column:
        return evaluate.compare(
            self.op, self.left.evaluate(get), self.left.type, self.right.evaluate(get), self.right.type
        )

    def __str__(self) -> str:
        return f"{self.left.within(5)} {self.op} {self.right.within(5)}"


@frozen
class IsNull(Test):
    """`operand IS NULL`: never unknown itself."""

    operand: Expression

    def evaluate(self, get: Get) -> Column:
        column = self.operand.evaluate(get)
        if column.valid is not None:
            return Column(~column.valid)
        scalar = isinstance(column.values, pa.Scalar)
        return Column(np.zeros(1 if scalar else len(column.values), bool))

    def __str__(self) -> str:
        return f"{self.operand.within(5)} IS NULL"


@frozen
class Distinct(Test):
    """`left IS DISTINCT FROM right`: NULL is like NULL and unlike all else, so this is never unknown."""

    left: Expression
    right: Expression

    def __attrs_post_init__(self) -> None:
        left, right = typing_rules.comparison("IS DISTINCT FROM", self.left, self.right)
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    def evaluate(self, get: Get) -> Column:
        a, b = self.left.evaluate(get), self.right.evaluate(get)
        values = evaluate.compare("!=", a, self.left.type, b, self.right.type).values
        if a.valid is None and b.valid is None:
            return Column(values)
        one, two = (np.ones(1, np.bool_) if side.valid is None else side.valid for side in (a, b))
        return Column(np.asarray((values & one & two) | (one != two)))

    def __str__(self) -> str:
        return f"{self.left.within(5)} IS DISTINCT FROM {self.right.within(5)}"


@frozen
class InList(Test):
    """`operand IN (constant, ...)`: unknown, not false, where nothing matches and a constant is NULL."""

    operand: Expression
    options: tuple[Expression, ...]

    def __attrs_post_init__(self) -> None:
        pairs = [typing_rules.comparison("=", self.operand, option) for option in self.options]
        options = tuple(option for _, option in pairs)
        if any(operand != self.operand for operand, _ in pairs):  # a date beside a time
            object.__setattr__(self, "operand", at_midnight(self.operand))
            options = tuple(map(at_midnight, options))
        object.__setattr__(self, "options", options)

    def evaluate(self, get: Get) -> Column:
        operand, of = self.operand.evaluate(get), self.operand.type
        alike = [option for option in self.options if _looked_up(option.type, of)]
        found = _lookup(operand, of, alike)
        for option in self.options:
            if option not in alike:
                one = evaluate.compare("=", operand, of, option.evaluate(get), option.type)
                found = evaluate.either_true(found, one)
        return found

    def __str__(self) -> str:
        return f"{self.operand.within(5)} IN ({', '.join(str(option) for option in self.options)})"


def _looked_up(option: ColumnType, operand: ColumnType) -> bool:
    """Whether constants of this type can be looked up together: those of the operand's own kind and unit."""
    return operand.kind in ("string", "int", "timestamp", "date", "duration") and (
        option.kind,
        option.unit,
    ) == (
        operand.kind,
        operand.unit,
    )


def _lookup(operand: Column, of: ColumnType, options: list[Expression]) -> Column:
    values = [option.value for option in options if isinstance(option, Literal)]
    if of.kind == "string":
        return Column(among(operand.values, tuple(values)), operand.valid)
    return Column(np.isin(operand.values, np.array(values, np.int64)), operand.valid)
