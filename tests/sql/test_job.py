"""Queries of the shape of the Join Order Benchmark give what DuckDB gives, while rows come."""

import pytest

from tests.sql.job import check, statements
from tests.sql.job_tables import tables

STATEMENTS = list(statements())
MADE = tables()
EMPTY = 8
"""So few of them may find nothing."""


def test_all_are_there():
    """113 statements over 33 graphs, the largest of 17 streams, none twice."""
    assert len(STATEMENTS) == 113 == len({text for _, text in STATEMENTS})
    assert len({name.rstrip("abcdef") for name, _ in STATEMENTS}) == 33
    assert max(text.count(" AS ") - text.count(" AS ", 0, text.index("\n")) for _, text in STATEMENTS) == 17


@pytest.mark.parametrize("part", range(8))
def test_equals_duckdb(part):
    """Every eighth statement: the same answer after half of the rows, and after all; nearly all find something."""
    full = sum(check(text, MADE) for _, text in STATEMENTS[part::8])
    assert full >= len(STATEMENTS[part::8]) - EMPTY // 2
