"""Dates, times of day, durations, decimals, bytes, UUIDs and opaque values: what they may come as, and what not."""

import datetime as dt
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eddy
from eddy.errors import BatchError, QueryError
from eddy.results.result import to_arrow
from eddy.values.conversion import convert
from eddy.values.types import column_type

DAY, OLD = dt.date(2024, 1, 31), dt.date(1, 1, 1)
CLOCK, LATE = dt.time(1, 2, 3, 4), dt.time(23, 59, 59, 999_999)
ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)
MAP = pa.map_(pa.string(), pa.int64())
LIST, STRUCT = pa.list_(pa.int64()), pa.struct([("a", pa.string())])
WIDE = Decimal("12345678901234567890.125")

VALUES = {
    "date": [DAY, None, OLD],
    "time[us]": [CLOCK, None, LATE],
    "time[s]": [dt.time(1, 2, 3), None, dt.time(0)],
    "duration[us]": [dt.timedelta(1, 2, 3), None, dt.timedelta(microseconds=-1)],
    "duration[s]": [dt.timedelta(1), None, dt.timedelta(seconds=-5)],
    "decimal(10, 2)": [Decimal("1.50"), None, Decimal("-99999999.99")],
    "decimal(18, 0)": [Decimal(10**18 - 1), None, Decimal(0)],
    "decimal(38, 3)": [WIDE, None, -WIDE],
    "binary": [b"a\0", None, b""],
    "fixed_size_binary[2]": [b"ab", None, b"\0\xff"],
    "uuid": [ONE, None, TWO],
    LIST: [[1, None], None, []],
    STRUCT: [{"a": "x"}, None, {"a": None}],
    MAP: [[("a", 1)], None, []],
}


def typed(kind):
    """The Arrow type of a kind."""
    return column_type(kind).arrow


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


FORMS = {
    "list": lambda values, kind: values,
    "tuple": lambda values, kind: tuple(values),
    "objects": lambda values, kind: objects(values),
    "arrow": lambda values, kind: pa.array(values, typed(kind)),
    "chunks": lambda values, kind: pa.chunked_array([pa.array([v], typed(kind)) for v in values]),
    "slice": lambda values, kind: pa.array([None, *values, None], typed(kind)).slice(1, len(values)),
    "pandas": lambda values, kind: pd.Series(values, dtype=object),
    "pandas arrow": lambda values, kind: pd.Series(
        pa.array(values, typed(kind)), dtype=pd.ArrowDtype(typed(kind))
    ),
    "polars": lambda values, kind: pl.Series(
        pl.from_arrow(pa.table({"x": pa.array(values, typed(kind))}))["x"]
    ),
}
NO_FORM = {("uuid", "pandas arrow"), (MAP, "pandas arrow"), ("uuid", "polars"), (MAP, "polars")}
"""What pandas or polars themselves have not."""


def push(kind, *batches, parse=False, query="SELECT A.x FROM A [ROWS 100]"):
    engine = eddy.Eddy(eddy.sql(query, {"A": eddy.Stream({"x": kind}, parse=parse)}))
    return [engine.push("A", {"x": batch}) for batch in batches]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_every_form_gives_the_same_values_in_the_declared_type(kind, form):
    """Values with and without NULLs, none, and NULLs alone; results are of the declared type."""
    if (kind, form) in NO_FORM:
        assert kind in ("uuid", MAP)
        return
    values = VALUES[kind]
    for some in (values, [values[0], values[2]], [None, None]):
        (result,) = push(kind, FORMS[form](some, kind))
        table = result.to_arrow()
        table.validate(full=True)
        assert table.schema.field("A.x").type == typed(kind) and result.to_pydict()["A.x"] == some


