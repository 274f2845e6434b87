"""What a feed is like, so that two moments can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import field, frozen

from policies.optimizer.model import CostModel
from policies.routing.view import Glance, View

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
    all_matches: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "all_matches", sum(self.matches.values()))

    @staticmethod
    def of(view: View, seconds: float) -> Profile:
        events = max(1, sum(view.arrivals.values()))
        return Profile(
            view.plan,
            {name: n / events for name, n in view.arrivals.items()},
            view.live,
            {(step.source, step.target): step.matches / events for step in view.steps},
            events,
            seconds / events,
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
        moved -= jitter * _each(model, len(self.rates))
        return max(most, moved / max(self.seconds, other.seconds, 1e-12))

    def beyond(self, before: Profile | None, model: CostModel, jitter: float) -> float:
        """Seconds that all this took beyond what it would have taken before, under the same plan, if that is more than
        by what matches per event differ anyway."""
        if before is None or before.plan != self.plan:
            return 0.0
        more = self.seconds - before.seconds - jitter * _each(model, len(self.rates))
        return max(0.0, more) * self.events

    def seconds_beyond(self, glance: Glance, model: CostModel) -> float:
        """About how much longer than now what a glance shows has taken."""
        more = glance.matches - self.all_matches * glance.events
        each = _each(model, len(self.rates)) - model.insert  # most that come so suddenly are results
        return max(0.0, more) * each

    def matches_in(self, seconds: float, model: CostModel) -> float:
        """Matches that take so long."""
        return seconds / _each(model, len(self.rates))

    def differs(self, glance: Glance, share: float, model: CostModel, jitter: float = 0.0) -> bool:
        """Whether a glance shows that the feed is another, by a share of the time that it takes."""
        events = max(1, glance.events)
        doubt = NOISE * math.sqrt(len(self.rates) / events)
        mix = zip(glance.arrivals, self.rates.values(), strict=True)
        if sum(abs(n / events - rate) for n, rate in mix) > share + doubt:
            return True
        now, before = glance.matches / events, self.all_matches
        moved = abs(now - before) - _noise(now, events) - _noise(before, self.events) - jitter
        return moved * _each(model, len(self.rates)) > share * self.seconds


def _noise(matches: float, events: int) -> float:
    """By how much a count of so many matches per event may be off, by chance alone."""
    return NOISE * math.sqrt(matches / events)


def _each(model: CostModel, width: int) -> float:
    """Seconds that a match takes."""
    return model.match + model.insert + model.byte * (12 + 4 * width)
