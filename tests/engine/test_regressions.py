"""Faults that were found once, each as the smallest case that shows it."""

import copy
import pickle
import threading
from collections import Counter
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import eddy
from policies import Ghm, Jisc, Mns, ParallelTrack, Routing
from stairs import Stair
from stairs.hole_kernels import place
from tests.inside import Inside


def pair(**options):
    """An engine over A and B on x, for ever."""
    streams = {name: eddy.Stream({"x": "int64"}) for name in "AB"}
    return Inside(eddy.Query(streams, where=["A.x = B.x"]), **options)


def triple(window, plan="(A B) C", **options):
    """An engine over A, B and C on x."""
    streams = {name: eddy.Stream({"x": "int64"}, window=window) for name in "ABC"}
    return Inside(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"]), plan=plan, **options)


def test_a_draw_reads_none_of_the_callers_arrays_later():
    """What the caller writes into his arrays after the push changes no result that is drawn later."""
    engine = pair(batch_size=2)
    engine.push("A", {"x": [1, 2, 3, 4]})
    x = np.array([1, 2, 3, 4])
    parts = engine.push("B", {"x": x}, max_rows=10)
    x[:] = 99
    assert sum(len(part) for part in parts) == 4


def test_a_plan_change_that_fails_changes_nothing():
    """When a STAIR cannot be made the engine goes on under its old plan, exactly."""
    engine = triple(eddy.Rows(20))
    for name in "ABC":
        engine.push(name, {"x": [1, 2, 3]})
    with mock.patch.object(Stair, "prospect", side_effect=MemoryError), pytest.raises(MemoryError):
        engine.migrate("A (B C)")
    assert engine.plan == "(A B) C"
    assert engine.push("A", {"x": [2]}).rows.tolist() == [[3, 1, 1]]


def test_closing_a_draw_reports_a_failure():
    """An error while the rest of a closed draw is stored is remembered: the engine takes no more pushes."""
    engine = pair(batch_size=1)
    engine.push("A", {"x": [1] * 5})
    parts = engine.push("B", {"x": [1, 1, 1]}, max_rows=2)
    next(parts)
    with (
        mock.patch.object(engine.state.changes, "work", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        parts.close()
    with pytest.raises(eddy.StateError, match="in the middle of a batch"):
        engine.push("A", {"x": [1]})


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("shift", [0, 20, 36, 50])
def test_keys_that_differ_in_high_bits_spread_over_the_hole_map(shift):
    """Keys such as whole numbers in float64 differ in their high bits only, and still find slots of their own."""
    keys, states = np.zeros(4096, np.int64), np.zeros(4096, np.uint8)
    slots = {int(place.py_func(keys, states, np.int64(key << shift))) for key in range(1024)}
    assert len(slots) > 800


def test_a_demoted_key_without_rows_is_filled():
    """Demoting a key that has no live row leaves no hole: the STAIR stays complete."""
    engine = triple(eddy.Rows(10))
    for name in "ABC":
        engine.push(name, {"x": [1, 2]})
    (stair,) = engine.state.executor.stairs.values()
    stair.demote(np.array([77]))
    engine.push("C", {"x": [1]})
    assert stair.complete


def test_a_stair_completes_when_one_of_its_windows_has_turned_over():
    """Of a window and an unbounded stream that carries more of the key, the window decides."""
    wide, narrow = {"x": "int64", "y": "int64"}, {"x": "int64"}
    streams = {
        "A": eddy.Stream(wide),
        "B": eddy.Stream(narrow, window=eddy.Rows(5)),
        "C": eddy.Stream(wide, window=eddy.Rows(5)),
    }
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "A.y = C.y"])
    engine = eddy.Eddy(query, plan="(A C) B", migration=Jisc())
    engine.push("A", {"x": [1, 2, 3], "y": [1, 2, 3]})
    engine.push("B", {"x": [1, 2, 3]})
    engine.migrate("(A B) C")
    for _ in range(6):
        engine.push("B", {"x": [1]})
    assert engine.statistics().complete


class Astray(Routing):
    """Names a plan that does not exist."""

    period = 1

    def choose(self, view):
        return "(A B) Z"


def test_a_routing_policy_that_errs_costs_nothing():
    """A bad plan is refused before the next batch is taken in; no result is lost and the engine goes on."""
    engine = pair(routing=Astray())
    engine.push("A", {"x": [1]})
    assert engine.push("B", {"x": [1]}).rows.tolist() == [[0, 0]]
    (decision,) = engine.decisions
    assert decision.outcome == "refused" and "names 'Z', which is no stream" in decision.reason


def test_no_predicate_is_asked_about_rows_that_a_filter_ruled_out():
    """A filter protects a function of the user's that fails on what it rules out."""

    def ratio(a, b):
        return a // b > 1

    streams = {"A": eddy.Stream({"x": "int64"}), "B": eddy.Stream({"y": "int64"})}
    query = eddy.Query(streams, where=["B.y != 0", eddy.predicate(ratio, "A.x", "B.y")])
    engine = eddy.Eddy(query)
    engine.push("B", {"y": [0, 2]})
    assert engine.push("A", {"x": [8]}).rows.tolist() == [[0, 1]]
    assert engine.push("B", {"y": [0, 3]}).rows.tolist() == [[0, 3]]


# -- migrations


def join_of_three(rows):
    """Three streams on one key."""
    streams = {s: eddy.Stream({"x": "int64"}, window=eddy.Rows(rows)) for s in "ABC"}
    return eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])


