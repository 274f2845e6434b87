"""A push is no unit of decision: the routing policy is asked in the middle of a large one, on every way in."""

from collections import OrderedDict

import numpy as np
import pytest

import eddy
from eddy.fast.tables import SEGMENT
from policies import Gms, HybMig, Jisc, MovingState, ParallelTrack
from policies.routing.base import Routing

STREAMS = "ABC"
PLANS = ("(A B) C", "A (B C)", "(A C) B", "A: B C | B: A C | C: A B")
EVENTS = 4 * SEGMENT + 1000


class Turns(Routing):
    """Changes to the next plan of a list each time it is asked."""

    period = SEGMENT // 2

    def __init__(self, fails: int = -1) -> None:
        self.asked, self.fails = 0, fails

    def choose(self, view):
        self.asked += 1
        if self.asked == self.fails:
            raise ZeroDivisionError("on purpose")
        return PLANS[self.asked % len(PLANS)]


def query(window):
    return eddy.Query(
        {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=window) for name in STREAMS},
        where=["A.k = B.k", "B.k = C.k"],
    )


def feed():
    rng = np.random.default_rng(3)
    streams, k = rng.integers(0, 3, EVENTS), rng.integers(0, 500, EVENTS)
    return {
        name: {"ts": np.flatnonzero(streams == s), "k": k[streams == s]} for s, name in enumerate(STREAMS)
    }


def rows(result):
    found = result.rows
    return found[np.lexsort(found.T)]


@pytest.fixture(scope="module")
def expected():
    """The results of each window under a plan that stays."""
    return {
        window: rows(eddy.Eddy(query(window), plan=PLANS[0]).push_all(feed()))
        for window in (eddy.Range(300), eddy.Rows(100))
    }


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [dict, OrderedDict], ids=["fast path", "long way"])
@pytest.mark.parametrize("migration", [Jisc(), MovingState(), ParallelTrack(), HybMig(), Gms()], ids=repr)
def test_a_plan_that_changes_in_the_middle_of_a_push_changes_no_result(expected, kind, migration, threads):
    """Each technique takes over between two portions, and the rest of the push goes on under the new plan."""
    for window, wanted in expected.items():
        engine = eddy.Eddy(query(window), PLANS[0], routing=Turns(), migration=migration, threads=threads)
        result = engine.push_all(kind(feed()))
        assert engine.statistics().migrations >= 2
        assert (rows(result) == wanted).all()
        assert engine.statistics().events == EVENTS
        assert engine.view().arrivals.keys() == set(STREAMS)


def test_what_comes_after_such_a_push_is_joined_with_all_of_it(expected):
    """Payload, windows and row numbers are those of the whole push, wherever it left the fast path."""
    engine = eddy.Eddy(query(eddy.Range(300)), plan=PLANS[0], routing=Turns())
    engine.push_all(feed())
    engine.freeze()
    still = eddy.Eddy(query(eddy.Range(300)), plan=PLANS[0])
    still.push_all(feed())
    more = {n: {"ts": np.arange(EVENTS, EVENTS + 200), "k": np.arange(200)} for n in STREAMS}
    (first, second) = (e.push_all(more).to_arrow().sort_by("A.ts") for e in (engine, still))
    assert first.num_rows > 0
    assert sorted(map(str, first.to_pylist())) == sorted(map(str, second.to_pylist()))


@pytest.mark.parametrize("warm", [False, True], ids=["the first push", "another push"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [dict, OrderedDict], ids=["fast path", "long way"])
def test_the_policy_is_asked_in_the_middle_of_a_push(kind, threads, warm):
    """Also where shards take a whole push in by themselves, once they know how."""
    routing = Turns()
    engine = eddy.Eddy(query(eddy.Rows(100)), PLANS[0], routing=routing, threads=threads)
    if warm:
        engine.freeze()
        for turn in range(4):
            engine.push("A", {"ts": np.full(3000, turn - 9), "k": np.arange(3000)})
        engine.thaw()
    asked = engine.statistics().migrations
    engine.push_all(kind(feed()))
    assert engine.statistics().migrations >= asked + 2
    engine.push_all(kind((n, {**c, "ts": c["ts"] + EVENTS}) for n, c in feed().items()))
    assert engine.statistics().migrations >= asked + 4


@pytest.mark.parametrize("kind", [dict, OrderedDict], ids=["fast path", "long way"])
def test_a_policy_that_fails_in_the_middle_of_a_push_loses_nothing(expected, kind):
    """The push is whole, with a warning; the next push raises the error before it takes anything in."""
    engine = eddy.Eddy(query(eddy.Range(300)), plan=PLANS[0], routing=Turns(fails=2))
    engine.push("A", {"ts": np.empty(0, np.int64), "k": np.empty(0, np.int64)})
    with pytest.warns(eddy.PolicyWarning, match="Turns raised ZeroDivisionError"):
        result = engine.push_all(kind(feed()))
    assert (rows(result) == expected[eddy.Range(300)]).all()
    late = {"ts": np.array([EVENTS]), "k": np.array([1])}
    with pytest.raises(eddy.PolicyError, match="on purpose"):
        engine.push("A", late)
    engine.freeze()
    engine.push("A", late)
    assert engine.statistics().events == EVENTS + 1


def test_a_push_whose_results_are_drawn_in_parts_is_no_unit_of_decision_either(expected):
    """With `max_rows` the policy is asked between two batches, too."""
    routing = Turns()
    engine = eddy.Eddy(query(eddy.Rows(100)), plan=PLANS[0], routing=routing)
    one = {n: {**columns, "ts": np.zeros(len(columns["k"]), np.int64)} for n, columns in feed().items()}
    for name in "AB":
        for _ in engine.push(name, {c: values[:60_000] for c, values in one[name].items()}, max_rows=1000):
            pass
    assert engine.statistics().migrations >= 2


@pytest.mark.parametrize("kind", [dict, OrderedDict], ids=["fast path", "long way"])
def test_a_change_that_fails_in_the_middle_of_a_push_loses_nothing(expected, kind, monkeypatch):
    """Whatever a change raises before anything has changed: the push goes on under the plan that there is."""

    def no_room(*args, **options):
        raise MemoryError("on purpose")

    engine = eddy.Eddy(query(eddy.Range(300)), plan=PLANS[0], routing=Turns())
    monkeypatch.setattr("eddy.router.router.Router.install", no_room)
    with pytest.warns(eddy.PolicyWarning, match="MemoryError"):
        result = engine.push_all(kind(feed()))
    assert (rows(result) == expected[eddy.Range(300)]).all()
    assert engine.statistics().events == EVENTS
