"""Files as they are found: what can be read of them is read, and what cannot be is told of, with what to do."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy

QUERY = "SELECT A.ts, A.k FROM A [ROWS 1] WHERE A.k >= 0"
PLAIN = [(1, 2), (3, 4)]


def rows(outcome):
    """The results as tuples."""
    return [tuple(row.values()) for row in outcome.to_arrow().to_pylist()]


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", b"\xef\xbb\xbfts,k\n1,2\n3,4\n"),
        ("a.csv", b"ts,k\r\n1,2\r\n3,4\r\n"),
        ("a.csv", b"\xef\xbb\xbfts,k\r\n1,2\r\n\r\n3,4"),
        ("a.csv", b"ts,k\n\n1,2\n\n\n3,4\n  \n"),
        ("a.csv", b'"ts","k"\n"1","2"\n"3","4"\n'),
        ("a.csv", b",ts,k\n0,1,2\n1,3,4\n"),
        ("a.csv", b"k,ts,\n2,1,\n4,3,\n"),
        ("a.tsv", b"ts\tk\n1\t2\n3\t4\n"),
        ("a.CSV", b"ts,k\n1,2\n3,4\n"),
        ("a.csv.gz", gzip.compress(b"ts,k\n1,2\n3,4\n", mtime=0)),
        ("a.jsonl", b'\xef\xbb\xbf{"ts":1,"k":2}\r\n\r\n{"k":4,"ts":3}'),
        ("a.jsonl", b'{"ts":1,"k":2,"s":"' + b"x" * 1_500_000 + b'"}\n{"ts":3,"k":4}\n'),
    ],
)
def test_files_that_are_read_as_they_are(name, content, tmp_path):
    """Marks at the beginning, ends of lines, empty ones, columns without a name, long lines."""
    (tmp_path / name).write_bytes(content)
    outcome = eddy.run(QUERY, {"A": tmp_path / name})
    assert rows(outcome) == PLAIN and not outcome.bad


@pytest.mark.parametrize(
    "content, said",
    [
        (b"ts,k\r1,2\r3,4\r", r"end with a carriage return alone: tr"),
        ("ts,k\n1,2\n".encode("utf-16"), "is UTF-16: iconv"),
        (b"ts;k\n1;2\n", "'ts;k', are separated by ';'"),
        (b"ts\tk\n1\t2\n", "separated by a tab: give format='tsv'"),
        (gzip.compress(b"ts,k\n1,2\n", mtime=0), "is compressed: end its name with .gz"),
    ],
)
def test_files_that_are_something_else_say_what(content, said, tmp_path):
    """With what makes lines of them."""
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(eddy.EddyError, match=f"a.csv.*{said}"):
        eddy.run(QUERY, {"A": tmp_path / "a.csv"})


def test_a_parquet_file_of_another_name_says_what_it_is(tmp_path):
    """It can be read by its format."""
    pq.write_table(pa.table({"ts": [1, 3], "k": [2, 4]}), tmp_path / "a.csv")
    with pytest.raises(eddy.EddyError, match="a Parquet file: give format='parquet'"):
        eddy.source(tmp_path / "a.csv")
    assert rows(eddy.run(QUERY, {"A": eddy.source(tmp_path / "a.csv", format="parquet")})) == PLAIN


def test_old_ends_of_lines_are_bad_rows_where_a_schema_is_given(tmp_path):
    """The file is one line, and its rows are not lost without a word."""
    (tmp_path / "a.csv").write_bytes(b"ts,k\r1,2\r3,4\r")
    outcome = eddy.run(QUERY, {"A": eddy.source(tmp_path / "a.csv", schema={"ts": "int64", "k": "int64"})})
    assert outcome.results == 0 and outcome.bad == {"A": 3}
    assert "carriage return alone" in outcome.letters[0]


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_quote_that_does_not_end_is_a_bad_row(batch, tmp_path):
    """It was a value with the end of its line; a quote inside a value is one, and so is a doubled one."""
    lines = ['1,2,"a', 'b"', '3,4,5" pipe', '5,6,"x ""q"" y"', '7,8,""""', '9,10,"open']
    (tmp_path / "a.csv").write_text("ts,k,s\n" + "\n".join(lines) + "\n")
    outcome = eddy.run("SELECT A.ts, A.s FROM A [ROWS 1]", {"A": tmp_path / "a.csv"}, batch=batch)
    assert rows(outcome) == [(3, '5" pipe'), (5, 'x "q" y'), (7, '"')]
    assert outcome.bad == {"A": 3}
    assert "row 2: a quote that does not end" in outcome.letters[0]
    assert "row 7: a quote that does not end" in outcome.letters[2]


