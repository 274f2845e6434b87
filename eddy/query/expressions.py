"""Expressions: a small typed tree of our own.

A node knows its type from the moment it is made; the rules are in `typing_rules`, the arithmetic in
`evaluate`. Nodes are values: frozen, compared by content, picklable. `str(node)` is SQL that parses back to
an equal node.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, field, fields, frozen

from eddy.query import typing_rules
from eddy.values import arithmetic as evaluate
from eddy.values.days import format_date, format_time
from eddy.values.decimals import unscaled
from eddy.values.instants import format_instant
from eddy.values.types import Array, Column, ColumnType

Get = Callable[[str, str], Column]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_RESERVED = frozenset(
    """all alter and any as between call case create cross current_catalog current_date current_time
    current_timestamp current_user distinct drop else end except execute explain false fetch for from
    glob grant group having ilike in inner insert intersect interval into is join lateral like limit
    localtime localtimestamp not notnull null on optimize or order outer partitioned_by prepare
    qualify regexp rename returning revoke rlike rollback select session_user show straight_join
    tablesample then true uncache union using vacuum when where with xor""".split()
)


def quoted(name: str) -> str:
    """The name as SQL writes it: in double quotes only if it must be."""
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


@frozen
class Expression:
    """The root of the tree. `type` is the type of its values, `binding` how tightly its text holds."""

    @property
    def type(self) -> ColumnType:
        raise NotImplementedError

    @property
    def binding(self) -> int:
        return 9

    @property
    def children(self) -> Iterator[Expression]:
        """The nodes directly below."""
        for part in (getattr(self, slot.name) for slot in fields(type(self))):
            if isinstance(part, Expression):
                yield part
            elif isinstance(part, tuple):
                yield from (item for item in part if isinstance(item, Expression))

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """Every (stream, column) that the expression reads."""
        return frozenset(pair for child in self.children for pair in child.columns)

    @property
    def streams(self) -> frozenset[str]:
        """Every stream that the expression reads."""
        return frozenset(stream for stream, _ in self.columns)

    def evaluate(self, get: Get) -> Column:
        """The values for all rows; `get(stream, column)` gives the columns. Constants have length 1."""
        raise NotImplementedError

    def holds(self, get: Get, n: int) -> Array:
        """For each of n rows whether the predicate is true: neither false nor unknown."""
        column = self.evaluate(get)
        values: Array = column.values if column.valid is None else column.values & column.valid
        return values if values.shape == (n,) else np.broadcast_to(values, (n,)).copy()

    def replace(self, old: Expression, new: Expression) -> Expression:
        """The same tree with `new` wherever `old` stood, typed afresh."""
        if self == old:
            return new
        changes: dict[str, Any] = {}
        for slot in fields(type(self)):
            part = getattr(self, slot.name)
            if not slot.init:
                continue
            if isinstance(part, Expression):
                changes[slot.name] = part.replace(old, new)
            elif isinstance(part, tuple):
                changes[slot.name] = tuple(
                    p.replace(old, new) if isinstance(p, Expression) else p for p in part
                )
        return evolve(self, **changes) if changes else self

    def within(self, binding: int) -> str:
        """The text, in brackets if its surroundings hold more tightly."""
        return str(self) if self.binding >= binding else f"({self})"


@frozen
class Reference(Expression):
    """A column of a stream."""

    stream: str
    column: str
    type: ColumnType

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        return frozenset([(self.stream, self.column)])

    def evaluate(self, get: Get) -> Column:
        return get(self.stream, self.column)

    def holds(self, get: Get, n: int) -> Array:
        # The column itself is not the caller's to change.
        return np.array(Expression.holds(self, get, n))

    def __str__(self) -> str:
        return f"{quoted(self.stream)}.{quoted(self.column)}"


@frozen
class Literal(Expression):
    """A constant, as its type is stored: times are a number of their unit, UUIDs bytes. None is NULL."""

    value: Any
    type: ColumnType
    written: str = field(default="", eq=False, repr=False)
    """The digits of a number that a float may not hold, as they were written."""

    def evaluate(self, get: Get) -> Column:
        if self.value is None:
            return Column(np.zeros(1, bool), np.zeros(1, bool))
        if isinstance(self.value, str):
            return Column(pa.scalar(self.value, pa.string()))
        if isinstance(self.value, bytes):
            return Column(pa.scalar(self.value, pa.binary()))
        return Column(np.array([self.value], self.type.dtype))

    @property
    def binding(self) -> int:
        if self.type.kind == "date" and format_date(self.value) is None:
            return 5
        return 8 if isinstance(self.value, (int, float)) and self.value < 0 else 9

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if self.type.kind == "string":
            return "'" + str(self.value).replace("'", "''") + "'"
        if self.type.kind == "timestamp":
            return f"TIMESTAMP '{format_instant(self.value, str(self.type.unit), self.type.zone)}'"
        if self.type.kind == "date":
            text = format_date(self.value)
            return f"DATE '1970-01-01' + {self.value}" if text is None else f"DATE '{text}'"
        if self.type.kind == "time":
            return f"TIME '{format_time(self.value, str(self.type.unit))}'"
        if self.type.kind == "decimal":
            return f"DECIMAL '{unscaled(self.value, self.type.scale):f}'"
        if self.type.kind == "uuid":
            return f"UUID '{uuid.UUID(bytes=self.value)}'"
        if self.type.kind == "duration":
            return f"INTERVAL '{self.value} {self.type.unit}'"
        return str(self.value).upper() if self.type.kind == "bool" else repr(self.value)


@frozen
class Arithmetic(Expression):
    """`left op right` for + - * / %; the type follows `typing_rules.arithmetic`."""

    op: str
    left: Expression
    right: Expression
    type: ColumnType = field(init=False)

    def __attrs_post_init__(self) -> None:
        left, right, kind = typing_rules.arithmetic(self.op, self.left, self.right)
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)
        object.__setattr__(self, "type", kind)

    @property
    def binding(self) -> int:
        return 5 if self.op in "+-" else 6

    def evaluate(self, get: Get) -> Column:
        return evaluate.arithmetic(
            self.op,
            self.left.evaluate(get),
            self.left.type,
            self.right.evaluate(get),
            self.right.type,
            self.type,
        )

    def __str__(self) -> str:
        return f"{self.left.within(self.binding)} {self.op} {self.right.within(self.binding + 1)}"


@frozen
class Negation(Expression):
    """`-operand`."""

    operand: Expression
    type: ColumnType = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "type", typing_rules.negation(self.operand))

    @property
    def binding(self) -> int:
        return 7

    def evaluate(self, get: Get) -> Column:
        return evaluate.negation(self.operand.evaluate(get))

    def __str__(self) -> str:
        return f"-{self.operand.within(9)}"


@frozen
class Absolute(Expression):
    """`ABS(operand)`."""

    operand: Expression
    type: ColumnType = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "type", typing_rules.absolute(self.operand))

    def evaluate(self, get: Get) -> Column:
        return evaluate.absolute(self.operand.evaluate(get))

    def __str__(self) -> str:
        return f"ABS({self.operand})"