PLANS = ("(A B) C", "(B C) A", "(A C) B")


def test_a_silent_stream_and_changes_that_keep_coming_do_not_pile_up_tracks():
    """Patience counts from the oldest change under way, not from the last."""
    engine = Inside(join_of_three(20), migration=ParallelTrack())
    rng = np.random.default_rng(0)
    for stream in "ABC":
        engine.push(stream, {"x": rng.integers(0, 9, 20)})
    most = 0
    for i in range(60):
        engine.migrate(PLANS[(i + 1) % 3])
        for stream in "AB":  # C falls silent
            engine.push(stream, {"x": rng.integers(0, 9, 10)})
        most = max(most, len(engine.state.executor.tracks))
    assert 2 <= most < 20


@pytest.mark.parametrize("closing", [False, True])
def test_a_draw_that_is_closed_gives_held_results_once(closing):
    """Closing gives up results of the push, never those that were held from earlier ones, and none comes twice."""
    engine = eddy.Eddy(join_of_three(6), "(A B) C", migration=ParallelTrack(order="pt"), batch_size=4)
    twin = eddy.Eddy(join_of_three(6))
    rng, found, wanted = np.random.default_rng(1), Counter(), Counter()
    for i in range(120):
        if i % 3 == 2:
            engine.migrate(PLANS[(i // 3 + 1) % 3])
        batch = {"x": rng.integers(0, 2, 3)}
        wanted.update(map(tuple, twin.push("ABC"[i % 3], batch).rows.tolist()))
        draw = engine.push("ABC"[i % 3], batch, max_rows=3)
        for part in draw:
            found.update(map(tuple, part.rows.tolist()))
            if closing and i % 5 == 0:
                draw.close()
                break
    found.update(map(tuple, engine.settle().rows.tolist()))
    assert max(found.values()) == 1 and set(found) <= set(wanted)
    assert closing or found == wanted


def test_strings_that_wait_in_a_black_box_are_not_swept():
    """Rows that have left their windows may still wait for the new plan, with their texts."""
    streams = {"D": eddy.Stream({"x": "int64"}, window=eddy.Rows(60_000))}
    streams |= {s: eddy.Stream({"x": "int64", "s": "string"}, window=eddy.Rows(200)) for s in "AB"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = D.x", "A.s < B.s"], select=["A.x", "B.s"])
    engines = [Inside(query, "(A B) D", migration=t) for t in (Jisc(), Ghm(share=1.01))]
    rng, swept = np.random.default_rng(0), 0
    history = {"x": rng.integers(0, 20_000, 60_000)}
    for engine in engines:
        engine.push("D", history)
    for i in range(80):
        for stream in "AB":
            if i == 4 and stream == "A":
                for engine in engines:
                    engine.migrate("(B D) A")
            texts = [f"{value:08d}-{i}-{j}" * 8 for j, value in enumerate(rng.integers(0, 10**8, 200))]
            batch = {"x": rng.integers(0, 200, 200), "s": texts}
            swept += engines[1].state.pool.wants_sweep
            first, second = (
                Counter(zip(*e.push(stream, batch).to_pydict().values(), strict=True)) for e in engines
            )
            assert first == second
    assert swept > 3 and engines[1].statistics().history[-1].ended is None


@pytest.mark.parametrize("feedback", [Mns(), Mns(restraint=False)])
@pytest.mark.parametrize("plan", ["A: B C | B: A C | C: (A B)", "A: (B C) | B: C A | C: B A"])
def test_rows_that_come_back_reach_the_composites_of_orderings(plan, feedback):
    """Rows that waited are joined into every STAIR that some ordering visits, not only made findable."""
    stream = eddy.Stream({"k": "int64"}, window=eddy.Rows(50))
    query = eddy.Query(dict.fromkeys("ABC", stream), where=["A.k = B.k", "B.k = C.k"])
    engine, found = eddy.Eddy(query, plan=plan, feedback=feedback), 0
    for name in ("A", "B", "C", "A", "B"):
        found += len(engine.push(name, {"k": [1, 2, 3]}))
    assert found == 3 * (1 + 1 + 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_null_is_not_given_to_the_rows_that_use_its_slot_later(threads):
    """Batches of plain arrays take another way into the rings, on which masks of NULLs have to be kept as well."""
    streams = {name: eddy.Stream({"x": "int64", "v": "int64"}, window=eddy.Rows(50)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.x = B.x"]), plan="A B", threads=threads)
    engine.push("B", {"x": np.arange(10), "v": np.arange(10)})
    for i in range(40):
        values = [None] * 10 if i == 20 else np.arange(10)
        result = engine.push("A", {"x": np.arange(10), "v": values})
        assert result.to_pydict()["A.v"] == list(values)


def test_a_stair_that_is_empty_for_a_time_goes_on_with_its_ids(monkeypatch):
    """Its ages name them: all that began with lower ones when it got another tables would count as dead."""
    streams = {
        name: eddy.Stream({"x": "int64"}, window=eddy.Rows(1000 if name == "C" else 10)) for name in "ABC"
    }
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])
    engine = eddy.Eddy(query, plan="(A B) C", migration=ParallelTrack(patience=1e6))
    fresh = iter(range(1000, 100_000))
    monkeypatch.setattr("stairs.directory.LEAST", 0)
    monkeypatch.setattr("stairs.directory.ALIKE", 1 << 20)

    def push(name, *keys):
        return len(engine.push(name, {"x": np.array(keys, np.int64)}))

    def push_others(name, n):
        push(name, *(next(fresh) for _ in range(n)))

    push_others("A", 1)
    engine.migrate("A (B C)")
    push("B", 7)
    push_others("B", 7)
    push("C", *[7] * 300)
    push_others("C", 1)
    push_others("B", 3)  # all of (B C) is dead
    for _ in range(520):
        push_others("C", 1)
    push_others("A", 10)  # the old track owes nothing any more
    push("B", 9)
    push("C", 9)
    push_others("B", 6)
    assert push("A", 9) == 1


def test_a_plan_change_that_fails_for_want_of_holes_empties_no_stair():
    """What a new STAIR takes from an old one it takes when nothing can fail any more."""
    engine, other = triple(eddy.Rows(200)), triple(eddy.Rows(200))

    def feed(engine, seed):
        random = np.random.default_rng(seed)
        return [len(engine.push(name, {"x": random.integers(0, 100, 50)})) for name in "ABC"]

    for seed in range(20):
        assert feed(engine, seed) == feed(other, seed)
    with mock.patch("stairs.stair.Holes", side_effect=MemoryError("no more")), pytest.raises(MemoryError):
        engine.migrate("A (B C)")
    for seed in range(20, 28):
        assert feed(engine, seed) == feed(other, seed)
    assert engine.plan == "(A B) C"


def test_nobody_is_at_work_when_a_push_with_threads_has_failed():
    """Helpers use arrays that may be gone when the error is told."""
    engine = triple(eddy.Rows(20_000), threads=2, batch_size=16_384)
    random = np.random.default_rng(1)
    engine.state.fast_path = None
    for _ in range(4):
        for name in "ABC":
            engine.push(name, {"x": random.integers(0, 3000, 5000)})
    crew = engine.state.executor
    with mock.patch.object(crew, "_keep", side_effect=MemoryError("no more")), pytest.raises(MemoryError):
        engine.push("B", {"x": random.integers(0, 3000, 16_000)})
    assert crew.team.mailbox.done == crew.team.mailbox.count == 2


def test_an_engine_is_not_copied():
    """Its kernels go by addresses, which would be those of the original."""
    with pytest.raises(TypeError, match="save"):
        copy.deepcopy(pair())
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(pair())


def test_two_threads_are_not_in_one_engine():
    """The second is told; nothing of what the first does is disturbed, and statistics wait for a batch or its begin."""
    engine = pair()
    inside, done, told = threading.Event(), threading.Event(), []

    def slow(*_):
        inside.set()
        done.wait(200)
        return None

    with mock.patch.object(engine.state.fast_path, "push", side_effect=slow):
        first = threading.Thread(target=engine.push, args=("A", {"x": [1]}))
        first.start()
        assert inside.wait(200)
        for call in (
            lambda: engine.push("B", {"x": [1]}),
            lambda: engine.push_all({"B": {"x": [1]}}),
            lambda: engine.migrate("B A"),
        ):
            with pytest.raises(eddy.StateError, match="somebody is in this engine"):
                call()
        watcher = threading.Thread(target=lambda: told.append(engine.statistics().events))
        watcher.start()
        assert not told
        done.set()
        first.join()
        watcher.join()
    assert told in ([0], [1]) and len(engine.push("B", {"x": [1]})) == 1


def test_a_budget_is_not_told_as_a_plan_change():
    """A STAIR some of whose keys were made holes for want of memory was complete, and lacks nothing else."""
    engine = triple(eddy.Rows(500), memory="100 KB")
    random = np.random.default_rng(1)
    for _ in range(5):
        engine.push_all({name: {"x": random.integers(0, 40, 100)} for name in "ABC"})
    (stair,) = engine.statistics().stairs
    assert not stair.complete and not stair.partial
    assert "known hole" in engine.explain() and "the change" not in engine.explain()


def test_a_column_without_values_has_any_type():
    """As data frames have it: a stream without a row, or a column without a value, comes as float64."""
    streams = {name: eddy.Stream({"s": "string", "t": "timestamp[us]"}) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.s = B.s"]))
    none = np.array([])
    assert len(engine.push("A", {"s": none, "t": none})) == 0
    assert len(engine.push("A", pd.DataFrame({"s": [np.nan], "t": [np.nan]}))) == 0
    with pytest.raises(eddy.BatchError, match="the values are double"):
        engine.push("A", {"s": np.array([1.5]), "t": [0]})


def test_float64_takes_large_integers_that_it_holds():
    """Beyond 2**53 that is some of them."""
    streams = {"A": eddy.Stream({"f": "float64"}), "B": eddy.Stream({"f": "float64"})}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.f = B.f"]))
    engine.push("A", {"f": [2**53 + 2, None, -(2**60)]})
    assert len(engine.push("B", {"f": [2**53 + 2]})) == 1
    with pytest.raises(eddy.BatchError):
        engine.push("A", {"f": [2**53 + 1]})
