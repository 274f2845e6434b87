"""Plans between trees and orderings: each composite is kept where it pays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from policies.optimizer.estimate import Estimate
from policies.optimizer.facts import all_facts
from policies.optimizer.family_kernels import improve
from policies.optimizer.plans import Orders, Tree, Visit, nodes, streams


def improved(
    estimate: Estimate,
    array: NDArray[np.float64],
    kept: Iterable[Iterable[str]],
    fixed: Iterable[Iterable[str]],
) -> tuple[Orders | Tree, float]:
    """A plan that keeps composites of these sets, but for those that do not pay, and of others that do; its cost.

    ``fixed`` ones stay. For as many streams as an estimate has a table for.
    """
    n = len(estimate.graph.names)
    everything = (1 << n) - 1
    family = np.zeros(2 * n, np.int64)
    masks = {estimate.mask(names) for names in kept} - {everything}
    family[: len(masks) + 1] = [everything, *sorted(masks)]
    orders = np.zeros((2 * n, n + 1), np.int64)
    stay = np.array([estimate.mask(names) for names in fixed], np.int64)
    facts = all_facts(estimate)
    room = np.empty(64), np.empty(1024, np.int64)
    count = improve(family, len(masks) + 1, stay, facts, estimate.query, array, *room, orders)
    rows = {}
    for part, *visits in orders[: n + count - 1].tolist():
        rows[part] = visits[: visits.index(0)] if 0 in visits else visits
    return _plan(estimate, rows, everything), float(room[0][0])


def _plan(estimate: Estimate, rows: dict[int, list[int]], everything: int) -> Orders | Tree:
    """As a tree, where every part has one other; else as orderings, in which streams of a composite go on together."""
    if all(len(order) == 1 for order in rows.values()):
        return _tree(estimate, rows, everything)
    found: dict[str, tuple[Visit, ...]] = {}
    for name in estimate.graph.names:
        at, path = estimate.masks[name], []
        while at != everything:
            path += rows[at]
            for visit in rows[at]:
                at |= visit
        found[name] = tuple(_visit(estimate, visit) for visit in path)
    return found


def _visit(estimate: Estimate, mask: int) -> Visit:
    names = tuple(name for name in estimate.graph.names if estimate.masks[name] & mask)
    return names[0] if len(names) == 1 else names


def _tree(estimate: Estimate, rows: dict[int, list[int]], both: int) -> Tree:
    if not both & (both - 1):
        return estimate.graph.names[both.bit_length() - 1]
    # The first stream is on the left, as in the trees of a search.
    left = next(part for part, (other,) in rows.items() if part | other == both and part & both & -both)
    return _tree(estimate, rows, left), _tree(estimate, rows, both ^ left)


def composites(tree: Tree) -> list[frozenset[str]]:
    """The sets of streams that a tree joins."""
    return [streams(node) for node in nodes(tree)]
