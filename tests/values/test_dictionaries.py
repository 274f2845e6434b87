"""Strings coded by a dictionary have the codes that they would have without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.values import dictionaries
from eddy.values.dictionaries import is_coded
from eddy.values.strings import StringPool

WORDS = [f"word {i}" for i in range(12)]


def coded(indices: list[int | None], words: pa.Array, kind: str = "int32") -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), words)


@settings(max_examples=100)
@given(st.data(), st.sampled_from(["int8", "uint16", "int32", "int64"]))
def test_codes_are_those_of_the_strings(data: Any, kind: str) -> None:
    """With dictionaries that come again, slices of them, NULLs, and sweeps that leave some strings."""
    pool, live = StringPool(), {}
    words = [pa.array(WORDS), pa.array(WORDS[::-1]).slice(2), pa.array(WORDS[:3] * 2)]
    words += [pa.array([f"{i} {word}" for word in WORDS]) for i in range(dictionaries.MOST)]
    for _ in range(data.draw(st.integers(1, 8))):
        dictionary = data.draw(st.sampled_from(words[:4] + words[-1:]))
        index = st.one_of(st.none(), st.integers(0, len(dictionary) - 1))
        indices = data.draw(st.lists(index, max_size=20))
        text = coded([0, *indices], dictionary, kind).slice(1)
        if not is_coded(text):
            continue
        codes = pool.encode(text).tolist()
        for value, code in zip(text.to_pylist(), codes, strict=True):
            if value is not None:
                assert live.setdefault(value, code) == code
        assert len(set(live.values())) == len(live)
        kept = [value for value in live if data.draw(st.booleans())]
        live = {value: live[value] for value in kept}
        if data.draw(st.booleans()):
            pool.sweep([np.array(list(live.values()), np.int64)])
        assert pool.decode(np.array(list(live.values()), np.int64)).to_pylist() == kept
        assert pool.encode(pa.array(kept, pa.string())).tolist() == list(live.values())


def test_a_dictionary_is_interned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one when it comes for the second time; a sweep forgets it when it has not come for a while."""
    interned: list[int] = []
    encode = StringPool.encode
    pool, words = StringPool(), pa.array([f"word {i}" for i in range(1000)])

    def counted(self: StringPool, text: pa.Array) -> Any:
        if not isinstance(text, pa.DictionaryArray):
            interned.append(len(text))
        return encode(self, text)

    monkeypatch.setattr(StringPool, "encode", counted)
    for _ in range(4):
        assert pool.decode(pool.encode(coded([7, 8, 7], words))).to_pylist() == ["word 7", "word 8", "word 7"]
    assert interned == [3, 1000]
    pool.sweep([])
    assert len(pool) == 1000
    pool.sweep([])
    assert len(pool) == 0 and pool.nbytes < StringPool().nbytes + 100


@pytest.mark.parametrize("window", [3, 1000])
def test_keys_coded_by_dictionaries_meet_plain_ones(window: int) -> None:
    """One stream has them coded, the other not; NULL joins nothing, and a filter reads the strings."""
    streams = dict.fromkeys("AB", eddy.Stream({"k": "string", "s": "string"}, window=eddy.Rows(window)))
    engines = [eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "A.s <> 'no'"])) for _ in range(2)]
    rng, words = np.random.default_rng(3), pa.array(WORDS)
    for i in range(60):
        keys = [None if k == 11 else int(k) for k in rng.integers(0, 12, 9)]
        rows = {"k": coded(keys, words), "s": pa.array(["yes", "no", None] * 3).dictionary_encode()}
        plain = {name: column.cast(pa.string()) for name, column in rows.items()}
        found, expected = (e.push("AB"[i % 2], r) for e, r in zip(engines, (rows, plain), strict=True))
        assert found.to_pydict() == expected.to_pydict()


def test_dictionaries_with_nulls_or_without_strings_are_decoded() -> None:
    """Their NULLs are not in the rows."""
    streams = dict.fromkeys("AB", eddy.Stream({"k": "string"}, window=eddy.Rows(5)))
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]))
    engine.push("A", {"k": coded([0, 1, None], pa.array(["a", None]))})
    engine.push("A", {"k": coded([None, None], pa.array([], pa.string()))})
    assert engine.push("B", {"k": coded([0, 1], pa.array([None, "a"]))}).to_pydict() == {
        "A.k": ["a"],
        "B.k": ["a"],
    }
