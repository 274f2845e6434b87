"""What a routing policy sees: counts by the kernels, and by whatever else takes a step."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Auto, Doe, Ghm, Gms, Gpt, HybMig, Jisc, Mns, ParallelTrack, Routing
from policies.optimizer import Graph
from policies.routing import StairView
from tests.inside import Inside


def query(where=("A.x = B.x", "B.x = C.x"), rows=100, **options):
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(rows)) for name in "ABC"}
    return eddy.Query(streams, where=list(where), **options)


def feed(engine, count, values=20, seed=0, **options):
    """So many pushes of 30 rows; returns the number of results."""
    random, results = np.random.default_rng(seed), 0
    for i in range(count):
        batch = {"x": random.integers(0, values, 30), "y": random.integers(0, values, 30)}
        found = engine.push("ABC"[i % 3], batch, **options)
        results += sum(map(len, found)) if options else len(found)
    return results


def by_target(view):
    return {(step.source, step.target): (step.probes, step.matches) for step in view.steps}


THETA = ("A.x = B.x", "B.y < C.y")
SEVERAL = ("A.x = B.x", "B.x = C.x", "A.y = C.y")


@pytest.mark.parametrize("where", [("A.x = B.x", "B.x = C.x"), THETA, SEVERAL], ids=["key", "theta", "keys"])
@pytest.mark.parametrize("joins", ["hash", "nested"])
@pytest.mark.parametrize("options", [{}, {"max_rows": 50}], ids=["whole", "parts"])
@pytest.mark.parametrize("plan", ["(A B) C", "stems"])
def test_every_probe_and_every_match_is_counted(where, joins, options, plan):
    """Whoever takes the step, a kernel, the router or whoever draws results in parts: rows in, matches out."""
    engine = eddy.Eddy(query(where), plan, joins=joins, batch_size=64)
    results = feed(engine, 30, **options)
    view, steps = engine.view(), by_target(engine.view())
    assert view.arrivals == {"A": 300, "B": 300, "C": 300} and view.events == 900
    assert view.live == {"A": 100, "B": 100, "C": 100}
    if plan == "stems":
        assert sum(matches for (source, _), (_, matches) in steps.items() if len(source) == 2) == results
        firsts = {source[0]: probes for (source, _), (probes, _) in steps.items() if len(source) == 1}
        assert firsts == {"A": 300, "B": 300, "C": 300}
    else:
        joined = steps[("A",), ("B",)][1] + steps[("B",), ("A",)][1]
        assert steps[("A", "B"), ("C",)][0] == joined
        assert steps[("A", "B"), ("C",)][1] + steps[("C",), ("A", "B")][1] == results > 0
        alone = [probes for (source, _), (probes, _) in steps.items() if len(source) == 1]
        assert alone == [300, 300, 300]


class Watching(Routing):
    """Keeps what it sees."""

    period = 90

    def __init__(self, plans=()):
        self.views, self.plans = [], list(plans)

    def choose(self, view):
        self.views.append(view)
        return self.plans.pop(0) if self.plans else None


def test_each_view_tells_what_came_since_the_last():
    """Arrivals, probes and matches add up, and whoever looks with `view` in between changes nothing."""
    engine = eddy.Eddy(query(), "(A B) C", routing=Watching())
    random = np.random.default_rng(0)
    for i in range(31):
        engine.push("ABC"[i % 3], {"x": random.integers(0, 9, 30), "y": random.integers(0, 9, 30)})
        engine.view()
    views = engine.routing.views
    assert [view.events for view in views] == list(range(90, 930, 90))
    assert all(view.arrivals == {"A": 30, "B": 30, "C": 30} for view in views)
    assert all(by_target(view)[("A",), ("B",)][0] == 30 for view in views)
    assert engine.view().arrivals == {"A": 30, "B": 0, "C": 0}
    assert all(view.seconds > 0 for view in views)
    last = sum(
        by_target(view)[("A", "B"), ("C",)][1] + by_target(view)[("C",), ("A", "B")][1] for view in views
    )
    assert last > 0 and last <= engine.statistics().results


@pytest.mark.parametrize("migration", [Jisc(), HybMig(), ParallelTrack()], ids=repr)
def test_a_view_shows_the_plan_that_runs(migration):
    """Also while two plans run: steps and STAIRs of the new one, counted from its beginning on."""
    watching = Watching(["A (B C)", "(A C) B", "stems", "(A B) C"])
    engine = eddy.Eddy(query(), "(A B) C", routing=watching, migration=migration)
    watching = engine.routing
    feed(engine, 40)
    plans = ["(A B) C", "A (B C)", "(A C) B", "A: B C | B: A C | C: A B", "(A B) C"]
    assert [view.plan for view in watching.views[:5]] == plans
    wanted = [("A", "B"), ("B", "C"), ("A", "C"), None, ("A", "B")]
    for view, streams in zip(watching.views, wanted, strict=False):
        assert streams is None or streams in [stair.streams for stair in view.stairs]
        assert (view.migration, view.beside) == (type(migration).__name__, migration.beside)
        if streams is not None:
            assert {step.source for step in view.steps} == {("A",), ("B",), ("C",), streams}


def test_stairs_are_measured_without_a_scan():
    """At most so many composites are alive; and the graph is that of the query."""
    engine = eddy.Eddy(query(THETA, cross=False), "(A B) C")
    feed(engine, 30)
    view, statistics = engine.view(), engine.statistics()
    (stair,) = view.stairs
    assert stair == StairView(("A", "B"), stair.live, statistics.stairs[0].bytes, True)
    assert stair.live >= statistics.stairs[0].live > 0
    assert view.graph == Graph(("A", "B", "C"), (frozenset("AB"),), (frozenset("BC"),), ranges=frozenset([0]))
    assert (view.batch, view.lengths) == (30, dict.fromkeys("ABC", 100))
    static = eddy.Query(
        {"A": {"x": "int64"}, "R": eddy.Stream({"x": "int64"}, static=True)}, where=["A.x = R.x"]
    )
    assert eddy.Eddy(static).view().graph.static == {"R"}


@pytest.mark.parametrize("feedback", [Mns(), Mns(restraint=False), Doe()], ids=repr)
def test_feedback_and_views_go_together(feedback):
    """Whether a policy watches or rests, steps are counted; rows that wait have come, and found nothing yet."""
    engine = eddy.Eddy(query(rows=40), "(A B) C", feedback=feedback)
    results = feed(engine, 300, values=60)
    steps = by_target(engine.view())
    assert steps[("A", "B"), ("C",)][1] + steps[("C",), ("A", "B")][1] == results > 0
    assert steps[("A",), ("B",)][0] + steps[("B",), ("A",)][0] >= 6000


class Impatient(Watching):
    """Orders subtractions as well."""

    joins_only = False


def test_set_differences_have_no_fan_outs():
    """A policy for joins is not asked about them; one that says it orders them sees what there is."""
    subtract = eddy.Query({n: {"k": "int64"} for n in "ABC"}, minus={n: f"A.k = {n}.k" for n in "BC"})
    for routing, asked in ((Watching(), 0), (Impatient(["A - C - B"]), 2)):
        routing.period = 2
        engine = eddy.Eddy(subtract, routing=routing)
        for i in range(5):
            engine.push("ABC"[i % 3], {"k": [i]})
        routing = engine.routing
        assert len(routing.views) == asked
        assert engine.plan == ("(A - C) - B" if asked else "(A - B) - C")
    view = routing.views[0]
    assert (view.steps, view.stairs, view.distinct) == ((), (), {})
    assert view.live == {"A": 1, "B": 1, "C": 0}
    with pytest.raises(eddy.EddyError, match="a set difference has no fan-outs"):
        view.sample("A", ("B",))


BOXES = pytest.mark.parametrize("migration", [Gms(), Gpt(), Ghm()], ids=repr)


@BOXES
@pytest.mark.parametrize("threads", [1, 2])
def test_a_plan_that_takes_over_as_a_black_box_goes_on_counting_matches(migration, threads):
    """Matches between two glances are never below zero, and what the box made before it took over is not among them."""
    engine = Inside(query(), "(A B) C", migration=migration, threads=threads, batch_size=64)
    feed(engine, 30)
    watch = engine.state.steering.watch
    for plan in ("A (B C)", "(A C) B", "stems"):
        watch.forget()
        engine.migrate(plan)
        assert watch.glance().matches == 0
        before = 0
        for _ in range(40):
            feed(engine, 3)
            assert watch.glance().matches > before
            before = watch.glance().matches
        view = engine.view()
        assert all(step.probes >= 0 and step.matches >= 0 for step in view.steps)
        assert sum(step.matches for step in view.steps) <= before


@BOXES
def test_steps_of_a_black_box_count_from_when_it_takes_over(migration):
    """The live rows that were replayed through it, and the batches it took in beside the plan in use, do not count."""
    engine = Inside(query(), "(A B) C", migration=migration, batch_size=64)
    feed(engine, 30)
    engine.migrate("A (B C)")
    feed(engine, 60)
    assert engine.statistics().history[-1].ended is not None
    engine.state.steering.watch.forget()
    engine.migrate("(A B) C")
    while engine.statistics().history[-1].ended is None:
        engine.state.steering.watch.forget()
        feed(engine, 3)
    assert sum(step.probes for step in engine.view().steps) == 0
    engine.state.steering.watch.forget()
    feed(engine, 3)
    alone = [step.probes for step in engine.view().steps if len(step.source) == 1]
    assert alone == [30, 30, 30]


@BOXES
@pytest.mark.parametrize("threads", [1, 2])
def test_auto_goes_on_while_plans_change_as_black_boxes(migration, threads):
    """It glances at a feed that becomes another while plans take over from one another, and raises nothing."""
    engine = eddy.Eddy(query(), "(A B) C", routing=Auto(every=200), migration=migration, threads=threads)
    for i in range(60):
        if i % 4 == 3:
            engine.migrate(["A (B C)", "(A C) B", "(A B) C"][i // 4 % 3])
        feed(engine, 6, values=200 if i // 12 % 2 else 20, seed=i)
    assert engine.statistics().events == 60 * 180
