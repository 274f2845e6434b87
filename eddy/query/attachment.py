"""Attachments of a query: outer, semi, anti and as-of joins of one stream each with what stands before it.

`attach=[LeftJoin("B", on="A.k = B.k"), ...]` is applied in this order to the composites of the core, the streams that
no attachment names. The condition may read the core and the attachments before it. Its equalities of columns are keys;
what it says of the attached stream alone is a filter of that, where rows of it are never given by themselves; all else
is tested on the pairs that the keys let through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from eddy.errors import QueryError
from eddy.query.comparisons import Comparison, Distinct, InList
from eddy.query.expressions import Absolute, Arithmetic, Expression, Literal, Negation, Reference
from eddy.query.function import UserFunction
from eddy.query.keys import KeyClass
from eddy.query.logic import And, Not, Or, conjunction, conjuncts
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.query.predicate import UserPredicate
from eddy.shown import shown
from eddy.values.arithmetic import both
from eddy.values.types import BOOL, Array, Column

Predicate = str | UserPredicate | UserFunction | Expression


def _conjuncts(on: Any) -> Any:
    return tuple(on) if isinstance(on, list) else on


@frozen
class Attach:
    """A stream that is joined with the composites of the core: see its subclasses."""

    stream: str
    on: Predicate | Sequence[Predicate] = field(default=(), converter=_conjuncts)

    text: ClassVar[str]
    """As SQL says it."""
    pairs: ClassVar[bool] = True
    """Whether a composite is given with its partners."""
    keeps_left: ClassVar[bool] = False
    """Whether a composite without a partner is given, with NULLs."""
    keeps_right: ClassVar[bool] = False
    """Whether a row without a composite is."""
    nearest: ClassVar[bool] = False
    """Whether a composite takes one partner only, when it comes."""


class InnerJoin(Attach):
    """Composites with a partner: for a stream whose condition reads an attached one."""

    text = "JOIN"


class LeftJoin(Attach):
    """Composites with each partner, and with NULLs those that have none."""

    text = "LEFT JOIN"
    keeps_left = True


class RightJoin(Attach):
    """Composites with each partner, and rows of the stream that have none."""

    text = "RIGHT JOIN"
    keeps_right = True


class FullJoin(Attach):
    """Composites with each partner, and composites and rows that have none."""

    text = "FULL JOIN"
    keeps_left = keeps_right = True


class SemiJoin(Attach):
    """Composites that have a partner, each once; no column of the stream is seen."""

    text = "SEMI JOIN"
    pairs = False


class AntiJoin(Attach):
    """Composites that have no partner; no column of the stream is seen."""

    text = "ANTI JOIN"
    pairs = False


class AsofJoin(Attach):
    """Composites, each with the newest row that is there when it comes and satisfies an inequality of two columns."""

    text = "ASOF JOIN"
    nearest = True


class LeftAsofJoin(AsofJoin):
    """The same, and with NULLs those for which there is none."""

    text = "ASOF LEFT JOIN"
    keeps_left = True


@frozen(eq=False)
class Equal:
    """A column of what stands before, and the column of the attached stream that equals it."""

    left: Reference
    right: Reference
    nulls: bool = False
    """Whether NULL equals NULL."""
    _class: KeyClass = field(init=False, repr=False)

    @_class.default
    def _encoding(self) -> KeyClass:
        sides = self.left, self.right
        return KeyClass(
            0, {side.stream: side.column for side in sides}, {side.stream: side.type for side in sides}
        )

    @property
    def kind(self) -> str:
        """What the keys are: see `KeyClass`."""
        return self._class.kind

    def loose_words(self, stream: str, column: Column, left: bool) -> list[Array]:
        """The same where NULL matches everything: the second word is 1 of NULL, and 2 or 3 of what equals nothing."""
        keys, valid = self._class.encode(stream, column.values, column.valid)
        kinds = np.zeros(len(keys), np.int64)
        if valid is not None:
            kinds[~valid] = 2 if left else 3
        if column.valid is not None:
            kinds[~column.valid] = 1
        return [np.where(kinds > 0, 0, keys), kinds]

    def words(self, stream: str, column: Column) -> tuple[list[Array], Array | None]:
        """The words of the key for values of a side as they are stored, and which of them can match at all."""
        keys, valid = self._class.encode(stream, column.values, column.valid)
        if not self.nulls:
            return [keys], valid
        null = np.zeros(len(keys), np.bool_) if column.valid is None else ~column.valid
        matches = None if valid is None else valid | null
        return [np.where(null, 0, keys), null.astype(np.int64)], matches


@frozen(eq=False)
class Nearest:
    """The columns that an as-of join compares: the partner's is at most the composite's, and the largest such."""

    equal: Equal
    strict: bool
    ordered: bool
    """Whether it is the time of the attached stream, so that it ascends."""

    def values(self, stream: str, column: Column) -> tuple[Array, Array | None]:
        """The values of a side as int64 in the same order, and which of them can be compared."""
        (keys,), valid = self.equal.words(stream, column)
        if self.equal.kind == "float":
            return np.where(keys < 0, keys ^ np.int64(2**63 - 1), keys), valid
        return (keys ^ np.int64(-(2**63)), valid) if self.equal.kind == "uint" else (keys, valid)


@frozen(eq=False)
class Attachment:
    """An attachment of a query, analysed."""

    join: Attach
    stream: str
    on: tuple[Expression, ...]
    """All of its condition."""
    equal: tuple[Equal, ...]
    nearest: Nearest | None
    loose: Equal | None
    """Where there is no key: what NOT IN compares. Partners are equal, or one of them is NULL."""
    residual: Expression | None
    """What pairs are tested for beside the keys."""
    filter: Expression | None
    """What rows of the stream are tested for when they come."""

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """Streams and columns that are read when rows have been stored."""
        equals = self.equal if self.loose is None else (*self.equal, self.loose)
        found = {pair for equal in equals for side in (equal.left, equal.right) for pair in side.columns}
        if self.nearest is not None:
            for side in (self.nearest.equal.left, self.nearest.equal.right):
                found |= side.columns
        return frozenset(found | (self.residual.columns if self.residual is not None else set()))

    def __str__(self) -> str:
        return f"{self.join.text} {self.stream}"


def attachments(given: object, scope: Scope, times: dict[str, str | None]) -> tuple[Attachment, ...]:
    """The attachments of a query over these streams; ``times`` are their time columns."""
    if not isinstance(given, Iterable) or isinstance(given, (str, Attach)):
        given = [given]
    joins: list[Attach] = []
    for join in given:
        if not isinstance(join, Attach) or type(join) is Attach:
            raise QueryError(
                "attach takes a list of joins, such as [eddy.LeftJoin('B', on='A.k = B.k')], "
                f"not {shown(join)}"
            )
        joins.append(join)
    names = [join.stream for join in joins]
    for name in names:
        scope.stream(name)
        if names.count(name) > 1:
            raise QueryError(f"stream {name} is attached twice: give each its own name")
    if len(names) == len(scope.streams):
        raise QueryError("every stream is attached, and to none: leave the first one out of attach")
    found: list[Attachment] = []
    seen = [name for name in scope.streams if name not in names]
    for join in joins:
        found.append(_attachment(join, seen, scope, times))
        if join.pairs:
            seen.append(join.stream)
    return tuple(found)


def _attachment(join: Attach, seen: Sequence[str], scope: Scope, times: dict[str, str | None]) -> Attachment:
    visible = Scope({name: scope.stream(name) for name in (*seen, join.stream)})
    equal: list[Equal] = []
    rest: list[Expression] = []
    own: list[Expression] = []
    near: list[Nearest] = []
    on = tuple(conditions(join.on, visible))
    for part in on:
        pair = _equal(part, join.stream)
        close = None if pair is not None or not join.nearest else _nearest(part, join.stream, times)
        if pair is not None:
            equal.append(pair)
        elif close is not None:
            near.append(close)
        elif part.streams == {join.stream} and not join.keeps_right:
            own.append(part)
        else:
            rest.append(part)
    if join.nearest:
        _check_nearest(join, near, rest)
    loose = None if equal or join.nearest else _loose(rest, join.stream)
    return Attachment(
        join,
        join.stream,
        on,
        tuple(equal),
        near[0] if near else None,
        loose,
        conjunction(rest) if rest else None,
        conjunction(own) if own else None,
    )


def conditions(said: Any, scope: Scope) -> Iterator[Expression]:
    """The predicates of a condition, or of several."""
    for given in said if isinstance(said, (tuple, list)) else (said,):
        if isinstance(given, UserPredicate):
            yield given.bind(scope)
        elif isinstance(given, UserFunction):
            yield condition(given.bind(scope), scope)
        else:
            yield from conjuncts(condition(given, scope))


def _sides(part: Expression, stream: str) -> tuple[Reference, Reference] | None:
    """The columns that a comparison is of, that of the attached stream last; None if it is not of such."""
    if not isinstance(part, (Comparison, Distinct)):
        return None
    left, right = part.left, part.right
    if not isinstance(left, Reference) or not isinstance(right, Reference):
        return None
    if (left.stream == stream) == (right.stream == stream):
        return None
    return (right, left) if left.stream == stream else (left, right)


def _equal(part: Expression, stream: str) -> Equal | None:
    """The key that a predicate is, if it is one."""
    inner = part.operand if isinstance(part, Not) else part
    sides = _sides(inner, stream)
    if sides is None:
        return None
    if isinstance(inner, Distinct):
        return Equal(*sides, nulls=True) if isinstance(part, Not) else None
    return Equal(*sides) if isinstance(part, Comparison) and part.op == "=" else None


def _loose(rest: list[Expression], stream: str) -> Equal | None:
    """The first comparison that may also be unknown, which is taken out of the rest."""
    for part in rest:
        if not isinstance(part, Distinct) or part.right != Literal(False, BOOL):
            continue
        sides = _sides(part.left, stream)
        if sides is not None and isinstance(part.left, Comparison) and part.left.op == "=":
            rest.remove(part)
            return Equal(*sides)
    return None


def _nearest(part: Expression, stream: str, times: dict[str, str | None]) -> Nearest | None:
    sides = _sides(part, stream)
    if sides is None or not isinstance(part, Comparison) or sides[0].type.kind == "string":
        return None
    earlier = part.op in ("<", "<=") if part.left is sides[1] else part.op in (">", ">=")
    if not earlier or part.op in ("=", "!="):
        return None
    return Nearest(Equal(*sides), part.op in ("<", ">"), times[stream] == sides[1].column)


def _check_nearest(join: Attach, near: Sequence[Nearest], rest: Sequence[Expression]) -> None:
    wanted = f"such as A.k = {join.stream}.k AND A.ts >= {join.stream}.ts"
    later = [part for part in rest if isinstance(part, Comparison) and _sides(part, join.stream)]
    if not near and any(part.op not in ("=", "!=") for part in later):
        raise QueryError(
            f"{join.text} {join.stream} takes the last row before, {wanted}; the next one, as by {later[0]}, has "
            "not come when it is looked for: write JOIN and a band, such as "
            f"{join.stream}.ts BETWEEN A.ts AND A.ts + 60"
        )
    if not near:
        raise QueryError(
            f"{join.text} {join.stream} has no inequality that says which row is the nearest: give one, {wanted}"
        )
    if rest or len(near) > 1:
        part = rest[0] if rest else None
        raise QueryError(
            f"{join.text} {join.stream} takes equalities, one inequality and filters of {join.stream}, {wanted}"
            + (f", not {part}" if part is not None else ", and has two inequalities")
        )


def refuses_null(predicate: Expression) -> bool:
    """Whether it is certain not to hold where every column that it reads is NULL."""
    plain = (Comparison, InList, And, Or, Arithmetic, Negation, Absolute, Reference, Literal)
    parts = list(predicate.children)
    return (
        bool(predicate.columns)
        and isinstance(predicate, plain)
        and all(isinstance(part, Literal) or refuses_null(part) for part in parts)
    )


def valid_of(*masks: Array | None) -> Array | None:
    """Where all of these are valid; None: everywhere."""
    found: Array | None = None
    for mask in masks:
        found = both(found, mask)
    return found
