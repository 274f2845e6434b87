"""A schema that names some columns of a file: the others are there too, and a name that is wrong is told of."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shlex
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

import eddy
from eddy.cli import main

ROWS = {"k": [1, 2, 3], "ts": [10, 20, 30], "page": ["a", "b", "c"]}
PLACES = ("A.csv", "A.tsv", "A.jsonl", "A.csv.gz", "A.parquet")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The same rows in several formats."""
    monkeypatch.chdir(tmp_path)
    for place in PLACES:
        if place.endswith(".parquet"):
            pyarrow.parquet.write_table(pa.table(ROWS), place)
        else:
            plain = place.removesuffix(".gz")
            eddy.run("SELECT k, ts, page FROM A [ROWS 1]", {"A": ROWS}, plain)
            if plain != place:
                (tmp_path / place).write_bytes(gzip.compress((tmp_path / plain).read_bytes()))
    return tmp_path


SCHEMAS = ({"ts": "float64"}, pa.schema({"ts": pa.float64()}))


@pytest.mark.parametrize("schema", SCHEMAS, ids=["dict", "arrow"])
@pytest.mark.parametrize("place", [place for place in PLACES if place != "A.parquet"])
def test_a_star_has_the_columns_that_no_schema_names(place, schema):
    """In the order of the file, with the type that the schema gives."""
    source = eddy.source(place, schema=schema)
    with pytest.warns(UserWarning, match="no time") if schema is SCHEMAS[1] else contextlib.nullcontext():
        found = eddy.run("SELECT * FROM A [ROWS 1]", {"A": source}).to_arrow()
    assert found.column_names == ["A.k", "A.ts", "A.page"]
    assert found.to_pydict() == {"A.k": ROWS["k"], "A.ts": [10.0, 20.0, 30.0], "A.page": ROWS["page"]}
    assert found.schema.field("A.ts").type == pa.float64()


def test_a_star_has_all_columns_of_a_table_too():
    """A schema of a Parquet file drops none of them."""
    found = eddy.run("SELECT * FROM A [ROWS 1]", {"A": eddy.source("A.parquet", schema={"ts": "int64"})})
    assert found.to_arrow().column_names == ["A.k", "A.ts", "A.page"]


@pytest.mark.parametrize("place", PLACES)
def test_replay_has_the_columns_that_no_schema_names(place, capfd):
    """What is recorded is fed as it is."""
    argv = ["replay", f"A={place}", "--to", "-", "--format", "jsonl", "--speed", "max", "--quiet"]
    assert main([*argv, "--schema", 'A={"ts": "int64"}']) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert rows == [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_input_has_them_too(form, monkeypatch, capfd, folder):
    """Its first lines are not lost."""
    content = (folder / f"A.{form}").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    argv = ["run", "SELECT * FROM A [ROWS 1]", "A=-", "--read", f"A={form}", "--quiet"]
    assert main([*argv, "--schema", 'A={"ts": "int64"}']) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["A.page"] for row in rows] == ["a", "b", "c"] and [row["A.k"] for row in rows] == [1, 2, 3]


def test_the_shell_has_and_describes_them(capfd):
    """CREATE STREAM with some of the columns."""
    create = "CREATE STREAM A (ts BIGINT) FROM 'A.csv'; "
    assert main(["sql", "--quiet", "-c", create + "SELECT * FROM A [ROWS 1]"]) == 0
    assert capfd.readouterr().out.splitlines()[:2] == ['"A.k","A.ts","A.page"', '1,10,"a"']
    assert main(["sql", "--quiet", "-c", create + "DESCRIBE A; SHOW STREAMS"]) == 0
    told = capfd.readouterr().out
    assert all(one in told for one in ('"k","int64"', '"ts","int64","time"', '"page","string"', '"A.csv",3'))


def test_a_name_is_ambiguous_where_the_other_stream_has_it_too():
    """A column that no schema names does not stand behind one of another stream."""
    sources = {"A": eddy.source("A.csv", schema={"ts": "int64"}), "B": "A.csv"}
    with pytest.raises(eddy.EddyError, match="column page is ambiguous"):
        eddy.run("SELECT page FROM A [ROWS 1], B [ROWS 1] WHERE A.ts = B.ts", sources)


def test_the_time_is_the_timestamp_that_the_schema_names(folder):
    """Where there are several, and nobody says more."""
    (folder / "T.csv").write_text("seen,paid,k\n2026-01-01 10:00:00,2026-01-01 11:00:00,1\n")
    source = eddy.source("T.csv", schema={"paid": "timestamp"})
    assert eddy.run("SELECT * FROM T [RANGE '1 s']", {"T": source}).to_arrow().num_rows == 1
    with pytest.raises(eddy.EddyError):
        eddy.run("SELECT * FROM T [RANGE '1 s']", {"T": "T.csv"})


@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_the_file_lacks_is_refused(place, capfd):
    """By whoever looks at the file."""
    text, schema = "SELECT k FROM A [ROWS 1]", {"pge": "string"}
    with pytest.raises(eddy.EddyError, match=rf"^schema: {place} has no column pge: did you mean page[?]"):
        eddy.run(text, {"A": eddy.source(place, schema=schema)})
    given = [f"A={place}", "--schema", f"A={json.dumps(schema)}"]
    for argv in (["run", text], ["check", text], ["replay", "--to", "-"]):
        assert main([*argv, *given]) == 2
        assert f"--schema: {place} has no column pge: did you mean page?" in capfd.readouterr().err
    assert main(["sql", "-c", f"CREATE STREAM A (pge TEXT) FROM '{place}'"]) == 2
    assert f"{place} has no column pge: did you mean page?" in capfd.readouterr().err


