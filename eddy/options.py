"""What an engine is given: checked when it is made, and from then on to be read only."""

from __future__ import annotations

import copy
import operator
from numbers import Integral, Real
from typing import Any

from attrs import fields, fields_dict, has

from eddy.errors import EddyError
from eddy.query import Query
from policies import Fixed, Jisc, Migration, Routing

AT_ONCE = 2.0
"""Batches whose rows a state may have to be filled at once, in an engine that changes its plan by itself."""


def given(name: str, else_do: str) -> Any:
    """A property that shows the private attribute of that name. Much follows from an option when an engine is made, so
    it cannot be set afterwards; the error says what can be done."""

    def refuse(engine: object, value: object) -> None:
        raise AttributeError(f"{name} is given when an engine is made, and cannot be set later: {else_do}")

    return property(operator.attrgetter(f"_{name}"), refuse)


def reloaded(name: str) -> Any:
    """The same for an option that `Eddy.load` takes."""
    return given(name, f"save() the engine, and Eddy.load(path, {name}=...) goes on with another")


def whole(what: str, value: Any) -> int:
    """A whole number of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise EddyError(f"{what} must be a whole number of at least 1, not {value!r}")
    return number


def seed_number(value: Any) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise EddyError(f"seed must be a whole number, not {value!r}") from None


def flag(what: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise EddyError(f"{what} is True or False, not {value!r}")
    return value


def policy(what: str, value: Any, kind: type, default: Any) -> Any:
    """The engine's own copy of a policy: what one engine teaches it is no business of another's."""
    if value is None:
        return default
    if not isinstance(value, kind):
        hint = f": pass an instance, {value.__name__}()" if isinstance(value, type) else ""
        raise EddyError(f"{what} must be a policies.{kind.__name__}, not {value!r}{hint}")
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise EddyError(
            f"an engine works with a copy of the policies that it is given, and {type(value).__name__} cannot be "
            f"copied ({type(error).__name__}: {error}): give it a method __deepcopy__(self, memo), which may return "
            "self where the policy is given to one engine only"
        ) from error


def usual_routing(plan: str | None, advise: bool) -> Routing:
    """The routing policy where none is given: a plan that is given stays; but there has to be somebody to advise."""
    if plan is not None and not advise:
        return Fixed()
    from policies import Auto  # the optimiser's kernels are compiled only where it is needed

    return Auto()


def usual_technique(query: Query, routing: Routing, advise: bool) -> Migration:
    """The migration technique where none is given: an engine that changes its plan by itself, and so more often, fills
    what is small at once."""
    decides = routing.period is not None and not (query.minus and routing.joins_only)
    return Jisc(at_once=AT_ONCE) if decides and not advise else Jisc()


def saved_options(routing: Routing) -> dict[str, Any]:
    """What a snapshot keeps of `Auto`: all options but its cost model, which is a machine's. Nothing of others."""
    kind: Any = type(routing)
    if kind.__name__ != "Auto" or not has(kind):
        return {}
    found = {option.name: getattr(routing, option.name) for option in fields(kind) if option.init}
    return {name: _plain(value) for name, value in found.items() if isinstance(value, (Real, str))}


def _plain(value: Any) -> int | float | str:
    """A number of any make, or a name, as JSON has it."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else str(value)


def made_again(options: dict[str, Any]) -> Routing:
    """`Auto` with the options that a snapshot has kept; one that this version does not know is left out."""
    from policies import Auto

    return Auto(**{name: value for name, value in options.items() if name in fields_dict(Auto)})
