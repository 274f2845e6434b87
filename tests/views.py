"""Views made by hand, of streams whose keys are uniform over ranges that contain each other."""

from __future__ import annotations

from policies.optimizer import Graph
from policies.optimizer.plans import read
from policies.routing import StepView, View


def fan(path, ranges, live):
    """Matches of a row of the first stream after all steps: its key is in every smaller range as often as that is."""
    sizes = sorted(ranges[name] for name in path)
    composites = 1.0
    for name in path:
        composites *= live[name]
    for size in sizes[1:]:
        composites /= size
    return composites / live[path[0]]


def star(names, ranges, plan, arrivals=None, live=None, **more):
    """A view of an engine that joins all on one key, in an interval with these arrivals."""
    graph = more.pop("graph", None) or Graph(tuple(names), (frozenset(names),))
    live = live or dict.fromkeys(names, 1_000)
    arrivals = arrivals or dict.fromkeys(names, 1_000)

    def sample(start, path):
        return tuple(fan((start, *path[: i + 1]), ranges, live) for i in range(len(path)))

    steps = []
    for name, order in read(plan).items():
        flow, seen = float(arrivals[name]), (name,)
        for other in order:
            matches = arrivals[name] * fan((*seen, other), ranges, live)
            steps.append(StepView(seen, (other,), round(flow), round(matches), drivers=(name,)))
            flow, seen = matches, (*seen, other)
    return View(
        graph=graph,
        plan=plan,
        events=more.pop("events", 1_000),
        arrivals=arrivals,
        live=live,
        distinct={(name, 0): min(ranges[name], live[name]) for name in names},
        steps=tuple(steps),
        stairs=(),
        sample=sample,
        **more,
    )
