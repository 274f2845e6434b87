"""Optimise once, and never again."""

from __future__ import annotations

from attrs import define, field, validators

from policies.optimizer.measure import connected_order
from policies.optimizer.plans import show
from policies.routing.base import Routing
from policies.routing.reoptimizer import Reoptimizer
from policies.routing.view import View


@define(eq=False)
class Base(Routing):
    """The thesis' BASE: an ordering for each stream, chosen once and kept, however the streams change.

    The thesis chooses before the first row has come. Nothing is known then, so all streams count as alike, and each
    order is that of declaration, connected where it can be: the orderings of ``plan="stems"``. With ``after`` it
    waits for so many events, and chooses by the cardinalities that were measured by then.
    """

    after: int = field(default=0, validator=validators.ge(0))
    _done: bool = field(init=False, default=False)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Until it has chosen."""
        return None if self._done else max(self.after, 1)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._done = False

    def choose(self, view: View) -> str | None:
        """The plan, at the first call. It keeps no composites, so it stays where a sub-plan is pinned."""
        self._done = True
        if view.pinned:
            return None
        planner = Reoptimizer()
        if self.after == 0 or not planner.can_plan(view):
            return show(
                {
                    name: tuple(connected_order((name,), set(view.graph.names) - {name}, view.graph))
                    for name in view.graph.names
                }
            )
        planner.regenerate(view, planner.read(view), range(len(view.graph.names)))
        return planner.text(view)
