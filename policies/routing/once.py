"""Optimise once, and never again."""

from __future__ import annotations

import random

from attrs import define, field

from policies.graph import Graph
from policies.optimizer.plans import show
from policies.optimizer.thesis import check_streams
from policies.options import whole
from policies.routing.base import Routing
from policies.routing.reoptimizer import Reoptimizer
from policies.view import View


@define(eq=False)
class Base(Routing):
    """The thesis' BASE: an ordering for each stream, chosen once and kept, however the streams change.

    The thesis chooses before the first row has come, when nothing is known and all orders look alike: so it is one by
    chance, connected where it can be, as in the engine that the thesis extends (3.4). With ``after`` it waits for so
    many events, and chooses by the cardinalities that were measured by then, for up to 12 streams.
    """

    after: int = field(default=0, validator=whole(0))
    _done: bool = field(init=False, default=False, repr=False)
    _random: random.Random = field(init=False, factory=random.Random, repr=False)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Until it has chosen."""
        return None if self._done else max(self.after, 1)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        if self.after:
            check_streams(names, f"Base(after={self.after})")
        self._done = False
        self._random = random.Random(seed)

    def choose(self, view: View) -> str | None:
        """The plan, at the first call. It keeps no composites, so it stays where a sub-plan is pinned."""
        self._done = True
        if view.pinned:
            return None
        planner = Reoptimizer()
        if self.after == 0:
            return show({name: self._by_chance(name, view.graph) for name in view.graph.names})
        planner.regenerate(view, planner.read(view), range(len(view.graph.names)))
        return planner.text(view)

    def _by_chance(self, name: str, graph: Graph) -> tuple[str, ...]:
        order, rest = [name], [other for other in graph.names if other != name]
        while rest:
            linked = [other for other in rest if graph.linked(order, (other,))]
            order.append(self._random.choice(linked or rest))
            rest.remove(order[-1])
        return tuple(order[1:])
