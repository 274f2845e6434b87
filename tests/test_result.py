"""Results are lazy, come in exactly their declared types, and outlive the state they were made from."""

from __future__ import annotations

import builtins
import datetime as dt
import gc
import pickle
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddy.columns import normalise
from eddy.errors import EddyError
from eddy.payload import Payload
from eddy.result import Result
from eddy.strings import StringPool
from eddy.types import Column, column_type

A = {
    "x": "int64",
    "i8": "int8",
    "u": "uint64",
    "f": "float32",
    "v": "float64",
    "b": "bool",
    "s": "string",
    "t": "timestamp[ns]",
    "z": "timestamp[us, Europe/Berlin]",
}
B = {"x": "int64", "s": "string"}
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc)
ROWS_A = {
    "x": [10, 11, None, 13],
    "i8": [1, None, -128, 127],
    "u": [0, 2**64 - 1, None, 1],
    "f": [0.5, None, float("inf"), 2.5],
    "v": [None, 0.25, 0.5, 0.75],
    "b": [True, None, False, True],
    "s": ["a", None, "", "日本"],
    "t": [None, dt.datetime(2024, 1, 1), dt.datetime(1969, 1, 1), None],
    "z": [NOON, None, NOON, None],
}
ROWS_B = {"x": [5, 6], "s": ["left", "right"]}


class Feed:
    """Two payloads, and a log of what results ask of them."""

    def __init__(self) -> None:
        self.pool = StringPool()
        self.payloads: dict[str, Payload] = {}
        self.log: list[Any] = []
        for name, kinds, rows in [("A", A, ROWS_A), ("B", B, ROWS_B)]:
            stream = SimpleNamespace(columns={c: column_type(kind) for c, kind in kinds.items()}, time=None)
            columns, n = normalise(name, stream, rows)
            for column, kind in kinds.items():
                if kind == "string":
                    codes = self.pool.encode(columns[column].values)
                    columns[column] = Column(codes, columns[column].valid)
            self.payloads[name] = Payload(stream.columns, self.pool)
            self.payloads[name].append(columns, n)
        select = [("A", c) for c in A] + [("B", c) for c in B]
        self.query = SimpleNamespace(
            names=("B", "A"),
            select=tuple(
                SimpleNamespace(name=f"{s}.{c}", stream=s, column=c, type=self.payloads[s].columns[c])
                for s, c in select
            ),
        )

    def result(self, *pairs: tuple[int, int]) -> Result:
        """Rows of (A, B); the query declares B first."""

        def rows() -> np.ndarray:
            self.log.append("rows")
            return np.array([(b, a) for a, b in pairs], np.int64).reshape(-1, 2)

        def fetch(stream: str, column: str, wanted: np.ndarray) -> Column:
            assert wanted.flags.c_contiguous
            self.log.append((stream, column))
            return self.payloads[stream].take(column, wanted)

        return Result(self.query, len(pairs), rows, fetch)


@pytest.fixture
def feed() -> Feed:
    return Feed()


PAIRS = [(3, 0), (0, 1), (1, 1), (2, 0), (0, 0)]


def expected() -> dict[str, list]:
    wanted = {f"A.{c}": [ROWS_A[c][a] for a, _ in PAIRS] for c in A}
    return wanted | {f"B.{c}": [ROWS_B[c][b] for _, b in PAIRS] for c in B}


def naive(values: dict[str, list]) -> dict[str, list]:
    """Timestamps as plain datetimes in UTC: pandas' own class and zones aside."""

    def one(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
            return dt.datetime(*value.timetuple()[:6])
        return value

    return {name: [one(value) for value in column] for name, column in values.items()}


def test_counting_needs_no_work(feed: Feed) -> None:
    """The length is known before anything is fetched."""
    result = feed.result(*PAIRS)
    assert len(result) == 5 and bool(result) and not feed.result()
    assert feed.log == []


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
    """A small result prints its rows, a large one its size."""
    small = repr(feed.result((0, 1)))
    assert small.startswith("<Result of 1 row\n") and "A.x" in small and "right" in small
    assert repr(feed.result()) == "<Result of 0 rows>"
    assert repr(feed.result(*PAIRS * 3)) == "<Result of 15 rows>"


def test_pandas(feed: Feed) -> None:
    """A data frame with the selected names."""
    pytest.importorskip("pandas")
    data = feed.result(*PAIRS).to_pandas()
    assert list(data.columns) == [f"A.{c}" for c in A] + [f"B.{c}" for c in B]
    assert data["B.s"].tolist() == expected()["B.s"]
    assert str(data["A.z"].dtype) == "datetime64[us, Europe/Berlin]"


def test_missing_pandas_is_explained(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas the message says what to do instead."""
    original = builtins.__import__

    def without_pandas(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(EddyError, match=r"to_arrow\(\)"):
        feed.result(*PAIRS).to_pandas()
