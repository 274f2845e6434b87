"""Random statements give what DuckDB gives, over the same rows; `make fuzz` tries more of them."""

import pytest

from tests.sql.against_duckdb import compare


@pytest.mark.parametrize("part", range(10))
def test_random_statements(part):
    """Twenty statements a part: expressions of every kind in SELECT, ON and WHERE, and NULLs everywhere."""
    for seed in range(20 * part, 20 * part + 20):
        compare(seed)
