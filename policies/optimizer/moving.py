"""What changes between two plans, and what it takes to make a state."""

from __future__ import annotations

from policies.graph import Graph
from policies.optimizer.estimate import Estimate
from policies.optimizer.model import CostModel
from policies.optimizer.search import seconds
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
    found by look-ups."""
    each = model.match + model.insert + model.byte * (12 + 4 * streams)
    return entries * (each + 2 * model.reaching(entries, streams))
