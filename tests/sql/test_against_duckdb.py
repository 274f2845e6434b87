"""Random statements give what DuckDB gives, over the same rows; `make fuzz` tries more of them."""

import pytest

from tests.sql import sources
from tests.sql.against_duckdb import compare, expected, made
from tests.sql.generator import Generator


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
    ]:
        assert any(word in text for text in texts), word
    for word in ["HAVING", " OR ", "IS NOT DISTINCT FROM", "IS DISTINCT FROM", "CASE", "GROUP BY"]:
        assert any(word in text for text in texts), word
    assert not set(sources.ENABLED) & set(sources.LATER)


@pytest.mark.parametrize("kind", sources.LATER)
def test_later_kinds_are_sql(kind, monkeypatch):
    """DuckDB reads the statements of the kinds that are not enabled yet."""
    monkeypatch.setattr(sources, "ENABLED", (kind,))
    for seed in range(10):
        generator = Generator(seed)
        statement = generator.statement()
        tables = {name: generator.table() for name in statement.fed}
        assert sum(expected(statement.duckdb, tables).values()) >= 0
        word = {"asof": "ASOF JOIN", "in": " IN (SELECT"}.get(kind, kind.upper())
        assert word in statement.text
