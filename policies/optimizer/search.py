"""The cheapest plan for an estimate under a cost model, and what a plan costs, in seconds per event."""

from __future__ import annotations

import math
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
from policies.optimizer.portions import PIECE, Pieces, at_once, reckoned
from policies.optimizer.step_kernels import KEEP, steps_seconds
from policies.optimizer.steps import Step, Steps, all_steps, steps_of
from policies.optimizer.wide_kernels import wide_steps_seconds

SHAPES = ("bushy", "left-deep", "orderings", "any")
SPLIT, FAMILY = 1e-8, 1e-7
"""Seconds in which an exact search tries one split of a set; and, times the fourth power of the number of streams, in
which composites are dropped and added."""
TOO_MUCH = 2.0
"""Times the cost of a tree from which on orderings are not improved any more."""


def best(
    estimate: Estimate, model: CostModel, shape: str = "any", pinned: Iterable[str] = ()
) -> tuple[str, float]:
    """The cheapest plan of a shape, and its cost: exact for up to 12 streams, nearly so beyond.

    "any" is the best tree, the best orderings, or what comes of either when composites are dropped and added one by one
    while that pays (up to 12 streams), which is nearly always the best there is. ``pinned``: sub-plans such as "(A B)"
    whose composites every plan has to keep. A left-deep tree may have one on the right.
    """
    return at_once(search(estimate, model, shape, pinned))


def search(
    estimate: Estimate, model: CostModel, shape: str = "any", pinned: Iterable[str] = ()
) -> Pieces[tuple[str, float]]:
    """The same in pieces, none of which takes much longer than a millisecond or two."""
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, not {shape!r}")
    units, array = pin(estimate.graph.names, pinned), model.array(estimate)
    if shape == "orderings" and len(units) < len(estimate.graph.names):
        raise ValueError("a plan of orderings cannot have a pinned sub-plan")
    return _search(estimate, array, shape, units)


def _search(
    estimate: Estimate, array: NDArray[np.float64], shape: str, units: list[Tree]
) -> Pieces[tuple[str, float]]:
    whole, few = len(units) == len(estimate.graph.names), len(estimate.graph.names) <= EXACT
    tree: Tree = units[0]
    if len(units) > 1 and shape in ("bushy", "any"):
        tree = yield from _bushy(estimate, array, units)
    elif len(units) > 1 and shape == "left-deep":
        tree = yield from _left_deep(estimate, array, units)
    if shape == "any" and few and len(units) > 1:
        plan = yield from _any(estimate, array, tree, units)
        text = show(plan)
        return text, _seconds_of(text, estimate, array)
    found: list[tuple[str, float]] = []
    if shape != "orderings":
        text = show(tree)
        found.append((text, _seconds_of(text, estimate, array)))
        yield PIECE
    if whole and shape in ("orderings", "any"):
        limit = found[0][1] if found else math.inf
        orders, cost = yield from orderings(estimate, array, limit)
        if not found or cost < found[0][1]:
            found.append((show(orders), cost))
    return min(found, key=lambda each: each[1])


def _any(
    estimate: Estimate, array: NDArray[np.float64], tree: Tree, units: list[Tree]
) -> Pieces[Tree | Orders]:
    """The best tree, and a plan without composites, each with what is better dropped or added; the cheaper of the two.

    Their costs are the kernel's: to follow the steps of each would take longer than to find it.
    """
    fixed = [both for unit in units for both in composites(unit)]
    found: list[tuple[Tree | Orders, float]] = []
    for kept in (composites(tree), fixed):
        found.append(improved(estimate, array, kept, fixed))
        yield PIECE + FAMILY * len(estimate.graph.names) ** 4
    # Where there are more others than it orders exactly, the best orderings are not where the second search begins.
    if len(units) == len(estimate.graph.names) > ORDERED + 1:
        found.append((yield from orderings(estimate, array)))
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


def _bushy(estimate: Estimate, array: NDArray[np.float64], units: list[Tree]) -> Pieces[Tree]:
    if len(units) <= EXACT:
        yield PIECE + SPLIT * 3 ** len(units)
        return Space(estimate, array, units).bushy()[0]
    fixed = frozenset(unit for unit in units if not isinstance(unit, str))
    tree = yield from greedy_tree(estimate, units)
    return (yield from improved_tree(estimate, array, tree, fixed))


def _left_deep(estimate: Estimate, array: NDArray[np.float64], units: list[Tree]) -> Pieces[Tree]:
    if len(units) <= EXACT:
        yield PIECE + SPLIT * len(units) * 2 ** len(units)
        return Space(estimate, array, units).left_deep()[0]
    first = min(units, key=lambda unit: estimate.composites(*streams(unit)))
    order = yield from greedy_order(estimate, first, [unit for unit in units if unit is not first])
    return left_deep((yield from improved_order(estimate, array, order, None)))


def orderings(
    estimate: Estimate, array: NDArray[np.float64], limit: float = math.inf
) -> Pieces[tuple[Orders, float]]:
    """For each stream its cheapest order, and what all of them cost; that of a relation which is loaded once, so that
    no row comes, is any.

    Where there are too many streams for an exact search, orders that are not worth it stay as they were found first:
    all together would have to get cheaper by more than half to cost less than ``limit``.
    """
    names, total = estimate.graph.names, 0.0
    turnovers = [
        float(turnover) or 1.0 / float(rows)
        for turnover, rows in zip(estimate.turnover, estimate.rows, strict=True)
    ]
    if len(names) > EXACT:
        return (yield from _wide_orderings(estimate, array, turnovers, limit))
    space, orders = Space(estimate, array, names), {}
    for i, name in enumerate(names):
        order, cost = space.ordering(i, turnovers[i])
        orders[name] = tuple(names[k] for k in order)
        total += cost if estimate.turnover[i] else 0.0
        yield PIECE + SPLIT * len(names) * 2 ** len(names)
    return orders, total


def _wide_orderings(
    estimate: Estimate, array: NDArray[np.float64], turnovers: list[float], limit: float
) -> Pieces[tuple[Orders, float]]:
    names, total = estimate.graph.names, 0.0
    found: list[list[Tree]] = []
    for i, name in enumerate(names):
        found.append((yield from greedy_order(estimate, name, [other for other in names if other != name])))
        total += _order_seconds(estimate, array, found[i])
        yield reckoned(3 * len(names), len(names))
        if total > TOO_MUCH * limit:  # and the others come on top
            rest = {other: tuple(each for each in names if each != other) for other in names[i + 1 :]}
            return {**_orders(found), **rest}, math.inf
    total = 0.0
    for i in range(len(names)):
        found[i] = yield from improved_order(estimate, array, found[i], turnovers[i], 1)
        total += _order_seconds(estimate, array, found[i])
        yield reckoned(3 * len(names), len(names))
    return _orders(found), total


def _orders(found: list[list[Tree]]) -> dict[str, tuple[str, ...]]:
    return {show(first): tuple(map(show, others)) for first, *others in found}


def _order_seconds(estimate: Estimate, array: NDArray[np.float64], order: list[Tree]) -> float:
    """Seconds per event that rows of the first stream take to visit the others."""
    own, *others = (estimate.mask(streams(unit)) for unit in order)
    steps, seen = [], own
    for target in others:
        steps.append(Step(seen, target, own))
        seen |= target
    return seconds(all_steps(steps, (), estimate.graph), estimate, array)
