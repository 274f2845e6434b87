"""What changes between two plans, and what the change itself costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from policies.optimizer.estimate import Estimate
from policies.optimizer.facts import facts_of, query_of
from policies.optimizer.model import CostModel
from policies.optimizer.plans import Orders, Tree, nodes, read, streams
from policies.optimizer.search import cost_of
from policies.optimizer.step_kernels import node_seconds

Split = frozenset[frozenset[str]]
"""A join, by the streams of its two sides."""

SIDE_BY_SIDE = {"ParallelTrack": 1.0, "Gpt": 1.0, "HybMig": 0.5, "Ghm": 0.5}
"""Techniques that run the old plan beside the new one until the windows have turned over; for how much of it."""


def splits(plan: Tree | Orders) -> dict[Split, frozenset[str]]:
    """The joins of a tree, and what each makes; orderings have none that they share with a tree."""
    if isinstance(plan, Mapping):
        return {}
    return {
        frozenset((streams(left), streams(right))): streams(left) | streams(right)
        for left, right in nodes(plan)
    }


def same(plan: str, other: str) -> bool:
    """Whether two plans do the same: left and right do not count."""
    one, two = read(plan), read(other)
    if isinstance(one, Mapping) or isinstance(two, Mapping):
        return one == two
    return splits(one).keys() == splits(two).keys()


def changing_seconds(plan: str, other: str, believed: Estimate, model: CostModel) -> float:
    """Seconds per event of those joins of a plan that the other has not: only these are at stake."""
    ours, theirs = splits(read(plan)), splits(read(other))
    if not ours or not theirs:
        return cost_of(plan, believed, model)
    array, query, everything = model.array(believed), query_of(believed), set(believed.graph.names)
    total = 0.0
    for split, both in ours.items():
        if split not in theirs:
            left, right = (believed.mask(side) for side in split)
            facts = facts_of(believed, np.array([left, right, left | right]))
            total += node_seconds(facts, query, array, both == everything)
    return total


def moving_seconds(
    plan: str, other: str, believed: Estimate, model: CostModel, technique: str, horizon: float
) -> float:
    """Seconds that it takes to get from one plan to the other, by the technique in use.

    Composites of states that only the other plan has are made once; or the old plan goes on for ``horizon`` events.
    """
    former, made = set(splits(read(plan)).values()), splits(read(other))
    steps = 2 * len(made) if made else len(believed.graph.names) * (len(believed.graph.names) - 1)
    total = steps * model.change
    if technique in SIDE_BY_SIDE:
        return total + SIDE_BY_SIDE[technique] * horizon * cost_of(plan, believed, model)
    for both in made.values():
        if both not in former and len(both) < len(believed.graph.names):
            each = model.match + model.insert + model.byte * (12 + 4 * len(both))
            total += believed.composites(*both) * each
    return total
