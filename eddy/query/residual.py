"""Residuals: the predicates between streams that no key class expresses, and the ranges that serve them."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from eddy.query.bounds import RoundedSum, Terms, negated
from eddy.query.comparisons import Comparison
from eddy.query.expressions import Absolute, Arithmetic, Expression, Get
from eddy.query.logic import And, conjuncts
from eddy.values.types import Array, finest


@frozen(eq=False)
class RangeForm:
    """The predicate implies `lower <= index <= upper`; None is an open end.

    `index` reads one stream, the bounds read the others; all three evaluate to float64, NULL where they are
    unknown, and are rounded so that no match is lost. The exact predicate decides afterwards.
    """

    index: Expression
    lower: Expression | None
    upper: Expression | None


@frozen(eq=False)
class Residual:
    """A predicate over two or more streams that is tested on each candidate."""

    expression: Expression
    streams: frozenset[str] = field(init=False)
    columns: frozenset[tuple[str, str]] = field(init=False)
    text: str = field(init=False)
    _ranges: dict[str, RangeForm | None] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "streams", self.expression.streams)
        object.__setattr__(self, "columns", self.expression.columns)
        object.__setattr__(self, "text", str(self.expression))
        ranges = {stream: _range(self.expression, stream) for stream in sorted(self.streams)}
        object.__setattr__(self, "_ranges", ranges)

    def range_for(self, stream: str) -> RangeForm | None:
        """The range that a sorted index over that stream can serve, if there is one."""
        return self._ranges.get(stream)

    def holds(self, get: Get, n: int) -> Array:
        """For each of n candidates whether the predicate is true."""
        return self.expression.holds(get, n)

    def __str__(self) -> str:
        return self.text


def residuals(predicates: Iterable[Expression]) -> tuple[Residual, ...]:
    """A residual for each predicate; a lower and an upper bound of the same thing become one."""
    found: list[Residual] = []
    for residual in map(Residual, predicates):
        for place, other in enumerate(found):
            if any(_complete(other, residual, stream) for stream in residual.streams):
                found[place] = Residual(And(other.expression, residual.expression))
                break
        else:
            found.append(residual)
    return tuple(found)


def _complete(a: Residual, b: Residual, stream: str) -> bool:
    """Whether together they bound an index over the stream from both sides, and neither does alone."""
    one, two = a.range_for(stream), b.range_for(stream)
    if a.streams != b.streams or one is None or two is None or one.index != two.index:
        return False
    return (one.lower is None) == (two.upper is None) == (one.upper is not None) == (two.lower is not None)


def _range(predicate: Expression, stream: str) -> RangeForm | None:
    if isinstance(predicate, And):
        forms = [form for part in conjuncts(predicate) if (form := _range(part, stream)) is not None]
        return _intersection(forms) if forms else None
    if not isinstance(predicate, Comparison) or predicate.op == "!=":
        return None
    if not all(side.type.is_number or side.type.unit is not None for side in predicate.children):
        return None
    left, right = predicate.left, predicate.right
    if stream in left.streams and stream in right.streams:
        return None
    at_most, at_least = predicate.op in ("<", "<=", "="), predicate.op in (">", ">=", "=")
    if stream in right.streams:
        left, right, at_most, at_least = right, left, at_least, at_most
    bound: Terms = ((1, right),)
    return _solve(left, bound if at_least else None, bound if at_most else None, stream)


def _solve(term: Expression, lower: Terms | None, upper: Terms | None, stream: str) -> RangeForm | None:
    """Move everything that does not read the stream from the term to its bounds."""
    if term.streams == {stream}:
        return _form(term, lower, upper)
    if isinstance(term, Absolute) and upper is not None:
        return _solve(term.operand, negated(upper), upper, stream)
    if isinstance(term, Arithmetic) and term.op in "+-":
        left, right = term.left, term.right
        if stream not in right.streams:
            moved: Terms = ((-1 if term.op == "+" else 1, right),)
            return _solve(left, lower and lower + moved, upper and upper + moved, stream)
        if stream not in left.streams:
            moved = ((-1, left),)
            lower, upper = lower and lower + moved, upper and upper + moved
            if term.op == "-":
                lower, upper = upper and negated(upper), lower and negated(lower)
            return _solve(right, lower, upper, stream)
    return None


def _form(index: Expression, lower: Terms | None, upper: Terms | None) -> RangeForm:
    parts = [index, *(part for bound in (lower, upper) if bound for _, part in bound)]
    units = [part.type.unit for part in parts if part.type.unit is not None]
    unit = finest(*units) if units else None
    return RangeForm(
        RoundedSum(((1, index),), unit, 0),
        None if lower is None else RoundedSum(lower, unit, -1),
        None if upper is None else RoundedSum(upper, unit, 1),
    )


def _intersection(forms: list[RangeForm]) -> RangeForm:
    """A lower and an upper bound for one index if there are both, else what the first says."""
    best = forms[0]
    for form in forms[1:]:
        if form.index == best.index:
            best = RangeForm(best.index, best.lower or form.lower, best.upper or form.upper)
    return best
