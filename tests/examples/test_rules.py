"""The example of ten rules that are read from a file while they run; DuckDB has the same rows of each."""

from __future__ import annotations

import pyarrow as pa

import eddy
from examples import rules
from examples.comparing import counted, query_of


def test_rules_come_and_go_and_each_gives_what_duckdb_gives(tmp_path):
    """For the time for which it was in the file; those of one core have one plan."""
    rules.write(tmp_path, rows=12_000)
    engine = eddy.Eddy({})
    given = rules.run(tmp_path, engine)
    assert [one.name for one in given] == [*rules.rules_of(query_of("rules")), "large"]
    found = [counted(pa.concat_tables(one.found)) for one in given]
    for alerts, own in zip(given, found, strict=True):
        assert own == counted(rules.expected(tmp_path, alerts)), alerts.name
    assert sum(own.total() > 10 for own in found) >= 6
    assert "6 queries, one core" in engine.explain() and "2 queries, one core" in engine.explain()
