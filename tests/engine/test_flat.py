"""What an event costs depends on its partners and results, not on how rows are handed over (counted, never timed)."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import eddy
from policies import Mns
from stairs.lowlevel.secret import WORDS

EVENTS = 16_384
SIZES = (256, 2048, EVENTS)
"""Events in a push, from small ones to the whole feed."""
GROWTH = 2
"""Times the candidates that the best size needs."""
INTS = {"ts": "int64", "k": "int64", "v": "int64"}
TEXTS, WIDE = {**INTS, "k": "string"}, {**INTS, "j": "int64"}
JOINED = ["A.k = B.k", "B.k = C.k"]
TREE, ORDERINGS, BUSHY = "(A B) C", "A: B C | B: A C | C: A B", "A (B C)"


def feed(keys, size, share=0.0):
    """Pushes of ``size`` events; one key has this share of all rows, and the others are even."""
    rng = np.random.default_rng(7)
    streams, k = rng.integers(0, 3, EVENTS), rng.integers(0, keys, EVENTS)
    k[rng.random(EVENTS) < share] = 0
    ts = np.arange(EVENTS)
    for start in range(0, EVENTS, size):
        here = slice(start, start + size)
        yield {
            name: {"ts": ts[here][at], "k": k[here][at], "v": ts[here][at]}
            for s, name in enumerate("ABC")
            for at in [streams[here] == s]
        }


def plain(columns):
    return columns


def texts(columns):
    return pa.table({**columns, "k": pa.array(columns["k"]).cast(pa.string())})


def nulls(columns):
    return pa.table({**columns, "k": pa.array(columns["k"], mask=columns["ts"] % 50 == 0)})


def wide(columns):
    return {**columns, "j": columns["k"] % 2}


FORMS = {
    "numpy": (INTS, plain, {}, {}),
    "Arrow": (INTS, pa.table, {}, {}),
    "strings": (TEXTS, texts, {}, {}),
    "NULLs": (INTS, nulls, {}, {}),
    "filter": (INTS, plain, {"where": [*JOINED, "A.v % 10 <> 3"]}, {}),
    "two columns": (WIDE, wide, {"where": [*JOINED, "A.j = B.j", "B.j = C.j"]}, {}),
    "theta on top": (INTS, plain, {"where": [*JOINED, "A.v + 1 <> B.v"]}, {}),
    "retractions": (INTS, plain, {}, {"retractions": True}),
    "groups": (INTS, plain, {"group_by": ["A.k"], "aggregates": {"n": "COUNT(*)"}}, {}),
    "threads": (INTS, plain, {}, {"threads": 2}),
    "feedback": (INTS, plain, {}, {"feedback": Mns()}),
}


def candidates(form, window, plan, keys, size, share=0.0):
    """Candidates an event, and how many results there were."""
    columns, shape, asked, options = FORMS[form]
    streams = {name: eddy.Stream(columns, window=window) for name in "ABC"}
    query = eddy.Query(streams, **{"where": JOINED, **asked})
    engine = eddy.Eddy(query, plan=plan, batch_size=max(4096, size), **options)
    for push in feed(keys, size, share):
        engine.push_all({name: shape(rows) for name, rows in push.items()})
    told = engine.statistics()
    return told.probed / EVENTS, told.results


def flat(form, window, plan, keys, share=0.0):
    found = [candidates(form, window, plan, keys, size, share) for size in SIZES]
    assert len({results for _, results in found}) == 1
    counts = [count for count, _ in found]
    assert max(counts) <= GROWTH * min(counts) + 1, counts
    return max(counts), found[0][1] / EVENTS


@pytest.mark.parametrize("window", [eddy.Range(4), eddy.Range(16), eddy.Rows(2)], ids=str)
@pytest.mark.parametrize("plan", [TREE, ORDERINGS, BUSHY])
@pytest.mark.parametrize("keys", [1, 3])
def test_a_few_keys_in_windows_much_shorter_than_a_batch(window, plan, keys):
    """Rows that come later in the batch are passed on the way to partners: as few of them in a large batch as in a
    small one."""
    most, results = flat("numpy", window, plan, keys)
    assert most < 32 + 4 * results


@pytest.mark.parametrize("form", FORMS)
def test_on_every_way_in(form):
    """Whatever a push consists of, and whatever is made of its results."""
    flat(form, eddy.Range(8), TREE, 1)


@pytest.mark.parametrize("plan", [TREE, ORDERINGS])
def test_one_key_with_half_of_all_rows_costs_what_its_partners_cost(plan):
    """Skew makes results, and nothing else."""
    most, results = flat("numpy", eddy.Range(30), plan, 1000, share=0.5)
    assert most < 12 + 4 * results


def test_many_keys_take_no_more_than_their_partners():
    """The usual case: few candidates beside the matches."""
    most, _ = flat("numpy", eddy.Range(3000), TREE, 1000)
    assert most < 8


@pytest.mark.parametrize("keys", [np.arange(4096) * 4096, np.arange(4096) << 32, -np.arange(4096) * 1000003])
def test_no_pattern_of_keys_makes_a_chain_long(keys):
    """Multiples and powers: keys that share their low bits, or their high ones, share no buckets."""
    streams = {name: eddy.Stream(INTS, window=eddy.Rows(4096)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]))
    for name in "AB":
        engine.push(name, {"ts": np.arange(4096), "k": keys, "v": keys})
    assert engine.statistics().results == 4096
    assert engine.statistics().probed < 3 * 4096


@pytest.mark.parametrize("plan", [TREE, BUSHY, ORDERINGS])
@pytest.mark.parametrize("drawn", [False, True], ids=["whole", "drawn in parts"])
def test_streams_that_are_pushed_in_turns(plan, drawn):
    """Little of what a long push of one stream has made lives when the next one comes: the rest is not in its way."""
    counts = []
    for size in (64, 4096):
        query = eddy.Query({n: eddy.Stream(INTS, window=eddy.Rows(2)) for n in "ABC"}, where=JOINED)
        engine, ones = eddy.Eddy(query, plan=plan), np.zeros(size, np.int64)
        for i in range(EVENTS // size):
            rows = {"ts": ones, "k": ones, "v": ones}
            if drawn:
                assert sum(len(part) for part in engine.push("ABC"[i % 3], rows, max_rows=1000)) >= 0
            else:
                engine.push("ABC"[i % 3], rows)
        counts.append(engine.statistics().probed / EVENTS)
    assert counts[1] <= GROWTH * counts[0] + 8, counts


def test_the_batch_that_gives_memory_back_is_no_longer_than_others():
    """Every 64th takes the long way: in short pieces."""
    counts = []
    for size in (256, 2048):
        query = eddy.Query({n: eddy.Stream(INTS, window=eddy.Range(4)) for n in "ABC"}, where=JOINED)
        engine, ts = eddy.Eddy(query, plan=TREE), np.arange(size)
        for i in range(140):
            at = i * size + ts
            pushed = {n: at[at % 3 == s] for s, n in enumerate("ABC")}
            engine.push_all({n: {"ts": t, "k": 0 * t, "v": t} for n, t in pushed.items()})
        counts.append(engine.statistics().probed / engine.statistics().events)
    assert counts[1] <= GROWTH * counts[0], counts


def test_rows_that_no_equality_finds_are_tested_no_more_often_in_a_large_batch():
    """A predicate without an equality or a band tests the rows of a batch with each other: batches are short then."""
    counts = []
    for size in (256, 4096):
        query = eddy.Query(
            {n: eddy.Stream(INTS, window=eddy.Range(4)) for n in "AB"}, where=["(A.v + B.v) % 997 = 0"]
        )
        engine, ts = eddy.Eddy(query, plan="A B"), np.arange(EVENTS)
        for start in range(0, EVENTS, size):
            at = ts[start : start + size]
            pushed = {n: at[at % 2 == s] for s, n in enumerate("AB")}
            engine.push_all({n: {"ts": t, "k": 0 * t, "v": t} for n, t in pushed.items()})
        counts.append(engine.statistics().candidates / EVENTS)
    assert counts[1] <= 4 * counts[0], counts


OLD_FACTOR = 0x9E3779B97F4A7C15
CHOSEN = {
    "one bucket of a known factor": np.arange(10_000, dtype=np.uint64)
    * np.uint64(pow(OLD_FACTOR, -1, 2**64)),
    "random": np.random.default_rng(3).integers(0, 2**63, 10_000).astype(np.uint64),
}
SEEDS = [(0x243F6A8885A308D3, 0x5A8279991C5C8B0D), (0x13198A2E03707344, 0xB504F333F9DE6485)]
"""Words that a process may draw."""


@contextmanager
def drawn(words):
    """As if the process had drawn these, for engines that are made and used meanwhile."""
    before = WORDS[:]
    WORDS[:] = words
    try:
        yield
    finally:
        WORDS[:] = before


def looked_at(keys, **asked):
    """Entries for each row of two streams that have these keys."""
    query = eddy.Query({n: eddy.Stream(WIDE, window=eddy.Rows(20_000)) for n in "AB"}, **asked)
    engine, ts = eddy.Eddy(query), np.arange(len(keys))
    for name in "AB":
        engine.push(name, {"ts": ts, "k": keys.view(np.int64), "v": ts, "j": -keys.view(np.int64)})
    assert engine.statistics().results == len(keys)
    return engine.statistics().probed / len(keys)


@pytest.mark.parametrize("words", SEEDS, ids=["one", "another"])
@pytest.mark.parametrize(
    "where", [["A.k = B.k"], ["A.k = B.k", "A.j = B.j"]], ids=["a column", "two columns"]
)
def test_keys_that_were_chosen_to_share_a_bucket_share_none(words, where):
    """Which keys do is drawn by chance in every process: those that are made for one factor are as good as any."""
    with drawn(words):
        chosen, random = (looked_at(keys, where=where) for keys in CHOSEN.values())
    assert chosen < random + 1


def test_pairs_that_were_chosen_to_have_one_key_have_many():
    """Two columns are mixed into one key, by a function that is drawn by chance as well."""
    k = np.arange(4096, dtype=np.int64)
    j = (-(k.astype(np.uint64) * np.uint64(OLD_FACTOR))).view(np.int64)
    where = ["A.k = B.k", "A.j = B.j"]
    query = eddy.Query({n: eddy.Stream(WIDE, window=eddy.Rows(8192)) for n in "AB"}, where=where)
    engine = eddy.Eddy(query)
    for name in "AB":
        engine.push(name, {"ts": k, "k": k, "v": k, "j": j})
    assert engine.statistics().results == 4096
    assert engine.statistics().probed < 3 * 4096


def test_results_do_not_depend_on_what_a_process_draws():
    """Nor does their order, while all is joined on one column; nor does anything that is counted, but entries."""
    found = []
    for words in [WORDS[:], *SEEDS]:
        with drawn(words):
            query = eddy.Query({n: eddy.Stream(INTS, window=eddy.Range(300)) for n in "ABC"}, where=JOINED)
            engine = eddy.Eddy(query, plan=TREE)
            rows = [engine.push_all(push).rows.tolist() for push in feed(4000, 512)]
            told = engine.statistics()
            found.append((rows, told.events, told.results, told.stairs, told.streams))
    assert found[0] == found[1] == found[2]
