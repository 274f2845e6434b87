"""The hand-written joins that Eddy is measured against count what brute force counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.limit_numba import NumbaLimit
from benchmarks.limits import Cpp, compiler
from benchmarks.workloads import Chunk, Workload

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
LIMITS = [pytest.param(Cpp, marks=needs_compiler, id="cpp"), pytest.param(NumbaLimit, id="numba")]


class BruteForce:
    """Every combination of live rows that ends with the event at hand, tried."""

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.live: list[list[tuple[int, ...]]] = [[] for _ in work.names]

    def matches(self, rows: tuple[tuple[int, ...], ...]) -> bool:
        if self.work.shape == "chain":
            return all(left[1] == right[0] for left, right in itertools.pairwise(rows))
        if self.work.shape == "star":
            return all(rows[0][i] == leaf[0] for i, leaf in enumerate(rows[1:]))
        return len({row[0] for row in rows}) == 1

    def push(self, chunk: Chunk) -> int:
        results = 0
        for i, s in enumerate(chunk.streams):
            row = tuple(int(column[i]) for column in chunk.columns)
            self.live[s] = [*self.live[s], row][-self.work.window :]
            choices = [*self.live[:s], [row], *self.live[s + 1 :]]
            results += sum(map(self.matches, itertools.product(*choices)))
        return results


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shape", ["one key", "chain", "star"])
@pytest.mark.parametrize(("streams", "window", "keys"), [(2, 5, 3), (3, 6, 4), (4, 5, 3), (4, 1, 2)])
def test_limits_count_what_brute_force_counts(limit, shape, streams, window, keys):
    """Chunk by chunk, with windows that turn over many times."""
    work = Workload(streams, window, keys, shape=shape, seed=streams + window)
    side, brute = limit(work), BruteForce(work)
    total = 0
    for _ in range(6):
        chunk = work.chunk(60)
        expected = brute.push(chunk)
        assert side.push(chunk) == expected
        total += expected
    assert total > 0


@needs_compiler
@pytest.mark.parametrize(("streams", "keys"), [(3, 50), (6, 40), (10, 60), (20, 150)])
def test_limits_agree(streams, keys):
    """Rings that must grow, because matches are many, and every number of streams that is benchmarked."""
    work = Workload(streams, 60, keys, seed=streams)
    cpp, numba = Cpp(work), NumbaLimit(work)
    chunks = [work.chunk(2000) for _ in range(5)]
    assert [cpp.push(chunk) for chunk in chunks] == [numba.push(chunk) for chunk in chunks]


def test_batches_hold_the_events_of_their_chunk():
    """What an engine is given is what the limits are given: same rows, same order, time = event number."""
    work = Workload(3, 10, 5, shape="star")
    work.chunk(7)
    chunk = work.chunk(100)
    seen = []
    for batch in work.batches(chunk, size=32):
        for s, name in enumerate(work.names):
            assert tuple(batch[name]) == ("ts", *work.columns(s))
            seen += [(int(t), s, int(x)) for t, x in zip(batch[name]["ts"], batch[name]["x0"], strict=True)]
    expected = zip(range(7, 107), chunk.streams.tolist(), chunk.columns[0].tolist(), strict=True)
    assert sorted(seen) == list(expected)
    assert [name for name, _ in work.rows(chunk)] == [work.names[s] for s in chunk.streams]


def test_workloads_are_seeded():
    first, second = (Workload(4, 10, 5, seed=3).chunk(50) for _ in range(2))
    assert np.array_equal(first.streams, second.streams)
    assert np.array_equal(first.columns[0], second.columns[0])
    assert Workload(4, 10, 5).plan == "((A B) C) D"
