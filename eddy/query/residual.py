"""Residuals: the predicates between streams that no key class expresses, and the bands that they are."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from eddy.query.bands import Band, Half, bands, halves
from eddy.query.expressions import Expression, Get
from eddy.query.logic import And, conjuncts
from eddy.values.types import Array


@frozen(eq=False)
class Residual:
    """A predicate over two or more streams that is tested on each candidate."""

    expression: Expression
    streams: frozenset[str] = field(init=False)
    columns: frozenset[tuple[str, str]] = field(init=False)
    text: str = field(init=False)
    halves: tuple[Half, ...] = field(init=False, repr=False)
    """What is implied for sums; where ``banded``, that is all that the predicate says."""
    banded: bool = field(init=False)
    _bands: dict[str, tuple[Band, ...]] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        parts = [halves(part) for part in conjuncts(self.expression)]
        known = tuple(half for part in parts for half in part or ())
        found = {stream: bands(known, stream) for stream in sorted(self.expression.streams)}
        for name, value in (
            ("streams", self.expression.streams),
            ("columns", self.expression.columns),
            ("text", str(self.expression)),
            ("halves", known),
            ("banded", None not in parts),
            ("_bands", found),
        ):
            object.__setattr__(self, name, value)

    def bands_for(self, stream: str) -> tuple[Band, ...]:
        """The bands that a sorted index over that stream can serve: the predicate implies them."""
        return self._bands.get(stream, ())

    def is_told_by(self, stream: str) -> bool:
        """Whether the bands over a stream say all that the predicate says."""
        return self.banded and all(half.place(stream) is not None for half in self.halves)

    @property
    def order(self) -> tuple[str, ...]:
        """By this residuals are sorted: what they say, however it is worded, then their text."""
        said = (str(band) for stream in sorted(self.streams) for band in self.bands_for(stream))
        return (" ".join(sorted(self.streams)), *said, *sorted(map(str, conjuncts(self.expression))))

    def holds(self, get: Get, n: int) -> Array:
        """For each of n candidates whether the predicate is true."""
        return self.expression.holds(get, n)

    def __str__(self) -> str:
        return self.text


def residuals(predicates: Iterable[Expression]) -> tuple[Residual, ...]:
    """A residual for each predicate; those that bound the same thing of the same streams become one."""
    found: list[Residual] = []
    for residual in map(Residual, predicates):
        alike = [other for other in found if _bound_the_same(other, residual)]
        if alike:
            place, expression = found.index(alike[0]), alike[0].expression
            for other in (*alike[1:], residual):
                expression = And(expression, other.expression)
            found[place] = Residual(expression)
            found = [other for other in found if other not in alike[1:]]
        else:
            found.append(residual)
    return tuple(found)


def _bound_the_same(a: Residual, b: Residual) -> bool:
    """Whether both bound one measure of some stream, by the same other streams."""
    return a.streams == b.streams and any(
        one.index == two.index
        for stream in a.streams
        for one in a.bands_for(stream)
        for two in b.bands_for(stream)
    )
