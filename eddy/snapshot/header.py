"""The header of a snapshot: everything but the rows."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen, validators

POLICIES = ("routing", "migration", "feedback")
SEVERAL = "several"
"""In its place: what there is to say of an engine of several queries."""
OPTIONS = ("plan", "batch_size", "joins", "seed", "retractions", "advise")
"""What a loaded engine has from the saved one, where it is given nothing else."""
BEFORE: dict[str, Any] = {
    **dict.fromkeys(("retractions", "frozen", "advise", "stays"), False),
    "pins": [],
    "options": {},
    "disorder": None,
    "attached": None,
    "metadata": None,
}
"""Of files from before these were saved."""

_int, _str, _dict = validators.instance_of(int), validators.instance_of(str), validators.instance_of(dict)
_row = validators.and_(_int, validators.ge(0), validators.lt(2**62))


@frozen
class Saved:
    """The header of a snapshot. Row numbers by stream, in the order of the query; those of the core."""

    library: str = field(validator=_str)
    query: dict[str, Any] = field(validator=_dict)
    plan: str = field(validator=_str)
    batch_size: int = field(validator=_int)
    joins: str = field(validator=_str)
    seed: int = field(validator=_int)
    retractions: bool = field(validator=validators.instance_of(bool))
    policies: dict[str, str] = field(validator=_dict)
    """What they were called: for people to read."""
    first_row: int = field(validator=_row)
    lows: list[int] = field(validator=validators.deep_iterable(_row))
    """The first live row."""
    nexts: list[int] = field(validator=validators.deep_iterable(_row))
    """The row that is to come."""
    now: int | None = field(validator=validators.optional(_int))
    """Time of the newest event, in the query's unit, where a window uses time."""
    counters: dict[str, int] = field(validator=validators.deep_mapping(_str, _int))
    pins: list[str] = field(validator=validators.deep_iterable(_str))
    """Sub-plans that the user wants kept."""
    frozen: bool = field(validator=validators.instance_of(bool))
    """Whether the routing policy is kept from deciding."""
    advise: bool = field(validator=validators.instance_of(bool))
    """Whether it only says what it would do."""
    stays: bool = field(validator=validators.instance_of(bool))
    """Whether the plan was given, and no policy that may change it."""
    auto: bool = field(validator=validators.instance_of(bool))
    """Whether the routing policy is `policies.Auto`, which `load` makes again. A class of that name need not be it."""
    options: dict[str, Any] = field(validator=_dict)
    """The numbers and names that it was made with, if it is."""
    disorder: dict[str, Any] | None = field(validator=validators.optional(_dict))
    """The reorder buffer, if there is one: see `disorder`."""
    attached: dict[str, Any] | None = field(validator=validators.optional(_dict))
    """What is attached to the streams, if anything is: see `attached`."""
    metadata: Any
    """What the user gave beside it."""


def was_auto(header: dict[str, Any]) -> bool:
    """Whether the routing policy of a file is `policies.Auto`, where it was not saved: by its name, and its options,
    which it always has. (The first files have no options at all.)"""
    return bool(header["policies"].get("routing") == "Auto" and header.get("options") != {})