def test_text_of_another_encoding_says_nothing_of_the_other_columns(tmp_path):
    """A query that does not read it has all rows; one that does has bad ones, for that reason."""
    (tmp_path / "a.csv").write_bytes("ts,k,n\n1,2,é\n3,4,ü\n".encode("latin1"))
    assert rows(eddy.run(QUERY, {"A": tmp_path / "a.csv"})) == PLAIN
    outcome = eddy.run("SELECT A.n FROM A [ROWS 1]", {"A": tmp_path / "a.csv"})
    assert outcome.bad == {"A": 2} and "column n" in outcome.letters[0]


def test_a_time_of_another_case_is_one(tmp_path):
    """Rows are merged by it, as names of columns may be written in any case."""
    (tmp_path / "a.csv").write_text("TS,K\n5,1\n1,1\n")
    (tmp_path / "b.csv").write_text("Ts,K\n3,1\n")
    text = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 10], B [RANGE 10] WHERE A.k = B.k"
    outcome = eddy.run(text, {"A": tmp_path / "a.csv", "B": tmp_path / "b.csv"})
    assert outcome.lateness == {"A": 4, "B": 0} and outcome.results == 2


def test_times_with_and_without_a_zone(tmp_path):
    """A few without one are read as UTC, which is told; of many nobody knows."""
    zoned = [f"2024-01-01 00:00:{second:02}Z,1" for second in range(60)] * 2
    (tmp_path / "a.csv").write_text("\n".join(["ts,k", *zoned, "2024-01-02 00:00:00,1"]) + "\n")
    with pytest.warns(UserWarning, match=r"UTC.*, 1 of 121 values has no zone, and is read as UTC$"):
        outcome = eddy.run(QUERY, {"A": tmp_path / "a.csv"})
    assert outcome.results == 121 and not outcome.bad
    (tmp_path / "a.csv").write_text("ts,k\n2024-01-01 00:00:00Z,1\n2024-01-02 00:00:00,1\n")
    pair = {"A": tmp_path / "a.csv", "B": {"ts": [1], "k": [1]}}
    with pytest.raises(eddy.EddyError, match=r"ts is text.*timestamp\[us, UTC\]"):
        eddy.run("SELECT A.k FROM A [ROWS 1], B [ROWS 1] WHERE A.k = B.k", pair)


def test_half_a_character_is_a_bad_row(tmp_path):
    """JSON can write it, and no text can have it."""
    (tmp_path / "a.jsonl").write_text('{"ts":1,"k":2,"s":"\\ud800"}\n{"ts":3,"k":4,"s":"a"}\n')
    outcome = eddy.run(QUERY, {"A": tmp_path / "a.jsonl"})
    assert rows(outcome) == PLAIN[1:] and outcome.bad == {"A": 1}


@pytest.mark.parametrize("schema", [["ts", "k"], "ts int64"])
def test_a_schema_that_is_none_is_refused(schema, tmp_path):
    """With what it is to be."""
    with pytest.raises(eddy.EddyError, match="schema has columns and their types, as in"):
        eddy.source(tmp_path / "a.csv", schema=schema)


@pytest.mark.parametrize("path", ["nothing/", "empty"])
def test_a_folder_without_files_needs_its_format(path, tmp_path):
    """Since no name says what will be in it."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        eddy.EddyError, match="its name does not say what it is, and there are no files in it that do"
    ):
        eddy.source(f"{tmp_path}/{path}")
