"""Re-optimise when a cardinality leaves its validity range."""

from __future__ import annotations

from attrs import define, field, validators

from policies.routing.base import Routing
from policies.routing.reoptimizer import Reading, Reoptimizer, absent_field
from policies.routing.view import View


@define(eq=False)
class Pop(Routing):
    """The thesis' POP': an ordering for each stream, made again when one of its cardinalities leaves the range within
    which the ordering is known to be the best (5.2). The ranges of the others move with their cardinalities.

    It looks every ``every`` events; the thesis tries 1,000, 2,000 and 3,000. Departures: see `policies.optimizer.thesis`
    and `plan_stream`. What a plan does not show is sampled (``absent="sample"``) or estimated by Algorithm 2
    (``"supersets"``). And looking takes time that an engine of the thesis' day did not notice: while checks change
    nothing, the time between them doubles every few checks, up to ``longest`` times; 1 is the thesis' way. For up to 12
    streams; with more it keeps the plan that it finds.
    """

    every: int = field(default=1000, validator=validators.ge(1))
    absent: str = absent_field
    longest: int = field(default=16, validator=validators.ge(1))
    literal: bool = False
    checks: int = field(init=False, default=0)
    """Times that it looked at ranges."""
    regenerations: int = field(init=False, default=0)
    """Plans of single streams that it made."""
    _planner: Reoptimizer = field(init=False)
    _stretch: int = field(init=False, default=1)
    _calm: int = field(init=False, default=0)

    @_planner.default
    def _fresh(self) -> Reoptimizer:
        return Reoptimizer(self.absent, self.literal)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Events until the next check."""
        return self.every * self._stretch

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._planner = self._fresh()
        self._stretch, self._calm, self.checks, self.regenerations = 1, 0, 0, 0

    def choose(self, view: View) -> str | None:
        """Another plan, if one of the orderings changes."""
        planner = self._planner
        if not planner.can_plan(view):
            return None
        ours = bool(planner.plans) and planner.text(view) == view.plan
        if ours and self._bypassed(view):
            planner.revise(planner.read(view))
            self._rest()
            return None
        reading = planner.read(view)
        everything = list(range(len(view.graph.names)))
        self.checks += 1
        wrong = self._wrong(reading) if ours else everything
        if wrong:
            self.regenerations += len(wrong)
            planner.regenerate(view, reading, wrong)
        planner.revise(reading, wrong)
        plan = planner.text(view)
        if plan == view.plan:
            self._rest()
            return None
        self._stretch, self._calm = 1, 0
        return plan

    def _bypassed(self, view: View) -> bool:
        """Whether this check is left out."""
        return False

    def _wrong(self, reading: Reading) -> list[int]:
        """The streams whose plans are to be made again."""
        return self._planner.suboptimal(reading)

    def _rest(self) -> None:
        self._calm += 1
        if self._calm % 4 == 0:
            self._stretch = min(2 * self._stretch, self.longest)
