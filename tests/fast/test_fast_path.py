"""The fast path: batches of plain arrays take a short way, and nobody can tell by the results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.engine.fast_path import FastPath
from policies import Fixed, Jisc
from tests import queries, strategies
from tests.cases import ANY_TECHNIQUE, S, expected, make_engine
from tests.checks import check, follow
from tests.inside import Inside

WINDOWS = [
    ("rows", 3),
    ("rows", 30),
    ("range", 4),
    ("tumbling rows", 5),
    ("tumbling time", 6),
    ("sliding", 4, 3),
    ("unbounded",),
]
SHAPES = {
    "one key": lambda a, b, first: (("col", first, "x"), ("col", b, "x")),
    "chain": lambda a, b, first: (("col", a, "y"), ("col", b, "x")),
    "star": lambda a, b, first: (("col", first, "y"), ("col", b, "x")),
}


def ordinary_case(pick):
    """A case of int64 keys without NULLs, in numpy arrays: what the short way is for. Some batches have a NULL."""
    names = list("ABCDEF")[: pick.integer(2, 5)]
    timed = pick.chance(80)
    kinds = WINDOWS if timed else [w for w in WINDOWS if w[0] not in ("range", "sliding", "tumbling time")]
    columns = ({"ts": "int64"} if timed else {}) | {"x": "int64", "y": "int64", "v": "float64"}
    streams = {n: S(columns, pick.choice(kinds), "ts" if timed else None) for n in names}
    nulls = pick.choice([0, 0, 2])
    specs = {
        n: {
            c: queries.Spec(
                "float" if c == "v" else "int", kind, pick.choice([2, 4, 9]), nulls if c == "v" else 0
            )
            for c, kind in columns.items()
        }
        for n in names
    }
    shape = SHAPES[pick.choice(list(SHAPES))]
    where = [("=", *shape(a, b, names[0])) for a, b in itertools.pairwise(names)]
    made = queries.Made(streams, specs, where, None, False, "query")
    odds = {"migrations": pick.choice([0, 3, 10]), "chunks": 5, "rejects": 5, "restarts": 2, "demotes": 3}
    doors = pick.choice([("push",), ("push", "push_all")])
    steps = strategies.steps(pick, made, pick.integer(60, 200), strategies.SIZES["runs"], doors, **odds)
    case = strategies.make(pick, made, steps, 30_000, ANY_TECHNIQUE)
    return evolve(case, form="numpy", memory=None, threads=1)


@st.composite
def ordinary_cases(draw):
    return ordinary_case(strategies.Drawn(draw))


@given(ordinary_cases())
def test_results_are_those_of_the_oracle(case):
    """Whatever way each batch takes: plan changes, restarts, bad batches and holes come in between."""
    check(case)


@given(ordinary_cases())
def test_the_long_way_leads_to_the_same_state(case):
    """What both engines hold is the same in the end, after every kind of step but a restart."""
    case = evolve(case, steps=[s for s in case.steps if s[0] != "restart"], routing=Fixed())
    short, long = make_engine(case), make_engine(case)
    long.state.fast_path = None
    wanted = expected(case)
    follow(case, short, wanted)
    follow(case, long, wanted)
    one, other = short.statistics(), long.statistics()
    assert (one.events, one.results, one.plan) == (other.events, other.results, other.plan)
    assert [(s.rows, s.live) for s in one.streams] == [(s.rows, s.live) for s in other.streams]
    assert [(s.name, s.live) for s in one.stairs] == [(s.name, s.live) for s in other.stairs]


# -- which way ---------------------------------------------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch):
    """How often the short way was taken."""
    count = [0]
    push = FastPath.push

    def counted(self, batches):
        result = push(self, batches)
        count[0] += result is not None
        return result

    monkeypatch.setattr(FastPath, "push", counted)
    return count


def engine_of(plan="(A B) C", **options):
    streams = {n: eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Rows(50)) for n in "ABC"}
    return Inside(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"]), plan=plan, **options)


def feed(engine, pushes, start=0, size=30):
    rng, found = np.random.default_rng(start), 0
    for i in range(start, start + pushes):
        ts = np.arange(i * 3 * size, (i + 1) * 3 * size)
        found += len(
            engine.push_all(
                {n: {"ts": ts[k::3].copy(), "x": rng.integers(0, 20, size)} for k, n in enumerate("ABC")}
            )
        )
    return found


def test_plain_arrays_take_the_short_way_all_but_once_a_review(taken):
    """Every 64th batch gives memory back, on the long way."""
    engine = engine_of()
    feed(engine, 256)
    assert taken[0] == 256 - 4


def test_streams_without_a_time_take_turns_on_the_short_way(taken):
    """Every stream's first row, then every stream's second: the streams' batches are of other lengths."""
    streams = {n: eddy.Stream({"x": "int64"}, window=eddy.Rows(5)) for n in "ABC"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])
    short, long = (Inside(query, plan="(A B) C") for _ in range(2))
    long.state.fast_path = None
    rng = np.random.default_rng(3)
    for _ in range(40):
        batches = {n: {"x": rng.integers(0, 3, rng.integers(0, 20))} for n in "ABC"}
        one, other = short.push_all(batches), long.push_all(batches)
        assert one.rows.tolist() == other.rows.tolist()
    assert taken[0] == 40


def test_after_a_plan_change_the_short_way_is_closed_until_all_is_filled(taken):
    """Holes need the long way; when none is left, the short one is taken again."""
    engine = engine_of(migration=Jisc(background=1000))
    feed(engine, 10)
    before = taken[0]
    engine.migrate("A (B C)")
    feed(engine, 1, 10)
    assert taken[0] == before
    feed(engine, 70, 11)
    assert engine.statistics().complete and taken[0] > before


