"""Views of engines that do not exist, for policies to decide on: join graphs, fan-outs and rates by chance."""

from __future__ import annotations

import random

from eddy.plan.orderings import Orderings, prefixes, streams_of
from eddy.plan.plan import Join, joins, parse_plan
from policies import Choice, View
from policies.optimizer import Graph
from policies.routing import StairView, StepView


def graph(rng, count):
    """A join graph: mostly connected, by key classes and other predicates, sometimes with a static relation."""
    names = tuple("ABCDEFGH"[:count])
    classes, thetas = [], []
    for i in range(1, count):
        members = frozenset((names[i], rng.choice(names[:i])))
        kind = rng.random()
        if kind < 0.6:
            classes.append(members)
        elif kind < 0.9:
            thetas.append(members)
    if count > 2 and rng.random() < 0.3:
        thetas.append(frozenset(rng.sample(names, 3)))
    static = frozenset(names[:1]) if rng.random() < 0.1 else frozenset()
    return Graph(names, tuple(classes), tuple(thetas), static)


class World:
    """Streams that do not exist: fan-outs and rates by chance, which drift."""

    def __init__(self, seed, count):
        self.rng = random.Random(seed)
        self.graph = graph(self.rng, count)
        self.plan = str(
            parse_plan("stems", self.graph.names, lambda some, one: self.graph.linked(some, (one,)))
        )
        self.events = 0
        names = self.graph.names
        self.fan_out = {(a, b): self.rng.expovariate(1) for a in names for b in names}

    def view(self, pinned=()):
        names, rng = self.graph.names, self.rng
        for pair in self.fan_out:
            if rng.random() < 0.05:
                self.fan_out[pair] = rng.expovariate(1)
        arrivals = {name: 0 if name in self.graph.static else rng.randrange(2000) for name in names}
        self.events += sum(arrivals.values())
        fan_out, live = dict(self.fan_out), {name: rng.randrange(100, 5000) for name in names}

        def sample(start, path):
            means, mean = [], 1.0
            for i, name in enumerate(path):
                linked = self.graph.linked((start, *path[:i]), (name,))
                mean *= min(fan_out[other, name] for other in (start, *path[:i])) if linked else live[name]
                means.append(mean)
            return tuple(means)

        steps = [
            StepView(source, target, rng.randrange(5000), rng.randrange(9000))
            for source, target in self.steps()
        ]
        stairs = [
            StairView(target, rng.randrange(9000), rng.randrange(10**6), rng.random() < 0.9)
            for target in {step.target for step in steps if len(step.target) > 1}
        ]
        distinct = {(n, c): rng.randrange(1000) for c, ms in enumerate(self.graph.classes) for n in ms}
        seconds = rng.random()
        return View(
            self.graph, self.plan, self.events, arrivals, live, distinct, tuple(steps), tuple(stairs), sample,
            seconds, pinned=pinned,
        )  # fmt: skip

    def steps(self):
        """What probes what under the plan."""
        plan = read(self.plan, self.graph)
        if isinstance(plan, Orderings):
            return [
                ((name, *(s for visit in order[:i] for s in streams_of(visit))), streams_of(visit))
                for name in plan.orders
                for _, order in plan.ways(name)
                for i, visit in enumerate(order)
            ]
        sides = [(tuple(sorted(j.left.streams)), tuple(sorted(j.right.streams))) for j in joins(plan)]
        return [step for left, right in sides for step in ((left, right), (right, left))]

    def take(self, choice):
        """What a policy chose becomes the plan; checks that it can."""
        if choice is None:
            return None
        text = choice.plan if isinstance(choice, Choice) else choice
        assert isinstance(text, str)
        plan = read(text, self.graph)  # PlanError if it is none
        check_connected(plan, self.graph)
        self.plan = str(plan)
        return self.plan


def read(text, graph):
    return parse_plan(text, graph.names, lambda some, one: graph.linked(some, (one,)))


def check_connected(plan, graph):
    """No cross product, unless the graph has one: a predicate over three streams may need it too."""
    if any(len(reads) > 2 for reads in graph.thetas) or not graph.connected(graph.names):
        return
    if isinstance(plan, Orderings):
        for name in plan.orders:
            for _, order in plan.ways(name):
                for seen, visit in zip([{name}, *prefixes(name, order)], order, strict=False):
                    assert graph.linked(seen, streams_of(visit)), (plan, visit)
    else:
        assert isinstance(plan, Join)
        assert all(graph.linked(join.left.streams, join.right.streams) for join in joins(plan)), plan


def decisions(policy, seed, count, times=30, pinned=()):
    """What a policy chooses over a series of views."""
    world = World(seed, count)
    policy.begin(world.graph.names, seed)
    return [world.take(policy.choose(world.view(pinned))) for _ in range(times)]
