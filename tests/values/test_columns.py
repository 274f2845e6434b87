"""Batches of every make come out as the same columns, and what is not a batch of the stream is refused."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddy.errors import BatchError
from eddy.intake.columns import normalise
from eddy.values.types import column_type

NAN = math.nan
NOON = dt.datetime(2024, 1, 1, 12)


def stream_of(time: str | None = None, strict: bool = False, **columns: str) -> Any:
    kinds = {name: column_type(kind) for name, kind in columns.items()}
    return SimpleNamespace(columns=kinds, time=time, strict=strict, parse=False)


def same(left: list, right: list) -> bool:
    return [repr(value) for value in left] == [repr(value) for value in right]


def frame() -> dict[str, list]:
    return {"ts": [1, 2, 3], "x": [7, None, 9], "s": ["a", None, "ü"], "v": [0.5, NAN, 1.5]}


def batches() -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    table = pa.table(frame())
    masked = {
        "ts": np.array([1, 2, 3], np.int16),
        "x": np.ma.array([7, 0, 9], mask=[False, True, False]),
        "s": np.ma.array(["a", "", "ü"], mask=[False, True, False]),
        "v": np.array([0.5, NAN, 1.5]),
    }
    pandas_frame = pd.DataFrame({**frame(), "x": pd.array([7, None, 9], "Int64")})
    return {
        "lists": frame(),
        "tuples": {name: tuple(values) for name, values in frame().items()},
        "objects": {name: np.array(values, object) for name, values in frame().items()},
        "masked": masked,
        "table": table,
        "chunks": pa.concat_tables([table.slice(0, 1), table.slice(1)]),
        "record batch": table.to_batches()[0],
        "slice": pa.concat_tables([table, table]).combine_chunks().slice(3),
        "arrow columns": dict(zip(table.column_names, table.columns, strict=True)),
        "large strings": table.set_column(2, "s", table["s"].cast(pa.large_string())),
        "dictionary": table.set_column(2, "s", table["s"].dictionary_encode()),
        "pandas": pandas_frame,
        "pandas floats": pandas_frame.assign(x=[7.0, NAN, 9.0]),
        "pandas objects": pandas_frame.astype({"s": object, "x": object}),
        "pandas categories": pandas_frame.astype({"s": "category"}),
        "pandas arrow": pandas_frame.astype({"s": pd.ArrowDtype(pa.string()), "x": "int64[pyarrow]"}),
        "pandas series": {name: pandas_frame[name] for name in pandas_frame},
        "polars": pl.DataFrame(frame(), strict=False),
        "polars categories": pl.DataFrame(frame(), strict=False).with_columns(
            pl.col("s").cast(pl.Categorical)
        ),
        "polars enums": pl.DataFrame(frame(), strict=False).with_columns(
            pl.col("s").cast(pl.Enum(["ü", "z", "a"]))
        ),
        "polars series": {name: pl.Series(values, strict=False) for name, values in frame().items()},
    }


@pytest.mark.parametrize("make", list(batches()))
def test_every_make_of_batch_gives_the_same_columns(make: str) -> None:
    """Lists, numpy, Arrow, pandas and polars agree on values and on what is NULL."""
    stream = stream_of("ts", ts="int64", x="int32", s="string", v="float64")
    columns, n = normalise("A", stream, batches()[make])
    assert n == 3 and list(columns) == ["ts", "x", "s", "v"]
    assert columns["ts"].values.tolist() == [1, 2, 3] and columns["ts"].valid is None
    assert columns["x"].valid.tolist() == [True, False, True]
    assert columns["x"].values[[0, 2]].tolist() == [7, 9]
    assert columns["s"].valid.tolist() == [True, False, True]
    assert columns["s"].values.take([0, 2]).to_pylist() == ["a", "ü"]
    assert columns["v"].valid is None and same(columns["v"].values.tolist(), [0.5, NAN, 1.5])


def test_structured_arrays() -> None:
    """A structured array, masked or not, is a batch."""
    array = np.array([(1, 2.5, "a"), (2, 3.5, "b")], [("ts", "i8"), ("v", "f4"), ("s", "U3")])
    stream = stream_of("ts", ts="int64", v="float64", s="string")
    for batch in (array, np.ma.array(array), array.view(np.recarray), array[::1]):
        columns, n = normalise("A", stream, batch)
        assert n == 2 and columns["v"].values.tolist() == [2.5, 3.5]
        assert columns["s"].values.to_pylist() == ["a", "b"]


def test_neither_pandas_nor_polars_is_imported() -> None:
    """Batches of numpy and Arrow do not make the library, or pyarrow, import what the user does not use."""
    code = """if True:
        import sys, numpy as np, pyarrow.csv, io
        from types import SimpleNamespace as N
        from eddy.intake.columns import normalise
        from eddy.results.contents import Contents
        from eddy.results.result import Result
        from eddy.values.types import column_type
        kinds = dict(x="int64", f="float32", t="timestamp[us]", b="bool", s="string")
        kinds = {name: column_type(kind) for name, kind in kinds.items()}
        stream = N(columns=kinds, time=None, strict=False, parse=False)
        table = pyarrow.csv.read_csv(io.BytesIO(b"x,f,t,b,s\\n1,2.5,2024-01-01,true,a\\n,,,,\\n"))
        columns, n = normalise("A", stream, table)
        assert n == 2 and not columns["t"].valid[1]
        normalise("A", N(columns={"x": kinds["x"], "t": kinds["t"]}, time=None, strict=False, parse=False),
                  {"x": np.ma.array([1.0, 2.0], mask=[0, 1]), "t": np.array(["2024", "NaT"], "M8[s]")})
        select = [N(name=name, stream="A", column=name, type=kind) for name, kind in kinds.items()]
        result = Result(Contents(N(names=("A",), select=select, computed=()), 2, lambda: np.zeros((2, 1), np.int64),
                                 lambda stream, names, rows: [columns[name] for name in names]))
        assert result.to_arrow().num_rows == 2 and result.to_pydict()["x"] == [1, None]
        assert not {"pandas", "polars"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_columns_that_are_not_declared_are_passed_over() -> None:
    """Whatever they hold, and however the batch comes; the others are what they would be without them."""
    stream = stream_of(price="int64", volume="int64")
    for batch in (
        {"price": [1], "more": [object()], "volume": [2]},
        pa.table({"more": [["x"]], "volume": [2], "price": [1]}),
        {"price": np.array([1]), "volume": np.array([2]), "more": None},
    ):
        columns, n = normalise("A", stream, batch)
        assert (list(columns), n) == (["price", "volume"], 1)
        assert [column.values.tolist() for column in columns.values()] == [[1], [2]]


def test_columns_must_be_exactly_those_declared() -> None:
    """Missing and unknown columns are named, with the nearest name that may have been meant."""
    stream = stream_of(strict=True, price="int64", volume="int64")
    with pytest.raises(BatchError, match=r"'price' is missing \(is it the batch's 'prise'\?\)"):
        normalise("A", stream, {"prise": [1], "volume": [1]})
    with pytest.raises(BatchError, match=r"'volumes' is unknown \(did you mean 'volume'\?\)"):
        normalise("A", stream, {"price": [1], "volume": [1], "volumes": [1]})
    with pytest.raises(BatchError, match="'volume' is None"):
        normalise("A", stream, {"price": [1], "volume": None})
    with pytest.raises(BatchError, match="price, volume"):
        normalise("A", stream, {})
    with pytest.raises(BatchError, match="two columns named 'price'"):
        normalise("A", stream, pa.table([[1], [2]], names=["price", "price"]))


def test_ragged_batches() -> None:
    """Columns of different lengths are refused with their lengths."""
    stream = stream_of(x="int64", y="int64")
    with pytest.raises(BatchError, match="x: 2, y: 3"):
        normalise("A", stream, {"x": np.arange(2), "y": np.arange(3)})
    with pytest.raises(BatchError, match="x: 0, y: 1"):
        normalise("A", stream, {"x": [], "y": [1]})


def test_a_time_is_never_null() -> None:
    """Every row has a time; other columns may be NULL."""
    stream = stream_of("t", t="timestamp[us]", x="int64")
    with pytest.raises(BatchError, match="'t' of row 1"):
        normalise("A", stream, {"t": [NOON, None], "x": [1, 2]})
    columns, _ = normalise("A", stream, {"t": [NOON, NOON], "x": [None, None]})
    assert columns["t"].valid is None


def test_what_is_not_a_batch() -> None:
    """The message says what a batch may be, also for a single column, which has no name."""
    import pandas as pd
    import polars as pl

    stream = stream_of(x="int64")
    columns = [pa.array([1]), pa.chunked_array([[1]]), pd.Series([1], name="x"), pl.Series("x", [1])]
    columns.append(pa.array([{"x": 1}, None]))
    for batch in (5, [1, 2], (1, 2), {1}, None, "x", b"x", object(), pa.scalar(1), pd.Index([1])):
        with pytest.raises(
            BatchError, match=r"stream A: a .* is not a batch; give a dict of arrays, a structured"
        ):
            normalise("A", stream, batch)
    for batch in columns:
        said = "is one column, and a batch has all of the stream: give it with its name, .* as in {'x': ...}"
        with pytest.raises(BatchError, match=said):
            normalise("A", stream, batch)
    for kind in (pd.DataFrame, pl.DataFrame, pa.Table, pa.RecordBatch, pd.Series, dict):
        with pytest.raises(BatchError, match=f"is not a batch.* the class {kind.__name__} itself"):
            normalise("A", stream, kind)
    with pytest.raises(BatchError, match="no column names"):
        normalise("A", stream, np.arange(3))
    with pytest.raises(BatchError, match="collect"):
        normalise("A", stream, pl.LazyFrame({"x": [1]}))


def test_a_table_that_arrow_cannot_read() -> None:
    """Columns of a type that Arrow does not know are refused with the reason."""
    import polars as pl

    with pytest.raises(BatchError, match=r"stream A: this DataFrame cannot be read \(.*convert its columns"):
        normalise("A", stream_of(x="int64"), pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128)}))