def test_columns_that_are_not_declared_are_passed_over_as_on_the_long_way(taken):
    """Whatever is in them: the results are those without."""
    good = {n: {"ts": np.array([1, 2]), "x": np.array([1, 2])} for n in "ABC"}
    more = good | {"A": good["A"] | {"z": np.array(["a", None], object)}}
    plain, short, long = engine_of(), engine_of(), engine_of()
    long.state.fast_path = None
    wanted = plain.push_all(good).rows.tolist()
    assert wanted and all(engine.push_all(more).rows.tolist() == wanted for engine in (short, long))


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b | {"D": {"ts": np.arange(1), "x": np.arange(1)}},
        lambda b: b | {"A": {"ts": np.arange(2), "x": np.arange(3)}},
        lambda b: b | {"A": {"ts": np.array([5, 4]), "x": np.arange(2)}},
        lambda b: b | {"A": {"ts": np.arange(2)}},
        lambda b: b | {"A": {"ts": np.arange(2), "x": np.zeros((2, 1), np.int64)}},
        lambda b: b | {"A": {"ts": np.arange(2), "x": np.array([0.5, 1.5])}},
        lambda b: b | {"A": {"ts": np.arange(2), "x": None}},
        lambda b: b | {"A": None},
    ],
    ids=["stream", "ragged", "time", "missing", "flat", "type", "none", "no batch"],
)
def test_bad_batches_are_refused_as_on_the_long_way(taken, change):
    """The same error, and nothing has changed."""
    good = {n: {"ts": np.array([1, 2]), "x": np.array([1, 2])} for n in "ABC"}
    short, long = engine_of(), engine_of()
    long.state.fast_path = None
    errors = []
    for engine in (short, long):
        engine.push_all(good)
        before = engine.statistics()
        with pytest.raises(eddy.BatchError) as error:
            engine.push_all(change(dict(good)))
        errors.append(str(error.value))
        assert engine.statistics() == before
    assert errors[0] == errors[1] and taken[0] == 1


def test_arrays_of_other_makes_are_taken_too(taken):
    """Strided and read-only arrays, lists, other integers and Arrow have the same results, on whatever way."""
    import pyarrow as pa

    engine, made = engine_of(), []
    locked = np.arange(2)
    locked.flags.writeable = False
    for i, keys in enumerate(
        (np.arange(4)[::2], locked, [0, 2], np.array([0, 2], np.int8), pa.array([0, 2]))
    ):
        made.append(len(engine.push("A", {"ts": np.array([2 * i, 2 * i + 1]), "x": keys})))
    assert taken[0] == 0 and engine.statistics().events == 10
    assert len(engine.push_all({n: {"ts": np.array([99]), "x": np.array([2])} for n in "BC"})) == 4


def test_a_caller_may_use_his_arrays_again(taken):
    """Rows are copied: results are right whatever becomes of the arrays after the push."""
    engine = engine_of()
    keys, times = np.array([7, 7]), np.array([1, 2])
    for name in "ABC":
        times += 2
        result = engine.push(name, {"ts": times, "x": keys})
    assert taken[0] == 3 and len(result) == 8
    keys[:], times[:] = 0, 0
    assert set(result.to_pydict()["A.x"]) == {7} and set(result.to_pydict()["C.ts"]) == {7, 8}


@given(ordinary_cases(), st.sampled_from([2, 3]))
def test_shards_take_the_short_way_too(case, threads):
    """Kernels deal a batch out to several shards; results are those of the oracle."""
    check(evolve(case, threads=threads))


def test_plain_arrays_take_the_short_way_with_threads(taken):
    """All but the first batch, which makes the tables, and those that need them anew."""
    one, two = engine_of(), engine_of(threads=2)
    assert feed(one, 250, size=400) == feed(two, 250, size=400) > 0
    assert taken[0] > 2 * 230


@pytest.mark.parametrize("window", [eddy.Rows(50), eddy.Range(70), eddy.Tumbling(rows=40)], ids=str)
def test_a_push_larger_than_a_batch_takes_the_short_way_in_portions(taken, window):
    """Its portions are as the pieces on the long way, and so are results, in the order of their latest events."""

    def latest(result):
        times = result.to_pydict()
        return [max(row) for row in zip(*(times[f"{n}.ts"] for n in "ABC"), strict=True)]

    streams = {n: eddy.Stream({"ts": "int64", "x": "int64"}, window=window) for n in "ABC"}
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"])
    short, long = (Inside(query, plan="(A B) C", batch_size=16) for _ in range(2))
    long.state.fast_path = None
    random, now = np.random.default_rng(7), 0
    for size in (10, 16, 17, 200, 3, 1000, 31, 32):
        of, keys = random.integers(0, 3, size), random.integers(0, 9, size)
        ts = now + np.sort(random.integers(0, 40, size))
        batch = {n: {"ts": ts[of == s], "x": keys[of == s]} for s, n in enumerate("ABC")}
        now += 40
        one, other = short.push_all(batch), long.push_all(batch)
        assert sorted(map(tuple, one.rows.tolist())) == sorted(map(tuple, other.rows.tolist()))
        assert latest(one) == latest(other) == sorted(latest(one))
    assert taken[0] == 8 and len(one)
    assert short.statistics().stairs == long.statistics().stairs and short.state.batches == long.state.batches
