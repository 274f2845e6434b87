"""Rows that are no rows: they are left out, counted, and kept with the reason and the place; all others are joined."""

from __future__ import annotations

import datetime
import json

import pyarrow as pa
import pytest

import eddy
from tests.runs import write

QUERY = "SELECT A.ts, A.k FROM A [UNBOUNDED] WHERE A.k >= 0"
SCHEMA = {"ts": "int64", "k": "int64", "s": "string"}
WHOLE = "SELECT A.ts, A.k, A.s FROM A [UNBOUNDED] WHERE A.k >= 0"


def run(source, tmp_path, query=QUERY, **options):
    """The outcome, and the dead letters as dicts."""
    kept = tmp_path / "bad.jsonl"
    outcome = eddy.run(query, {"A": source}, bad=f"keep:{kept}", **options)
    return outcome, [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def text(path, content):
    """A file of these bytes."""
    path.write_bytes(content)
    return eddy.source(path, schema=SCHEMA)


CSV = b"ts,k,s\n1,1,a\n2,x,b\n3,3,c\n\n4,4\n,5,e\n6,6,\xff\n7,7,g\n8,8,h,i\n9,9,j"
JSON = (
    b'{"ts": 1, "k": 1, "s": "a"}\n{"ts": 2, "k": "x"}\n{"ts": 3, "k": 3}\nnothing\n\n{"k": 5}\n'
    b'{"ts": 6, "k": 6, "s": "\xff"}\n[7]\n{"ts": 8, "k": 8} {"ts": 9, "k": 9}\n{"ts": 9, "k": 9, "more": [1]}'
)


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_bad_lines_of_csv(tmp_path, batch):
    """A wrong type, too few and too many fields, a NULL time, bytes that are no UTF-8; an empty line is nothing."""
    outcome, bad = run(text(tmp_path / "a.csv", CSV), tmp_path, WHOLE, batch=batch)
    assert outcome.to_arrow().column("A.ts").to_pylist() == [1, 3, 7, 9]
    assert outcome.bad == {"A": 5}
    assert [one["row"] for one in bad] == [3, 6, 7, 8, 10]
    reasons = [one["reason"] for one in bad]
    assert "column k" in reasons[0] and "int64" in reasons[0] and "'x'" in reasons[0]
    assert reasons[1] == "Expected 3 columns, got 2"
    assert reasons[2] == "column ts: the time is NULL"
    assert "UTF8" in reasons[3]
    assert reasons[4] == "Expected 3 columns, got 4"
    assert bad[0] == {**bad[0], "stream": "A", "file": str(tmp_path / "a.csv"), "content": "2,x,b"}


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_bad_lines_of_json(tmp_path, batch):
    """A wrong type, broken JSON, a missing time, bytes that are no UTF-8, no object, two of them in a line."""
    outcome, bad = run(text(tmp_path / "a.jsonl", JSON), tmp_path, WHOLE, batch=batch)
    assert outcome.to_arrow().column("A.ts").to_pylist() == [1, 3, 9]
    assert [one["row"] for one in bad] == [2, 4, 6, 7, 8, 9]
    reasons = [one["reason"] for one in bad]
    assert reasons[0] == "column k: a string, not a number"
    assert reasons[2] == "column ts: the time is NULL"
    assert reasons[3] == "not UTF-8"
    assert reasons[4] == "no object, but array"


def test_a_quote_that_does_not_end_swallows_one_line_only(tmp_path):
    """Not all those up to the next quote."""
    source = text(tmp_path / "a.csv", b'ts,k,s\n1,1,a\n2,2,"b\n3,3,c\n4,4,d"\n5,5,e\n')
    outcome, bad = run(source, tmp_path, WHOLE)
    assert {1, 3, 5} <= set(outcome.to_arrow().column("A.ts").to_pylist())
    assert {one["row"] for one in bad} <= {3, 5} and outcome.results + len(bad) == 5


def test_one_bad_byte_in_many_lines(tmp_path):
    """All others are read."""
    lines = [f"{i},{i},x\n".encode() for i in range(50_000)]
    lines[31_000] = b"31000,\x00,x\n"
    outcome, bad = run(text(tmp_path / "a.csv", b"ts,k,s\n" + b"".join(lines)), tmp_path)
    assert outcome.results == 49_999
    assert [one["row"] for one in bad] == [31_002]


def test_a_column_that_vanished(tmp_path):
    """A file without it is passed over, with one letter for all its rows."""
    (tmp_path / "a").mkdir()
    table = pa.table({"ts": [1, 2], "k": [1, 2], "s": ["a", "b"]})
    for ending in (".parquet", ".csv", ".arrow"):
        for old in (tmp_path / "a").iterdir():
            old.unlink()
        write(table, tmp_path / "a" / f"1{ending}")
        write(table.drop_columns(["k"]), tmp_path / "a" / f"2{ending}")
        write(table.set_column(0, "ts", pa.array([3, 4])), tmp_path / "a" / f"3{ending}")
        outcome, bad = run(tmp_path / "a", tmp_path)
        assert outcome.to_arrow().to_pydict() == {"A.ts": [1, 2, 3, 4], "A.k": [1, 2, 1, 2]}
        assert outcome.bad == {"A": 2}
        assert [(one["row"], one["reason"]) for one in bad] == [(None, "column k is not in the file")]


def test_a_damaged_file_among_others(tmp_path):
    """One that is cut short, and one that is something else, are passed over."""
    (tmp_path / "a").mkdir()
    table = pa.table({"ts": [1, 2], "k": [1, 2]})
    write(table, tmp_path / "a" / "1.parquet")
    whole = (tmp_path / "a" / "1.parquet").read_bytes()
    (tmp_path / "a" / "2.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "a" / "3.parquet").write_bytes(b"")
    write(table.set_column(0, "ts", pa.array([3, 4])), tmp_path / "a" / "4.parquet")
    outcome, bad = run(tmp_path / "a", tmp_path)
    assert outcome.results == 4
    assert [one["file"][-9:] for one in bad] == ["2.parquet", "3.parquet"]
    assert all("no whole Parquet file" in one["reason"] for one in bad)


def test_other_types_are_converted_exactly_or_not_at_all(tmp_path):
    """As a push would; but a row that does not fit is left out."""
    query = eddy.Query({"A": eddy.Stream({"ts": "int64", "k": "int32"})}, where="A.k >= 0")
    table = pa.table({"ts": [1.0, 2.0, 2.5, None], "k": [1, 2**40, 3, 4]})
    outcome, bad = run(table, tmp_path, query)
    assert outcome.to_arrow().to_pydict() == {"A.ts": [1], "A.k": [1]}
    assert [(one["row"], one["reason"]) for one in bad] == [
        (2, "column k: 1099511627776 does not fit int32"),
        (3, "column ts: 2.5 does not fit int64"),
        (4, "column ts: the time is NULL"),
    ]


def test_a_batch_of_python_values_that_arrow_does_not_take(tmp_path):
    """Row by row, where a whole batch fails."""
    rows = {"ts": [1, 2, 3], "k": [1, "two", 3]}
    source = eddy.source(iter([rows, {"ts": [4], "k": [4]}]), schema={"ts": "int64", "k": "int64"})
    outcome, bad = run(source, tmp_path, lateness=0)
    assert outcome.to_arrow().column("A.ts").to_pylist() == [1, 3, 4]
    assert [one["row"] for one in bad] == [2]


def test_they_are_dropped_and_counted_by_default(tmp_path):
    """The outcome has the first of them in words."""
    outcome = eddy.run(QUERY, {"A": text(tmp_path / "a.csv", CSV)})
    assert outcome.bad == {"A": 4} and len(outcome.letters) == 4
    assert outcome.letters[0].startswith(f"{tmp_path}/a.csv, row 3: column k: ")


def test_they_stop_a_run_that_asks_for_it(tmp_path):
    """With the place of the first."""
    with pytest.raises(eddy.BatchError, match=r"a.csv, row 3: column k.*bad='drop'"):
        eddy.run(QUERY, {"A": text(tmp_path / "a.csv", CSV)}, bad="error")


def test_types_that_can_never_fit_are_refused_at_once():
    """Text where a query has numbers is no matter of single rows."""
    query = eddy.Query({"A": {"ts": "int64", "k": "int64"}}, where="A.k >= 0")
    for table, said in (({"ts": [1], "k": ["x"]}, "is string"), ({"ts": [1]}, "no column k")):
        with pytest.raises(eddy.EddyError, match=said):
            eddy.run(query, {"A": table})


def test_content_is_cut(tmp_path):
    """A line of a megabyte is told of in some hundred characters."""
    source = text(tmp_path / "a.csv", b"ts,k,s\n1,1,a\n" + b"x" * 1_000_000 + b"\n2,2,b\n")
    outcome, bad = run(source, tmp_path)
    assert outcome.results == 2
    assert len(bad[0]["content"]) <= 500


def test_times_that_are_dates_and_instants(tmp_path):
    """Dates of CSV are timestamps, and so are instants with a zone."""
    (tmp_path / "a.csv").write_text("ts,k\n2024-01-01,1\n2024-01-02,2\n")
    (tmp_path / "b.csv").write_text("ts,k\n2024-01-01T00:00:00Z,1\n2024-01-02T00:00:00.5Z,2\n")
    for name, zone in (("a", None), ("b", datetime.timezone.utc)):
        found = eddy.run(QUERY, {"A": tmp_path / f"{name}.csv"}).to_arrow().column("A.ts").to_pylist()
        assert found[0] == datetime.datetime(2024, 1, 1, tzinfo=zone), name
