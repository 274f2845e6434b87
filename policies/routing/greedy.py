"""Each stream visits next what keeps the fewest matches, given where it has been."""

from __future__ import annotations

from attrs import define, field

from policies.options import number, whole
from policies.routing.base import Choice, Routing
from policies.routing.orders import Order, as_orderings, followers, orders_of
from policies.view import View

AT_ONCE = 60
"""Paths that are sampled in one decision at the most: with many streams the orders are seen to in turns."""


@define(eq=False)
class Greedy(Routing):
    """A-Greedy (Babu, Motwani, Munagala, Nishizawa and Widom, SIGMOD 2004) over orderings.

    The paper orders filters so that each is the one that drops the most tuples for its cost among those that are left,
    *given* that all before have let a tuple pass: the greedy invariant, within a factor of four of the best order when
    filters are correlated. Here a filter is a visit to the STAIR of another stream, and what it lets pass is its
    fan-out along the path so far, which may be above 1. The profile of tuples that the paper keeps is index sampling,
    which needs no history: all paths are sampled now.

    An order is made anew when it breaks the invariant by more than a share of ``slack``; the paper's thresholds against
    thrashing serve the same end. Departure: every probe is taken to cost the same.
    """

    period: int = field(default=65_536, validator=whole(1))
    slack: float = field(default=0.2, validator=number(least=0))
    _turn: int = field(init=False, default=0, repr=False)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._turn = 0

    def choose(self, view: View) -> Choice | None:
        """Orders that keep the invariant. They keep no composites, so pins leave it nothing to do."""
        if view.pinned:
            return None
        graph, current, sampled = view.graph, orders_of(view), 0
        if not current:
            current = {name: self._kept(view, name, ())[0][1:] for name in graph.names}
            return Choice(as_orderings({name: {order: 1} for name, order in current.items()}), "first orders")
        changed, count = [], len(graph.names)
        for i in range(count):
            sampled += count * (count - 1) // 2
            if sampled > AT_ONCE and i:
                break
            name = graph.names[self._turn]
            self._turn = (self._turn + 1) % count
            order, broken = self._kept(view, name, current[name])
            if broken and order[1:] != current[name]:
                current[name] = order[1:]
                changed.append(name)
        if not changed:
            return None
        plan = as_orderings({name: {order: 1} for name, order in current.items()})
        return Choice(plan, f"the order of {', '.join(changed)} broke the greedy invariant")

    def _kept(self, view: View, first: str, known: Order) -> tuple[Order, bool]:
        """The order that keeps the invariant, and whether the known one breaks it by more than is let pass."""
        order: Order = (first,)
        rest, broken = [name for name in view.graph.names if name != first], False
        while rest:
            fan_out = {
                name: view.sample(first, (*order[1:], name))[-1]
                for name in followers(view.graph, order, rest)
            }
            best = min(fan_out, key=lambda name: (fan_out[name], rest.index(name)))
            usual = known[len(order) - 1] if not broken and known else best
            if usual in fan_out and fan_out[usual] <= (1 + self.slack) * fan_out[best]:
                best = usual
            else:
                broken = True
            rest.remove(best)
            order = (*order, best)
        return order, broken
