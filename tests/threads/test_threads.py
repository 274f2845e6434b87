"""Threads change nothing but the time it takes: the same results, in the same order, whatever else is done."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, note, settings
from hypothesis import strategies as st

import eddy
from eddy.threads.shard import Shard
from tests.cases import FEEDBACK, TECHNIQUES, expected, make_engine
from tests.checks import check, follow, row_tuples
from tests.inside import Inside
from tests.operator_checks import check as check_operators
from tests.operator_strategies import cases
from tests.strategies import large_cases, migrating_cases, small_cases

base = settings().max_examples
OPERATORS = {"withdrawals": (), "aggregate": ("aggregates",), "difference": ("minus",)}
THREADS = st.sampled_from([2, 2, 3, 5])


def few(share):
    """Settings for a property that needs only a share of the examples."""
    return settings(max_examples=max(3, int(base * share)))


@given(small_cases(migrations=20, demotes=10, hands=20, rejects=5, chunks=15), THREADS)
@few(0.3)
def test_each_push_gives_exactly_the_results_of_the_oracle(case, threads):
    """Whatever the join graph, the windows, the batches and the plan changes."""
    check(case, threads=threads)


@given(migrating_cases())
@few(0.04)
def test_every_technique_works_in_every_shard(case):
    """One feed under every technique, through changes that overlap and changes that end, restarts and bad batches."""
    wanted = expected(case)
    for technique in TECHNIQUES:
        note(f"technique={technique}")
        same = evolve(case, technique=technique, threads=2)
        follow(same, make_engine(same), wanted)


@given(small_cases(migrations=10))
@few(0.05)
def test_every_feedback_policy_works_in_every_shard(case):
    """One feed under every policy."""
    wanted = expected(case)
    for policy in FEEDBACK:
        note(f"feedback={policy}")
        same = evolve(case, feedback=policy, threads=2)
        follow(same, make_engine(same), wanted)


@given(small_cases(restarts=20, migrations=10), THREADS)
@few(0.07)
def test_a_restart_deals_the_live_rows_out_again(case, threads):
    """A snapshot has no shards in it: any number of threads goes on from it."""
    check(evolve(case, threads=threads))


@given(large_cases())
@settings(max_examples=2)
def test_batches_of_thousands_of_rows(case):
    """Large batches too."""
    check(case, threads=2)


@pytest.mark.parametrize("operators", OPERATORS.values(), ids=OPERATORS)
@given(data=st.data())
@few(0.05)
def test_withdrawals_and_aggregates_are_made_of_the_results_of_all_shards(operators, data):
    """What a result withdraws, or a group shows, depends on every shard; set differences stay in one thread."""
    check_operators(data.draw(cases(operators=operators, migrations=10)), threads=2)


# By hand


def feed(keys=50, size=300, seed=0, streams="ABC"):
    """A feed of three streams with one key: batches for push_all, without end."""
    random, time = np.random.default_rng(seed), 0
    while True:
        batch = {}
        for name in streams:
            n = int(random.integers(0, size))
            batch[name] = {
                "ts": np.sort(random.integers(time, time + 100, n)),
                "x": random.integers(0, keys, n),
            }
        time += 100
        yield batch


def engine(streams="ABC", window=None, **options):
    """A.x = B.x = C.x, over windows of 100 rows."""
    declared = {
        n: eddy.Stream({"ts": "int64", "x": "int64"}, window=window or eddy.Rows(100)) for n in streams
    }
    where = [f"{streams[0]}.x = {name}.x" for name in streams[1:]]
    return Inside(eddy.Query(declared, where=where), **options)


def long_ways(crew, monkeypatch):
    """Counts the batches that a shard could not take in by kernels alone."""
    count = [0]
    process = Shard.process

    def counting(*arguments):
        count[0] += 1
        return process(*arguments)

    monkeypatch.setattr(Shard, "process", counting)
    return count


@pytest.mark.parametrize(
    "window", [eddy.Rows(100), eddy.Tumbling(rows=64), eddy.Range(90), eddy.Tumbling(time=70)], ids=str
)
def test_a_steady_feed_needs_no_python_for_each_shard(window, monkeypatch):
    """Once rings are large enough, kernels take batch after batch in, with the results of one thread."""
    one, two = engine(window=window), engine(window=window, threads=3)
    batches, count = feed(), long_ways(two.state.executor, monkeypatch)
    for turn in range(60):
        if turn == 30:
            count[0] = 0
        batch = next(batches)
        first, second = one.push_all(batch), two.push_all(batch)
        assert len(first) == len(second)
        assert sorted(row_tuples([first])) == sorted(row_tuples([second]))
    assert count[0] <= 10


def test_results_that_somebody_holds_are_read_later():
    """A result may be read after many other pushes, whatever has become of its rows."""
    one, two = engine(), engine(threads=2)
    held = [(one.push_all(batch), two.push_all(batch)) for batch, _ in zip(feed(), range(20), strict=False)]
    for first, second in held:
        assert sorted(row_tuples([first])) == sorted(row_tuples([second]))
        assert sorted(first.column("A.ts").to_pylist()) == sorted(second.column("A.ts").to_pylist())


def test_a_plan_change_moves_no_row_between_shards():
    """Each shard changes its own plan; the rows that were dealt out are not dealt out again."""
    two, batches = engine(threads=2), feed()
    for _ in range(10):
        two.push_all(next(batches))
    two.state.executor.write_back()
    sent = two.state.executor._sent.copy()
    two.migrate("(C B) A")
    two.settle()
    assert (two.state.executor._sent == sent).all() and two.plan == "(C B) A"
    assert two.statistics().complete and two.statistics().migrations == 1
    (change,) = two.statistics().history
    assert change.ended is not None and change.plan == "(C B) A"


@pytest.mark.parametrize(
    "further", [(), ("A.ts != C.ts",), ("C.x < 900",)], ids=["kernels", "theta", "filter"]
)
def test_composites_that_have_left_their_windows_are_not_counted_in_a_shard_that_gets_no_rows(further):
    """Windows move on in all of them, also in one that has no part in the row which moves them."""
    streams = {n: eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Range(10)) for n in "ABC"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", *further])
    for key in range(8):
        two = eddy.Eddy(query, "(A B) C", threads=2)
        two.push_all({n: {"ts": [0], "x": [key]} for n in "AB"})
        assert [stair.live for stair in two.statistics().stairs] == [1]
        two.push("C", {"ts": [100], "x": [1000]})
        assert [stair.live for stair in two.statistics().stairs] == [0], f"key {key}"


def test_the_history_tells_of_a_loaded_engine_what_it_tells_with_one_thread(tmp_path):
    """Composites that were not saved are a change under way: since the snapshot, though shards may have none of it."""
    one = engine(plan="(A B) C")
    rows = {n: {"ts": np.arange(3), "x": np.array([1, 1, 2])} for n in "AB"}
    one.push_all(rows)
    one.save(tmp_path / "saved")
    (alone,) = eddy.Eddy.load(tmp_path / "saved").statistics().history
    for threads in (2, 3, 5):
        (change,) = eddy.Eddy.load(tmp_path / "saved", threads=threads).statistics().history
        assert (change.begun, change.former, change.plan) == (alone.begun, alone.former, alone.plan)
        assert change.begun == 6


def test_explain_tells_how_rows_are_dealt_out():
    """The partitioning, and the rows sent so far."""
    two = engine(threads=2)
    two.push_all(next(feed()))
    text = two.explain()
    assert "2 shards in 2 threads, partitioned by hash of A.x = B.x = C.x" in text
    rows = two.statistics().streams[0].rows
    assert f"A: each row to 1.00 cells; {rows:,} sent of {rows:,} rows" in text


def test_streams_without_a_key_are_dealt_out_by_row():
    """A theta join has no key: rows of one stream are dealt out, those of the other copied."""
    declared = {n: eddy.Stream({"v": "int64"}, window=eddy.Rows(20)) for n in "AB"}
    two = eddy.Eddy(eddy.Query(declared, where=["A.v < B.v"]), threads=2)
    found = two.push_all({"A": {"v": np.arange(10)}, "B": {"v": np.arange(10)}})
    assert len(found) == 45 and "rows of B in 2" in two.explain()


def test_a_set_difference_stays_in_one_thread_and_says_so():
    """Its results depend on events of any shard."""
    declared = {n: eddy.Stream({"k": "int64"}) for n in "AB"}
    query = eddy.Query(declared, minus={"B": "A.k = B.k"})
    assert "one thread: a set difference is not dealt out" in eddy.Eddy(query, threads=2).explain()


def test_why_answers_from_all_shards():
    """Keys of live rows are with the shards, and are asked for there."""
    two = engine(threads=2)
    x = {"ts": np.arange(4), "x": np.array([1, 2, 3, 4])}
    two.push_all(dict.fromkeys("ABC", x))
    assert two.why(A=1, B=1, C=1).verdict == "result"
    assert two.why_not(A=1, B=1, C=2).verdict == engine_of_one(x).why_not(A=1, B=1, C=2).verdict


def engine_of_one(x):
    """The same with one thread."""
    one = engine()
    one.push_all(dict.fromkeys("ABC", x))
    return one


def test_one_hot_key_stays_exact():
    """All rows in one shard; the other has nothing to do."""
    one, two = engine(window=eddy.Rows(9)), engine(window=eddy.Rows(9), threads=2)
    for batch, _ in zip(feed(keys=1, size=20), range(12), strict=False):
        assert sorted(row_tuples([one.push_all(batch)])) == sorted(row_tuples([two.push_all(batch)]))


def test_stairs_of_one_name_are_told_apart():
    """Two that hold the same streams by keys of two classes, both of which are called "y=x"."""
    streams = {n: eddy.Stream({"x": "int64", "y": "int64"}) for n in "ABCD"}
    query = eddy.Query(streams, where=["A.y = B.x", "B.y = C.x", "C.y = D.x"])
    plan = "A: D B C | B: (A D) C | C: (A D) B | D: A B C"
    one, two = (eddy.Eddy(query, plan, threads=threads) for threads in (1, 2))
    for each in (one, two):
        for name in "ABCD":
            each.push(name, {"x": np.arange(9) % 3, "y": np.arange(9) % 2})
    first, second = (each.statistics() for each in (one, two))
    assert [stair.name for stair in first.stairs] == ["A D by y=x"] * 2
    assert [stair.name for stair in second.stairs] == ["A D by y=x"] * 2 and first.results == second.results


def test_an_engine_that_is_gone_leaves_no_thread_behind():
    """Helpers end with their engine."""
    before = threading.enumerate()
    two = engine(threads=3)
    two.push_all(next(feed()))
    mine = [thread for thread in threading.enumerate() if thread not in before and "eddy" in thread.name]
    assert len(mine) >= 2
    del two
    gc.collect()
    for thread in mine:
        thread.join(200)
    assert not any(thread.is_alive() for thread in mine)


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_threads_is_a_whole_number(threads):
    """Anything else is refused."""
    with pytest.raises(eddy.EddyError, match="threads must be a whole number of at least 1"):
        engine(threads=threads)
