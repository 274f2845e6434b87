"""Filters of many queries on one stream, looked up together (CACQ, section 3.1: grouped filters).

Comparisons of a column with constants are put into an `Index`: the constants of all queries cut the values of the
column into *regions*, the constants themselves and what lies between, and in one region every comparison is true or
false throughout. So 1,000 queries that differ in a constant cost one binary search a row. What else a filter says is
evaluated once for all queries that say it. (Departures: CACQ has an index for each operator, and tests a tuple's
predicates at a time; here all operators share one, and what holds for a batch is combined by number.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from numpy.typing import NDArray

from eddy.query.comparisons import Comparison, InList
from eddy.query.expressions import Expression, Get, Literal, Reference
from eddy.query.logic import conjuncts
from eddy.several.sets import Sets, Slots
from eddy.values.types import Column, ColumnType

FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators, read from right to left."""
WHOLE = ("int", "timestamp", "date", "time", "duration", "decimal")
"""Kinds whose values are whole numbers."""
TABLE = 1 << 16
"""Combinations of regions whose sets are in a table; more are looked up one by one."""
MOST = 1 << 62
KNOWN = 1 << 18
"""Combinations that are looked up one by one and remembered."""
CELLS = 1 << 22
"""Comparisons, each of a combination, that are evaluated at a time."""


@frozen
class Factor:
    """A comparison of a column with constants: `column op constant`, or IN."""

    column: str
    op: str
    constants: tuple[Any, ...]


OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
TRUE = np.array([[0, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], np.bool_)
"""Whether each operator holds in a region below, at and above its constant."""


@define(eq=False)
class Index:
    """The comparisons of one column with constants: where a value lies, and which queries rule that out."""

    column: str
    kind: ColumnType
    factors: Sequence[tuple[int, Factor]]
    """Each with the query that says it."""
    regions: int = field(init=False)
    """How many regions there are; the last but one is NULL, and the last is NaN."""
    _values: Any = field(init=False)
    """The constants, ascending."""
    _at_or_after: Any = field(init=False)
    """The first constant that is not below a value, by what `searchsorted` finds; the last one where all are."""
    _queries: Slots = field(init=False)
    _operators: Slots = field(init=False)
    _places: Slots = field(init=False)
    _lists: list[tuple[int, Slots]] = field(init=False)
    """Of what is IN a list of constants: the query, and the regions of these."""

    def __attrs_post_init__(self) -> None:
        points = sorted({constant for _, factor in self.factors for constant in factor.constants})
        where = {constant: 2 * i + 1 for i, constant in enumerate(points)}
        self.regions = 2 * len(points) + 3
        text = self.kind.kind == "string"
        self._values = pa.array(points, pa.string()) if text else np.array(points, self._dtype)
        self._at_or_after = None if text else np.append(self._values, self._values[-1])
        single = [(query, factor) for query, factor in self.factors if factor.op != "IN"]
        self._queries = np.array([query for query, _ in single], np.int64)
        self._operators = np.array([OPERATORS.index(factor.op) for _, factor in single], np.int64)
        self._places = np.array([where[factor.constants[0]] for _, factor in single], np.int64)
        self._lists = [
            (query, np.array([where[constant] for constant in factor.constants], np.int64))
            for query, factor in self.factors
            if factor.op == "IN"
        ]

    @property
    def _dtype(self) -> Any:
        return np.float64 if self.kind.kind == "float" else np.int64

    def regions_of(self, column: Column) -> Slots:
        """In which region each value lies: 2i + 1 is that of constant i, 2i what is between it and the one before."""
        found: Slots
        if self.kind.kind == "string":
            text = column.values if column.values.type == pa.string() else column.values.cast(pa.string())
            places = pc.index_in(text, value_set=self._values).cast(pa.int64())
            found = np.asarray(pc.add(pc.multiply(places, 2), 1).fill_null(0))
        else:
            values = column.values.astype(self._dtype, copy=False)
            places = self._values.searchsorted(values)
            found = 2 * places + (self._at_or_after[places] == values)
            if self.kind.kind == "float":
                found = np.where(values == values, found, self.regions - 1)
        return found if column.valid is None else np.where(column.valid, found, self.regions - 2)

    @property
    def queries(self) -> Slots:
        """The query of each comparison, those with an operator first."""
        return np.concatenate((self._queries, np.array([query for query, _ in self._lists], np.int64)))

    def ruled_out(self, regions: Slots) -> NDArray[np.bool_]:
        """For each region which comparisons are not true in it, in the order of `queries`."""
        some, inverse = np.unique(regions, return_inverse=True)
        absent = some >= self.regions - 2  # NULL, or NaN, which is unlike all numbers
        holds = TRUE[self._operators, np.sign(some[:, None] - self._places) + 1]
        nan = (some == self.regions - 1)[:, None]
        holds = np.where(absent[:, None], nan & (self._operators == OPERATORS.index("!=")), holds)
        lists = [np.isin(some, places) for _, places in self._lists]
        found = ~np.concatenate((holds, np.array(lists, np.bool_).reshape(-1, len(some)).T), axis=1)
        return found[inverse]


def factor_of(expression: Expression) -> tuple[Factor, ColumnType] | None:
    """A predicate as a comparison of a column with constants of its own type; None if it is something else."""
    if isinstance(expression, InList):
        reference, constants, op = expression.operand, expression.options, "IN"
    elif isinstance(expression, Comparison):
        reference, constant, op = expression.left, expression.right, expression.op
        if isinstance(reference, Literal):
            reference, constant, op = constant, reference, FLIPPED[op]
        constants = (constant,)
    else:
        return None
    if not isinstance(reference, Reference):
        return None
    values = tuple(_constant(reference.type, constant) for constant in constants)
    if None in values or (reference.type.kind == "string" and op not in ("=", "!=", "IN")):
        return None
    return Factor(reference.column, op, values), reference.type


def _constant(of: ColumnType, literal: Expression) -> Any:
    """The value of a constant as the column stores it; None if the two are not compared so."""
    if not isinstance(literal, Literal) or literal.value is None:
        return None
    kind, value = literal.type, literal.value
    if of.kind == "string":
        return value if isinstance(value, str) else None
    if of.kind == "float":
        exact = kind.kind in ("int", "uint", "float") and float(value) == value
        return float(value) if exact else None
    same = of.kind in WHOLE and (kind.kind, kind.unit, kind.scale) == (of.kind, of.unit, of.scale)
    return int(value) if same and -(2**63) <= value < 2**63 else None


class GroupedFilters:
    """Which of several queries want a row of one stream. Sets of queries are numbered as they are met (`Sets`)."""

    def __init__(self, filters: Mapping[int, Expression | None]) -> None:
        """``filters``: that of each query, by its number; None: it wants all rows."""
        self.queries = np.array(sorted(filters), np.int64)
        by_column: dict[str, tuple[ColumnType, list[tuple[int, Factor]]]] = {}
        others: dict[Expression, list[int]] = {}
        for query in self.queries.tolist():
            for part in conjuncts_of(filters[query]):
                found = factor_of(part)
                if found is None:
                    others.setdefault(part, []).append(query)
                else:
                    by_column.setdefault(found[0].column, (found[1], []))[1].append((query, found[0]))
        self._indexes = [Index(column, kind, factors) for column, (kind, factors) in by_column.items()]
        self._others = list(others)
        said = [index.queries for index in self._indexes]
        said += [np.array(queries, np.int64) for queries in others.values()]
        self._said = np.concatenate([np.empty(0, np.int64), *said])
        self._by_query = self._said.argsort(kind="stable")
        self._picky, self._starts = np.unique(self._said[self._by_query], return_index=True)
        self._counts = [len(queries) for queries in said]
        self._sizes = [index.regions for index in self._indexes] + [2] * len(others)
        total = 1
        for size in self._sizes:
            total *= size
        self._fits = total < MOST
        self._table = np.full(total, -1, np.int64) if total <= TABLE else None
        self._known: dict[int, int] = {}

    def forget(self) -> None:
        """Sets have other numbers now."""
        self._known.clear()
        if self._table is not None:
            self._table.fill(-1)

    def wanted_by(self, get: Get, stream: str, n: int, sets: Sets) -> Slots:
        """For each of n rows the number of the set of queries that want it."""
        if not self._sizes:
            return np.full(n, sets.number(self.queries), np.int64)
        places = [index.regions_of(get(stream, index.column)) for index in self._indexes]
        places += [part.holds(get, n).astype(np.int64) for part in self._others]
        if not self._fits:
            return self._sets_of(places, sets)
        keys = places[0]
        for size, more in zip(self._sizes[1:], places[1:], strict=True):
            keys = keys * size + more
        if self._table is not None:
            found = self._table[keys]
            if (found < 0).any():
                here = np.zeros(len(self._table), np.bool_)
                here[keys] = True
                unknown = np.flatnonzero(here & (self._table < 0))
                self._table[unknown] = self._sets_of(self._places(unknown), sets)
                found = self._table[keys]
            return found
        some, inverse = np.unique(keys, return_inverse=True)
        known = [self._known.get(key, -1) for key in some.tolist()]
        found = np.array(known, np.int64)
        new = some[found < 0]
        if len(new):
            found[found < 0] = numbers = self._sets_of(self._places(new), sets)
            if len(self._known) > KNOWN:
                self._known.clear()
            self._known.update(zip(new.tolist(), numbers.tolist(), strict=True))
        return found[inverse]

    def _places(self, keys: Slots) -> list[Slots]:
        """The regions, and what holds, of which these are the combinations."""
        places = []
        for size in reversed(self._sizes):
            keys, place = np.divmod(keys, size)
            places.append(place)
        return places[::-1]

    def _sets_of(self, places: Sequence[Slots], sets: Sets) -> Slots:
        """The sets of combinations of regions and of what holds, by their numbers."""
        n, step = len(places[0]), max(1, CELLS // max(len(self._said), len(self.queries)))
        found = [self._some([of[at : at + step] for of in places], sets) for at in range(0, n, step)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _some(self, places: Sequence[Slots], sets: Sets) -> Slots:
        """The same of a few."""
        n = len(places[0])
        out = np.empty((n, len(self._said)), np.bool_)
        at = 0
        for number, (here, count) in enumerate(zip(places, self._counts, strict=True)):
            part = out[:, at : at + count]
            if number < len(self._indexes):
                part[:] = self._indexes[number].ruled_out(here)
            else:
                part[:] = here[:, None] == 0
            at += count
        wanted = np.ones((n, len(self.queries)), np.bool_)
        ruled_out = np.logical_or.reduceat(out[:, self._by_query], self._starts, axis=1)
        wanted[:, self.queries.searchsorted(self._picky)] = ~ruled_out
        packed = np.packbits(wanted, axis=1)
        lines = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
        _, firsts, inverse = np.unique(lines, return_index=True, return_inverse=True)
        numbers = [sets.number(self.queries[wanted[first]]) for first in firsts.tolist()]
        return np.array(numbers, np.int64)[inverse.reshape(-1)]


def conjuncts_of(filter: Expression | None) -> Sequence[Expression]:
    """What a filter says, part by part."""
    return [] if filter is None else list(conjuncts(filter))
