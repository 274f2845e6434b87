"""Bands: what comparisons of sums say, in one form however they are worded.

`A.x BETWEEN B.x - 5 AND B.x + 5`, `ABS(A.x - B.x) <= 5` and two inequalities are the same two *halves*, each a sum of
terms with a constant that is at most 0. Of a stream that has one term of a half, the half bounds that term; bounds of
one term make a *band*: `B.x - 5 <= A.x <= B.x + 5` over A, `A.x - 5 <= B.x <= A.x + 5` over B.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from eddy.query.comparisons import Comparison
from eddy.query.expressions import Absolute, Arithmetic, Expression, Get, Literal, Negation, Reference
from eddy.query.logic import And, conjuncts
from eddy.values.types import UNITS, Column, finest


@frozen
class Measure:
    """An expression as a float64 number: rounded to the nearest, NaN where it is NULL, ``scale`` times its value."""

    expression: Expression
    scale: int = 1
    streams: frozenset[str] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "streams", self.expression.streams)

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.expression.type.kind != "float"

    def values(self, get: Get, n: int) -> NDArray[np.float64]:
        """Its values for n rows, whose columns ``get`` gives."""
        column = self.expression.evaluate(get)
        values = np.empty(n)
        values[:] = column.values
        if self.scale != 1:
            values *= self.scale
        if column.valid is not None:
            values[~np.broadcast_to(column.valid, (n,))] = np.nan
        return values

    def __str__(self) -> str:
        return str(self.expression) if self.scale == 1 else f"{self.expression.within(6)} * {self.scale}"


Terms = tuple[tuple[int, Measure], ...]
"""Signed terms of a sum, in the order of their texts."""


@frozen
class Half:
    """The sum of the terms and the constant is at most 0, or below 0 if ``strict``."""

    terms: Terms
    constant: Fraction
    strict: bool
    size: Fraction = field(eq=False)
    """The constants that the sum was made of, added up without their signs."""
    whole: bool = field(eq=False)
    """Whether all of it is whole numbers."""

    def place(self, stream: str) -> int | None:
        """The number of the one term that reads the stream, and no other; None where it cannot be set apart."""
        found = [i for i, (_, term) in enumerate(self.terms) if stream in term.streams]
        return found[0] if len(found) == 1 and len(self.terms[found[0]][1].streams) == 1 else None


@frozen
class Bound:
    """What a measure is compared with: the sum of the terms and the constant, itself allowed unless ``strict``."""

    terms: Terms
    constant: Fraction
    strict: bool
    size: Fraction = field(eq=False)
    """What its constants add up to without their signs: rounding can be off by a part of that."""
    exact: bool = field(eq=False)
    """Whether float64 decides this comparison exactly while all numbers are below 2**53."""

    def __str__(self) -> str:
        parts = [f"{'+' if sign > 0 else '-'} {term}" for sign, term in self.terms]
        if self.constant or not parts:
            parts.append(f"{'+' if self.constant > 0 else '-'} {abs(self.constant)}")
        return " ".join(parts).removeprefix("+ ")


@frozen
class Band:
    """`lower <= index <= upper`. ``index`` reads one stream, the bounds read others.

    Of several lower bounds the largest counts, of several upper ones the smallest; with none that end is open.
    """

    index: Measure
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]

    def __str__(self) -> str:
        below = [f"{bound} {'<' if bound.strict else '<='} " for bound in self.lower]
        above = [f" {'<' if bound.strict else '<='} {bound}" for bound in self.upper]
        return f"{', '.join(below)}{self.index}{','.join(above)}"


def halves(predicate: Expression) -> tuple[Half, ...] | None:
    """The halves that a predicate says, together and nothing else; None where it cannot be put like that."""
    if isinstance(predicate, And):
        parts = [halves(part) for part in conjuncts(predicate)]
        return None if None in parts else tuple(half for part in parts for half in part or ())
    if not isinstance(predicate, Comparison) or predicate.op == "!=":
        return None
    left, right = predicate.left, predicate.right
    if "decimal" in (left.type.kind, right.type.kind):
        return _of_decimals(predicate)
    if not all(
        side.type.is_number or side.type.unit or side.type.kind == "date" for side in predicate.children
    ):
        return None
    units = [side.type.unit for side in (left, right) if side.type.unit is not None]
    unit = finest(*units) if units else None
    try:
        sums = (*_flat(left, 1, unit), *_flat(right, -1, unit))
        strict = predicate.op in "<>"
        found: list[Half] = []
        if predicate.op in ("<", "<=", "="):
            found += _halves(sums, strict)
        if predicate.op in (">", ">=", "="):
            found += _halves(_negated(sums), strict)
    except _NoNumberError:
        return None
    return tuple(dict.fromkeys(found))


def _of_decimals(predicate: Comparison) -> tuple[Half, ...] | None:
    """Decimals that have as many digits behind the point are whole numbers; their sums may be NULL, so they stay whole.

    Anything else cannot be put like that.
    """
    left, right = predicate.left, predicate.right
    if left.type.kind != right.type.kind or left.type.scale != right.type.scale:
        return None
    if any(isinstance(side, Absolute) for side in (left, right)):
        return None
    found: list[Half] = []
    try:
        if predicate.op in ("<", "<=", "="):
            found += _halves(((1, left, None), (-1, right, None)), predicate.op in "<>")
        if predicate.op in (">", ">=", "="):
            found += _halves(((-1, left, None), (1, right, None)), predicate.op in "<>")
    except _NoNumberError:
        return None
    return tuple(dict.fromkeys(found))


class _NoNumberError(Exception):
    """A constant that is NULL, infinite or NaN, or a term that no measure can be."""


Parts = tuple[tuple[int, Expression, str | None], ...]
"""Signed parts of a sum, each with the unit of time in which it counts."""


def _flat(
    expression: Expression, sign: int, unit: str | None
) -> Iterator[tuple[int, Expression, str | None]]:
    """The parts of a sum; a plain number counts in ``unit``.

    Of what reads one stream only constants are taken off: float64 could not tell the rest of it as exactly as the
    expression does.
    """
    own = expression.type.unit or unit
    if isinstance(expression, Negation):
        yield from _flat(expression.operand, -sign, own)
    elif isinstance(expression, Arithmetic) and expression.op in "+-" and _splits(expression):
        yield from _flat(expression.left, sign, own)
        yield from _flat(expression.right, sign if expression.op == "+" else -sign, own)
    else:
        yield sign, expression, own


def _splits(expression: Arithmetic) -> bool:
    constants = sum(not side.columns for side in expression.children)
    return len(expression.streams) > 1 or constants == 1


def _negated(sums: Parts) -> Parts:
    return tuple((-sign, part, unit) for sign, part, unit in sums)


def _halves(sums: Parts, strict: bool) -> Iterator[Half]:
    """`sum <= 0` as halves: `ABS(x) + y <= 0` is `x + y <= 0` and `y - x <= 0`."""
    for i, (sign, part, unit) in enumerate(sums):
        if isinstance(part, Absolute) and sign > 0 and len(part.streams) > 1:
            rest = (*sums[:i], *sums[i + 1 :])
            for inner in (1, -1):
                yield from _halves((*rest, *_flat(part.operand, inner, unit)), strict)
            return
    units = [unit for _, part, unit in sums if unit is not None and part.columns]
    of = UNITS[finest(*units)] if units else 1
    constants, terms = [Fraction(0)], []
    for sign, part, unit in sums:
        scale = Fraction(of, 1 if unit is None else UNITS[unit]) if units else Fraction(1)
        if part.columns:
            if _reads_text(part):  # a measure is found beside the codes of strings, not their texts
                raise _NoNumberError
            terms.append((sign, Measure(part, int(scale))))
        else:
            constants.append(sign * scale * _number(part))
    whole = all(c.denominator == 1 for c in constants) and all(term.whole for _, term in terms)
    ordered = tuple(sorted(terms, key=lambda term: (str(term[1]), term[0])))
    yield Half(ordered, sum(constants, Fraction(0)), strict, sum(map(abs, constants), Fraction(0)), whole)


def _reads_text(expression: Expression) -> bool:
    if isinstance(expression, Reference):
        return expression.type.is_coded
    return any(map(_reads_text, expression.children))


def _number(constant: Expression) -> Fraction:
    if isinstance(constant, Literal):
        value = constant.value
    else:
        column = constant.evaluate(_nothing)
        value = None if column.valid is not None and not column.valid[0] else column.values[0].item()
    if value is None or value != value or value in (float("inf"), float("-inf")):
        raise _NoNumberError
    return Fraction(value)


def _nothing(stream: str, column: str) -> Column:
    raise AssertionError("a constant reads no column")


def bands(given: Iterable[Half], stream: str) -> tuple[Band, ...]:
    """The bands over a stream that halves make, one for each measure of it; halves that bound none are passed over.

    Their order depends on what they say alone.
    """
    found: dict[Measure, tuple[dict[Terms, Bound], dict[Terms, Bound]]] = {}
    for half in given:
        place = half.place(stream)
        if place is None:
            continue
        sign, index = half.terms[place]
        rest = (*half.terms[:place], *half.terms[place + 1 :])
        terms = tuple((-sign * other, term) for other, term in rest)
        plain = len(terms) == 1 and half.size == 0
        bound = Bound(terms, -sign * half.constant, half.strict, half.size, half.whole or plain)
        ends = found.setdefault(index, ({}, {}))[0 if sign < 0 else 1]
        ends[terms] = _tighter(ends.get(terms), bound, upper=sign > 0)
    return tuple(
        Band(index, _ordered(lower), _ordered(upper))
        for index, (lower, upper) in sorted(found.items(), key=lambda item: str(item[0]))
    )


def _tighter(known: Bound | None, bound: Bound, upper: bool) -> Bound:
    """The bound that says what both say; of rounding it knows as little as the one that knows less."""
    if known is None:
        return bound
    first = min(known, bound, key=lambda b: (b.constant if upper else -b.constant, not b.strict))
    return evolve(first, size=max(known.size, bound.size), exact=known.exact and bound.exact)


def _ordered(bounds: dict[Terms, Bound]) -> tuple[Bound, ...]:
    return tuple(sorted(bounds.values(), key=str))


def measures(given: Sequence[Half], stream: str) -> Iterator[Measure]:
    """The terms of some halves that read this stream alone."""
    for half in given:
        for _, term in half.terms:
            if term.streams == {stream}:
                yield term
