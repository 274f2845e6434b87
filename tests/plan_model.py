"""The plainest versions of what the optimiser computes: all plans one by one, and costs as sums in words."""

from __future__ import annotations

import itertools
import math

from policies.optimizer import CostModel, Estimate
from policies.optimizer.plans import nodes, read, singles, streams


def trees(names):
    """All trees over these streams, once each."""
    names = tuple(names)
    if len(names) == 1:
        yield names[0]
        return
    first, *others = names
    for size in range(len(others)):
        for some in itertools.combinations(others, size):
            rest = [name for name in others if name not in some]
            for left in trees((first, *some)):
                for right in trees(rest):
                    yield left, right


def left_deep_trees(names):
    for order in itertools.permutations(names):
        tree = order[0]
        for name in order[1:]:
            tree = tree, name
        yield tree


def families(names):
    """All ways to keep composites: sets of sets, of which no two overlap but where one is inside the other."""
    sets = [frozenset(some) for k in range(2, len(names)) for some in itertools.combinations(names, k)]

    def more(chosen, rest):
        yield chosen
        for i, one in enumerate(rest):
            if all(not one & other or one < other or other < one for other in chosen):
                yield from more([*chosen, one], rest[i + 1 :])

    return more([], sets)


def plans_of(kept, names):
    """All plans in which each part of a set that is kept visits the others in an order of its own."""
    names = tuple(names)
    parts = {}
    for both in [*kept, frozenset(names)]:
        inside = [one for one in kept if one < both]
        largest = [one for one in inside if not any(one < other for other in inside)]
        parts[both] = [*largest, *(frozenset((n,)) for n in both if not any(n in one for one in largest))]
    moves = [(both, part) for both in parts for part in parts[both]]
    choices = [itertools.permutations([p for p in parts[both] if p != part]) for both, part in moves]
    for chosen in itertools.product(*choices):
        order = dict(zip([part for _, part in moves], chosen, strict=True))
        plan = {}
        for name in names:
            seen, path = frozenset((name,)), []
            while len(seen) < len(names):
                path += order[seen]
                seen = seen.union(*order[seen])
            plan[name] = tuple(visit(one, names) for one in path)
        yield plan


def visit(streams, names):
    return next(iter(streams)) if len(streams) == 1 else tuple(n for n in names if n in streams)


def walk(plan, graph):
    """The steps of orderings: source, target, whose arrivals drive it, how often it is made, and stored."""
    orders = {n: [frozenset((v,) if isinstance(v, str) else v) for v in order] for n, order in plan.items()}

    def seen(name, i):
        return frozenset((name,)).union(*orders[name][:i])

    def key(one, other):
        return frozenset(c for c in graph.classes if one & c and other & c)

    every = [(name, i) for name in orders for i in range(len(orders[name]))]
    keys = {}
    for name, i in every:
        if len(orders[name][i]) > 1:
            keys.setdefault(orders[name][i], set()).add(key(seen(name, i), orders[name][i]))

    def together(both):
        """Whether all that come to a STAIR go on from there."""
        rests = {tuple(orders[n][i:]) for n in both for i in range(1, len(orders[n])) if seen(n, i) == both}
        if len(rests) != 1:
            return False
        going = key(both, next(iter(rests))[0])
        return not going or going in keys[both]

    found = set()
    for name, i in every:
        reached = [seen(name, k) for k in range(1, i + 1)]
        joined = [both for both in reached if both in keys and together(both)]
        drivers = joined[-1] if joined else frozenset((name,))
        both = seen(name, i + 1)
        stored = len(keys.get(both, ()))
        times = stored + (not together(both)) if stored else 1
        found.add((seen(name, i), orders[name][i], drivers, times, stored))
    return found


def cross_products(plan, graph):
    """How many steps of a plan, or how many joins of a tree, have no predicate."""
    if isinstance(plan, dict):
        return sum(not graph.linked(source, target) for source, target, *_ in walk(plan, graph))
    return sum(not graph.linked(streams(left), streams(right)) for left, right in nodes(plan))


def seconds(plan, estimate: Estimate, model: CostModel) -> float:
    """What a plan costs, by the model's words."""
    graph = estimate.graph
    turnover = {name: estimate.rates[name] / max(estimate.live[name], 1e-3) for name in graph.names}

    def arising(names, drivers):
        return estimate.composites(*names) * sum(turnover[name] for name in drivers)

    def step(source, target, drivers):
        flow, entries = arising(source, drivers), estimate.composites(*target)
        total = model.step / estimate.batch
        common = [c for c in graph.classes if source & c and target & c]
        if common and estimate.joins == "nested":
            return total + flow * entries * model.compare
        if common:
            size = entries * (12 + 4 * len(target))
            total += flow * (model.probe + model.miss * math.log2(1 + size / 32768))
            if len(common) > 1 or any(len(source & c) > 1 for c in graph.classes if not target & c):
                total += flow * model.rekey * len(common)
            return total
        pairs = 0.0
        for i, reads in enumerate(graph.thetas):
            if reads <= source | target and reads & source and len(reads & target) == 1:
                live = estimate.live[next(iter(reads & target))]
                if i in graph.ranges and estimate.joins != "nested":
                    return total + flow * (model.probe + model.seek * math.log2(2 + live))
                pairs = live
        return total + flow * (model.probe + model.compare * pairs)

    def writing(left, right, drivers):
        common = sum(bool(left & c and right & c) for c in graph.classes)
        each = model.match + model.byte * (12 + 4 * len(left | right))
        return arising(left | right, drivers) * (each + model.verify * common * (common > 1))

    total = 0.0
    if isinstance(plan, dict):
        for source, target, drivers, times, stored in walk(plan, graph):
            both = source | target
            total += times * (step(source, target, drivers) + writing(source, target, drivers))
            total += stored * model.insert * arising(both, drivers)
        visits = [visit for order in plan.values() for visit in order]
        return total + model.keep * len({frozenset(visit) for visit in visits if not isinstance(visit, str)})
    for one, other in nodes(plan):
        left, right = streams(one), streams(other)
        total += step(left, right, left) + step(right, left, right) + writing(left, right, left | right)
        if left | right != frozenset(graph.names):
            total += model.insert * arising(left | right, left | right) + model.keep
    return total


def valid(text, names):
    """Whether a text is a plan over all of these streams."""
    plan = read(text)
    if isinstance(plan, dict):
        return set(plan) == set(names) and all(
            sorted((name, *itertools.chain(*map(singles, order)))) == sorted(names)
            for name, order in plan.items()
        )
    found = [part for node in nodes(plan) for part in node if isinstance(part, str)]
    return sorted(found) == sorted(names)
