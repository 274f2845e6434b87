"""What changes between two plans, and what the change itself costs."""

from __future__ import annotations

from policies.graph import Graph
from policies.optimizer.estimate import Estimate
from policies.optimizer.model import CostModel
from policies.optimizer.search import cost_of, seconds
from policies.optimizer.steps import steps_of


def same(plan: str, other: str, graph: Graph) -> bool:
    """Whether two plans do the same: left and right do not count, nor does the notation."""
    return steps_of(plan, graph).steps == steps_of(other, graph).steps


def changing_seconds(plan: str, other: str, believed: Estimate, model: CostModel) -> float:
    """Seconds per event of those steps of a plan that the other has not: only these are at stake."""
    ours, theirs = steps_of(plan, believed.graph), steps_of(other, believed.graph)
    return seconds(ours.but(theirs), believed, model.array(believed))


def making_seconds(entries: float, streams: int, model: CostModel) -> float:
    """Seconds to make a state of so many composites of so many streams: equation 1 of Zhu et al., but that pairs are
    found by look-ups. This is what `policies.Cheapest` reckons with, too."""
    each = model.match + model.insert + model.byte * (12 + 4 * streams)
    return entries * (each + 2 * model.reaching(entries, streams))


def moving_seconds(
    plan: str, other: str, believed: Estimate, model: CostModel, beside: float, horizon: float
) -> float:
    """Seconds that it takes to get from one plan to the other, by a technique of which `Migration.beside` is so much.

    Composites of states that only the other plan has are made once; or, where it is above 0, so much of the old plan
    goes on for ``horizon`` events.
    """
    ours, theirs = steps_of(plan, believed.graph), steps_of(other, believed.graph)
    total = len(theirs.steps) * model.change
    if beside:
        return total + beside * horizon * cost_of(plan, believed, model)
    new = sorted(theirs.kept - ours.kept)
    for both, cards in zip(new, believed.cards(believed.sets(new)).tolist(), strict=True):
        total += making_seconds(cards, both.bit_count(), model)
    return total
