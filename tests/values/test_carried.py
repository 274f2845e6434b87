"""Carried strings against a plain list: what was carried comes back, and buffers go when nobody needs them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.values import carried
from eddy.values.strings import StringPool

TEXT = st.one_of(
    st.text(max_size=6),
    st.integers(0, 70).map(lambda n: "é" * n),
    st.sampled_from(["x" * n for n in (0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 255, 256, 257, 1000)]),
)


def text_of(values: list[str]) -> pa.Array:
    return pa.array(values, pa.string())


def words(first: int, n: int, width: int = 40) -> pa.Array:
    return text_of([f"{i:0{width}d}" for i in range(first, first + n)])


@pytest.fixture(autouse=True)
def _small(monkeypatch: Any) -> None:
    monkeypatch.setattr(carried, "MINIMUM", 1 << 14)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.lists(TEXT, max_size=12), st.integers(0, 3), st.booleans(), st.randoms()), max_size=12
    ),
    st.sampled_from([0, 64, 1 << 14]),
    st.sampled_from([1, carried.MANY]),
)
def test_what_is_carried_comes_back(steps: list[Any], small: int, many: int) -> None:
    """Codes keep their meaning over sweeps, in any order, whether buffers were kept, copied, added to or trimmed."""
    pool, live = StringPool(), {}
    before = carried.SMALL, carried.MANY
    carried.SMALL, carried.MANY = small, many
    try:
        for values, cut, thin, random in steps:
            kept = np.array([random.random() < 0.5 for _ in values], bool) if thin else None
            text = text_of(["cut off"] * cut + values).slice(cut)
            codes = pool.carry(cut % 2, text, None if kept is None else np.flatnonzero(kept)).tolist()
            assert all(code < 0 for code in codes) and len(codes) == len(values)
            here = [i for i in range(len(values)) if kept is None or kept[i]]
            live |= {codes[i]: values[i] for i in here}
            some = random.sample(list(live), len(live))
            assert pool.decode(np.array(some, np.int64)).to_pylist() == [live[code] for code in some]
            if random.random() < 0.5:
                live = {code: value for code, value in live.items() if random.random() < 0.3}
                pool.sweep([np.array(list(live), np.int64)])
        ordered = sorted(live, reverse=True)
        assert pool.decode(np.array(ordered, np.int64)).to_pylist() == [live[code] for code in ordered]
    finally:
        carried.SMALL, carried.MANY = before


def test_a_buffer_that_is_mostly_used_is_kept_as_it_came() -> None:
    """No byte of it is copied."""
    text, pool = words(0, 1000), StringPool()
    before = pa.total_allocated_bytes()
    at = text.buffers()[2].address
    codes = pool.carry("s", text)
    assert pa.total_allocated_bytes() == before
    assert codes.tolist() == list(range(int(codes[0]), int(codes[0]) - 1000, -1))
    assert at in pool._carried._table.ravel().tolist()


def test_strings_that_are_asked_for_as_they_came_are_not_copied() -> None:
    """Most of them in their order: the same bytes. Few of them, or in another order: a copy that holds no others."""
    text, pool = words(0, 1000), StringPool()
    at, values = text.buffers()[2].address, text.to_pylist()
    codes = pool.carry("s", text)
    for some, shared in (
        (slice(None), True),
        (slice(100, 900), True),
        (slice(100), False),
        (slice(None, None, 2), False),
    ):
        found = pool.decode(codes[some])
        found.validate(full=True)
        assert found.to_pylist() == values[some]
        assert (found.buffers()[2].address == at) == shared
    found = pool.decode(codes)
    pool.sweep([codes[:0]])
    del text
    gc.collect()
    assert found.to_pylist() == values


def test_a_small_part_of_a_buffer_does_not_hold_all_of_it() -> None:
    """Slices of a large table are copied; what is counted is what is held."""
    pool, empty = StringPool(), StringPool().nbytes
    text = words(0, 50_000)
    pool.carry("s", text.slice(100, 1000))
    codes = pool.carry("s", text.slice(20_000, 400))
    assert pool.nbytes - empty < 100_000
    before = pa.total_allocated_bytes()
    del text
    gc.collect()
    assert before - pa.total_allocated_bytes() >= 2_000_000
    assert pool.decode(codes[:2]).to_pylist() == [f"{i:040d}" for i in (20_000, 20_001)]


def test_rows_that_are_not_kept_hold_nothing() -> None:
    """One row of a hundred passes a filter: the strings of the others are not held."""
    pool, empty = StringPool(), StringPool().nbytes
    kept = np.arange(50_000) % 100 == 0
    codes = pool.carry("s", words(0, 50_000), np.flatnonzero(kept))
    assert pool.nbytes - empty < 100_000
    assert pool.decode(codes[kept]).to_pylist() == [f"{i:040d}" for i in range(0, 50_000, 100)]
    assert set(codes[~kept].tolist()) == {carried.NOTHING}


def test_memory_follows_what_is_live() -> None:
    """A million strings pass, in large pushes and in small ones; a few thousand are live."""
    for size in (5_000, 50):
        pool, live, most = StringPool(), [], 0
        for start in range(0, 100 * size, size):
            live = [*live[-1:], pool.carry("s", words(start, size))]
            if pool.wants_sweep:
                pool.sweep(live)
            most = max(most, pool.nbytes)
        assert most < 5 * 2 * 44 * size + (1 << 19)
        assert pool.decode(np.concatenate(live)).to_pylist() == words(98 * size, 2 * size).to_pylist()


def test_the_last_rows_of_a_huge_push_do_not_hold_all_of_it() -> None:
    """A sweep copies what is left of a chunk, and lets the rest go."""
    pool, empty = StringPool(), StringPool().nbytes
    codes = pool.carry("s", words(0, 50_000))
    assert pool.nbytes - empty > 2_000_000 and pool.wants_sweep
    pool.sweep([codes[-10:], np.empty(0, np.int64)])
    assert pool.nbytes - empty < 1_000
    assert pool.decode(codes[-10:]).to_pylist() == words(49_990, 10).to_pylist()


def test_text_beyond_one_array_comes_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the strings are too long for one plain Arrow array, the answer is chunked."""
    monkeypatch.setattr(carried, "LONGEST", 100)
    pool = StringPool()
    codes = pool.carry("s", words(0, 11))
    found = pool.decode(codes)
    assert found.num_chunks == 6 and found.to_pylist() == words(0, 11).to_pylist()


def test_interned_and_carried_strings_share_a_sweep() -> None:
    """Neither takes the other's codes for its own."""
    pool = StringPool()
    interned, apart = pool.encode(text_of(["a", "b", "c"])), pool.carry("s", text_of(["a", "a", "b"]))
    pool.sweep([interned[1:], apart[:2]])
    assert len(pool) == 2
    assert pool.decode(interned[1:]).to_pylist() == ["b", "c"]
    assert pool.decode(apart[:2]).to_pylist() == ["a", "a"]
