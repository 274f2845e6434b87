"""What options may be: rules that say so in words and check it, the same for policies and for the engine.

A rule is a validator of attrs, so `field(default=1, validator=whole(1))` checks an option of a policy, and the error
names the policy, the option and what it takes. `eddy.checks` applies the same rules to what an engine is given.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from attrs import Attribute

T = TypeVar("T")
Bound = float | None


@frozen
class Rule(Generic[T]):
    """What an option takes."""

    takes: str
    """In words, such as "a whole number of at least 1"; they follow "is" or "must be"."""
    fits: Callable[[Any], bool]
    """Whether a value, of any type, is one of these."""
    plain: Callable[[Any], T]
    """A value that fits, as Python's own type."""

    def __call__(self, policy: object, option: Attribute[T], value: object) -> None:
        """As a validator of attrs: ValueError for a value that does not fit."""
        if not self.fits(value):
            raise ValueError(f"{type(policy).__name__}({option.name}=...) is {self.takes}, not {value!r}")


def whole(least: Bound = None, below: Bound = None, takes: str | None = None) -> Rule[int]:
    """A whole number, numpy's included, of at least ``least`` and below ``below``; True is none."""

    def fits(value: Any) -> bool:
        try:
            number = operator.index(value)
        except TypeError:
            return False
        return not isinstance(value, bool) and _between(number, least, below)

    return Rule(
        takes or "a whole number" + ("" if least is None else f" of at least {least}"), fits, operator.index
    )


def number(
    above: Bound = None,
    least: Bound = None,
    most: Bound = None,
    below: Bound = None,
    takes: str | None = None,
) -> Rule[float]:
    """A number within bounds, numpy's included; neither True nor NaN is one. Infinity is below nothing."""
    bounds = {"above": above, "of at least": least, "at most": most, "below": below}
    told = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None and bound < math.inf]

    def fits(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            size = float(value)
        except OverflowError:
            return False
        inside = (above is None or above < size) and (most is None or size <= most)
        return inside and _between(size, least, below) and not math.isnan(size)

    return Rule(takes or " ".join(["a number", " and ".join(told)]).strip(), fits, float)


def _between(value: float, least: Bound, below: Bound) -> bool:
    return (least is None or least <= value) and (below is None or value < below)


def one_of(names: Sequence[str], takes: str | None = None) -> Rule[str]:
    """One of these names."""
    shown = " or ".join(filter(None, (", ".join(map(repr, names[:-1])), repr(names[-1]))))
    return Rule(takes or shown, lambda value: isinstance(value, str) and value in names, str)


def truth() -> Rule[bool]:
    """True or False; 0 and 1 are neither."""
    return Rule("True or False", lambda value: isinstance(value, bool), bool)


def instance(kind: type[T], takes: str | None = None) -> Rule[T]:
    """An object of this class."""
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    return Rule(
        takes or f"{article} {kind.__name__}", lambda value: isinstance(value, kind), lambda value: value
    )


def optional(rule: Rule[T]) -> Rule[T | None]:
    """What the rule takes, or None."""
    return Rule(
        f"{rule.takes}, or None",
        lambda value: value is None or rule.fits(value),
        lambda value: None if value is None else rule.plain(value),
    )