def test_a_key_that_no_row_has_is_warned_of():
    """Rows of JSON lines may lack it, so it is NULL in all."""
    source = eddy.source("A.jsonl", schema={"coupon": "string"})
    with pytest.warns(UserWarning, match="schema: A.jsonl has no column coupon: There are k, ts, page"):
        found = eddy.run("SELECT coupon FROM A [ROWS 1]", {"A": source}).to_arrow()
    assert found.column(0).to_pylist() == [None, None, None]


def test_a_key_that_the_beginning_lacks_may_come_later(folder):
    """Of a long file of JSON lines the first MB is looked at: a name is told of, and not refused."""
    with open("long.jsonl", "w") as file:
        file.writelines(json.dumps({"ts": i, "note": "x" * 100}) + "\n" for i in range(12_000))
        file.write('{"ts": 12000, "tss": 5}\n')
    source = eddy.source("long.jsonl", schema={"tss": "int64"})
    with pytest.warns(UserWarning, match="has no column tss as far as it was looked at: did you mean ts[?]"):
        found = eddy.run("SELECT tss FROM A [ROWS 1] WHERE ts > 11998", {"A": source}).to_arrow()
    assert found.column(0).to_pylist() == [None, 5]


@pytest.mark.parametrize("schema", [[], ["--schema", 'A={"ts": "int64"}']])
def test_a_file_of_a_wrong_name_is_not_taken_for_one_that_lacks_a_column(schema, capfd):
    """What there is with nearly this name is told."""
    for argv in (["run", "SELECT k FROM A [ROWS 1]"], ["replay", "--to", "-"]):
        assert main([*argv, "A=A.jsn", "--read", "A=jsonl", *schema]) == 2
        assert "there is no file A.jsn: did you mean A.jsonl?" in capfd.readouterr().err
    assert main(["run", "SELECT k FROM A [ROWS 1]", "A=elsewhere/of.csv", *schema]) == 2
    assert "there is no file elsewhere/of.csv: give its schema, and follow" in capfd.readouterr().err


def test_of_what_is_not_there_yet_the_schema_is_all_that_is_known(capfd):
    """With --follow."""
    argv = ["run", "SELECT k FROM A [ROWS 1]", "A=later.jsonl", "--follow"]
    assert main([*argv, "--schema", 'A={"ts": "int64"}']) == 2
    told = capfd.readouterr().err
    assert "no stream has a column k" in told
    assert "later.jsonl is not there yet, and its schema names no such column\nline 1" in told


def test_a_pattern_without_files_gives_nothing():
    """There may be no rows today."""
    source = eddy.source("none/*.csv", schema={"ts": "int64", "k": "int64"})
    assert eddy.run("SELECT k FROM A [ROWS 1]", {"A": source}).results == 0


def test_times_with_and_without_a_zone_say_how_to_make_them_alike(folder, capfd):
    """In words of Python, of the command line and of the shell; and what is told works."""
    (folder / "Z.csv").write_text("ts,k\n2026-01-01 10:00:00Z,1\n")
    (folder / "N.csv").write_text("ts,k\n2026-01-01 10:00:01,1\n")
    text = "SELECT x.k AS k FROM Z [ROWS 1], N x [ROWS 1] WHERE Z.k = x.k AND Z.ts < x.ts"
    with pytest.raises(eddy.EddyError, match=r'such as schema=[{]"ts": "timestamp\[us, UTC\]"[}] of N\n'):
        eddy.run(text, {"Z": "Z.csv", "N": "N.csv"})
    argv = ["run", text, "Z=Z.csv", "N=N.csv"]
    given = """--schema N='{"ts": "timestamp[us, UTC]"}'"""
    assert main(argv) == 2
    assert f"both without, such as {given}\n" in capfd.readouterr().err
    assert main([*argv, "--quiet", *shlex.split(given)]) == 0
    assert capfd.readouterr().out == '{"k": 1}\n'
    create = "CREATE STREAM Z FROM 'Z.csv'; CREATE STREAM N {}FROM 'N.csv'; "
    assert main(["sql", "--quiet", "-c", create.format("") + text]) == 2
    assert "such as CREATE STREAM N (ts TIMESTAMPTZ) FROM 'place'" in capfd.readouterr().err
    assert main(["sql", "--quiet", "-c", create.format("(ts TIMESTAMPTZ) ") + text]) == 0
    assert capfd.readouterr().out.splitlines() == ['"k"', "1"]


def test_a_source_by_the_name_of_an_alias_is_told_of(capfd):
    """A source is called what its stream is called."""
    text = "SELECT i.k FROM impressions i [ROWS 1]"
    assert main(["run", text, "i=A.csv"]) == 2
    told = capfd.readouterr().err
    assert "no source for impressions, which i reads: give impressions=PATH, not i=PATH" in told
    assert main(["run", text, "other=A.csv"]) == 2
    assert "no source for impressions: add impressions=PATH\n" in capfd.readouterr().err
    assert main(["run", text, "impression=A.csv"]) == 2
    assert "did you mean impression?" in capfd.readouterr().err
