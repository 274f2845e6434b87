"""Sums in float64 that are rounded outwards, for the bounds of a range."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from eddy.query.expressions import Expression, Get
from eddy.values.arithmetic import both
from eddy.values.types import FLOAT64, UNITS, Array, Column, ColumnType

Terms = tuple[tuple[int, Expression], ...]  # signed terms of a sum

# A few roundings per term, each 2**-53 of what it rounds, stay well below this.
_SLACK = 2.0**-46


def negated(terms: Terms) -> Terms:
    """The terms of minus the sum."""
    return tuple((-sign, term) for sign, term in terms)


@frozen
class RoundedSum(Expression):
    """A signed sum as float64 in one unit of time: rounded down for direction -1, up for 1, to nearest for 0.

    Rounding to nearest keeps order, so a bound of a single term needs no slack. A sum of several is off by at
    most a few parts in 2**53 of its largest term, and is widened by more than that.
    """

    terms: Terms
    unit: str | None
    direction: int

    @property
    def type(self) -> ColumnType:
        return FLOAT64

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        return frozenset(pair for _, term in self.terms for pair in term.columns)

    def evaluate(self, get: Get) -> Column:
        scales = [self._scale(term) for _, term in self.terms]
        if scales == [1.0]:
            sign, term = self.terms[0]
            column = term.evaluate(get)
            values = column.values.astype(np.float64)
            return Column(values if sign > 0 else -values, column.valid)
        total: Array = np.zeros(1)
        size: Array = np.zeros(1)
        nan: Array = np.zeros(1, bool)
        valid: Array | None = None
        with np.errstate(all="ignore"):
            for (sign, term), scale in zip(self.terms, scales, strict=True):
                column = term.evaluate(get)
                values = column.values.astype(np.float64) * scale
                total = total + values * sign
                size = size + np.abs(values)
                nan = nan | np.isnan(values)
                valid = both(valid, column.valid)
            if self.direction:
                total = total + size * (_SLACK * self.direction)
        if self.direction:
            # Infinities that cancel say nothing: the end is open.
            total = np.where(np.isnan(total) & ~nan, np.inf * self.direction, total)
        return Column(total, valid if valid is None else np.broadcast_to(valid, total.shape))

    def _scale(self, term: Expression) -> float:
        unit = term.type.unit
        return 1.0 if self.unit is None or unit is None else UNITS[self.unit] / UNITS[unit]

    def __str__(self) -> str:
        if len(self.terms) == 1 and self.terms[0][0] > 0:
            return str(self.terms[0][1])
        parts = (f"{'+' if sign > 0 else '-'} {term.within(6)}" for sign, term in self.terms)
        return " ".join(parts).removeprefix("+ ")
