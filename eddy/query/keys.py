"""Key classes: columns of different streams that must all be equal, and their canonical int64 keys.

Equalities are closed under transitivity, so any stream of a class may be joined next. A stream has one
representative column in a class; further columns of it become filters (`A.x = B.x AND A.x = B.y` implies
`B.x = B.y`). A constant that one member is compared with holds for the others too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import field, frozen

from eddy.errors import QueryError
from eddy.query.comparisons import Comparison, InList
from eddy.query.expressions import Expression, Literal, Reference
from eddy.values.arithmetic import both, integer_arithmetic
from eddy.values.types import UNITS, Array, ColumnType, finest


@frozen(eq=False)
class KeyClass:
    """One column of each of several streams, all equal in every result.

    `kind` says what the keys are: "int" (int64), "uint" (uint64, bit by bit), "float" (float64, bit by bit),
    "timestamp", "time" and "duration" (int64 in the finest unit of the class), "date" (days), "decimal" (int64 in the
    finest scale of the class), or "string", "binary" and "uuid" (codes of the engine's pool).
    """

    index: int
    members: dict[str, str]
    types: dict[str, ColumnType] = field(repr=False)
    kind: str = field(init=False)
    unit: str | None = field(init=False, repr=False)
    scale: int = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind(self.types.values()))
        units = [kind.unit for kind in self.types.values() if kind.unit is not None]
        object.__setattr__(self, "unit", finest(*units) if units else None)
        object.__setattr__(self, "scale", max(kind.scale for kind in self.types.values()))

    def is_own_key(self, stream: str) -> bool:
        """Whether a member's values are their own keys: then `encode` would give them back."""
        of = self.types[stream]
        same_unit = (of.unit, of.scale) == (self.unit, self.scale)
        plain = of.kind != "float" and not of.is_coded and of.dtype == np.int64
        return plain and self.kind != "float" and same_unit

    def encode(self, stream: str, values: Array, valid: Array | None = None) -> tuple[Array, Array | None]:
        """Canonical keys of a member's values (strings: codes), and a mask of those that can match at all.

        Two valid keys are equal exactly when the values are equal in SQL, whatever their types. A value that
        equals nothing (NULL, NaN), or nothing that another member could hold (1.5 beside an integer, 2**63
        beside int64), is not valid. int64 values come back as they are, not copied.
        """
        of = self.types[stream]
        fits: Array | None = None
        if self.kind == "float":
            keys = (values.astype(np.float64, copy=False) + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
            fits = values == values
        elif of.unit is not None and self.unit is not None and of.unit != self.unit:
            factor = np.array([UNITS[self.unit] // UNITS[of.unit]])
            keys, fits = integer_arithmetic("*", values, factor, np.dtype("int64"))
        elif of.scale != self.scale:
            whole, fits = self._whole(values) if of.kind == "float" else (values, None)
            factor = np.array([10 ** (self.scale - of.scale)])
            keys, inside = integer_arithmetic("*", whole, factor, np.dtype("int64"))
            fits = both(fits, inside)
        elif of.is_coded:
            keys = values
        elif of.kind == "float":
            keys, fits = self._whole(values)
        elif of.name == "uint64":
            keys = values.view(np.int64)
            fits = None if self.kind == "uint" else keys >= 0
        else:
            keys = values.astype(np.int64, copy=False)
        if fits is None or fits.all():
            return keys, valid
        return keys, both(valid, fits)

    def _whole(self, values: Array) -> tuple[Array, Array]:
        """Floats as integers, where they are whole and in range."""
        low, high = (0.0, 2.0**64) if self.kind == "uint" else (-(2.0**63), 2.0**63)
        fits = (values >= low) & (values < high) & (np.floor(values) == values)
        dtype = np.uint64 if self.kind == "uint" else np.int64
        return np.where(fits, values, 0).astype(dtype).view(np.int64), fits

    def __str__(self) -> str:
        return " = ".join(f"{stream}.{column}" for stream, column in self.members.items())


def _kind(types: Iterable[ColumnType]) -> str:
    types = list(types)
    kinds = {of.kind for of in types}
    if len(kinds) == 1 and not kinds <= {"int", "uint", "bool"}:
        return types[0].kind
    if "decimal" in kinds:
        return "decimal"
    # A signed member bounds the whole class to int64; without one, uint64 keeps its full range.
    return "uint" if "int" not in kinds and any(of.name == "uint64" for of in types) else "int"


def is_equality(expression: Expression) -> bool:
    """Whether this is `column = column`, the stuff of key classes."""
    return (
        isinstance(expression, Comparison)
        and expression.op == "="
        and isinstance(expression.left, Reference)
        and isinstance(expression.right, Reference)
        and expression.left != expression.right
    )


def equal_columns(conjuncts: Iterable[Expression]) -> list[list[Reference]]:
    """The columns that the equalities of a conjunction make equal, one list for each value; first come, first named."""
    sets: dict[Reference, list[Reference]] = {}
    for equality in filter(is_equality, conjuncts):
        assert isinstance(equality, Comparison)
        a, b = (
            sets.setdefault(side, [side])
            for side in (equality.left, equality.right)
            if isinstance(side, Reference)
        )
        if a is not b:
            a.extend(b)
            sets.update(dict.fromkeys(b, a))
    return list({id(group): group for group in sets.values()}.values())


def key_classes(
    conjuncts: Sequence[Expression], order: Sequence[str]
) -> tuple[tuple[KeyClass, ...], list[Expression]]:
    """The classes of a conjunction, and the conjuncts left over, with the filters that the classes imply."""
    groups = equal_columns(conjuncts)
    groups = [group for group in groups if len({column.stream for column in group}) > 1]
    joined = {column for group in groups for column in group}
    rest = [c for c in conjuncts if not (is_equality(c) and set(c.children) <= joined)]
    classes: list[KeyClass] = []
    for group in groups:
        first = {column.stream: column for column in reversed(group)}
        chosen = [first[stream] for stream in order if stream in first]
        members = {column.stream: column.column for column in chosen}
        classes.append(KeyClass(len(classes), members, {column.stream: column.type for column in chosen}))
        rest += [Comparison("=", first[c.stream], c) for c in group if c != first[c.stream]]
        rest += [implied for c in conjuncts for implied in _spread(c, group, chosen)]
    return tuple(classes), list(dict.fromkeys(rest))


def _spread(
    conjunct: Expression, group: Sequence[Expression], chosen: Sequence[Reference]
) -> Iterator[Expression]:
    """A comparison of one member with constants, repeated for the representatives of the other streams."""
    if not isinstance(conjunct, (Comparison, InList)):
        return
    member, *others = sorted(conjunct.children, key=lambda part: not isinstance(part, Reference))
    if member not in group or not all(isinstance(part, Literal) for part in others):
        return
    for other in chosen:
        if {other.stream} != member.streams:
            try:
                yield conjunct.replace(member, other)
            except QueryError:  # this member's type cannot be compared with the constant: an int with TRUE
                continue
