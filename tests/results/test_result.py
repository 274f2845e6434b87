"""Results are lazy, come in exactly their declared types, and outlive the state they were made from."""

from __future__ import annotations

import gc
import pickle
import weakref

import pyarrow as pa
import pytest

from eddy.errors import EddyError
from eddy.results.result import Result
from eddy.values.types import column_type
from tests.results.feed import PAIRS, A, B, Feed, expected, naive


def test_counting_needs_no_work(feed: Feed) -> None:
    """The length is known before anything is fetched."""
    result = feed.result(*PAIRS)
    assert len(result) == 5 and bool(result) and not feed.result()
    assert feed.log == []


def test_a_long_result_shows_its_ends(feed: Feed) -> None:
    """The first rows and the last, whatever its length and however it came about; of the others no value is read."""
    pairs = [PAIRS[i % len(PAIRS)] for i in range(37)]
    long, whole = feed.result(*pairs), feed.result(*pairs)
    lines = repr(long).splitlines()
    assert (
        lines[0] == "<Result of 37 rows" and len(lines) == 2 + 5 + 1 + 5 and set(lines[7].split()) == {"..."}
    )
    assert set(feed.fetched.values()) == {10}
    assert lines[2:7] == repr(feed.result(*pairs[:5])).removesuffix(">").splitlines()[2:]
    whole.seal()
    strung = Result.concat([feed.result(*pairs[:3]), feed.result(*pairs[3:33]), feed.result(*pairs[33:])])
    assert repr(strung) == repr(whole) == repr(long)
    assert strung.rows.tolist() == long.rows.tolist() and naive(strung.to_pydict()) == naive(long.to_pydict())


def test_rows_are_found_once(feed: Feed) -> None:
    """Row numbers stand in the order of the query's streams and are asked for at most once."""
    result = feed.result(*PAIRS)
    assert result.rows.tolist() == [[b, a] for a, b in PAIRS]
    assert result.rows is result.rows
    assert feed.log == ["rows"]


def test_values_come_out_as_they_went_in(feed: Feed) -> None:
    """Every type, NULL included, in emission order."""
    result = feed.result(*PAIRS)
    assert naive(result.to_pydict()) == naive(expected())
    assert result.column("A.s").to_pylist() == ["日本", "a", None, "", "a"]
    before = list(feed.log)
    result.to_arrow()
    assert feed.log == before and len(set(before)) == len(before)


@pytest.mark.parametrize("pairs", [PAIRS, [(0, 0)], []])
def test_types_are_exactly_those_declared(feed: Feed, pairs: list) -> None:
    """The Arrow schema depends on the query alone, also when there are no rows."""
    table = feed.result(*pairs).to_arrow()
    table.validate(full=True)
    declared = [(f"A.{c}", column_type(k).arrow) for c, k in A.items()]
    declared += [(f"B.{c}", column_type(k).arrow) for c, k in B.items()]
    assert table.schema.equals(pa.schema(declared))
    assert all(field.nullable for field in table.schema)
    assert table.num_rows == len(pairs)


def test_only_what_is_asked_for_is_fetched(feed: Feed) -> None:
    """One column costs one fetch."""
    result = feed.result(*PAIRS)
    assert result.column("B.x").to_pylist() == [5, 6, 6, 5, 5]
    assert feed.log == ["rows", ("B", "x")]
    with pytest.raises(EddyError, match=r"no column 'B\.y'"):
        result.column("B.y")


def test_a_sealed_result_is_on_its_own(feed: Feed) -> None:
    """After seal the engine may change, and nothing of it is held."""
    result = feed.result(*PAIRS)
    result.seal()
    result.seal()
    watch = weakref.ref(feed.payloads["A"])
    for payload in feed.payloads.values():
        for ring in payload._rings.values():
            ring[:] = 0
    feed.pool.sweep([])
    feed.payloads.clear()
    gc.collect()
    assert watch() is None
    assert naive(result.to_pydict()) == naive(expected())
    assert pickle.loads(pickle.dumps(result)).rows.tolist() == result.rows.tolist()


def test_results_can_be_watched(feed: Feed) -> None:
    """The engine holds results weakly, to seal those that are still held by others."""
    result = feed.result(*PAIRS)
    watch = weakref.ref(result)
    assert watch() is result
    del result
    assert watch() is None


def test_concatenation_is_lazy(feed: Feed) -> None:
    """Parts are asked when the whole is asked; sealed parts and open ones mix."""
    parts = [feed.result(*PAIRS[:2]), feed.result(), feed.result(*PAIRS[2:])]
    whole = Result.concat(parts)
    assert len(whole) == 5 and feed.log == []
    parts[0].seal()
    assert whole.rows.tolist() == [[b, a] for a, b in PAIRS]
    assert naive(whole.to_pydict()) == naive(expected())
    whole.to_arrow().validate(full=True)
    assert whole.to_arrow().schema.equals(parts[0].to_arrow().schema)
    with pytest.raises(EddyError, match="nothing"):
        Result.concat([])
    with pytest.raises(EddyError, match="different queries"):
        Result.concat([whole, Feed().result()])


def test_repr_shows_small_results(feed: Feed) -> None:
    """A small result prints all of its rows."""
    small = repr(feed.result((0, 1)))
    assert small.startswith("<Result of 1 row\n") and "A.x" in small and "right" in small
    assert repr(feed.result()) == "<Result of 0 rows>"
    assert "..." not in repr(feed.result(*PAIRS * 2))
