"""The benchmark of Nexmark: its queries find what DuckDB and a plain program find, and its page has its figures."""

import pytest

from benchmarks import nexmark, table
from benchmarks.nexmark_queries import QUERIES

ROWS = nexmark.rows_of(12_000)


@pytest.mark.parametrize("query", QUERIES, ids=[f"query {query.number}" for query in QUERIES])
def test_all_find_the_same(query):
    """Eddy, DuckDB and Python agree on some thousand events, and find something; each has a speed."""
    rates = nexmark.measure(query, ROWS, 12_000, 1)
    assert list(rates) == ["Eddy", "DuckDB", "Python"] and min(rates.values()) > 0


def test_every_query_is_there():
    """The queries are 1 to 9, 20 and 22; what one leaves out is told."""
    assert [query.number for query in QUERIES] == [*range(1, 10), 20, 22]
    assert [query.number for query in QUERIES if query.short] == [4, 5, 6, 7, 9]


def test_its_page_has_its_figures():
    """`benchmarks.table` writes them there."""
    assert nexmark.RESULTS in table.PAGES.values() and nexmark.RESULTS.exists()
