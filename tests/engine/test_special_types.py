"""Joins over columns of dates, times of day, durations, decimals, bytes, UUIDs and opaque types, and all that goes with
them: snapshots, threads, withdrawals, differences, disorder, groups and samples in the place of schemas."""

import datetime as dt
import random
import uuid
from decimal import Context, Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eddy

EXACT = Context(prec=60)
LIST = pa.list_(pa.struct([("a", pa.int64())]))
KEYS = {
    "date": lambda n: dt.date(2024, 1, 1 + n),
    "time[ms]": lambda n: dt.time(n),
    "duration[us]": lambda n: dt.timedelta(seconds=n),
    "decimal(9, 3)": lambda n: Decimal(n) / 8,
    "binary": lambda n: bytes(n),
    "uuid": lambda n: uuid.UUID(int=n),
}
OTHERS = {
    "time[ms]": "time[s]",
    "duration[us]": "duration[ms]",
    "decimal(9, 3)": "decimal(18, 4)",
    "binary": pa.large_binary(),
}
"""The type of the same column in another stream, if that differs."""
SHOWN = {
    "list": LIST,
    "wide": "decimal(38, 4)",
    "raw": "binary",
    "id": "uuid",
    "map": pa.map_(pa.string(), pa.int64()),
}


def row(pick, kind, n):
    """A row, in which anything may be NULL."""
    one = {
        "k": KEYS[kind](pick.randrange(4)),
        "n": n,
        "list": [{"a": n}] * pick.randrange(3),
        "wide": Decimal(n * 10**25) / 16,
        "raw": bytes([n % 256]) * pick.randrange(4),
        "id": uuid.UUID(int=n),
        "map": [(str(n), n)],
    }
    return {name: None if name != "n" and pick.random() < 0.15 else value for name, value in one.items()}


def streams(kind, window=None):
    columns = {"n": "int64"} | SHOWN
    window = window or eddy.Rows(12)
    return {
        "A": eddy.Stream({"k": kind} | columns, window=window),
        "B": eddy.Stream({"k": OTHERS.get(kind, kind)} | columns, window=window),
    }


def pieces(kind, seed, count=40):
    """Batches of both streams in turns, of a few rows each."""
    pick, n = random.Random(seed), 0
    for _ in range(count):
        size = pick.randrange(1, 6)
        rows = [row(pick, kind, n + i) for i in range(size)]
        n += size
        yield pick.choice("AB"), {name: [one[name] for one in rows] for name in rows[0]}


class Oracle:
    """Nested loops over the last rows of each stream."""

    def __init__(self, size=12):
        self.live, self.size = {"A": [], "B": []}, size

    def push(self, name, batch):
        """The pairs of rows that the batch completes."""
        found = []
        for values in zip(*batch.values(), strict=True):
            one = dict(zip(batch, values, strict=True))
            self.live[name] = [*self.live[name], one][-self.size :]
            for other in self.live["B" if name == "A" else "A"]:
                if one["k"] is not None and one["k"] == other["k"]:
                    found.append((one, other) if name == "A" else (other, one))
        return found


def told(result):
    table = result.to_arrow()
    table.validate(full=True)
    return sorted(map(repr, table.to_pylist()))


def wanted(pairs):
    return sorted(
        repr({f"{s}.{c}": v for s, one in zip("AB", pair, strict=True) for c, v in one.items()})
        for pair in pairs
    )


def normal(pairs, engine):
    """The pairs with decimals as their columns have them."""
    types = {s: stream.columns for s, stream in engine.query.streams.items()}

    def shown(stream, column, value):
        scale = types[stream][column].arrow
        return (
            value.quantize(Decimal(1).scaleb(-scale.scale), context=EXACT)
            if isinstance(value, Decimal)
            else value
        )

    return [
        tuple({c: shown(s, c, v) for c, v in one.items()} for s, one in zip("AB", pair, strict=True))
        for pair in pairs
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KEYS)
def test_joins_restarts_and_threads(kind, threads, tmp_path):
    """Every pair, with all its values, also after a restart in the middle."""
    engine = eddy.Eddy(eddy.Query(streams(kind), where=["A.k = B.k"]), threads=threads)
    oracle, count = Oracle(), 0
    for step, (name, batch) in enumerate(pieces(kind, 1)):
        if step % 10 == 9:
            engine.save(tmp_path / "snapshot")
            engine = eddy.Eddy.load(tmp_path / "snapshot")
        pairs = normal(oracle.push(name, batch), engine)
        assert told(engine.push(name, batch)) == wanted(pairs)
        count += len(pairs)
    assert count > 50


