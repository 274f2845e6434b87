"""From a view of an engine to an estimate: what was counted, and where nothing was, what a sample of rows finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policies.graph import Graph
from policies.optimizer.estimate import NOTHING, Estimate, linked_pairs
from policies.optimizer.links import bits_of, links_of
from policies.optimizer.model import CostModel
from policies.optimizer.plans import Orders, Tree, Visit, read, singles, streams
from policies.optimizer.portions import PIECE, Pieces, at_once, reckoned
from policies.optimizer.steps import steps_of

if TYPE_CHECKING:
    from policies.view import Fan, View

Cards = dict[frozenset[str], float]

ENOUGH = 500
"""Probes from which on a step's count is worth more than a sample."""
DEEPEST = 12
"""Steps of a path that are sampled: of more a few hundred rows tell next to nothing."""
PAIRS = 32
"""Pairs of streams that are sampled in one piece."""
PAIR, SAMPLED = 2.5e-5, 1.5e-4
"""Seconds in which a pair is sampled together with others, and in which a step of a path is."""


def estimate(view: View, counted: bool = True, both_ways: bool = True) -> Estimate:
    """What a view tells: rates and live rows; composites as the plan's steps have counted them; and for every pair of
    streams that is linked and was not counted, what some rows of the one find in the other, and the other way round.

    Without ``counted`` everything is sampled, so that no set is measured at another time than the others. Unless
    ``both_ways`` a pair is sampled from one side only, the one that tells more, in half of the time.
    """
    return at_once(estimating(view, counted, both_ways))


def estimating(view: View, counted: bool = True, both_ways: bool = True) -> Pieces[Estimate]:
    """The same in pieces. Rows are those of the moment at which a piece is worked at."""
    rates = arrival_rates(view)
    known = count(view) if counted else {}
    names = view.graph.names
    linked = linked_pairs(view.graph)
    for at in range(0, len(linked), PAIRS):
        some = linked[at : at + PAIRS]
        wanted = [(names[i], names[j]) for i, j, both in some if both not in known]
        fans = view.pairs([pair for one, other in wanted for pair in ((one, other), (other, one))])
        yield PIECE + PAIR * len(wanted)
        for one, other in wanted:
            both = frozenset((one, other))
            if (one, other) in fans and (other, one) in fans:
                known[both] = _weighed(view, {one: fans[one, other], other: fans[other, one]})
            else:
                known[both] = _sampled_pair(view, one, other, both_ways)
                yield SAMPLED
    return Estimate(view.graph, rates, view.live, known, view.joins, max(view.batch, 1.0))


def arrival_rates(view: View) -> dict[str, float]:
    """Rows of each stream per event since the last view; alike if there were none."""
    moving = [name for name in view.graph.names if name not in view.graph.static]
    total = sum(view.arrivals.get(name, 0) for name in moving)
    if total == 0:
        return {name: (name in moving) / max(len(moving), 1) for name in view.graph.names}
    return {name: (name in moving) * view.arrivals.get(name, 0) / total for name in view.graph.names}


def count(view: View) -> Cards:
    """Live composites of the sets that the plan's steps made, from the matches since the last view.

    A step whose rows are driven by streams D gives, per live composite and event, one match for every row of D that
    arrives and takes the place of another: so matches are divided by the arrivals per live row of D.
    """
    matches: dict[frozenset[str], float] = {}
    turns: dict[frozenset[str], float] = {}
    probes: dict[frozenset[str], int] = {}
    for step in view.steps:
        if step.share == 0.0:  # the rows that take it were chosen, and say nothing of others
            continue
        both = frozenset(step.source + step.target)
        matches[both] = matches.get(both, 0.0) + step.matches
        turns[both] = turns.get(both, 0.0) + step.share * sum(
            view.arrivals.get(name, 0) / max(view.live[name], 1) for name in step.drivers or step.source
        )
        probes[both] = probes.get(both, 0) + step.probes
    return {
        both: max(matches[both], NOTHING) / turns[both]
        for both in matches
        if turns[both] > 0.0 and probes[both] >= ENOUGH and not both & view.graph.static
    }


def seconds_spent(view: View, model: CostModel) -> float:
    """How long, by the model, the batches since the last view have taken. The clock would tell another time each time,
    and a policy has to decide alike for alike views."""
    return sum(view.arrivals.values()) * model.overhead(view) + sum(seconds_by_step(view, model))


