"""Plans for more streams than an exact search can take: greedy first, then parts of the plan are searched exactly.

All of it is done in pieces: see `portions`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.estimate import Estimate
from policies.optimizer.exact import Space
from policies.optimizer.facts import driven
from policies.optimizer.links import links_of
from policies.optimizer.plans import Tree, left_deep, streams
from policies.optimizer.portions import Pieces, reckoned

PART = 8
"""Units of a part that is searched exactly."""
ROUNDS = 4
AT_ONCE = 512
"""Pairs of units that are looked at in one piece."""
SEARCHED = 2
"""Sets in whose time one of an exact search is dealt with: what is known of it, and the ways to join it."""


def greedy_tree(estimate: Estimate, units: list[Tree]) -> Pieces[Tree]:
    """Join the two units whose composites arise least often, again and again; what is linked first."""
    forest = {estimate.mask(streams(unit)): unit for unit in units}
    prices: dict[tuple[int, int], tuple[bool, float]] = {}
    links, names = links_of(estimate.graph), len(estimate.graph.names)
    masks = list(forest)
    new = list(itertools.combinations(masks, 2))
    while True:
        for at in range(0, len(new), AT_ONCE):
            some = new[at : at + AT_ONCE]
            both = estimate.sets([left | right for left, right in some])
            arising = estimate.cards(both) * driven(estimate, both)
            for (left, right), price in zip(some, arising.tolist(), strict=True):
                prices[left, right] = not links.between(left, right), price
            yield reckoned(4 * len(some), names)
        if not prices:
            return forest[masks[0]]
        left, right = min(prices, key=prices.__getitem__)
        forest[left | right] = forest.pop(left), forest.pop(right)
        gone = {left, right}
        prices = {pair: price for pair, price in prices.items() if gone.isdisjoint(pair)}
        masks = [mask for mask in masks if mask not in gone]
        new = [(mask, left | right) for mask in masks]
        masks.append(left | right)


def improved_tree(
    estimate: Estimate, model: NDArray[np.float64], tree: Tree, fixed: frozenset[Tree]
) -> Pieces[Tree]:
    """Cut the top of every sub-tree into a few units and join these in the best way, until nothing gets better."""
    for _ in range(ROUNDS):
        better = yield from _improved(estimate, model, tree, fixed)
        if better == tree:
            break
        tree = better
    return tree


def _improved(
    estimate: Estimate, model: NDArray[np.float64], tree: Tree, fixed: frozenset[Tree]
) -> Pieces[Tree]:
    if isinstance(tree, str) or tree in fixed:
        return tree
    left = yield from _improved(estimate, model, tree[0], fixed)
    right = yield from _improved(estimate, model, tree[1], fixed)
    units: list[Tree] = [left, right]
    while len(units) < PART:
        largest = max(units, key=lambda unit: 0 if unit in fixed else len(streams(unit)))
        if isinstance(largest, str) or largest in fixed:
            break
        at = units.index(largest)
        units[at : at + 1] = largest
    if len(units) == 2:
        return left, right
    yield reckoned(SEARCHED << len(units), len(estimate.graph.names))
    return Space(estimate, model, units).bushy()[0]


def greedy_order(estimate: Estimate, first: Tree, others: list[Tree]) -> Pieces[list[Tree]]:
    """From ``first`` on, always the unit with which there are fewest composites; what is linked first."""
    order, rest, links = [first], list(others), links_of(estimate.graph)
    masks = [estimate.mask(streams(unit)) for unit in rest]
    seen = estimate.mask(streams(first))
    while rest:
        cards = estimate.cards(estimate.sets([seen | mask for mask in masks])).tolist()
        ranks = [(not links.between(seen, mask), c) for mask, c in zip(masks, cards, strict=True)]
        best = ranks.index(min(ranks))
        yield reckoned(len(rest), len(estimate.graph.names))
        seen |= masks.pop(best)
        order.append(rest.pop(best))
    return order


def improved_order(
    estimate: Estimate,
    model: NDArray[np.float64],
    order: list[Tree],
    turnover: float | None,
    rounds: int = ROUNDS,
) -> Pieces[list[Tree]]:
    """Put a few neighbours into the best order, further and further along, until nothing gets better.

    The order is that of a left-deep tree, or, with the ``turnover`` of the first stream, that of its rows.
    """
    for _ in range(rounds):
        before = list(order)
        end = max(0, len(order) - PART)
        for start in [*range(0, end, PART // 2), end]:
            stop = min(start + PART, len(order))
            # What comes before is one unit that stays first; for a tree the first two may change places.
            head = [left_deep(order[:start])] if start else []
            space = Space(estimate, model, [*head, *order[start:stop]])
            if turnover is not None:
                found, _ = space.ordering(0, turnover)
                order[start + 1 - len(head) : stop] = [space.units[i] for i in found]
            else:
                tree, _ = space.left_deep(0 if head else None)
                order[start:stop] = _order(tree, space.units)[len(head) :]
            yield reckoned(1 << len(space.units), len(estimate.graph.names))
        if order == before:
            break
    return order


def _order(tree: Tree, units: Sequence[Tree]) -> list[Tree]:
    """The units of a left-deep tree from the bottom."""
    found: list[Tree] = []
    while tree not in units:
        assert not isinstance(tree, str)
        tree, right = tree
        found.append(right)
    return [tree, *reversed(found)]
