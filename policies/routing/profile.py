"""What a feed is like, so that two moments can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import field, frozen

from policies.optimizer.model import CostModel
from policies.view import Glance, View

NOISE = 4.0
"""Standard deviations by which a count has to differ to be worth a thought."""


@frozen(eq=False)
class Profile:
    """What the feed was like when a plan was last chosen or confirmed: per event, so that periods compare."""

    plan: str
    rates: Mapping[str, float]
    live: Mapping[str, int]
    matches: Mapping[tuple[tuple[str, ...], tuple[str, ...]], float]
    """Of each step."""
    events: int
    """In how many this was seen."""
    seconds: float
    """What an event took, by the model."""
    each: float
    """And what a match of all streams does."""
    all_matches: float = field(init=False)
    shares: tuple[float, ...] = field(init=False)
    noise: float = field(init=False)
    """By how much the matches of an event may be off."""

    def __attrs_post_init__(self) -> None:
        matches = sum(self.matches.values())
        object.__setattr__(self, "all_matches", matches)
        object.__setattr__(self, "shares", tuple(self.rates.values()))
        object.__setattr__(self, "noise", _noise(matches, self.events))

    @staticmethod
    def of(view: View, seconds: float, model: CostModel) -> Profile:
        events = max(1, sum(view.arrivals.values()))
        return Profile(
            view.plan,
            {name: n / events for name, n in view.arrivals.items()},
            view.live,
            {(step.source, step.target): step.matches / events for step in view.steps},
            events,
            seconds / events,
            _each(model, len(view.arrivals)),
        )

    def drift(self, other: Profile, model: CostModel, jitter: float = 0.0) -> float:
        """By what share it differs: in rates, in live rows, or in what matches cost, beyond the ``jitter`` by which
        these differ from one time to the next anyway."""
        most = sum(abs(rate - other.rates[name]) for name, rate in self.rates.items())
        for name, live in self.live.items():
            most = max(most, (abs(live - other.live[name]) - 64) / max(live, other.live[name], 1))
        moved = 0.0
        for step, matches in self.matches.items():
            before = other.matches.get(step, 0.0)
            noise = _noise(matches, self.events) + _noise(before, other.events)
            moved += max(0.0, abs(matches - before) - noise) * _each(model, len(step[0]) + len(step[1]))
        moved -= jitter * self.each
        return max(most, moved / max(self.seconds, other.seconds, 1e-12))

    def strays(self, other: Profile, share: float) -> bool:
        """Whether the feed is another now, by what does not depend on the plan: rates, live rows, and results."""
        mix = sum(abs(rate - other.rates[name]) for name, rate in self.rates.items())
        events = min(self.events, other.events)
        if mix > share + NOISE * math.sqrt(len(self.rates) / events):
            return True
        if any(abs(live - other.live[name]) - 64 > share * live for name, live in self.live.items()):
            return True
        one, two = self._results(), other._results()
        return abs(one - two) > share * max(one, two) + _noise(max(one, two), events)

    def _results(self) -> float:
        """Matches of an event that have rows of all streams."""
        width = len(self.rates)
        return sum(n for (source, target), n in self.matches.items() if len(source) + len(target) == width)

    def beyond(self, before: Profile | None, jitter: float) -> float:
        """Seconds that all this took beyond what it would have taken before, under the same plan, if that is more than
        by what matches per event differ anyway."""
        if before is None or before.plan != self.plan:
            return 0.0
        more = self.seconds - before.seconds - jitter * self.each
        return max(0.0, more) * self.events

    def differs(self, glance: Glance, share: float, jitter: float = 0.0) -> bool:
        """Whether a glance shows that the feed is another, by a share of the time that it takes."""
        events = glance.events
        now = glance.matches / events
        moved = abs(now - self.all_matches) - NOISE * math.sqrt(now / events) - self.noise - jitter
        if moved * self.each > share * self.seconds:
            return True
        mix = 0.0
        for rows, rate in zip(glance.arrivals, self.shares, strict=True):
            mix += abs(rows / events - rate)
        return mix > share + NOISE * math.sqrt(len(self.shares) / events)


def _noise(matches: float, events: int) -> float:
    """By how much a count of so many matches per event may be off, by chance alone."""
    return NOISE * math.sqrt(matches / events)


def _each(model: CostModel, width: int) -> float:
    """Seconds that a match takes."""
    return model.match + model.insert + model.byte * (12 + 4 * width)
