"""Groups and their aggregates as plainly as can be: rows in lists, everything computed anew at each event."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from eddy.values.types import Column
from tests import naive

ALL = object()
"""The argument of COUNT(*)."""


def same(value):
    """A stand-in that is equal for values that are one group: NaN for itself, -0.0 for 0.0, NULL for NULL."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def exact(value):
    """A stand-in that is equal only for the same value of the same type, bit by bit, NaN aside."""
    return repr(value)


def rounded(total):
    """A Fraction as the nearest float, infinite beyond all."""
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def special(values):
    """What infinities and NaN make of a sum; None where there are none."""
    if any(math.isnan(v) for v in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    return next((v for v in values if math.isinf(v)), None)


def total(values):
    """SUM: exact, then rounded once; NULL for integers beyond int64."""
    if isinstance(values[0], float):
        odd = special(values)
        return rounded(sum(map(Fraction, values))) if odd is None else odd
    added = sum(map(int, values))
    return added if -(2**63) <= added < 2**63 else None


def mean(values):
    """AVG: the exact sum divided by the count, rounded once; of finite values it is finite, and zero has no sign."""
    if isinstance(values[0], float) and special(values) is not None:
        return special(values)
    return float(sum(map(Fraction, values)) / len(values)) + 0.0


def ordered(values):
    """Ascending, NaN last, zeros without sign."""
    if isinstance(values[0], float):
        return sorted((v + 0.0 for v in values), key=lambda v: (math.isnan(v), v))
    return sorted(values)


def median(values):
    """MEDIAN: the middle, or the mean of the two."""
    lower, upper = ordered(values)[(len(values) - 1) // 2], ordered(values)[len(values) // 2]
    if isinstance(lower, float) and not (math.isfinite(lower) and math.isfinite(upper)):
        return (lower + upper) / 2
    return rounded((Fraction(lower) + Fraction(upper)) / 2)


def variance(values, less):
    """VAR_POP and VAR_SAMP, infinite beyond all; NULL of too few values."""
    try:
        return naive.deviation(values, less)
    except OverflowError:
        return math.inf


FUNCTIONS = {
    "VAR_POP": lambda values: variance(values, 0),
    "VAR_SAMP": lambda values: variance(values, 1),
    "STDDEV_SAMP": lambda values: naive.root(variance(values, 1)),
    "SUM": total,
    "AVG": mean,
    "MIN": lambda values: ordered(values)[0],
    "MAX": lambda values: ordered(values)[-1],
    "MEDIAN": median,
}


def aggregate(function, values):
    """The function of these values, with NULL as in SQL."""
    if function == "COUNT":
        return sum(value is not None for value in values)
    kept = [value for value in values if value is not None]
    return FUNCTIONS[function](kept) if kept else None


class Model:
    """Feeds of events, each a list of (sign, key values, arguments); all values are Python's own."""

    def __init__(self, functions, grouped):
        self.functions = functions
        self.grouped = grouped
        self.groups = {} if grouped else {(): ((), [])}

    def row(self, key):
        """The output row of a group, or None where there is no such group."""
        shown, rows = self.groups.get(key, ((), []))
        if not rows and self.grouped:
            return None
        columns = zip(*rows, strict=True) if rows else [()] * len(self.functions)
        return (*shown, *(aggregate(f, c) for f, c in zip(self.functions, columns, strict=True)))

    def event(self, rows):
        """What changes at an event: (sign, output row), in order."""
        touched = list(dict.fromkeys(tuple(map(same, key)) for _, key, _ in rows))
        before = {key: self.row(key) for key in touched}
        for sign, key, arguments in rows:
            _, held = self.groups.setdefault(tuple(map(same, key)), (key, []))
            if sign > 0:
                held.append(arguments)
            else:
                held.pop(next(i for i, a in enumerate(held) if exact(a) == exact(arguments)))
        changes = []
        for key in touched:
            after = self.row(key)
            if after is None:
                del self.groups[key]
            if exact(before[key]) != exact(after):
                changes += [(sign, row) for sign, row in ((-1, before[key]), (1, after)) if row is not None]
        return changes

    def table(self):
        """All output rows, oldest group first."""
        return [self.row(key) for key in self.groups]


def column(values, dtype):
    """A column of Python values, with None for NULL."""
    valid = np.array([value is not None for value in values], bool)
    filled = np.array([0 if value is None else value for value in values], dtype)
    return Column(filled, None if valid.all() else valid)


def rows_of(columns, n):
    """Columns as a list of rows of Python values."""
    lists = [[v if ok else None for v, ok in zip(c.values.tolist(), c.known, strict=True)] for c in columns]
    return list(zip(*lists, strict=True)) if lists else [()] * n
