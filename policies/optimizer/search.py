"""The cheapest plan for an estimate under a cost model, and what a plan costs, in seconds per event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.estimate import EXACT, Estimate
from policies.optimizer.exact import Space
from policies.optimizer.facts import query_of
from policies.optimizer.families import composites, improved
from policies.optimizer.family_kernels import EXACT as ORDERED
from policies.optimizer.large import greedy_order, greedy_tree, improved_order, improved_tree
from policies.optimizer.model import CostModel
from policies.optimizer.plans import Orders, Tree, left_deep, nodes, read, show, streams
from policies.optimizer.step_kernels import steps_seconds
from policies.optimizer.steps import Steps, steps_of

SHAPES = ("bushy", "left-deep", "orderings", "any")


def best(
    estimate: Estimate, model: CostModel, shape: str = "any", pinned: Iterable[str] = ()
) -> tuple[str, float]:
    """The cheapest plan of a shape, and its cost: exact for up to 12 streams, nearly so beyond.

    "any" is the best tree, the best orderings, or what comes of either when composites are dropped and added one by one
    while that pays (up to 12 streams), which is nearly always the best there is. ``pinned``: sub-plans such as "(A B)"
    whose composites every plan has to keep. A left-deep tree may have one on the right.
    """
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, not {shape!r}")
    units = pin(estimate.graph.names, pinned)
    whole = len(units) == len(estimate.graph.names)
    array = model.array(estimate)
    found: list[Tree | Orders] = []
    tree: Tree = units[0]
    if len(units) > 1 and shape in ("bushy", "any"):
        tree = _bushy(estimate, array, units)
    elif len(units) > 1 and shape == "left-deep":
        tree = _left_deep(estimate, array, units)
    elif shape == "orderings" and not whole:
        raise ValueError("a plan of orderings cannot have a pinned sub-plan")
    if shape != "orderings":
        found.append(tree)
    few = len(units) - 1 <= ORDERED  # then the best orderings are where the second search for "any" begins
    if whole and (shape == "orderings" or (shape == "any" and not few)):
        found.append(orderings(estimate, array))
    if shape == "any" and len(estimate.graph.names) <= EXACT and len(units) > 1:
        fixed = [both for unit in units for both in composites(unit)]
        found += [improved(estimate, array, kept, fixed) for kept in (composites(tree), fixed)]
    texts = [show(plan) for plan in found]
    costs = [seconds(steps_of(text, estimate.graph), estimate, array) for text in texts]
    at = costs.index(min(costs))
    return texts[at], costs[at]


def cost_of(plan: str, estimate: Estimate, model: CostModel) -> float:
    """Seconds per event that the joins of a plan take."""
    return seconds(steps_of(plan, estimate.graph), estimate, model.array(estimate))


def seconds(steps: Steps, estimate: Estimate, array: NDArray[np.float64]) -> float:
    """Seconds per event of some steps."""
    cards = estimate.cards(steps.sets.reshape(-1)).reshape(-1, 3)
    return float(steps_seconds(steps.table, cards, estimate.turnover, query_of(estimate), array))


def pin(names: Sequence[str], pinned: Iterable[str]) -> list[Tree]:
    """The streams as units, those of pinned sub-plans together; ValueError where two of these exclude each other."""
    trees = sorted((_tree(text) for text in pinned), key=lambda tree: -len(streams(tree)))
    units: list[Tree] = []
    for tree in trees:
        if any(_same(tree, part) for unit in units for part in nodes(unit)) or isinstance(tree, str):
            continue
        if unknown := streams(tree) - set(names):
            raise ValueError(f"the pinned sub-plan {show(tree)!r} names {min(unknown)}, which is no stream")
        if clash := [unit for unit in units if streams(unit) & streams(tree)]:
            raise ValueError(f"the pinned sub-plans {show(clash[0])!r} and {show(tree)!r} exclude each other")
        units.append(tree)
    taken = frozenset().union(*map(streams, units))
    return [*units, *(name for name in names if name not in taken)]


def _tree(text: str) -> Tree:
    plan = read(text)
    if isinstance(plan, (str, tuple)):
        return plan
    raise ValueError(f"only a part of a tree can be pinned, such as '(A B)', not {text!r}")


def _same(one: Tree, other: Tree) -> bool:
    """Whether two trees keep the same composites: left and right do not count."""
    return {streams(node) for node in nodes(one)} == {streams(node) for node in nodes(other)}


def _bushy(estimate: Estimate, array: NDArray[np.float64], units: list[Tree]) -> Tree:
    if len(units) <= EXACT:
        return Space(estimate, array, units).bushy()[0]
    fixed = frozenset(unit for unit in units if not isinstance(unit, str))
    return improved_tree(estimate, array, greedy_tree(estimate, units), fixed)


def _left_deep(estimate: Estimate, array: NDArray[np.float64], units: list[Tree]) -> Tree:
    if len(units) <= EXACT:
        return Space(estimate, array, units).left_deep()[0]
    first = min(units, key=lambda unit: estimate.composites(*streams(unit)))
    order = greedy_order(estimate, first, [unit for unit in units if unit is not first])
    return left_deep(improved_order(estimate, array, order, None))


def orderings(estimate: Estimate, array: NDArray[np.float64]) -> Orders:
    """For each stream its cheapest order; that of a relation which is loaded once, so that no row comes, is any."""
    names = estimate.graph.names
    space = Space(estimate, array, names) if len(names) <= EXACT else None
    orders: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(names):
        turnover = float(estimate.turnover[i]) or 1.0 / float(estimate.rows[i])
        if space is not None:
            orders[name] = tuple(names[k] for k in space.ordering(i, turnover)[0])
            continue
        order = greedy_order(estimate, name, [other for other in names if other != name])
        orders[name] = tuple(map(show, improved_order(estimate, array, order, turnover)[1:]))
    return orders