@pytest.mark.parametrize("kind", KEYS)
def test_withdrawals_add_up_to_what_is_live(kind):
    """What was withdrawn is what was given, opaque values included."""
    engine = eddy.Eddy(eddy.Query(streams(kind), where=["A.k = B.k"]), retractions=True)
    oracle, total = Oracle(), {}
    for name, batch in pieces(kind, 2):
        oracle.push(name, batch)
        result = engine.push(name, batch)
        for one, sign in zip(map(repr, result.to_arrow().to_pylist()), result.sign.tolist(), strict=True):
            total[one] = total.get(one, 0) + sign
    live = [
        (a, b) for a in oracle.live["A"] for b in oracle.live["B"] if a["k"] is not None and a["k"] == b["k"]
    ]
    assert sorted(one for one, n in total.items() for _ in range(n)) == wanted(normal(live, engine))
    assert set(total.values()) <= {0, 1} and live


@pytest.mark.parametrize("kind", KEYS)
def test_differences(kind):
    """Rows of A whose key no live row of B has; NULL is in no row of B."""
    query = eddy.Query(streams(kind), minus={"B": "A.k = B.k"}, select=["A.n", "A.k", "A.list", "A.id"])
    engine, oracle, total = eddy.Eddy(query), Oracle(), {}
    for name, batch in pieces(kind, 3):
        oracle.push(name, batch)
        result = engine.push(name, batch)
        for one, sign in zip(result.to_pydict()["A.n"], result.sign.tolist(), strict=True):
            total[one] = total.get(one, 0) + sign
    blocked = {one["k"] for one in oracle.live["B"]} - {None}
    assert {n for n, there in total.items() if there} == {
        a["n"] for a in oracle.live["A"] if a["k"] not in blocked
    }


@pytest.mark.parametrize("kind", KEYS)
def test_groups(kind):
    """Groups by such a key, NULL among them, with COUNT of opaque values."""
    query = eddy.Query(
        {"A": streams(kind, eddy.Unbounded())["A"]}, group_by="A.k", aggregates={"n": "COUNT(A.list)"}
    )
    engine, known = eddy.Eddy(query), {}
    for name, batch in pieces(kind, 4):
        if name == "A":
            engine.push(name, batch)
            for key, value in zip(batch["k"], batch["list"], strict=True):
                known[key] = known.get(key, 0) + (value is not None)
    table = engine.table().to_pydict()
    assert dict(zip(table["A.k"], table["n"], strict=True)) == known and None in known


def test_rows_out_of_order(tmp_path):
    """They wait in the buffer of an engine, and in its snapshots, with all their values."""
    columns = {"ts": "int64", "k": "date"} | SHOWN
    declared = {name: eddy.Stream(columns, window=eddy.Range(5)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(declared, where=["A.k = B.k"]), lateness=3)
    pick = random.Random(5)
    rows = [row(pick, "date", n) for n in range(40)]
    found = []
    for n in [n + swap for n in range(0, 40, 2) for swap in (1, 0)]:
        batch = {"ts": [n], **{c: [rows[n][c]] for c in columns if c != "ts"}}
        found += engine.push("AB"[n % 2], batch).to_arrow().to_pylist()
        if n == 20:
            engine.save(tmp_path / "snapshot")
            engine = eddy.Eddy.load(tmp_path / "snapshot")
    found += engine.close().to_arrow().to_pylist()
    pairs = [(a, b) for a in range(0, 40, 2) for b in range(1, 40, 2) if abs(a - b) <= 5]
    pairs = [(a, b) for a, b in pairs if rows[a]["k"] is not None and rows[a]["k"] == rows[b]["k"]]
    assert sorted((one["A.ts"], one["B.ts"]) for one in found) == pairs and len(pairs) > 10
    for one in found:
        for stream in "AB":
            row_of = rows[one[f"{stream}.ts"]]
            assert all(one[f"{stream}.{c}"] == row_of[c] for c in SHOWN)


def test_carried_values_are_forgotten_with_their_rows():
    """Memory follows what is live: buffers of opaque values that no row needs go at a sweep."""
    query = eddy.Query({"A": eddy.Stream({"k": "int64", "l": LIST}, window=eddy.Rows(100))})
    query = eddy.sql(
        "SELECT A.l, B.k FROM A, B [ROWS 10] WHERE A.k = B.k", {"A": query.streams["A"], "B": {"k": "int64"}}
    )
    engine = eddy.Eddy(query)
    sizes = []
    for start in range(0, 200_000, 1_000):
        values = pa.array([[{"a": start + i}] * 8 for i in range(1_000)], LIST)
        engine.push("A", {"k": list(range(start, start + 1_000)), "l": values})
        sizes.append(engine.statistics().bytes)
    assert max(sizes) < 4_000_000
    last = engine.push("B", {"k": [199_999, 199_900]}).to_pydict()["A.l"]
    assert sorted(one[0]["a"] for one in last) == [199_900, 199_999]


OPAQUE = {
    "A": eddy.Stream({"k": "int64", "l": LIST, "w": "decimal(30, 2)"}),
    "B": eddy.Stream({"k": "int64", "l": LIST}),
}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT A.k FROM A, B WHERE A.l = B.l",
        "SELECT A.k FROM A WHERE A.w > 1",
        "SELECT A.w + 1 AS x FROM A",
        "SELECT COALESCE(A.l, A.l) AS x FROM A",
        "SELECT A.k FROM A WHERE A.l IN (NULL)",
        "SELECT A.k FROM A WHERE A.l IS DISTINCT FROM A.l",
        "SELECT A.l, COUNT(*) AS n FROM A GROUP BY A.l",
        "SELECT DISTINCT A.l FROM A",
        "SELECT COUNT(DISTINCT A.l) AS n FROM A",
        "SELECT MIN(A.l) AS n FROM A",
        "SELECT SUM(A.w) AS n FROM A",
        "SELECT A.k FROM A EXCEPT B ON A.l = B.l",
    ],
)
def test_opaque_values_are_not_compared(text):
    """The query is refused when it is made, and the error names the column and its type."""
    with pytest.raises(eddy.QueryError, match=r"A\.[lw].* is (list|decimal)"):
        eddy.sql(text, OPAQUE)


