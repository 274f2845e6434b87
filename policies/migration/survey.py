"""What an engine can tell of a plan change before it begins: both plans, and how large all is that they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from attrs import field, frozen

Streams = frozenset[int]
"""Streams by number, in the order of declaration."""


class JoinStep(NamedTuple):
    """One step of a plan: entries of some streams probe a state of others."""

    source: Streams
    target: Streams
    drivers: Streams
    """The streams whose arrivals make these entries."""
    kept: bool
    """Whether what comes of it is put into a state."""


@frozen
class Survey:
    """A plan change that is about to begin."""

    live: tuple[float, ...]
    """Rows in the window of each stream."""
    rates: tuple[float, ...]
    """Rows of each stream per event; they add up to 1."""
    former: tuple[JoinStep, ...]
    plan: tuple[JoinStep, ...]
    missing: tuple[Streams, ...]
    """The states of the new plan that are not there, or not whole, each after those below it."""
    composites: Mapping[Streams, float]
    """Live composites of the sets that steps make, but for that of all streams: counted where the former plan keeps
    them, sampled otherwise."""
    batch: float
    """Events of a batch, on average."""
    nested: bool = False
    """Joins are nested loops."""
    running: bool = False
    """Another change is under way."""
    turnover: tuple[float, ...] = field(init=False, repr=False)
    """Of each stream, arrivals per event and live row."""

    def __attrs_post_init__(self) -> None:
        parts = zip(self.rates, self.live, strict=True)
        object.__setattr__(self, "turnover", tuple([rate / max(live, 1.0) for rate, live in parts]))

    @property
    def events(self) -> float:
        """Events in which all windows turn over: as many as there are live rows, if all streams are as fast as their
        windows are long."""
        return sum(self.live)

    def entries(self, streams: Streams) -> float:
        """Live composites of some streams, or rows of one."""
        return self.live[min(streams)] if len(streams) == 1 else self.composites.get(streams, 0.0)