def seconds_by_step(view: View, model: CostModel) -> list[float]:
    """The same of each step of the view."""
    found = []
    held = {stair.streams: stair.live for stair in view.stairs}
    stored = {frozenset(streams) for streams in held}
    widths = {len(streams) for streams in held}
    for step in view.steps:
        entries = view.live[step.target[0]] if len(step.target) == 1 else held.get(step.target, 1)
        total = step.probes * (model.probe + model.reaching(entries, len(step.target)))
        width = len(step.source) + len(step.target)
        total += step.matches * (model.match + model.byte * (12 + 4 * width))
        if width in widths and frozenset(step.source + step.target) in stored:
            total += step.matches * model.insert
        found.append(total)
    return found


def _weighed(view: View, fans: Mapping[str, Fan]) -> float:
    """Live pairs, seen from either side. The side counts more that is less uncertain."""
    seen = {name: (max(view.live[name], NOTHING) * max(fan.mean, NOTHING)) for name, fan in fans.items()}
    doubt = {name: max(view.live[name], 1) ** 2 * fan.spread for name, fan in fans.items()}
    (one, a), (other, b) = doubt.items()
    return (seen[one] * b + seen[other] * a) / (a + b) if a + b else seen[one]


def _sampled_pair(view: View, one: str, other: str, both_ways: bool) -> float:
    """Live pairs, seen from either side. The side counts more whose finds come one by one: of many distinct keys."""
    shared = [i for i, members in enumerate(view.graph.classes) if one in members and other in members]
    weights = {
        a: float(max((view.distinct.get((b, i), 1) for i in shared), default=1)) or 1.0
        for a, b in ((one, other), (other, one))
    }
    if not both_ways:
        weights[min(weights, key=lambda name: weights[name])] = 0.0
    total = 0.0
    for a, b in ((one, other), (other, one)):
        if weights[a]:
            fan = max(view.sample(a, (b,))[0], NOTHING)
            total += weights[a] * max(view.live[a], NOTHING) * fan
    return total / sum(weights.values())


def verify(believed: Estimate, view: View, plan: str) -> Estimate:
    """The same estimate, but what the plan's steps would make is sampled, step by step, along as few streams' paths as
    make all of it; of long paths the first `DEEPEST` steps."""
    return at_once(verifying(believed, view, plan))


def verifying(believed: Estimate, view: View, plan: str) -> Pieces[Estimate]:
    """The same in pieces."""
    made = {step.source | step.target for step in steps_of(plan, view.graph).steps}
    found: dict[frozenset[str], float] = {}
    shape, known, ways = read(plan), {}, {}
    for name in view.graph.names:
        if view.live[name] > 0:
            known[name] = path = path_of(name, shape, view.graph)[:DEEPEST]
            ways[name] = [believed.mask((name, *path[: i + 1])) for i in range(len(path))]
            yield reckoned(len(view.graph.names), 0)
    while made and ways:
        name = max(ways, key=lambda name: len(made.intersection(ways[name])))
        sets = ways.pop(name)
        if made.isdisjoint(sets):
            break
        last = max(i for i, both in enumerate(sets) if both in made)
        path = known[name][: last + 1]
        for i, fan in enumerate(view.sample(name, path)):
            found[frozenset((name, *path[: i + 1]))] = max(view.live[name] * fan, NOTHING)
        made.difference_update(sets)
        yield SAMPLED * len(path)
    return believed.knowing(found)


def path_of(name: str, plan: Tree | Orders, graph: Graph) -> tuple[str, ...]:
    """The other streams in the order in which rows of one meet them; those of composites one by one."""
    if not isinstance(plan, (str, tuple)):
        return _one_by_one(name, plan[name], graph)
    above: list[Tree] = []
    at = plan
    while not isinstance(at, str):
        left, right = at
        at, other = (left, right) if name in streams(left) else (right, left)
        above.append(other)
    path = [name]
    for other in reversed(above):
        path += connected_order(path, streams(other), graph)
    return tuple(path[1:])


def _one_by_one(name: str, order: tuple[Visit, ...], graph: Graph) -> tuple[str, ...]:
    path = [name]
    for visit in order:
        path += connected_order(path, singles(visit), graph)
    return tuple(path[1:])


def connected_order(seen: Iterable[str], others: Iterable[str], graph: Graph) -> list[str]:
    """These streams, each linked to those before it where that can be."""
    bits, links = bits_of(graph), links_of(graph)
    reached, order = sum(bits[name] for name in seen), []
    rest = sorted(others, key=bits.__getitem__)
    while rest:
        follower = next((name for name in rest if links.between(reached, bits[name])), rest[0])
        rest.remove(follower)
        reached |= bits[follower]
        order.append(follower)
    return order
