"""Expressions of dates, times of day, durations, decimals and UUIDs: an engine and DuckDB give the same values."""

import datetime
import random
import uuid
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import eddy

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("d", pa.date32()),
        ("e", pa.date32()),
        ("t", pa.time64("us")),
        ("p", pa.decimal128(10, 2)),
        ("r", pa.decimal128(5, 3)),
        ("w", pa.decimal128(38, 5)),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("at", pa.timestamp("us")),
        ("i", pa.uuid()),
    ]
)
TEXTS = [
    "2024-01-31",
    "2024-02-31",
    "x",
    "1.555",
    "-1.5",
    "0012.345",
    "10:11:12",
    "10:11:12.25",
    "7",
    ".5",
    "+2.",
]
ONE = "550e8400-e29b-41d4-a716-446655440000"

VALUES = """
A.d | A.t | A.p | A.i | A.d - A.e | A.d + 1 | 1 + A.d | A.d - 30 | A.d + INTERVAL '1' DAY
A.d - INTERVAL '90' MINUTE | EXTRACT(YEAR FROM A.d) | EXTRACT(DOY FROM A.d) | EXTRACT(HOUR FROM A.d)
EXTRACT(EPOCH FROM A.d) | EXTRACT(HOUR FROM A.t) | EXTRACT(MICROSECOND FROM A.t)
DATE_TRUNC('month', A.d) | DATE_TRUNC('week', A.d) | DATE_DIFF('day', A.e, A.d)
DATE_DIFF('month', A.e, A.d) | DATE_DIFF('hour', A.d, A.at) | CAST(A.d AS TIMESTAMP) | CAST(A.at AS DATE)
CAST(A.at AS TIME) | CAST(A.d AS VARCHAR) | CAST(A.t AS VARCHAR) | TRY_CAST(A.s AS DATE)
TRY_CAST(A.s AS DECIMAL(5, 2)) | A.p + A.r | A.p - A.r | A.p * A.r | A.p % A.r | -A.p | ABS(A.p)
A.p + 1 | A.p - 0.001 | A.p * 3 | A.p * 1.5 | 10 - A.p | CAST(A.p AS DOUBLE) | CAST(A.p AS BIGINT)
CAST(A.p AS VARCHAR) | CAST(A.r AS DECIMAL(4, 1)) | CAST(A.k AS DECIMAL(18, 4))
CAST(A.f AS DECIMAL(9, 2)) | COALESCE(A.p, 0) | COALESCE(A.p, A.r) | LEAST(A.p, A.r) | GREATEST(A.p, 1.5)
LEAST(A.d, A.e) | COALESCE(A.d, DATE '2000-01-01') | COALESCE(A.t, TIME '10:00:00')
CASE WHEN A.k > 0 THEN A.d ELSE A.e END | CASE WHEN A.k > 0 THEN A.d ELSE A.at END
CASE A.p WHEN 1.5 THEN A.r END | NULLIF(A.d, A.e) | NULLIF(A.p, A.r) | CAST(A.i AS VARCHAR)
DATE '2024-01-31' | DATE '2024-02-28' + 2 | TIME '10:11:12.5' | A.d = A.e | A.d < A.at
A.d <= DATE '2024-01-15' | A.d = '2024-01-15' | A.d BETWEEN A.e AND A.at | A.d IS DISTINCT FROM A.e
A.d IN (DATE '2024-01-15', DATE '2024-01-16') | A.p > 1.5 | A.p = A.r | A.p < A.k | A.k <= A.r
A.p IN (1.5, 2, NULL) | A.p BETWEEN 0 AND A.r | A.p <> 1.555 | A.t > TIME '12:00:00' | A.t = '10:11:12'
A.i IS NULL | A.at >= DATE '2024-01-20' | A.p IS NOT DISTINCT FROM A.r | A.p * A.r > 2
A.p + A.r <= 3.25 | ROUND(A.p) | ROUND(A.p, 1) | ROUND(A.r, 2) | ROUND(A.p, 4) | FLOOR(A.p) | CEIL(A.p)
FLOOR(A.r) | CEIL(A.r) | TRUNC(A.r) | SIGN(A.p) | ROUND(A.p * A.r, 3) | ROUND(A.r) + 1 | TRUNC(A.p) = 1
A.w | TRY_CAST(A.w AS DECIMAL(18, 2)) | TRY_CAST(A.w AS DECIMAL(6, 3)) | CAST(A.w AS DOUBLE)
CAST(A.w AS VARCHAR) | TRY_CAST(A.w AS BIGINT) | CAST(A.w AS DOUBLE) > 1 | A.w IS NULL
"""
EXPRESSIONS = [text.strip() for line in VALUES.strip().splitlines() for text in line.split(" | ")]
EXPRESSIONS += [f"A.i = '{ONE}'", f"A.i > '{ONE}'", f"COALESCE(A.i, '{ONE}')", f"A.i IN ('{ONE}', NULL)"]


