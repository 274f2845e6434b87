"""The eddies' lottery: rows go where rows have been used up."""

from __future__ import annotations

import random
from collections import Counter

from attrs import define, field, validators

from policies.routing.base import Choice, Routing
from policies.routing.orders import Order, as_orderings, order_by
from policies.routing.view import View


@define(eq=False)
class Lottery(Routing):
    """Lottery scheduling (Avnur and Hellerstein, Eddies, SIGMOD 2000, section 4) over STAIRs of single streams.

    A STAIR gets a ticket for each row, or prefix, that probes it, and pays one back for each match that it returns.
    Where a row goes next is drawn among the STAIRs that it has not visited and a predicate links it to, in proportion
    to the tickets that they earned in the last window; each has a share of at least ``floor``, so that none is
    forgotten.

    Departures: a draw is not made for every row. Once a window, ``period`` events, ``draws`` whole orders are drawn
    for each stream, and the rows of a batch are split among them (``A 3: B C | A 1: C B``), so that kernels take
    ranges of rows. There are no queues, hence no back-pressure: a probe is as good as another, whatever it costs. And
    where some STAIR returns more than it takes, as joins do and the paper's filters do not, all tickets are counted
    from the greatest fan-out down: else nobody would have any.
    """

    period: int = field(default=32_768, validator=validators.ge(1))
    draws: int = field(default=4, validator=validators.ge(1))
    floor: float = field(default=0.02, validator=[validators.gt(0), validators.le(1)])
    _random: random.Random = field(init=False, factory=random.Random, repr=False)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, view: View) -> Choice | None:
        """Orders drawn anew. They keep no composites, so it leaves an engine alone where a sub-plan is pinned."""
        if view.pinned:
            return None
        tickets = self.tickets(view)

        def draw(_: Order, rest: list[str]) -> str:
            return self._random.choices(rest, [tickets[name] for name in rest])[0]

        ways = {
            name: Counter(order_by(view.graph, name, draw)[1:] for _ in range(self.draws))
            for name in view.graph.names
        }
        held = ", ".join(f"{name} {count:.3g}" for name, count in tickets.items())
        return Choice(as_orderings(ways), f"tickets: {held}")

    def tickets(self, view: View) -> dict[str, float]:
        """What the STAIR of each stream holds."""
        probes: Counter[str] = Counter()
        matches: Counter[str] = Counter()
        for step in view.steps:
            if len(step.target) == 1:
                probes[step.target[0]] += step.probes
                matches[step.target[0]] += step.matches
        most = max([1.0, *(matches[name] / count for name, count in probes.items() if count)])
        earned = {name: probes[name] - matches[name] / most for name in view.graph.names}
        least = self.floor * max(1.0, sum(earned.values()))
        return {name: max(least, count) for name, count in earned.items()}
