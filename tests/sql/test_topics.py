"""Every statement of the topics gives what stands behind it, and DuckDB agrees where it speaks the statement."""

import pytest

import eddy
from benchmarks.stamp import ROOT
from tests.sql.topic import SCHEMAS, alike, duckdb_finds, read, refused, run, shown, topics

ENTRIES = [entry for path in topics() for entry in read(path)]
REFUSED = [entry for entry in ENTRIES if entry.kind == "error"]
GIVEN = [entry for entry in ENTRIES if entry.kind != "error"]


@pytest.mark.parametrize("entry", GIVEN, ids=[entry.id for entry in GIVEN])
def test_gives(entry):
    """These columns and rows, however they come; what the query prints is the same query."""
    query = eddy.sql(entry.statement, SCHEMAS)
    columns = {name: stream.columns for name, stream in query.streams.items()}
    assert str(eddy.sql(str(query), columns)) == str(query)
    names, rows = run(entry.statement)
    assert shown(names, rows) == entry.gives
    if not entry.kind:
        assert alike(rows) == alike(duckdb_finds(entry.statement))
        assert alike(run(entry.statement, by_table=True)[1]) == alike(rows)


@pytest.mark.parametrize("entry", REFUSED, ids=[entry.id for entry in REFUSED])
def test_refused(entry):
    """The whole text of the error: what is wrong, what comes nearest, and the place."""
    assert refused(entry.statement) == entry.gives


def test_the_table():
    """There are at least 400 statements, as many as docs/sql.md says, none twice, and no topic is longer than a screen
    or ten."""
    assert len(ENTRIES) >= 400
    assert len({entry.statement for entry in ENTRIES}) == len(ENTRIES)
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    assert f"over {len(ENTRIES) // 100 * 100:,} statements" in page
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 300 for path in topics())