def table(seed, n=60):
    """Rows with few values of each kind, some of them NULL."""
    pick = random.Random(seed)
    day = datetime.date(2024, 1, 10)
    make = {
        "k": lambda: pick.randint(-3, 4),
        "d": lambda: day + datetime.timedelta(days=pick.choice([-40_000, -1, 0, 5, 6, 9, 50])),
        "e": lambda: day + datetime.timedelta(days=pick.choice([-400, 0, 5, 6])),
        "t": lambda: pick.choice(
            [datetime.time(10, 11, 12), datetime.time(10, 0, 0, 5), datetime.time(23, 59, 59)]
        ),
        "p": lambda: Decimal(pick.choice([-225, -1, 0, 5, 150, 155, 9999999999])) / 100,
        "r": lambda: Decimal(pick.choice([-2250, -1, 1, 1500, 1555, 99999])) / 1000,
        "w": lambda: (
            Decimal(pick.choice([-(10**37) - 5, -1, 0, 150, 12_345, 99_999_500, 10**22 + 1])) / 10**5
        ),
        "f": lambda: pick.choice([0.125, 2.5, -2.5, 1e6, -0.004, 7.0]),
        "s": lambda: pick.choice(TEXTS),
        "at": lambda: datetime.datetime(
            2024, 1, pick.choice([10, 15, 16]), pick.choice([0, 13]), 30, 1, 250_000
        ),
        "i": lambda: pick.choice([uuid.UUID(int=4), uuid.UUID(ONE), uuid.UUID(int=2**128 - 1)]),
    }
    columns = {
        name: [None if pick.random() < 0.15 else one() for _ in range(n)] for name, one in make.items()
    }
    return pa.table(columns, SCHEMA)


@pytest.fixture(scope="module")
def rows():
    return table(7)


@pytest.fixture(scope="module")
def connection(rows):
    with duckdb.connect() as connection:
        connection.register("A", rows)
        yield connection


def plain(value):
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values(text, rows, connection):
    """Every value of the expression, in the query as it is written and as it is printed."""
    query = eddy.sql(f"SELECT {text.replace('TRY_CAST', 'CAST')} AS x FROM A", {"A": SCHEMA})
    again = eddy.sql(str(query), {"A": SCHEMA})
    assert str(again) == str(query)
    result = eddy.Eddy(again).push("A", rows)
    result.to_arrow().validate(full=True)
    found = [plain(value) for value in result.to_pydict()["x"]]
    wanted = connection.sql(f"SELECT {text} AS x FROM A").to_arrow_table()["x"].to_pylist()
    wanted = [
        uuid.UUID(v) if isinstance(v, str) and query.outputs[0][1].kind == "uuid" else plain(v)
        for v in wanted
    ]
    assert found == wanted


CONDITIONS = [
    text for text in EXPRESSIONS if any(f" {op} " in text for op in ("=", "<", ">", "<=", "IN", "BETWEEN"))
]


@pytest.mark.parametrize("text", [text for text in CONDITIONS if not text.startswith(("CASE", "COALESCE"))])
def test_filters_and_pairs(text, rows, connection):
    """The same conditions filter rows at intake, and tell between the rows of two streams."""
    found = eddy.Eddy(eddy.sql(f"SELECT A.k FROM A WHERE {text}", {"A": SCHEMA})).push("A", rows)
    wanted = connection.sql(f"SELECT A.k FROM A WHERE {text}").fetchall()
    assert found.to_pydict()["A.k"] == [k for (k,) in wanted]
    pairs = text.replace("A.e", "B.e").replace("A.r", "B.r").replace("A.at", "B.at").replace("A.k", "B.k")
    if pairs != text:
        query = eddy.sql(f"SELECT A.k AS a, B.k AS b FROM A, A B WHERE {pairs}", {"A": SCHEMA}, cross=True)
        engine = eddy.Eddy(query)
        engine.push("A", rows)
        got = engine.push("B", rows).to_pydict()
        both = connection.sql(f"SELECT A.k AS a, B.k AS b FROM A, A B WHERE {pairs}").fetchall()
        key = lambda pair: tuple((v is None, v or 0) for v in pair)  # noqa: E731
        assert sorted(zip(got["a"], got["b"], strict=True), key=key) == sorted(both, key=key)


