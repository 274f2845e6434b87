"""The plans that come next after a chosen one, and what each would cost: for people who ask why it was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field, frozen

from policies.optimizer.estimate import Estimate
from policies.optimizer.model import CostModel
from policies.optimizer.plans import Tree, read, show
from policies.optimizer.search import best, cost_of
from policies.optimizer.steps import steps_of

SHOWN = 4
"""Plans that are told of."""
FEW = 12
"""Streams up to which the best plan of each shape is looked for, too."""


@frozen
class Rival:
    """A plan, and what it was believed to cost, in seconds an event."""

    plan: str
    cost: float


@define(eq=False)
class Rivals:
    """What was known when a plan was chosen. The plans that come next are reckoned when somebody asks."""

    estimate: Estimate = field(repr=False)
    model: CostModel = field(repr=False)
    chosen: str
    _plans: tuple[Rival, ...] | None = field(init=False, default=None, repr=False)
    _cost: float | None = field(init=False, default=None, repr=False)

    @property
    def cost(self) -> float:
        """What the chosen plan was believed to cost, in seconds an event."""
        if self._cost is None:
            self._cost = cost_of(self.chosen, self.estimate, self.model)
        return self._cost

    @property
    def plans(self) -> tuple[Rival, ...]:
        """The cheapest that are not the chosen one, cheapest first."""
        if self._plans is None:
            self._plans = self._reckoned()
        return self._plans

    def _reckoned(self) -> tuple[Rival, ...]:
        graph = self.estimate.graph
        seen = {frozenset(steps_of(self.chosen, graph).steps)}
        found = []
        for plan in self._candidates():
            steps = frozenset(steps_of(plan, graph).steps)
            if steps not in seen:
                seen.add(steps)
                found.append(Rival(plan, cost_of(plan, self.estimate, self.model)))
        return tuple(sorted(found, key=lambda rival: rival.cost)[:SHOWN])

    def _candidates(self) -> Iterator[str]:
        """The best of each shape, and what is one step away from the chosen plan."""
        if len(self.estimate.graph.names) <= FEW:
            for shape in ("bushy", "left-deep", "orderings"):
                yield best(self.estimate, self.model, shape)[0]
        plan = read(self.chosen)
        if isinstance(plan, tuple):
            for tree in neighbours(plan):
                yield show(tree)


def neighbours(tree: Tree) -> Iterator[Tree]:
    """The trees that come of a tree by one rotation: of (a b) c, (a c) b and a (b c)."""
    if isinstance(tree, str):
        return
    left, right = tree
    for one, other in ((left, right), (right, left)):
        if isinstance(one, tuple):
            a, b = one
            yield (a, other), b
            yield (b, other), a
    for part in neighbours(left):
        yield part, right
    for part in neighbours(right):
        yield left, part
