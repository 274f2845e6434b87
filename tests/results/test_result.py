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

from eddy.errors import EddyError
from eddy.intake.columns import normalise
from eddy.results.contents import Contents
from eddy.results.result import Result
from eddy.store.payload import Payload
from eddy.values.strings import StringPool
from eddy.values.types import Column, column_type

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

    def result(self, *pairs: tuple[int, int], sign: list[int] | None = None) -> Result:
        """Rows of (A, B); the query declares B first."""

        def signs() -> np.ndarray:
            self.log.append("sign")
            return np.array(sign, np.int8)

        def rows() -> np.ndarray:
            self.log.append("rows")
            return np.array([(b, a) for a, b in pairs], np.int64).reshape(-1, 2)

        def fetch(stream: str, column: str, wanted: np.ndarray) -> Column:
            assert wanted.flags.c_contiguous
            self.log.append((stream, column))
            return self.payloads[stream].take(column, wanted)

        return Result(Contents(self.query, len(pairs), rows, fetch, None if sign is None else signs))

    def aggregate(self, groups: list, counts: list[int], sign: list[int] | None = None) -> Result:
        """Ready columns: a string that may be NULL, and a count."""
        texts = pa.array([group or "" for group in groups], pa.string())
        valid = None if None not in groups else np.array([group is not None for group in groups])
        columns = {"n": Column(np.array(counts, np.int64)), "A.s": Column(texts, valid)}
        types = {"A.s": column_type("string"), "n": column_type("int64")}
        return Result(
            Contents.of_columns(self.query, columns, types, None if sign is None else np.array(sign, np.int8))
        )


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


SIGNS = [1, 1, -1, 1, -1]


def test_rows_are_new_unless_said_otherwise(feed: Feed) -> None:
    """Without signs every row is +1, and nothing is asked to find that out."""
    result = feed.result(*PAIRS)
    assert result.sign.tolist() == [1] * 5 and result.sign.dtype == np.int8
    assert feed.log == []
    result.seal()
    assert result.sign.tolist() == [1] * 5 and feed.result().sign.tolist() == []


def test_signs_are_found_once_and_only_when_asked_for(feed: Feed) -> None:
    """They are as lazy as the rows, and the columns do without them."""
    result = feed.result(*PAIRS, sign=SIGNS)
    result.to_arrow()
    assert "sign" not in feed.log
    assert result.sign.tolist() == SIGNS and result.sign is result.sign
    assert feed.log.count("sign") == 1


def test_signs_outlive_the_engine(feed: Feed) -> None:
    """A sealed result has its signs, and so has what is put together of sealed and open ones."""
    parts = [
        feed.result(*PAIRS[:2], sign=SIGNS[:2]),
        feed.result(*PAIRS[2:3]),
        feed.result(*PAIRS, sign=SIGNS),
    ]
    parts[0].seal()
    assert feed.log.count("sign") == 1
    whole = Result.concat(parts)
    assert feed.log.count("sign") == 1
    whole.seal()
    assert pickle.loads(pickle.dumps(whole)).sign.tolist() == [*SIGNS[:2], 1, *SIGNS]


def test_signs_as_a_column(feed: Feed) -> None:
    """It is added at the end where it is asked for, and only there."""
    result = feed.result(*PAIRS, sign=SIGNS)
    table = result.to_arrow(sign=True)
    table.validate(full=True)
    assert table.schema.names == [*result.to_arrow().schema.names, "sign"]
    assert table.schema.field("sign").type == pa.int8()
    assert result.to_pydict(sign=True)["sign"] == SIGNS and "sign" not in result.to_pydict()
    assert feed.result().to_arrow(sign=True).num_rows == 0
    pytest.importorskip("pandas")
    assert result.to_pandas(sign=True)["sign"].tolist() == SIGNS


def test_an_output_called_sign_is_not_overwritten(feed: Feed) -> None:
    """The column of signs has no other name, so the query must choose one; printing works all the same."""
    feed.query.select[0].name = "sign"
    result = feed.result(*PAIRS, sign=SIGNS)
    for convert in (result.to_arrow, result.to_pydict, result.to_pandas):
        with pytest.raises(EddyError, match="rename it"):
            convert(sign=True)
    assert feed.log == []
    assert result.to_pydict()["sign"] == expected()["A.x"]
    assert repr(result).splitlines()[1].split().count("sign") == 2


def test_repr_shows_signs_if_some_row_is_withdrawn(feed: Feed) -> None:
    """Where all rows are new there is nothing to say."""
    assert "sign" not in repr(feed.result(*PAIRS, sign=[1] * 5)) and "+1" not in repr(feed.result(*PAIRS))
    lines = repr(feed.result(*PAIRS, sign=SIGNS)).rstrip(">").splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["sign", "+1", "+1", "-1", "+1", "-1"]


def test_an_aggregate_is_made_of_ready_columns(feed: Feed) -> None:
    """Its columns stand in the order of their types, whatever the query selects; it has no row numbers."""
    result = feed.aggregate(["a", None], [3, 1], [-1, 1])
    assert len(result) == 2 and result.to_pydict() == {"A.s": ["a", None], "n": [3, 1]}
    assert result.to_pydict(sign=True)["sign"] == [-1, 1]
    assert result.to_arrow().schema.equals(pa.schema([("A.s", pa.string()), ("n", pa.int64())]))
    assert result.column("n").to_pylist() == [3, 1]
    with pytest.raises(EddyError, match=r"no column 'A\.x'; its columns are: A\.s, n"):
        result.column("A.x")
    with pytest.raises(EddyError, match="an aggregate has no row numbers"):
        _ = result.rows
    assert repr(result) == "<Result of 2 rows\n   A.s  n  sign\n     a  3    -1\n  None  1    +1>"
    assert feed.aggregate([], []).to_pydict() == {"A.s": [], "n": []}
    assert feed.aggregate(["a"], [1]).sign.tolist() == [1]


def test_aggregates_are_sealed_and_put_together_like_other_results(feed: Feed) -> None:
    """Columns, NULLs and signs follow each other; there is nothing to let go of."""
    parts = [feed.aggregate(["a"], [1]), feed.aggregate([], []), feed.aggregate(["a", None], [1, 2], [-1, 1])]
    parts[0].seal()
    whole = Result.concat(parts)
    whole.seal()
    assert len(whole) == 3 and whole.sign.tolist() == [1, -1, 1]
    assert whole.to_pydict() == {"A.s": ["a", "a", None], "n": [1, 1, 2]}
    assert pickle.loads(pickle.dumps(whole)).to_pydict(sign=True)["sign"] == [1, -1, 1]
    with pytest.raises(EddyError, match="no row numbers"):
        _ = whole.rows


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
