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
from eddy.values.types import Column, ColumnType

FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators, read from right to left."""
WHOLE = ("int", "timestamp", "date", "time", "duration", "decimal")
"""Kinds whose values are whole numbers."""
TABLE = 1 << 16
"""Combinations of regions whose sets are in a table; more are looked up one by one."""
MOST = 1 << 62

Slots = NDArray[np.int64]
"""Some queries, by their numbers, ascending."""


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
            found = self._values.searchsorted(values) + self._values.searchsorted(values, "right")
            if self.kind.kind == "float":
                found = np.where(values == values, found, self.regions - 1)
        return found if column.valid is None else np.where(column.valid, found, self.regions - 2)

    def ruled_out(self, region: int) -> Slots:
        """The queries of which a comparison is not true in a region."""
        if region >= self.regions - 2:  # NULL, or NaN, which is unlike all numbers
            unlike = self._operators == OPERATORS.index("!=") if region == self.regions - 1 else False
            found, lists = ~np.broadcast_to(unlike, len(self._queries)), [query for query, _ in self._lists]
        else:
            found = ~TRUE[self._operators, np.sign(region - self._places) + 1]
            lists = [query for query, places in self._lists if region not in places]
        return np.concatenate((self._queries[found], np.array(lists, np.int64)))


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
        self._others = [(part, np.array(queries, np.int64)) for part, queries in others.items()]
        self._sizes = [index.regions for index in self._indexes] + [2] * len(self._others)
        total = 1
        for size in self._sizes:
            total *= size
        self._fits = total < MOST
        self._table = np.full(total, -1, np.int64) if total <= TABLE else None
        self._known: dict[Any, int] = {}

    def wanted_by(self, get: Get, stream: str, n: int, sets: Sets) -> Slots:
        """For each of n rows the number of the set of queries that want it."""
        if not self._sizes:
            return np.full(n, sets.number(self.queries), np.int64)
        places = [index.regions_of(get(stream, index.column)) for index in self._indexes]
        places += [part.holds(get, n).astype(np.int64) for part, _ in self._others]
        if not self._fits:
            lines, inverse = np.unique(np.stack(places, axis=1), axis=0, return_inverse=True)
            return np.array([self._set(tuple(line), sets) for line in lines.tolist()])[inverse.reshape(-1)]
        keys = places[0]
        for size, more in zip(self._sizes[1:], places[1:], strict=True):
            keys = keys * size + more
        if self._table is None:
            some, inverse = np.unique(keys, return_inverse=True)
            return np.array([self._of_key(key, sets) for key in some.tolist()], np.int64)[inverse]
        found = self._table[keys]
        unknown = keys[found < 0]
        if len(unknown):
            for key in np.unique(unknown).tolist():
                self._table[key] = self._of_key(key, sets)
            found = self._table[keys]
        return found

    def _of_key(self, key: int, sets: Sets) -> int:
        """The set of a combination of regions, by its number."""
        places = []
        for size in reversed(self._sizes):
            key, place = divmod(key, size)
            places.append(place)
        return self._set(tuple(reversed(places)), sets)

    def _set(self, places: tuple[int, ...], sets: Sets) -> int:
        known = self._known.get(places)
        if known is None:
            out = [np.empty(0, np.int64)]
            out += [index.ruled_out(place) for index, place in zip(self._indexes, places, strict=False)]
            tested = places[len(self._indexes) :]
            out += [queries for holds, (_, queries) in zip(tested, self._others, strict=True) if not holds]
            left = self.queries[~np.isin(self.queries, np.concatenate(out))]
            known = self._known[places] = sets.number(left)
        return known


def conjuncts_of(filter: Expression | None) -> Sequence[Expression]:
    """What a filter says, part by part."""
    return [] if filter is None else list(conjuncts(filter))


class Sets:
    """Sets of queries, each with a number; 0 is the empty one."""

    def __init__(self) -> None:
        self.members: list[Slots] = [np.empty(0, np.int64)]
        """The queries of each set, ascending."""
        self._numbers: dict[bytes, int] = {self.members[0].tobytes(): 0}

    def __len__(self) -> int:
        return len(self.members)

    def number(self, queries: Slots) -> int:
        """The number of a set."""
        queries = np.ascontiguousarray(queries, np.int64)
        found = self._numbers.setdefault(queries.tobytes(), len(self.members))
        if found == len(self.members):
            self.members.append(queries)
        return found
