"""Rows that a filter or a NULL key rules out: they have their numbers and count in windows, and are not stored."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from eddy.store.row_number_kernels import renumber
from eddy.store.row_numbers import REMEMBERED
from policies import EagerStairs, Ghm, HybMig, Jisc, Mns, NoFeedback, ParallelTrack

WINDOWS = [
    eddy.Rows(40),
    eddy.Range(30),
    eddy.Tumbling(rows=25),
    eddy.Tumbling(time=20),
    eddy.Unbounded(),
]
COLUMNS = {"ts": "int64", "k": "int64", "v": "int64", "s": "string"}


def query(window, where=("A.v = 0",), **options):
    """Three streams on one key, of which the first has a filter."""
    streams = {name: eddy.Stream(COLUMNS, window=window) for name in "ABC"}
    return eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", *where], **options)


def feed(batches=12, size=20, seed=3, share=0.1, nulls=0.2):
    """Batches for push_all: few rows of A pass the filter, and some of C have no key."""
    random, time = np.random.default_rng(seed), 0
    for _ in range(batches):
        batch = {}
        for name in "ABC":
            keys = random.integers(0, 5, size).tolist()
            if name == "C":
                keys = [None if random.random() < nulls else key for key in keys]
            batch[name] = {
                "ts": np.sort(random.integers(time, time + 10, size)),
                "k": keys,
                "v": (random.random(size) >= share).astype(np.int64),
                "s": [f"{name} {key}" for key in keys],
            }
        time += 10
        yield batch


def by_hand(given, batches, size=20):
    """The results of the query without its filter, and of these the ones whose row of A would pass."""
    free = eddy.Eddy(query(given.streams["A"].window, where=()), plan="stems")
    found, passed = [], []
    for batch in batches:
        passed += (batch["A"]["v"] == 0).tolist()
        rows = free.push_all(batch).rows
        found.append(sorted(map(tuple, rows[np.array(passed)[rows[:, 0]]].tolist())))
    return found


def rows_of(result):
    return sorted(map(tuple, result.rows.tolist()))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threads": 2},
        {"feedback": Mns()},
        {"migration": Jisc(background=8)},
        {"migration": EagerStairs()},
        {"migration": HybMig()},
        {"migration": ParallelTrack()},
        {"migration": Ghm()},
        {"joins": "nested"},
    ],
    ids=str,
)
def test_a_filter_gives_what_taking_its_rows_out_of_the_results_gives(window, options):
    """Numbers of rows and windows are as if every row were there, whatever the plan, its changes and the technique."""
    given, batches = query(window), list(feed())
    engine = eddy.Eddy(given, plan="(A B) C", batch_size=16, **options)
    for number, (batch, wanted) in enumerate(zip(batches, by_hand(given, batches), strict=True)):
        if number in (4, 6, 9):
            engine.migrate({4: "A (B C)", 6: "stems", 9: "(A C) B"}[number])
        result = engine.push_all(batch)
        assert rows_of(result) == wanted
        values = result.to_pydict()
        assert all(a.split()[1] == b.split()[1] for a, b in zip(values["A.s"], values["C.s"], strict=True))
    assert engine.statistics().results == sum(map(len, by_hand(given, batches))) > 50


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_snapshot_keeps_numbers_and_windows(tmp_path, window, threads):
    """A loaded engine goes on with the same numbers, times and counts, and so does what is loaded from its snapshot."""
    given, batches = query(window), list(feed())
    engine = eddy.Eddy(given, plan="(A B) C", threads=threads)
    for number, (batch, wanted) in enumerate(zip(batches, by_hand(given, batches), strict=True)):
        if number in (3, 4, 8):
            engine.save(tmp_path / "saved")
            before = engine.statistics().streams
            engine = eddy.Eddy.load(tmp_path / "saved", threads=threads)
            after = engine.statistics().streams
            assert [(s.rows, s.live) for s in after] == [(s.rows, s.live) for s in before]
        assert rows_of(engine.push_all(batch)) == wanted


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_withdrawals_and_groups(window, threads):
    """A result is withdrawn under the numbers that it was given with; groups count what stands."""
    given, batches = query(window), list(feed())
    engine = eddy.Eddy(given, plan="(A B) C", retractions=True, threads=threads)
    grouped = query(window, group_by=["A.k"], aggregates={"n": "COUNT(*)"})
    groups = eddy.Eddy(grouped, plan="(A B) C", threads=threads)
    stands = set()
    for batch, wanted in zip(batches, by_hand(given, batches), strict=True):
        result, new = engine.push_all(batch), []
        for row, sign in zip(map(tuple, result.rows.tolist()), result.sign.tolist(), strict=True):
            if sign > 0:
                new.append(row)
                stands.add(row)
            else:
                stands.remove(row)
        assert sorted(new) == wanted
        groups.push_all(batch)
        assert sum(groups.table().to_pydict()["n"]) == len(stands)


@pytest.mark.parametrize("window", [eddy.Rows(100_000), eddy.Tumbling(rows=100_000)], ids=str)
@pytest.mark.parametrize("feedback", [NoFeedback(), Mns()], ids=str)
def test_a_stream_of_which_99_percent_are_rejected_takes_little_memory(window, feedback):
    """As much as the rows that are left would take, and not a tenth of what all rows take."""

    def size(where):
        engine = eddy.Eddy(query(window, where), plan="(A B) C", feedback=feedback)
        for start in range(0, 100_000, 10_000):
            rows = np.arange(start, start + 10_000)
            texts = np.array(["text"] * 10_000)
            engine.push("A", {"ts": rows, "k": rows, "v": rows % 100, "s": texts})
        (a, *_) = engine.statistics().streams
        assert (a.rows, a.live) == (100_000, 100_000)
        return a.bytes, engine.statistics().bytes

    whole, thin = size(()), size(("A.v = 0",))
    assert whole[0] > 40 * 100_000 and 20 * thin[0] < whole[0]
    assert thin[1] < whole[1] / 10 + 300_000  # strings, marks, and the rows that were rejected last


def test_a_row_in_the_middle_of_a_batch_is_found_under_its_own_number():
    """The first rejected row comes late: rows before it keep their numbers, and results that were given before too."""
    engine = eddy.Eddy(query(eddy.Rows(6)), plan="(A B) C")

    def push(name, *rows):
        ts, k, v = zip(*rows, strict=True)
        return engine.push(name, {"ts": ts, "k": k, "v": v, "s": ["x"] * len(rows)})

    push("B", (0, 1, 0), (0, 2, 0))
    push("C", (0, 1, 0), (0, None, 0), (0, 2, 0))
    early = push("A", (1, 1, 0), (1, 2, 0))
    late = push("A", (2, 1, 5), (2, 2, 5), (2, 1, 0), (2, 2, 5))
    assert rows_of(early) == [(0, 0, 0), (1, 1, 2)] and rows_of(late) == [(4, 0, 0)]
    # Rows(6) counts the rejected ones: with the seventh row of A the first is out.
    assert rows_of(push("A", (3, 9, 5))) == []
    assert rows_of(push("B", (3, 1, 0))) == [(4, 2, 0)]
    assert engine.why(A=4, B=2, C=0).verdict == "result"
    assert engine.why_not(A=0, B=2, C=0).verdict == "window"
    assert str(engine.why_not(A=2, B=0, C=0)).endswith("A.v = 0 fails: A.v is 5.")
    assert engine.why_not(A=3, B=0, C=1).streams == ("A", "C")
    a, b, c = engine.statistics().streams
    assert [(s.rows, s.live) for s in (a, b, c)] == [(7, 6), (3, 3), (3, 3)]


def test_why_asked_after_a_restart(tmp_path):
    """What a snapshot has of a rejected row is that it was rejected."""
    engine = eddy.Eddy(query(eddy.Rows(50)), plan="(A B) C")
    for batch in feed(2):
        engine.push_all(batch)
    engine.save(tmp_path / "saved")
    loaded = eddy.Eddy.load(tmp_path / "saved")
    (first,) = (batch["A"]["v"] for batch in feed(1))
    rejected, kept = int(np.flatnonzero(first)[0]), int(np.flatnonzero(first == 0)[0])
    assert loaded.why_not(A=rejected, B=0, C=0).verdict == "filtered"
    assert loaded.why_not(A=kept, B=0, C=0).verdict != "filtered"


def test_values_of_rejected_rows_are_remembered_for_a_while():
    """A bounded number of them, strings too, also when the pool of strings forgets others."""
    engine = eddy.Eddy(query(eddy.Rows(10)), plan="(A B) C")
    for start in range(0, 40 * REMEMBERED, REMEMBERED):
        rows = np.arange(start, start + REMEMBERED)
        texts = np.array([f"text {row}" for row in rows])
        engine.push("A", {"ts": rows, "k": rows, "v": rows + 1, "s": texts})
    engine.push("B", {"ts": [10**6], "k": [1], "v": [0], "s": ["x"]})
    engine.push("C", {"ts": [10**6], "k": [1], "v": [0], "s": ["x"]})
    last = 40 * REMEMBERED - 1
    assert f"A.v is {last + 1}" in str(engine.why_not(A=last, B=0, C=0))
    assert "not known any more" in str(engine.why_not(A=last - REMEMBERED, B=0, C=0))
    assert engine.statistics().bytes < 20 * 2**20


def test_more_rows_are_ruled_out_than_32_bits_can_count():
    """Marks are cut to 32 bits, but the numbers between two stored rows may be further apart."""
    far = 5 * 2**31
    ring = np.array([7, far, far + 9, far + 20])
    for base, wanted, low in ((7, [0, 0, 0], 0), (far - 1, [1, 1, 3], 3), (far + 9, [2, 3, 3], 3)):
        marks = np.zeros((3, 2), np.int32)
        marks[:, 1] = np.array([base, base + 1, base + 11]).astype(np.int32) if base > 7 else 7
        assert renumber(ring, 0, 4, marks, 1, base) == low
        assert marks[:, 1].tolist() == wanted and not marks[:, 0].any()


@pytest.mark.parametrize("threads", [1, 2])
def test_results_that_were_held_back_have_their_numbers_too(threads):
    """They are put by where they were made, and given much later."""
    given, batches = query(eddy.Rows(40)), list(feed())
    engine = eddy.Eddy(given, plan="(A B) C", migration=ParallelTrack("pt"), threads=threads)
    found = []
    for number, batch in enumerate(batches):
        if number in (3, 7):
            engine.migrate({3: "A (B C)", 7: "(A C) B"}[number])
        found += rows_of(engine.push_all(batch))
    found += rows_of(engine.settle())
    assert sorted(found) == sorted(itertools.chain(*by_hand(given, batches)))