def test_opaque_values_may_be_null_or_not():
    """IS NULL is no comparison of values."""
    engine = eddy.Eddy(eddy.sql("SELECT A.k FROM A WHERE A.l IS NOT NULL", OPAQUE))
    assert engine.push("A", {"k": [1, 2], "l": [None, []], "w": [None, None]}).to_pydict() == {"A.k": [2]}


FRAME = {"day": [dt.date(2024, 1, 1)], "price": [Decimal("1.50")], "word": ["a"], "tags": [["x"]]}
SAMPLES = {
    "pandas": pd.DataFrame(FRAME),
    "polars": pl.DataFrame(FRAME),
    "polars lazy": pl.DataFrame(FRAME).lazy(),
    "polars schema": pl.DataFrame(FRAME).schema,
    "arrow": pa.table(FRAME),
    "record batch": pa.table(FRAME).to_batches()[0],
    "schema": pa.table(FRAME).schema,
}


@pytest.mark.parametrize("form", SAMPLES)
def test_tables_in_place_of_schemas(form):
    """Columns and types are those of the table, by `Stream` and by `tables=`; rows of it are not pushed by that."""
    declared = eddy.Stream(SAMPLES[form]).columns
    assert (
        list(declared) == list(FRAME) and str(declared["day"]) == "date" and str(declared["word"]) == "string"
    )
    text = "SELECT A.*, B.x FROM A [ROWS 5], B [ROWS 5] WHERE A.day = B.x"
    query = eddy.sql(text, {"B": {"x": "date"}}, tables={"A": SAMPLES[form]})
    assert query.streams["A"].columns == declared
    engine = eddy.Eddy(query)
    assert len(engine.push("B", {"x": FRAME["day"]})) == 0
    batch = SAMPLES[form] if form in ("pandas", "polars", "arrow", "record batch") else FRAME
    found = engine.push("A", batch).to_pydict()
    assert found == {**{f"A.{name}": values for name, values in FRAME.items()}, "B.x": FRAME["day"]}


def test_dtypes_of_pandas():
    """A frame's dtypes; a column of objects has none, and the error says what to give."""
    frame = pd.DataFrame(
        {"x": [1], "s": ["a"], "c": pd.Categorical(["a"]), "t": pd.to_datetime(["2024-01-01"], utc=True)}
    )
    names = {name: str(kind) for name, kind in eddy.Stream(frame.dtypes).columns.items()}
    assert names == {"x": "int64", "s": "string", "c": "string", "t": names["t"]} and "UTC" in names["t"]
    with pytest.raises(eddy.QueryError, match=r"column 'day': unknown column type.*or the data frame itself"):
        eddy.Stream(pd.DataFrame(FRAME).dtypes)
    with pytest.raises(eddy.QueryError, match=r"column 'x': unknown column type.*all its values are NULL"):
        eddy.Stream(pa.table({"x": pa.nulls(2)}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"schemas": {"A": {"x": "int64"}}, "tables": {"A": pa.table({"x": [1]})}},
            "A is in schemas and in tables",
        ),
        ({}, "schemas= with names and types, or tables= with data"),
        ({"tables": [1]}, "tables must be a dict"),
        ({"tables": {"A": 3}}, "stream A: .*a table with such columns, not 3"),
    ],
)
def test_tables_that_are_refused(given, message):
    """What is wrong, and what to give."""
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql("SELECT * FROM A", **given)
