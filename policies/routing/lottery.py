"""The eddies' lottery: rows go where rows have been used up."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping

from attrs import define, field

from policies.graph import Graph
from policies.options import number, one_of, whole
from policies.routing.base import Choice, Routing
from policies.routing.orders import Order, as_orderings, followers
from policies.view import View

WHOLE = 1 << 12
"""Weights are parts of this."""
SEEDS = (1 << 62) - 1
"""The bits of a seed that a plan can name."""


@define(eq=False)
class Lottery(Routing):
    """Lottery scheduling (Avnur and Hellerstein, Eddies, SIGMOD 2000, section 4) over STAIRs of single streams.

    A STAIR gets a ticket for each row, or prefix, that probes it, and pays one back for each match that it returns.
    Where a row goes next is drawn among the STAIRs that it has not visited and a predicate links it to, in proportion
    to the tickets that they earned in the last window; each has a share of at least ``floor``, so that none is
    forgotten.

    With ``draw="batch"`` a delta is split, not each row drawn for: of the rows of a batch that are to go on, each STAIR
    gets its share, and what it returns is split among the rest by the same tickets. So a plan is a number of whole
    orders, each weighted by the product of the shares along it (``A 3: B C | A 1: C B``), and kernels take ranges of
    rows. This is what draws for single rows come to on average, without their variance.

    With ``draw="tuple"`` each row is drawn for, as in the paper, with the same weights (``A 3 drawn: B C | ...``): a
    hash of its number and the seed says which way it goes, so that it does not matter how rows come in batches. And
    there is back-pressure. In the paper an operator that takes long has a long queue, and is given less. Here it is
    counted what a probe takes: the look-up, and each pair that had to be looked at closely, whether it was a match or a
    predicate besides the key refused it. What a STAIR has earned is divided by that, so tickets are for rows used up in
    a unit of work.

    Departures: at most ``draws`` orders are made for each stream. Where there are more, those that are followed are
    drawn, by systematic sampling, so that each step is as probable as its tickets say. Tickets are counted anew once a
    window, ``period`` events. There are no queues; with ``draw="batch"`` a probe is as good as another, whatever it
    costs. And where some STAIR returns more than it takes, as joins do and the paper's filters do not, all tickets are
    counted from the greatest fan-out down: else nobody would have any.
    """

    period: int = field(default=32_768, validator=whole(1))
    draws: int = field(default=8, validator=whole(1))
    floor: float = field(default=0.02, validator=number(above=0, most=1))
    draw: str = field(default="batch", validator=one_of(("batch", "tuple")))
    _seed: int = field(init=False, default=0, repr=False)
    _random: random.Random = field(init=False, factory=random.Random, repr=False)

    def begin(self, names: tuple[str, ...], seed: int) -> None:
        self._random, self._seed = random.Random(seed), int(seed) & SEEDS

    def choose(self, view: View) -> Choice | None:
        """Orders drawn anew. They keep no composites, so it leaves an engine alone where a sub-plan is pinned."""
        if view.pinned:
            return None
        tickets = self.tickets(view)
        ways = {name: self._ways(view.graph, name, tickets) for name in view.graph.names}
        held = ", ".join(f"{name} {count:.3g}" for name, count in tickets.items())
        seed = self._seed if self.draw == "tuple" else None
        return Choice(as_orderings(ways, seed), f"tickets: {held}")

    def _ways(self, graph: Graph, name: str, tickets: Mapping[str, float]) -> dict[Order, int]:
        """The orders of a stream's rows and their weights, in parts of WHOLE; a drawn one comes last.

        For parts of a batch are ranges: where its rows differ from beginning to end, it is not always the same way that
        the last of them take.
        """
        found: dict[Order, float] = {}
        self._split(graph, (name,), tickets, self.draws, 1.0, found)
        weights = {order[1:]: max(1, round(WHOLE * share)) for order, share in found.items()}
        last = self._random.choices(list(weights), list(weights.values()))[0]
        return {**{order: weight for order, weight in weights.items() if order != last}, last: weights[last]}

    def _split(
        self,
        graph: Graph,
        path: Order,
        tickets: Mapping[str, float],
        draws: int,
        share: float,
        found: dict[Order, float],
    ) -> None:
        """Split what has come so far among the STAIRs that may be next, and so on."""
        rest = followers(graph, path, [name for name in graph.names if name not in path])
        if not rest:
            found[path] = share
            return
        total = sum(tickets[name] for name in rest)
        shares = [tickets[name] / total for name in rest]
        seats = self._seats(shares, draws)
        if all(seats):  # each is followed, so all can have just what is theirs
            parts = [share * own for own in shares]
        else:
            parts = [share * own / draws for own in seats]
        for name, own, part in zip(rest, seats, parts, strict=True):
            if own:
                self._split(graph, (*path, name), tickets, own, part, found)

    def _seats(self, shares: list[float], draws: int) -> list[int]:
        """Systematic sampling: ``draws`` of them at equal distances, from a start by chance; where there are
        enough, each gets one."""
        if draws >= len(shares):
            extra = self._seats(shares, draws - len(shares)) if draws > len(shares) else [0] * len(shares)
            return [1 + more for more in extra]
        start, seats, upto = self._random.random(), [], 0.0
        for share in shares:
            before, upto = upto, upto + share * draws
            seats.append(math.ceil(upto - start) - math.ceil(before - start))
        return seats

    def tickets(self, view: View) -> dict[str, float]:
        """What the STAIR of each stream holds."""
        probes: Counter[str] = Counter()
        matches: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        for step in view.steps:
            if len(step.target) == 1:
                probes[step.target[0]] += step.probes
                matches[step.target[0]] += step.matches
                tried[step.target[0]] += step.tried
        most = max([1.0, *(matches[name] / count for name, count in probes.items() if count)])
        earned = {name: probes[name] - matches[name] / most for name in view.graph.names}
        if self.draw == "tuple":
            earned = {
                name: count / (1.0 + tried[name] / max(1, probes[name])) for name, count in earned.items()
            }
        least = self.floor * max(1.0, sum(earned.values()))
        return {name: max(least, count) for name, count in earned.items()}
