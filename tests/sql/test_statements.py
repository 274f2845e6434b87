"""Every line of the table, in SELECT and in WHERE, from SQL and from Python."""

import math

import pyarrow as pa
import pytest

import eddy
from tests.sql.statements import EXPRESSIONS, REFUSED, ROWS

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("at", pa.timestamp("us")),
    ]
)
TABLE = pa.table(ROWS, SCHEMA)
STREAMS = {"A": SCHEMA, "B": {"one": "int64"}}


def run(query):
    """What the query finds for the rows of the table, each beside one other row."""
    engine = eddy.Eddy(query)
    engine.push("B", {"one": [1]})
    return engine.push("A", TABLE)


def same(found, expected):
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-12)
    return found == expected and type(found) is type(expected)


@pytest.mark.parametrize("text, expected", EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_select(text, expected):
    """An expression gives these values, for SQL and Python, and what the query prints gives them again."""
    statement = eddy.sql(f"SELECT {text} AS x, A.i FROM A, B", STREAMS, cross=True)
    built = eddy.Query(STREAMS, select=[f"{text} AS x", "A.i"], cross=True)
    again = eddy.sql(str(statement), STREAMS)
    assert str(again) == str(statement) == str(built)
    for query in (statement, built):
        found = run(query).to_pydict()["x"]
        assert len(found) == 3 and all(map(same, found, expected)), found


@pytest.mark.parametrize("text, expected", EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_where(text, expected):
    """The same expression filters rows at intake, and tests candidates between streams."""
    for value in (*(expected[i] for i in (0, 1)), None):
        kept = [i for i, other in zip(ROWS["i"], expected, strict=True) if same(other, value)]
        constant = "CAST('x' AS BIGINT)" if value is None else _literal(value)
        if constant is None or (isinstance(value, float) and value != round(value, 3)):
            continue
        is_it = f"({text}) IS NOT DISTINCT FROM {constant}" if value is not None else f"({text}) IS NULL"
        for condition in (is_it, f"({is_it}) AND COALESCE(A.i, 0) + B.one < 100"):
            query = eddy.sql(f"SELECT A.i FROM A, B WHERE {condition}", STREAMS, cross=True)
            assert run(query).to_pydict()["A.i"] == kept, condition


def _literal(value):
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"TIMESTAMP '{value}'" if hasattr(value, "year") else None


@pytest.mark.parametrize("text, message", REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text, message):
    """What means nothing is refused when the query is made, with what to write instead."""
    with pytest.raises(eddy.QueryError, match=message):
        eddy.sql(f"SELECT {text} AS x FROM A, B", STREAMS, cross=True)
