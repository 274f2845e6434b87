"""Re-optimise when a cardinality leaves its validity range."""

from __future__ import annotations

import math

from attrs import define, field

from policies.optimizer.measure import seconds_spent
from policies.optimizer.model import CostModel
from policies.optimizer.thesis import check_streams
from policies.options import number, truth, whole
from policies.routing.base import Routing
from policies.routing.reoptimizer import Reading, Reoptimizer, absent_field
from policies.view import View

LOOK, PLAN = 1.5e-5, 4e-5
"""Seconds that looking takes for each step of the plan, and planning for each that a plan can have, and some more."""
CAUTIOUS = 8.0
"""How many times as much time has to be earned for what was in vain before."""


@define(eq=False)
class Pop(Routing):
    """The thesis' POP': an ordering for each stream, made again when one of its cardinalities leaves the range within
    which the ordering is known to be the best (5.2). The ranges of the others move with their cardinalities.

    It looks every ``every`` events; the thesis tries 1,000, 2,000 and 3,000. What a plan does not show is sampled
    (``absent="sample"``), or estimated by Algorithm 2 (``"supersets"``). For up to 12 streams; an engine with more is
    not made. Departures from the formulas: see `policies.optimizer.thesis`.

    A departure of its own: to look, to plan and to change takes time that the engines of the thesis' day did not
    notice, but ours does, since it joins 1,000 rows in a fraction of a millisecond. So this takes at most a share of
    ``overhead`` of all time, both by the cost model (by the clock no two runs would be alike); things are put off until
    there is time for them, and what was in vain before until there is eight times as much. And orders change for a
    saving of more than a share of ``gain`` only, and if that pays for the change within as many events as there have
    been.
    ``overhead=math.inf, gain=0`` is the thesis' way.
    """

    every: int = field(default=1000, validator=whole(1))
    absent: str = absent_field
    overhead: float = field(default=0.015, validator=number(above=0))
    gain: float = field(default=0.05, validator=number(least=0, below=1))
    literal: bool = field(default=False, validator=truth())
    checks: int = field(init=False, default=0)
    """Times that it looked at ranges."""
    regenerations: int = field(init=False, default=0)
    """Plans of single streams that it made."""
    _model: CostModel = field(init=False, factory=CostModel, repr=False)
    _planner: Reoptimizer = field(init=False, repr=False)
    _wait: int = field(init=False, default=0, repr=False)
    _credit: float = field(init=False, default=0.0, repr=False)
    """Seconds that may be spent."""
    _caution: float = field(init=False, default=1.0, repr=False)
    work: tuple[float, float] | None = field(init=False, default=None, repr=False)
    """It looks sooner where plans make twice as many matches, and one an event."""
    _put_off: bool = field(init=False, default=False, repr=False)
    """Plans are to be made as soon as there is time."""

    @_planner.default
    def _fresh(self) -> Reoptimizer:
        return Reoptimizer(self.absent, self.literal)

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """Events until it looks again."""
        return max(self.every, self._wait)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        check_streams(names, type(self).__name__)
        self._planner = self._fresh()
        self._wait, self._credit, self._caution, self._put_off = 0, 0.0, 1.0, False
        self.checks = self.regenerations = 0
        self.work = None

    def choose(self, view: View) -> str | None:
        """Another plan, if one of the orderings changes."""
        if not self._planner.can_plan(view):
            return None
        model, n = self._model, len(view.graph.names)
        worked = seconds_spent(view, model)
        look = LOOK * (10 + len(view.steps))
        price = PLAN * (2 + n * (n - 1))
        self._credit += self.overhead * worked - look
        plan = self._check(view, price)
        each = self.overhead * worked / max(sum(view.arrivals.values()), 1)
        wanted = look + self._caution * price - self._credit if self._put_off else CAUTIOUS * look
        self._wait = math.ceil(wanted / each) if 0.0 < each < math.inf else 0
        made = sum(step.matches for step in view.steps) / max(sum(view.arrivals.values()), 1)
        self.work = (2 * made * self._wait + self._wait, 0.0) if self._wait > self.every else None
        return plan

    def _check(self, view: View, price: float) -> str | None:
        planner = self._planner
        reading = planner.read(view)
        ours = bool(planner.plans) and planner.text(view) == view.plan
        if ours and not self._put_off and self._bypassed(view):
            planner.revise(reading)
            return None
        self.checks += 1
        wrong = self._wrong(reading) if ours else list(range(len(reading.live)))
        self._put_off = bool(wrong) and self._credit < 0.99 * self._caution * price
        if wrong and not self._put_off:
            self._credit -= price
            self.regenerations += len(wrong)
            if planner.regenerate(view, reading, wrong, self.gain, self._least(view)):
                self._caution = 1.0
            else:
                self._caution = min(2.0 * self._caution, CAUTIOUS)
        planner.revise(reading, wrong)
        plan = planner.text(view) if planner.plans else view.plan
        return None if plan == view.plan else plan

    def _least(self, view: View) -> float:
        """What an interval such as the last has to save, in the optimiser's unit: the change is to be paid back within
        as many events as there have been."""
        if self.overhead == math.inf:
            return 0.0
        model, n = self._model, len(view.graph.names)
        each = model.probe + 3 * model.miss + model.match + 24 * model.byte
        return n * (n - 1) * model.change / each * sum(view.arrivals.values()) / max(view.events, 1)

    def _bypassed(self, view: View) -> bool:
        """Whether this check is left out."""
        return False

    def _wrong(self, reading: Reading) -> list[int]:
        """The streams whose plans are to be made again."""
        return self._planner.suboptimal(reading)