AGGREGATES = ["COUNT({})", "MIN({})", "MAX({})", "COUNT(DISTINCT {})"]


@pytest.mark.parametrize("column", ["d", "t", "p", "r", "i"])
def test_groups(column, rows, connection):
    """Groups by such columns, and aggregates of them."""
    some = AGGREGATES if column != "i" else ["COUNT({})", "COUNT(DISTINCT {})"]
    some = [one.format(f"A.{column}") for one in some] + ["SUM(A.p)", "SUM(A.r * 2)"]
    items = ", ".join(f"{one} AS v{n}" for n, one in enumerate(some))
    for group in (column, "k"):
        statement = f"SELECT A.{group} AS g, {items} FROM A GROUP BY A.{group}"
        engine = eddy.Eddy(eddy.sql(statement, {"A": SCHEMA}))
        for start in range(0, rows.num_rows, 7):
            engine.push("A", rows.slice(start, 7))
        table = engine.table().to_arrow()
        table.validate(full=True)
        found = [tuple(row.values()) for row in table.to_pylist()]
        wanted = [tuple(row.values()) for row in connection.sql(statement).to_arrow_table().to_pylist()]
        if column == group == "i":
            wanted = [(v if v is None else uuid.UUID(str(v)), *rest) for v, *rest in wanted]
        assert sorted(map(repr, map(_summed, found))) == sorted(map(repr, map(_summed, wanted)))


def _summed(row):
    return tuple(float(value) if isinstance(value, Decimal) else value for value in row)


def test_the_average_of_decimals_is_that_of_duckdb():
    """With and without groups, NULLs and rows that have left; within a rounding."""
    rows = table(5)
    of_all = duckdb.sql("SELECT k, AVG(p) AS p, AVG(r) AS r FROM rows GROUP BY k ORDER BY k").fetchall()
    query = eddy.sql(
        "SELECT A.k, AVG(A.p) AS p, AVG(A.r) AS r FROM A [ROWS 1000] GROUP BY A.k ORDER BY k",
        tables={"A": rows},
    )
    engine = eddy.Eddy(query)
    engine.push("A", rows.slice(0, 7))
    engine.push("A", rows.slice(7))
    found = [tuple(record.values()) for record in engine.table()]
    assert len(found) == len(of_all) > 3
    for ours, theirs in zip(found, of_all, strict=True):
        assert ours[0] == theirs[0]
        for value, wanted in zip(ours[1:], theirs[1:], strict=True):
            assert value is None if wanted is None else value == pytest.approx(wanted, rel=1e-15)


def test_wide_decimals_by_cast(rows, connection):
    """Decimals of more than 18 digits are grouped, summed, compared and joined as what they are cast to."""
    statement = (
        "SELECT CAST(A.w AS VARCHAR) AS w, COUNT(*) AS n, SUM(TRY_CAST(A.w AS DECIMAL(12, 5))) AS s, "
        "MAX(TRY_CAST(A.w AS DECIMAL(18, 2))) AS m FROM A WHERE A.w IS NOT NULL GROUP BY 1"
    )
    engine = eddy.Eddy(eddy.sql(statement.replace("TRY_CAST", "CAST"), {"A": SCHEMA}))
    engine.push("A", rows)
    found = [tuple(row.values()) for row in engine.table().to_arrow().to_pylist()]
    assert sorted(map(repr, found)) == sorted(map(repr, connection.sql(statement).fetchall()))
    pairs = "SELECT A.k AS a, B.k AS b FROM A JOIN A AS B ON CAST(A.w AS VARCHAR) = CAST(B.w AS VARCHAR) AND A.k < B.k"
    engine = eddy.Eddy(eddy.sql(pairs, {"A": SCHEMA}))
    engine.push("A", rows)
    got = engine.push("B", rows).to_pydict()
    assert sorted(zip(got["a"], got["b"], strict=True)) == sorted(connection.sql(pairs).fetchall())


@pytest.mark.parametrize(
    "text, message",
    [
        ("A.w > 1", r"or write CAST\(A\.w AS DECIMAL\(18, 5\)\)"),
        ("SUM(A.w)", r"CAST it to DECIMAL\(18, 5\)"),
        ("SQRT(A.p)", r"write CAST\(A\.p AS DOUBLE\)"),
        ("ROUND(A.p, -1)", "ROUND of a decimal takes no negative digits"),
    ],
)
def test_what_is_refused_of_decimals(text, message):
    """With the CAST that helps."""
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql(f"SELECT {text} AS x FROM A", {"A": SCHEMA})
