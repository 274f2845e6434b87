"""Learning the order by trying: no estimates, only the clock."""

from __future__ import annotations

import math
import random

from attrs import define, field

from policies.options import number, truth, whole
from policies.routing.base import Choice, Routing
from policies.routing.orders import Order, as_left_deep, as_orderings, followers, order_by
from policies.view import View


@define(eq=False)
class _Node:
    """A prefix of orders."""

    visits: float = 0.0
    reward: float = 0.0
    children: dict[str, _Node] = field(factory=dict)

    def score(self, total: float, exploration: float) -> float:
        """The upper confidence bound of its reward."""
        return self.reward / self.visits + exploration * math.sqrt(math.log(max(total, 1.0)) / self.visits)


@define(eq=False)
class Skinner(Routing):
    """SkinnerDB (Trummer, Wang, Maram, Moseley, Jo and Antonakakis, SIGMOD 2019): UCT over left-deep orders.

    In each slice of ``period`` events one order runs. Its reward is what the clock says: the least seconds an event
    that any slice has taken, over those of this one. The next order follows the greatest upper confidence bounds
    (``exploration`` is the weight of uncertainty) down the tree of prefixes, which grows by one node a slice, and
    goes on by chance from there.

    Departures: a slice is measured in events, since the engine decides between batches. An order becomes orderings,
    as Skinner-C keeps no intermediate results either, so that changing it costs nothing: each stream visits the
    others in that order, as far as predicates link them. (With ``composites`` it becomes a left-deep tree, whose
    STAIRs have to be filled.) Data drifts: rewards are forgotten by a share of ``forget`` with every visit, and the
    tree is begun anew when it has more than ``nodes`` nodes. It is seeded, but the clock is not: two runs may differ.
    """

    period: int = field(default=16_384, validator=whole(1))
    exploration: float = field(default=0.3, validator=number(least=0))
    forget: float = field(default=0.02, validator=number(least=0, below=1))
    composites: bool = field(default=False, validator=truth())
    nodes: int = field(default=10_000, validator=whole(1))
    _random: random.Random = field(init=False, factory=random.Random, repr=False)
    _root: _Node = field(init=False, factory=_Node, repr=False)
    _size: int = field(init=False, default=1, repr=False)
    _order: Order = field(init=False, default=(), repr=False)
    _least: float = field(init=False, default=math.inf, repr=False)
    _untimed: int = field(init=False, default=0, repr=False)
    """Events of a slice whose time has not been told yet."""

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._random = random.Random(seed)
        self._root, self._size, self._order = _Node(), 1, ()
        self._least, self._untimed = math.inf, 0

    def choose(self, view: View) -> Choice | None:
        """Learn from the last slice, and try the most promising order in the next."""
        self._untimed += sum(view.arrivals.values())
        if self._order and self._untimed:
            if view.seconds <= 0.0:  # the slice goes on until the clock has told how long it took
                return None
            self._learn(view.seconds / self._untimed)
        self._untimed = 0
        self._order = self._descend(view)
        plan = self._plan(view)
        return (
            None
            if plan is None
            else Choice(plan, f"{self._root.visits:.0f} slices, trying {' '.join(self._order)}")
        )

    def _learn(self, seconds: float) -> None:
        self._least = min(self._least * (1 + self.forget), seconds)
        reward = self._least / seconds
        node: _Node | None = self._root
        for name in (*self._order, None):
            if node is None:
                return
            node.visits = node.visits * (1 - self.forget) + 1
            node.reward = node.reward * (1 - self.forget) + reward
            node = None if name is None else node.children.get(name)

    def _descend(self, view: View) -> Order:
        """An order: by confidence bounds as far as the tree goes, then by chance; one more prefix is remembered."""
        if self._size > self.nodes:
            self._root, self._size = _Node(), 1
        node: _Node | None = self._root

        def pick(_: Order, rest: list[str]) -> str:
            nonlocal node
            if node is None:
                return self._random.choice(rest)
            new = [name for name in rest if name not in node.children]
            if new:
                name = self._random.choice(new)
                node.children[name] = _Node(1.0, 1.0)  # hope, until it has been measured
                self._size += 1
                node = None
                return name
            children, total = node.children, node.visits
            name = max(rest, key=lambda name: children[name].score(total, self.exploration))
            node = children[name]
            return name

        return order_by(view.graph, pick((), list(view.graph.names)), pick)

    def _plan(self, view: View) -> str | None:
        if self.composites or view.pinned:
            return as_left_deep(self._order, view.pinned)
        place = {name: i for i, name in enumerate(self._order)}

        def next_one(reached: Order, rest: list[str]) -> str:
            return min(followers(view.graph, reached, rest), key=place.__getitem__)

        return as_orderings(
            {name: {order_by(view.graph, name, next_one)[1:]: 1} for name in view.graph.names}
        )
