"""What a group of queries begins with: new, or as a snapshot has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, frozen

from eddy.engine.build import House
from eddy.several.feed import Feed


@define(eq=False)
class Opening:
    """What a group is made with."""

    feed: Feed
    house: House
    options: Mapping[str, Any]
    plan: str | None
    """The plan to begin with."""
    given: bool
    """Whether the queries were given it; else the engine has chosen it, and goes on choosing."""


@frozen(eq=False)
class Saved:
    """What a snapshot has of a group beside its rows and queries."""

    lows: Mapping[str, int]
    now: int | None
    pins: Sequence[str]
    frozen: bool
    decided: int
    counters: Mapping[str, int]
