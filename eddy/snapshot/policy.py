"""What a snapshot keeps of a routing policy."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any

from attrs import fields, fields_dict

from policies import Routing
from policies.routing import OPTIMISED


def is_auto(routing: Routing) -> bool:
    """Whether it is `policies.Auto` itself, and not another class, which may have any name.

    Its module has kernels to compile, so it is not loaded for this: before it is, nothing is an `Auto`.
    """
    home: Any = sys.modules.get(OPTIMISED["Auto"])
    return home is not None and type(routing) is home.Auto


def saved_options(routing: Routing) -> dict[str, Any]:
    """What a snapshot keeps of `Auto`: all options but its cost model, which is a machine's. Nothing of others."""
    if not is_auto(routing):
        return {}
    kind: Any = type(routing)
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
