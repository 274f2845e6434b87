"""Another plan by chance, again and again."""

from __future__ import annotations

import random

from attrs import define, field

from policies.options import whole
from policies.routing.base import Routing
from policies.routing.orders import Order, as_left_deep, as_orderings, order_by
from policies.view import View


@define(eq=False)
class Random(Routing):
    """A left-deep tree, or an ordering for each stream, by chance: what any policy must do better than.

    Streams that predicates link come next to each other where that can be, so that no plan makes a cross product which
    the query has not.
    """

    period: int = field(default=65_536, validator=whole(1))
    _random: random.Random = field(init=False, factory=random.Random, repr=False)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, view: View) -> str | None:
        """Any plan."""
        names = view.graph.names
        if view.pinned or self._random.random() < 0.5:
            return as_left_deep(self._order(view, self._random.choice(names)), view.pinned)
        return as_orderings({name: {self._order(view, name)[1:]: 1} for name in names})

    def _order(self, view: View, first: str) -> Order:
        return order_by(view.graph, first, lambda _, rest: self._random.choice(rest))
