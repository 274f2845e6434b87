"""The plainest versions of what the optimiser computes: all plans one by one, and costs as sums in words."""

from __future__ import annotations

import itertools
import math

from policies.optimizer import CostModel, Estimate
from policies.optimizer.plans import nodes, read, streams


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


def cross_products(plan, graph):
    """How many steps of a plan, or how many joins of a tree, have no predicate."""
    if isinstance(plan, dict):
        return sum(
            not graph.linked((name, *order[:i]), (other,))
            for name, order in plan.items()
            for i, other in enumerate(order)
        )
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
        for name, order in plan.items():
            seen = frozenset((name,))
            for other in order:
                target = frozenset((other,))
                total += step(seen, target, (name,)) + writing(seen, target, (name,))
                seen |= target
        return total
    for one, other in nodes(plan):
        left, right = streams(one), streams(other)
        total += step(left, right, left) + step(right, left, right) + writing(left, right, left | right)
        if left | right != frozenset(graph.names):
            total += model.insert * arising(left | right, left | right)
    return total


def valid(text, names):
    """Whether a text is a plan over all of these streams."""
    plan = read(text)
    if isinstance(plan, dict):
        return set(plan) == set(names) and all(
            sorted((name, *order)) == sorted(names) for name, order in plan.items()
        )
    found = [part for node in nodes(plan) for part in node if isinstance(part, str)]
    return sorted(found) == sorted(names)
