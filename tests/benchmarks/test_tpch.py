"""The benchmark of TPC-H: an engine that is kept up to date has what DuckDB computes, and its page has its figures."""

import pytest

from benchmarks import table, tpch
from tests.sql.tpch import QUERIES, tables


@pytest.mark.parametrize("number", [1, 5, 14, 4, 16, 21])
def test_both_find_the_same(number, monkeypatch):
    """After each push of lineitems, or of sales where there are none; `measure` compares what both have in the end."""
    monkeypatch.setattr(tpch, "BATCH", 50)
    ours, theirs = tpch.measure(number, tables(2), 3)
    assert len(ours) == len(theirs) == 3


def test_every_query_is_measured():
    """Those that the tests have, and each has a line on the page."""
    assert list(tpch.GROUPS) == [f"query {number}" for number in QUERIES]
    assert tpch.RESULTS in table.PAGES.values()
