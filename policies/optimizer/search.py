"""The cheapest plan for an estimate under a cost model, and what a plan costs, in seconds per event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.estimate import EXACT, Estimate, connections
from policies.optimizer.exact import Space
from policies.optimizer.facts import table_facts
from policies.optimizer.families import composites, improved
from policies.optimizer.family_kernels import EXACT as ORDERED
from policies.optimizer.large import greedy_order, greedy_tree, improved_order, improved_tree
from policies.optimizer.model import CostModel
from policies.optimizer.plans import Orders, Tree, left_deep, nodes, read, show, streams
from policies.optimizer.step_kernels import KEEP, steps_seconds
from policies.optimizer.steps import Steps, steps_of
from policies.optimizer.wide_kernels import wide_steps_seconds

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
    units, array = pin(estimate.graph.names, pinned), model.array(estimate)
    whole, few = len(units) == len(estimate.graph.names), len(estimate.graph.names) <= EXACT
    if shape == "orderings" and not whole:
        raise ValueError("a plan of orderings cannot have a pinned sub-plan")
    tree: Tree = units[0]
    if len(units) > 1 and shape in ("bushy", "any"):
        tree = _bushy(estimate, array, units)
    elif len(units) > 1 and shape == "left-deep":
        tree = _left_deep(estimate, array, units)
    if shape == "any" and few and len(units) > 1:
        text = show(_any(estimate, array, tree, units))
        return text, _seconds_of(text, estimate, array)
    found: list[Tree | Orders] = [] if shape == "orderings" else [tree]
    if whole and shape in ("orderings", "any"):
        found.append(orderings(estimate, array)[0])
    texts = [show(plan) for plan in found]
    costs = [_seconds_of(text, estimate, array) for text in texts]
    at = costs.index(min(costs))
    return texts[at], costs[at]


def _any(estimate: Estimate, array: NDArray[np.float64], tree: Tree, units: list[Tree]) -> Tree | Orders:
    """The best tree, and a plan without composites, each with what is better dropped or added; the cheaper of the two.

    Their costs are the kernel's: to follow the steps of each would take longer than to find it.
    """
    fixed = [both for unit in units for both in composites(unit)]
    found = [improved(estimate, array, kept, fixed) for kept in (composites(tree), fixed)]
    # Where there are more others than it orders exactly, the best orderings are not where the second search begins.
    if len(units) == len(estimate.graph.names) > ORDERED + 1:
        found.append(orderings(estimate, array))
    if not connections(estimate.graph)[1][-1]:  # then each kernel adds its own price for cross products
        return min((plan for plan, _ in found), key=lambda plan: _seconds_of(show(plan), estimate, array))
    return min(found, key=lambda each: each[1])[0]


def cost_of(plan: str, estimate: Estimate, model: CostModel) -> float:
    """Seconds per event that the joins of a plan take."""
    return _seconds_of(plan, estimate, model.array(estimate))


def _seconds_of(plan: str, estimate: Estimate, array: NDArray[np.float64]) -> float:
    return seconds(steps_of(plan, estimate.graph), estimate, array)


def seconds(steps: Steps, estimate: Estimate, array: NDArray[np.float64]) -> float:
    """Seconds per event of some steps."""
    kept = len(steps.kept) * float(array[KEEP])
    if steps.wide is not None:
        facts = table_facts(estimate, *steps.wide)
        return kept + float(wide_steps_seconds(steps.table, facts, estimate.query, array))
    cards = estimate.cards(steps.sets.reshape(-1)).reshape(-1, 3)
    return kept + float(steps_seconds(steps.table, cards, estimate.turnover, estimate.query, array))


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


def orderings(estimate: Estimate, array: NDArray[np.float64]) -> tuple[Orders, float]:
    """For each stream its cheapest order, and what all of them cost where they can be searched exactly; that of a
    relation which is loaded once, so that no row comes, is any."""
    names, total = estimate.graph.names, 0.0
    space = Space(estimate, array, names) if len(names) <= EXACT else None
    orders: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(names):
        turnover = float(estimate.turnover[i]) or 1.0 / float(estimate.rows[i])
        if space is not None:
            order, cost = space.ordering(i, turnover)
            orders[name] = tuple(names[k] for k in order)
            total += cost if estimate.turnover[i] else 0.0
            continue
        visits = greedy_order(estimate, name, [other for other in names if other != name])
        orders[name] = tuple(map(show, improved_order(estimate, array, visits, turnover)[1:]))
    return orders, total
