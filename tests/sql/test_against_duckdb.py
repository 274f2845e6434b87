"""Random statements give what DuckDB gives, over the same rows; `make fuzz` tries more of them."""

import re

import pytest

from tests.sql.against_duckdb import compare, made


@pytest.mark.parametrize("part", range(10))
def test_random_statements(part):
    """Twenty statements a part: expressions of every kind in SELECT, ON and WHERE, and NULLs everywhere."""
    for seed in range(20 * part, 20 * part + 20):
        compare(seed)


def test_every_kind_is_tried():
    """Among the first 200 statements are all kinds of FROM, and what stands behind it."""
    texts = [made(seed)[0].text for seed in range(200)]
    for word in [
        "JOIN (",
        ") JOIN",
        "USING",
        "NATURAL",
        "CROSS",
        "WITH",
        "(SELECT",
        "EXCEPT",
        "DISTINCT",
        "FILTER",
        "ASOF JOIN",
        "ASOF LEFT JOIN",
        "FULL JOIN",
        "RIGHT JOIN",
        "NATURAL LEFT",
        "SEMI JOIN",
        "ANTI JOIN",
        " EXISTS (",
        "NOT EXISTS (",
        " IN (SELECT",
        "NOT IN (SELECT",
    ]:
        assert any(word in text for text in texts), word
    for shape in [
        r"FROM [^,]* JOIN [^,]* (RIGHT|FULL) JOIN",
        r"(LEFT|RIGHT|FULL) JOIN .* (SEMI|ANTI) JOIN|(SEMI|ANTI) JOIN .* (LEFT|RIGHT|FULL) JOIN",
        r"(RIGHT|FULL) JOIN .* (LEFT|RIGHT|FULL) JOIN",
        r"(LEFT|RIGHT|FULL) JOIN \(\w",
        r"\) AS \w (RIGHT|FULL) JOIN",
        r"JOIN .*JOIN .*JOIN",
        r"ON [^,]*(TRUE|FALSE|1 = 1|1 > 2)",
        r"ON [^,]*IS DISTINCT FROM",
        r"(RIGHT|FULL) JOIN [^,]* EXCEPT|EXCEPT [^,]* JOIN",
        r"\.m (=|<=) \w\.m",
        r"\.day (=|>=) \w\.day",
    ]:
        assert any(re.search(shape, text) for text in texts), shape
    for word in ["HAVING", " OR ", "IS NOT DISTINCT FROM", "IS DISTINCT FROM", "CASE", "GROUP BY"]:
        assert any(word in text for text in texts), word
