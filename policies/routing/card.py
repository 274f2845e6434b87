"""Re-optimise in three phases: arrival rates, validity ranges, local optima."""

from __future__ import annotations

import random

from attrs import define, field

from policies.optimizer.rates import probability
from policies.options import number
from policies.routing.pop import Pop
from policies.routing.reoptimizer import Reading
from policies.view import View


@define(eq=False)
class Card(Pop):
    """The thesis' CARD, in three phases and on two paths (chapter 5).

    1. The less the arrival rates have changed since the last check that was not bypassed, the more probably this one
       is; ``alpha`` is the least probability that it is not. (In the thesis since the last check of any kind, so that
       slow drift is never seen.)
    2. A plan is made again when a cardinality leaves its range. If that is all of them, phase 3 is left out.
    3. A plan is made again, too, when the plans of other streams show a first step that would make less, by more than
       a share of ``margin`` (0 in the thesis, where every fluctuation counts). Sizes, not flows, are compared: a pair
       measured in the plan of a stream with few rows would always look small.

    Plans that are made again get new ranges; the ranges of the others move. For the rest see `Pop`.
    """

    alpha: float = field(default=1 / 3, validator=number(least=0, most=1))
    margin: float = field(default=0.2, validator=number(least=0, below=1))
    passed: int = field(init=False, default=0)
    """Checks that were bypassed."""
    _random: random.Random = field(init=False, factory=random.Random, repr=False)
    _rates: tuple[int, ...] = field(init=False, default=())

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        Pop.begin(self, names, seed)
        self._random = random.Random(seed)
        self._rates, self.passed = (), 0

    def _bypassed(self, view: View) -> bool:
        now = tuple(view.arrivals[name] for name in view.graph.names)
        if self._random.random() >= probability(self._rates or now, now, self.alpha):
            self.passed += 1
            return True
        self._rates = now
        return False

    def _wrong(self, reading: Reading) -> list[int]:
        wrong = self._planner.suboptimal(reading)
        if len(wrong) == len(self._planner.plans):
            return wrong
        return sorted({*wrong, *self._planner.stuck(reading, self.margin)})
