"""The plan of a chain of set differences: the order in which streams are subtracted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from eddy.errors import PlanError


@frozen
class Subtractions:
    """`((A - D) - B) - C`."""

    base: str
    order: tuple[str, ...]

    def __str__(self) -> str:
        text = self.base
        for i, name in enumerate(self.order):
            text = f"({text}) - {name}" if i else f"{text} - {name}"
        return text


def parse_subtractions(text: str, base: str, inner: Sequence[str]) -> Subtractions:
    """Read `A - D - B - C`, with or without parentheses to the left."""
    known = sorted((base, *inner), key=len, reverse=True)  # a name may contain "-"
    names = re.findall("|".join([*map(re.escape, known), r"[^()\s-]+"]), text)
    rest = text
    for name in names:
        rest = rest.replace(name, "x", 1)
    wanted = f"subtract from {base}, in any order: {Subtractions(base, tuple(inner))}"
    plain = re.fullmatch(r"\(*x(\)*-x)*\)*", re.sub(r"\s+", "", rest))
    if plain is None or text.count("(") != text.count(")"):
        raise PlanError(f"cannot read the plan {text!r}: {wanted}")
    if names[:1] != [base]:
        raise PlanError(f"the plan {text!r} must begin with {base}: {wanted}")
    order = tuple(names[1:])
    unknown = [name for name in order if name not in inner]
    if unknown:
        raise PlanError(f"the plan {text!r} names {unknown[0]}, which the query does not subtract: {wanted}")
    missing = [name for name in inner if name not in order]
    if missing or len(order) != len(inner):
        what = f"misses {missing[0]}" if missing else "names a stream twice"
        raise PlanError(f"the plan {text!r} {what}: {wanted}")
    return Subtractions(base, order)
