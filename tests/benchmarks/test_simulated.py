"""The simulated clock: what it counts, what it makes of that, and that it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import define, evolve, field

import eddy
from benchmarks.migration_workloads import left_deep, right_deep
from benchmarks.simulated.chain import EXACT, MOVING, NEW, OLD, PURGED, Chain
from benchmarks.simulated.clique import Clique
from benchmarks.simulated.compare import Side, compare
from benchmarks.simulated.feed import MS, Feed, arrivals
from benchmarks.simulated.server import Costs, Server
from benchmarks.simulated.subjects import EngineSubject, Look
from benchmarks.simulated.techniques import IdleHybMig, PurgedTrack, purged_after
from policies import HybMig, MovingState, ParallelTrack
from policies.migration.costs import chain_seconds

SMALL = Chain(400, (50, 50, 50, 50), (0.2, 0.2, 0.2), Costs(0.01, 0.02), change=2000, length=6000)


def feed_of(*times: float, names: str = "A") -> Feed:
    """Rows of the first stream at these milliseconds."""
    count = len(times)
    when = np.round(np.array(times) * MS).astype(np.int64)
    streams, values = np.zeros(count, np.int32), np.zeros(count, np.int64)
    return Feed(names, streams, when, {"x": values}, dict.fromkeys(names, ("x",)))


@define
class Counter:
    """Each row takes as many evaluations as is told, and gives a result; a change takes some, and idle steps."""

    rows: list[int]
    change: int = 0
    steps: list[int] = field(factory=list)
    evaluations: int = 0
    migrating: bool = False

    def push(self, batch):
        if batch:
            self.evaluations += self.rows.pop(0)
            return 1
        if self.steps:
            self.evaluations += self.steps.pop(0)
        self.migrating = bool(self.steps)
        return 0

    def migrate(self, plan):
        self.evaluations += self.change
        self.migrating = bool(self.steps)

    def look(self):
        return Look(self.evaluations, 0, 0, self.migrating)


def test_poisson_arrivals():
    """Exponential gaps: mean and spread alike; streams in proportion to their rates; sorted, and the same again."""
    gaps = {"A": 100.0, "B": 50.0}
    streams, times = arrivals(gaps, 100_000, np.random.default_rng(3))
    between = np.diff(times) / MS
    assert between.mean() == pytest.approx(100 / 3, rel=0.1)
    assert between.std() == pytest.approx(between.mean(), rel=0.1)
    assert np.mean(streams == 1) == pytest.approx(2 / 3, abs=0.05)
    assert (between >= 0).all() and times[-1] < 100_000 * MS
    again = arrivals(gaps, 100_000, np.random.default_rng(3))
    assert (again[0] == streams).all() and (again[1] == times).all()


def test_a_queue_by_hand():
    """Rows at 0, 1, 2 and 10 ms of 2 ms each: they wait 0, 1, 2 and 0 ms."""
    run = Server(Counter([4, 4, 4, 4]), Costs(join=0.5)).serve(feed_of(0, 1, 2, 10))
    assert [(job.due, job.began, job.ended) for job in run.jobs] == [
        (0, 0, 2),
        (1, 2, 4),
        (2, 4, 6),
        (10, 10, 12),
    ]
    bins = np.arange(0.0, 13, 2)
    assert run.output(bins).tolist() == [0, 1, 1, 1, 0, 1]  # a result at 2 ms falls into the bin from 2 ms on
    assert run.evaluated(bins).tolist() == [4, 4, 4, 0, 0, 4]
    assert run.waiting(np.array([0, 1.5, 2.5, 7])).tolist() == [1, 1, 0]
    assert run.delay == 4 and run.finished == 12 and run.evaluations == 16


def test_deterministic_service_waits_as_long_as_theory_says():
    """M/D/1 at a load of one half: rows wait half a service time on average (Pollaczek and Khinchine)."""
    _, times = arrivals({"A": 2.0}, 40_000, np.random.default_rng(0))
    run = Server(Counter([1] * len(times)), Costs(join=1.0)).serve(feed_of(*(times / MS)))
    waited = np.mean([job.began - job.due for job in run.jobs])
    assert waited == pytest.approx(0.5, rel=0.1)


def test_a_change_waits_for_its_turn_and_others_wait_for_it():
    """It comes at 1 ms, is begun at 2 ms when the row before is done, and takes 10 ms."""
    run = Server(Counter([2, 2, 2], change=10), Costs(join=1.0)).serve(feed_of(0, 3, 20), change=(1, "new"))
    assert (run.requested, run.began, run.ended, run.migration) == (1, 2, 12, 10)
    assert [job.ended for job in run.jobs if job.kind == "row"] == [2, 14, 22]


def test_idle_work_is_interrupted_by_rows():
    """Two steps of 5 ms after a change at 0 ms; a row of 1 ms at 3 ms comes before the rest of the first step."""
    server = Server(Counter([1], steps=[5, 5]), Costs(join=1.0), idles=True)
    run = server.serve(feed_of(3), change=(0, "new"))
    assert [(job.kind, job.began, job.ended) for job in run.jobs] == [
        ("change", 0, 0),
        ("idle", 0, 3),
        ("row", 3, 4),
        ("idle", 4, 6),
        ("idle", 6, 11),
    ]
    assert run.ended == 11 and run.evaluations == 11
    assert run.evaluated(np.array([0.0, 3, 4, 11])).tolist() == [3, 1, 7]


def test_t15_what_moving_state_takes():
    """Ten rows of B, C and D each, 5 pairs of B and C, one of which meets a row of D: 150 Tj and 6 Ts.

    The paper's equation 8 has 200 Tj and 7 Ts for it: it counts the pairs of B and C twice (H-D4). The engine makes a
    state key by key, and by nested loops it looks at all rows of B, and then at all pairs, for each of the ten keys.
    """
    stream = eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Range(1000))
    query = eddy.Query(dict.fromkeys("ABCD", stream), where=["A.x = B.x", "B.x = C.x", "C.x = D.x"])
    subject = EngineSubject.of(query, OLD, MovingState())
    subject.push({"B": {"ts": np.arange(10), "x": np.arange(10)}})
    subject.push({"C": {"ts": np.full(10, 20), "x": np.array([0, 1, 2, 3, 4, 20, 21, 22, 23, 24])}})
    subject.push({"D": {"ts": np.full(10, 30), "x": np.arange(4, 14)}})
    before = subject.look()
    subject.migrate(NEW)
    after = subject.look()
    join, insert = Costs(1.0), Costs(0.0, 1.0)
    assert (join.of(before, after), insert.of(before, after)) == (150 + 10 * 10 + 10 * 5, 6)
    rates, factors = [0.01] * 3, [0.05, 0.02]
    assert chain_seconds(rates, 1000, factors, 1.0, 0.0) == pytest.approx(150)
    assert chain_seconds(rates, 1000, factors, 0.0, 1.0) == pytest.approx(6)
    assert chain_seconds(rates, 1000, factors, 1.0, 0.0, printed=True) == pytest.approx(200)
    assert chain_seconds(rates, 1000, factors, 0.0, 1.0, printed=True) == pytest.approx(7)
    assert not after.migrating


def told(runs):
    """All that is told of some runs."""
    return {name: (run.jobs, run.requested, run.began, run.ended, run.results) for name, run in runs.items()}


def test_the_same_seed_gives_the_same():
    assert told(SMALL.runs(alone=True)) == told(SMALL.runs(alone=True))
    other = evolve(SMALL, seed=1).runs(alone=True)
    assert told(other)[MOVING] != told(SMALL.runs(alone=True))[MOVING]


def test_techniques_behave_as_they_do():
    """Moving State computes at the change; Parallel Track takes W, or 2 W as it is printed, and works twice."""
    runs = SMALL.runs()
    assert runs[MOVING].migration == pytest.approx(SMALL.estimate(), rel=1.0)
    assert runs[EXACT].migration / SMALL.window == pytest.approx(1, abs=0.3)
    assert runs[PURGED].migration / SMALL.window == pytest.approx(2, abs=0.4)
    assert runs[MOVING].evaluations < runs[PURGED].evaluations
    (change,) = [job for job in runs[MOVING].jobs if job.kind == "change"]
    assert change.ended - change.began == runs[MOVING].migration > 0
    (change,) = [job for job in runs[EXACT].jobs if job.kind == "change"]
    assert change.ended == change.began


def test_purging_by_hand():
    """W = 10 ms, A B C, the change at 20 ms: a at 15, b at 25 make an old pair, which a row of C purges after 35."""
    times = [15, 18, 25, 26, 27, 36.5, 37, 38, 39]
    names = "ACBACBABC"
    when = np.round(np.array(times) * MS).astype(np.int64)
    values = np.zeros(len(times), np.int64)
    feed = Feed(
        "ABC",
        np.array(["ABC".index(name) for name in names], np.int32),
        when,
        {"x": values},
        dict.fromkeys("ABC", ("x",)),
    )
    stream = eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Range(10 * MS))

    def query(streams: str) -> eddy.Query:
        return eddy.Query(dict.fromkeys(streams, stream), where=[f"A.x = {name}.x" for name in streams[1:]])

    assert purged_after(feed, query, "ABC", 2, 10 * MS) == len(times) - 2
    assert (
        purged_after(feed, query, "AB", 2, 10 * MS) == 4
    )  # b at 36.5 is the first that is more than W after a at 15


def test_sides_that_differ_are_refused():
    other = evolve(SMALL, window=300)
    sides = {
        "all": Side(lambda: EngineSubject.of(SMALL.query(), OLD, MovingState())),
        "less": Side(lambda: EngineSubject.of(other.query(), OLD, MovingState())),
    }
    with pytest.raises(AssertionError, match="different results"):
        compare(sides, SMALL.feed(), SMALL.costs, (SMALL.change, NEW))


@pytest.mark.parametrize(
    "technique", [PurgedTrack(60), ParallelTrack(order="pt"), HybMig(), IdleHybMig()], ids=repr
)
def test_contents_are_those_of_an_engine_that_stays(technique):
    """Counts are compared in every run; here the rows themselves, with pushes for idle time in between."""
    feed = SMALL.feed()
    moved = eddy.Eddy(SMALL.query(), plan=OLD, migration=technique, joins="nested")
    stays = eddy.Eddy(SMALL.query(), plan=OLD)
    found: dict[str, list[tuple[int, ...]]] = {"moved": [], "stays": []}
    for i in range(len(feed)):
        if i == feed.before(SMALL.change):
            moved.migrate(NEW)
        for name, engine in (("moved", moved), ("stays", stays)):
            for batch in (feed.batch(i, i + 1), {}):
                result = engine.push_all(batch).to_pydict()
                found[name] += zip(*result.values(), strict=True)
    assert moved.statistics().history[-1].ended is not None
    assert len(found["stays"]) > 100
    assert sorted(found["moved"]) == sorted(found["stays"])


def test_background_computation_ends_early_where_there_is_time():
    clique = Clique(w=0.5, n=4, keys=10, costs=Costs(0.001))
    sides = {
        "plain": clique.side(HybMig()),
        "idle": clique.side(IdleHybMig(), idles=True),
    }
    runs = clique.runs(sides, right_deep)
    assert runs["idle"].migration < 0.1 * clique.window < runs["plain"].migration <= 1.1 * clique.window
    assert left_deep(clique.names) == "((A B) C) D"


def test_what_is_made_is_counted():
    """Four rows, the composites A B and A B C, and one result: seven tuples, three of them matches."""
    stream = eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Range(1000))
    query = eddy.Query(dict.fromkeys("ABCD", stream), where=["A.x = B.x", "B.x = C.x", "C.x = D.x"])
    subject = EngineSubject.of(query, OLD, MovingState())
    for time, name in enumerate("ABCD"):
        subject.push({name: {"ts": np.array([time]), "x": np.array([7])}})
    assert subject.engine.statistics().matched == 3
    assert subject.look() == Look(evaluations=3, made=7, tuples=2, migrating=False)
