"""The string pool against a plain dict."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.values import carried
from eddy.values.string_kernels import HASH
from eddy.values.strings import StringPool
from stairs.hashing import SECOND
from stairs.lowlevel.secret import WORDS

WORD, NOT_ASCII = (1 << 64) - 1, 0x8080808080808080


def colliding(count: int) -> list[str]:
    """Texts of 24 bytes that all have one hash: the second word undoes what the first has made of the hash."""
    families: dict[int, list[tuple[int, int]]] = {}
    for first in (number for number in range(1 << 20) if not number & NOT_ASCII):
        product = ((24 * int(SECOND) & WORD) ^ WORDS[0] ^ first) * WORDS[1]
        hashed = (product & WORD) ^ (product >> 64)
        family = families.setdefault(hashed & NOT_ASCII, [])  # these differ in bits of ASCII only
        family.append((first, hashed))
        if len(family) == count:
            words = [(first, hashed ^ family[0][1], 0) for first, hashed in family]
            return [b"".join(word.to_bytes(8, "little") for word in three).decode() for three in words]
    raise AssertionError("there are texts enough")


COLLIDING = colliding(6)
TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "a", "b", "aa", "日本", "a" * 8, "a" * 9, "b" * 40]),
    st.sampled_from(COLLIDING),
)


def text_of(values: list[str]) -> pa.Array:
    return pa.array(values, pa.string())


def test_texts_that_collide_have_one_hash() -> None:
    """So the tests below are about what they say."""
    pool = StringPool()
    assert pool.encode(text_of(COLLIDING)).tolist() == list(range(6))
    assert len(set(pool._records[:6, HASH].tolist())) == 1


@given(st.lists(st.lists(TEXT, max_size=60), max_size=8))
def test_codes_follow_a_dict(batches: list[list[str]]) -> None:
    """Codes are dense, in order of first arrival, and decode to what was encoded, however hashes collide."""
    pool, known = StringPool(), {}
    for batch in batches:
        codes = pool.encode(text_of(batch))
        assert codes.dtype == np.int64
        assert codes.tolist() == [known.setdefault(value, len(known)) for value in batch]
        assert len(pool) == len(known)
    everything = list(known)
    assert pool.decode(np.arange(len(known))).to_pylist() == everything
    assert pool.decode(np.arange(len(known))[::-1]).to_pylist() == everything[::-1]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.lists(TEXT, max_size=30), st.randoms()), max_size=10))
def test_a_sweep_keeps_the_codes_in_use(steps: list) -> None:
    """A sweep frees what is not in use; the rest keeps its code, and freed codes come back, lowest first."""
    pool, known = StringPool(), {}
    for batch, random in steps:
        codes = pool.encode(text_of(batch))
        free = sorted(set(range(len(known) + len(batch))) - set(known.values()))
        for value in batch:
            if value not in known:
                known[value] = free.pop(0)
        assert codes.tolist() == [known[value] for value in batch]
        kept = [value for value in known if random.random() < 0.5]
        in_use = np.array([known[value] for value in kept], np.int64)
        pool.sweep([in_use[::2], in_use[1::2]])
        known = {value: known[value] for value in kept}
        assert len(pool) == len(known)
        assert pool.decode(in_use).to_pylist() == kept


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_slices_and_wide_offsets(kind: pa.DataType) -> None:
    """A slice is read where it lies, in both widths of Arrow's offsets."""
    words = [f"word {i % 7}" for i in range(50)]
    pool = StringPool()
    whole = pool.encode(pa.array(words, kind))
    for start, length in [(0, 50), (1, 3), (13, 20), (49, 1), (50, 0)]:
        part = pool.encode(pa.array(words, kind).slice(start, length))
        assert part.tolist() == whole[start : start + length].tolist()


def test_empty_arrays_and_empty_strings() -> None:
    """Arrays without rows, and arrays without bytes, have no buffers to speak of."""
    pool = StringPool()
    assert pool.encode(pa.array([], pa.string())).tolist() == []
    assert pool.encode(pa.array(["", ""])).tolist() == [0, 0]
    assert pool.decode(np.zeros(3, np.int64)).to_pylist() == ["", "", ""]
    empty = pool.decode(np.zeros(0, np.int64))
    assert empty.type == pa.string() and len(empty) == 0


def test_zero_bytes_and_prefixes_differ() -> None:
    """Strings that differ only in length or in zero bytes have different codes."""
    words = ["\0" * n for n in range(20)] + ["a" * n for n in range(1, 20)] + ["a" * 8 + "\0", "\0" + "a" * 8]
    assert len(set(StringPool().encode(text_of(words)).tolist())) == len(words)


def test_growth_keeps_everything() -> None:
    """Table, records and arena grow in one call as in many."""
    words = [str(i) * (1 + i % 5) for i in range(20_000)] + ["long" * 10_000]
    assert StringPool().encode(text_of(words)).tolist() == list(range(len(words)))
    pool = StringPool()
    for start in range(0, len(words), 999):
        pool.encode(text_of(words[start : start + 999]))
    assert pool.decode(np.arange(len(words))).to_pylist() == words


def test_turnover_needs_bounded_memory() -> None:
    """Two million strings pass, ten thousand are live at a time: the pool stays small, and right."""
    pool, live, most = StringPool(), [], 0
    for start in range(0, 2_000_000, 5_000):
        numbers = pa.array(np.arange(start, start + 5_000)).cast(pa.string())
        live = [*live[-1:], pool.encode(numbers)]
        if pool.wants_sweep:
            pool.sweep(live)
        most = max(most, pool.nbytes)
    assert len(pool) <= 25_000
    assert most < 3_000_000
    kept = pool.decode(np.concatenate(live)).to_pylist()
    assert kept == [str(i) for i in range(1_990_000, 2_000_000)]


def test_an_emptied_pool_gives_its_memory_back() -> None:
    """Once nothing is in use, a sweep leaves what a new pool has."""
    pool = StringPool()
    pool.encode(pa.array(np.arange(100_000)).cast(pa.string()))
    assert pool.wants_sweep
    pool.sweep([])
    assert len(pool) == 0 and not pool.wants_sweep
    assert pool.nbytes == StringPool().nbytes
    assert pool.encode(text_of(["x"])).tolist() == [0]


def test_text_beyond_one_array_comes_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the strings are too long for one plain Arrow array, the answer is chunked."""
    monkeypatch.setattr(carried, "LONGEST", 10)
    pool = StringPool()
    words = ["four", "five5", "x", "", "1234567890", "end"] * 3
    chunked = pool.decode(pool.encode(text_of(words)))
    assert isinstance(chunked, pa.ChunkedArray) and chunked.num_chunks > 3
    assert chunked.to_pylist() == words


def test_only_some_strings_are_interned() -> None:
    """The others have a code that stands for none."""
    pool = StringPool()
    text = pa.array(["a", "b", "c", "b"], pa.string())
    codes = pool.encode(text, np.array([1, 3]))
    assert len(pool) == 1 and codes[1] == codes[3] >= 0 and (codes[[0, 2]] < 0).all()
    assert pool.decode(codes[[1, 3]]).to_pylist() == ["b", "b"]
    assert (pool.encode(text, np.empty(0, np.int64)) < 0).all()
