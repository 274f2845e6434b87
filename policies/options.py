"""What the options of policies may be: validators for attrs, which name the policy, the option, and what it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

Validator = Callable[[Any, Any, Any], None]


def _validator(allowed: str, fits: Callable[[Any], bool]) -> Validator:
    def check(policy: Any, option: Any, value: Any) -> None:
        if not fits(value):
            raise ValueError(f"{type(policy).__name__}({option.name}=...) is {allowed}, not {value!r}")

    return check


def _is(value: Any, kind: type) -> bool:
    """Whether it is a number of this kind, numpy's included; True is none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def whole(least: int) -> Validator:
    """A whole number of at least so many."""
    return _validator(
        f"a whole number of at least {least}",
        lambda value: _is(value, Integral) and int(value) >= least,
    )


def number(
    above: float = -math.inf, least: float = -math.inf, most: float = math.inf, below: float | None = None
) -> Validator:
    """A number within bounds."""
    bounds = [f"above {above:g}"] if above > -math.inf else [f"of at least {least:g}"]
    bounds += [f"at most {most:g}"] if most < math.inf else []
    bounds += [f"below {below:g}"] if below is not None else []

    def fits(value: Any) -> bool:
        inside = _is(value, Real) and above < value and least <= value <= most
        return inside and (below is None or value < below)

    return _validator(f"a number {' and '.join(bounds)}", fits)


def one_of(names: Sequence[str]) -> Validator:
    """One of these names."""
    shown = f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"
    return _validator(shown, lambda value: isinstance(value, str) and value in names)


def truth() -> Validator:
    """True or False."""
    return _validator("True or False", lambda value: isinstance(value, bool))


def instance(kind: type) -> Validator:
    """An object of this class."""
    return _validator(f"a {kind.__name__}", lambda value: isinstance(value, kind))