@pytest.mark.parametrize("kind", [LIST, STRUCT, MAP, "binary", "uuid", "string"], ids=str)
def test_a_mask_makes_values_null(kind):
    """What a column shows where its mask says so is NULL, whatever stands there."""
    of = column_type(kind)
    value = VALUES[kind][0] if kind in VALUES else "a"
    column = convert("A.x", of, pa.array([value, value], of.arrow))
    column.valid = np.array([False, True])
    assert to_arrow(column, of).to_pylist() == [None, value]
    nothing = convert("A.x", of, pa.nulls(2))
    assert to_arrow(nothing, of).to_pylist() == [None, None]


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_no_rows(kind):
    """A batch without rows, and a column of NULLs of no type."""
    empty, nulls = push(kind, pa.array([], typed(kind)), pa.nulls(2))
    assert (len(empty), nulls.to_pydict()) == (0, {"A.x": [None, None]})


@pytest.mark.parametrize(
    ("kind", "given", "shown"),
    [
        ("date", np.array(["2024-01-31", "NaT"], "M8[D]"), [DAY, None]),
        ("date", np.array(["2024-01-31"], "M8[ns]"), [DAY]),
        ("date", np.array(["2024-01"], "M8[M]"), [dt.date(2024, 1, 1)]),
        ("date", np.array([1, 2], "int32"), [dt.date(1970, 1, 2), dt.date(1970, 1, 3)]),
        ("date", pd.to_datetime(["2024-01-31", None]), [DAY, None]),
        ("date", [dt.datetime(2024, 1, 31)], [DAY]),
        ("date", pa.array([DAY], pa.date64()), [DAY]),
        ("date", pl.Series([DAY, None]), [DAY, None]),
        ("time[ns]", pl.Series([CLOCK, None]), [CLOCK, None]),
        ("time[s]", pa.array([dt.time(1)], pa.time64("ns")), [dt.time(1)]),
        ("duration[ms]", np.array([1, "NaT"], "m8[s]"), [dt.timedelta(seconds=1), None]),
        ("duration[s]", np.array([1], "m8[D]"), [dt.timedelta(1)]),
        ("duration[us]", np.array([1]), [dt.timedelta(microseconds=1)]),
        ("duration[us]", pd.Series([dt.timedelta(1), None]), [dt.timedelta(1), None]),
        ("duration[us]", pl.Series([dt.timedelta(1)]), [dt.timedelta(1)]),
        ("decimal(4, 2)", [1, Decimal("1.5"), None], [Decimal(1), Decimal("1.5"), None]),
        ("decimal(4, 2)", np.array([-99, 99], "int8"), [Decimal(-99), Decimal(99)]),
        ("decimal(4, 2)", np.array([1, 2], "uint64"), [Decimal(1), Decimal(2)]),
        ("decimal(4, 2)", [0.5, -0.25], [Decimal("0.5"), Decimal("-0.25")]),
        ("decimal(4, 2)", pd.Series([0.5, np.nan]), [Decimal("0.5"), None]),
        ("decimal(4, 2)", pl.Series([Decimal("1.5")], dtype=pl.Decimal(38, 5)), [Decimal("1.5")]),
        ("decimal(4, 2)", pa.array([Decimal("1.5")], pa.decimal256(50, 4)), [Decimal("1.5")]),
        ("binary", np.array([b"ab", b"c"]), [b"ab", b"c"]),
        ("binary", [bytearray(b"x"), memoryview(b"y")], [b"x", b"y"]),
        ("binary", pa.array([b"x"], pa.large_binary()), [b"x"]),
        ("binary", pa.array([b"x"], pa.binary_view()), [b"x"]),
        ("uuid", pa.array([ONE.bytes], pa.binary(16)), [ONE]),
        ("uuid", [ONE.bytes], [ONE]),
        ("uuid", pl.Series([ONE.bytes, None]), [ONE, None]),
        (LIST, pl.Series([[1, 2], None]), [[1, 2], None]),
        (STRUCT, [{"a": "x"}, {"a": None}], [{"a": "x"}, {"a": None}]),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_other_forms(kind, given, shown):
    """What else a column takes, because it can hold exactly that."""
    assert push(kind, given)[0].to_pydict()["A.x"] == shown


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("date", [dt.datetime(2024, 1, 31, 1)], "no times of day"),
        ("date", [dt.datetime(2024, 1, 31), DAY], "mix dates and datetimes"),
        ("date", [DAY, dt.datetime(2024, 1, 31, 1)], "mix dates and datetimes"),
        ("date", [DAY, 1], "mix dates and integers"),
        ("date", pa.array([dt.datetime(2024, 1, 31)], pa.timestamp("us", "UTC")), "that have no zone"),
        ("date", [1.5], "give dates"),
        ("date", [True], "give dates"),
        ("time[us]", [dt.time(1, tzinfo=dt.timezone.utc)], "without one"),
        ("time[us]", [5], "give times of day"),
        ("time[us]", pa.array([-1], pa.time64("us")), "between 00:00 and 24:00"),
        ("time[s]", [CLOCK], "lose data"),
        ("duration[s]", [dt.timedelta(microseconds=1)], "lose data"),
        ("duration[s]", [dt.timedelta(1), 5], "mix integers and timedeltas"),
        ("duration[s]", [1.5], "give timedeltas"),
        ("decimal(4, 2)", [0.1], "cannot hold the float .*0.1.* exactly"),
        ("decimal(4, 2)", [Decimal("0.5"), 0.1], "decimals that"),
        ("decimal(4, 2)", [Decimal("0.125")], "decimals that"),
        ("decimal(4, 2)", [Decimal("100")], "decimals that"),
        ("decimal(4, 2)", [100], "too many digits"),
        ("decimal(4, 2)", np.array([2**64 - 1], "uint64"), "too many digits"),
        ("decimal(4, 2)", [Decimal("NaN")], "no decimal number"),
        ("decimal(4, 2)", [float("nan")], "cannot hold"),
        ("decimal(4, 2)", [float("inf")], "cannot hold"),
        ("decimal(4, 2)", ["1.5"], "parse=True"),
        ("binary", ["x"], "encode them first"),
        ("binary", [1], "give bytes"),
        ("fixed_size_binary[2]", [b"abc"], "width"),
        ("uuid", [b"short"], "width"),
        ("uuid", [str(ONE)], "parse=True"),
        (LIST, [[1.5]], "are list<item: int64> exactly"),
        (LIST, ["x"], "give values of that type"),
        (STRUCT, [{"a": "x", "b": 1}], "give values of that type"),
        (MAP, [{"a": 1.5}], "give values of that type|exactly"),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_refused(kind, given, message):
    """What the column cannot hold exactly is refused, and the engine is as it was."""
    engine = eddy.Eddy(eddy.Query({"A": eddy.Stream({"x": kind})}))
    before = engine.statistics()
    with pytest.raises(BatchError, match=message):
        engine.push("A", {"x": given})
    assert engine.statistics() == before


TEXTS = {
    "timestamp[ms]": (
        "2024-01-31T10:11:12.5",
        dt.datetime(2024, 1, 31, 10, 11, 12, 500_000),
        "2024-01-31T10:11:12.0005",
    ),
    "timestamp[us, UTC]": (
        "2024-01-31T10:11:12+02:00",
        dt.datetime(2024, 1, 31, 8, 11, 12, tzinfo=dt.timezone.utc),
        "2024-01-31T10:11:12",
    ),
    "date": ("2024-01-31", DAY, "2024-02-31"),
    "time[ms]": ("10:11:12.5", dt.time(10, 11, 12, 500_000), "10:11:12.0005"),
    "decimal(5, 2)": ("-1.5", Decimal("-1.5"), "1.555"),
    "uuid": (str(ONE), ONE, "00000000"),
    "int8": ("-7", -7, "300"),
    "float64": ("0.5", 0.5, "half"),
    "bool": ("true", True, "maybe"),
}
HOLD = [
    lambda texts: texts,
    lambda texts: pa.array(texts, pa.large_string()),
    lambda texts: pa.array(texts).dictionary_encode(),
    lambda texts: pd.Series(texts),
    lambda texts: pl.Series(texts, dtype=pl.Categorical),
    objects,
]


@pytest.mark.parametrize("hold", HOLD)
@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_read_where_the_stream_says_so(kind, hold):
    """`parse=True` reads texts as values of the column, exactly; without it the error names it."""
    good, value, bad = TEXTS[kind]
    assert push(kind, hold([good, None]), parse=True)[0].to_pydict()["A.x"] == [value, None]
    with pytest.raises(
        BatchError, match=rf"'{bad.replace('+', '.')}' is no {kind.partition('[')[0].partition('(')[0]}"
    ):
        push(kind, hold([good, bad]), parse=True)
    with pytest.raises(BatchError, match="parse=True"):
        push(kind, hold([good]))


def test_parsing_is_kept_by_a_snapshot(tmp_path):
    """The option is a part of the query."""
    engine = eddy.Eddy(eddy.Query({"A": eddy.Stream({"x": "date"}, parse=True)}))
    engine.save(tmp_path / "snapshot")
    again = eddy.Eddy.load(tmp_path / "snapshot")
    assert again.push("A", {"x": ["2024-01-31"]}).to_pydict() == {"A.x": [DAY]}


NAIVE, AWARE = dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize("hold", [list, tuple, objects, lambda v: pd.Series(v, dtype=object)])
@pytest.mark.parametrize(
    "values", [[NAIVE, AWARE], [AWARE, NAIVE], [None, AWARE, NAIVE], [pd.Timestamp(NAIVE), AWARE]]
)
@pytest.mark.parametrize("kind", ["timestamp[us]", "timestamp[us, UTC]", "timestamp[ns, Europe/Berlin]"])
def test_naive_and_aware_datetimes_are_not_mixed(kind, values, hold):
    """Whatever their order, and whatever the column is."""
    with pytest.raises(BatchError, match="mix datetimes with a zone and datetimes without a zone"):
        push(kind, hold(values))


@pytest.mark.parametrize("zone", ["timestamp[us, Mars/Base]", pa.timestamp("us", "Mars/Base")], ids=str)
def test_an_unknown_zone_is_refused_when_the_query_is_made(zone):
    """Not at the first batch."""
    for columns in (
        {"t": zone},
        pa.schema([("t", column_type("timestamp[us]").arrow), ("z", pa.timestamp("us", "Mars/Base"))]),
    ):
        with pytest.raises(QueryError, match="unknown time zone 'Mars/Base'"):
            eddy.Stream(columns)


WORDS = ["a", "b", None, "a"]
STRINGS = {
    "large": pa.array(WORDS, pa.large_string()),
    "view": pa.array(WORDS, pa.string_view()),
    "coded": pa.array(WORDS).dictionary_encode(),
    "coded large": pa.array(WORDS, pa.large_string()).dictionary_encode(),
    "coded views": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0]), pa.array(["a", "b"], pa.string_view())
    ),
    "chunks": pa.chunked_array([["a"], ["b", None, "a"]], pa.large_string()),
    "Categorical": pl.Series(WORDS, dtype=pl.Categorical),
    "Enum": pl.Series(WORDS, dtype=pl.Enum(["b", "a"])),
    "categories": pd.Series(WORDS, dtype="category"),
    "pandas": pd.Series(WORDS, dtype="string"),
    "pandas coded": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
}


@pytest.mark.parametrize("make", STRINGS)
def test_strings_of_every_make(make):
    """Carried, compared with a constant, and joined by; the order of categories is not that of strings."""
    streams = {name: eddy.Stream({"s": "string"}, window=eddy.Rows(9)) for name in "AB"}
    for text, wanted in {
        "SELECT A.s FROM A": WORDS,
        "SELECT A.s FROM A WHERE A.s > 'a'": ["b"],
        "SELECT B.s FROM A, B WHERE A.s = B.s": ["a", "a", "b", "a", "a"],
    }.items():
        engine = eddy.Eddy(eddy.sql(text, streams))
        result = engine.push("A", {"s": STRINGS[make]})
        if "B" in text:
            result = engine.push("B", {"s": STRINGS[make]})
        found = next(iter(result.to_pydict().values()))
        assert (sorted(found) if "B" in text else found) == (sorted(wanted) if "B" in text else wanted)
