"""Files that are damaged: what can be read is joined, and the rest is one dead letter."""

from __future__ import annotations

import gzip
import json
import random

import pyarrow as pa
import pytest

import eddy
from eddy.cli import main
from tests.runs import write

QUERY = "SELECT A.ts AS ts, A.k AS k FROM A [ROWS 1] WHERE A.k >= 0"
SCHEMA = {"ts": "int64", "k": "int64"}
ROWS = 30_000


def lines(rows=ROWS):
    """A file with a header; its numbers do not repeat."""
    pick = random.Random(1)
    return "".join(["ts,k\n", *(f"{ts},{pick.randrange(10**9)}\n" for ts in range(rows))]).encode()


def packed(content, kind):
    """The bytes of a compressed file."""
    if kind == "gz":
        return gzip.compress(content)
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["inferred", "given"])
@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("options", [{}, {"lateness": 0}], ids=["looked through", "not"])
def test_a_compressed_file_that_is_cut(options, kind, schema, tmp_path):
    """All whole rows before the cut are given, and the cut one is not."""
    content = lines()
    whole, kept = packed(content, kind), tmp_path / "bad.jsonl"
    path = tmp_path / f"a.csv.{kind}"
    path.write_bytes(whole[: len(whole) * 3 // 4])
    (tmp_path / "b.csv").write_text(f"ts,k\n{ROWS},5\n")
    source = eddy.source(path, schema=schema)
    outcome = eddy.run(QUERY, {"A": source}, bad=f"keep:{kept}", **options)
    found = outcome.to_arrow().column("k").to_pylist()
    wanted = [int(line.split(b",")[1]) for line in content.splitlines()[1:]]
    assert found == wanted[: len(found)] and (kind == "zst" or len(found) > ROWS // 2)
    (bad,) = [json.loads(line) for line in kept.read_text().splitlines()]
    assert bad["file"] == str(path) and bad["row"] == len(found) + 2
    assert bad["reason"].startswith(f"the file is damaged from line {len(found) + 2} on: ")


def test_other_files_are_read_on(tmp_path):
    """Those behind the one that is damaged, and also after a restart there."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv.gz").write_bytes(packed(lines(2_000), "gz")[:-2000])
    (tmp_path / "in" / "2.csv").write_text("ts,k\n5000,1\n5001,2\n")
    source = eddy.source(tmp_path / "in" / "*.csv*", schema=SCHEMA, format="csv")
    pieces = list(source.read(None))
    assert pieces[-1].rows.column("ts").to_pylist() == [5000, 5001]
    (damaged,) = [number for number, piece in enumerate(pieces) if piece.bad]
    for number, piece in enumerate(pieces[:-1]):
        rest = list(source.read(json.loads(json.dumps(piece.position))))
        assert rest[-1].rows.column("ts").to_pylist() == [5000, 5001]
        assert sum(len(one.bad) for one in rest) == (number < damaged)


def test_what_has_nothing_in_it_is_refused(tmp_path, capsys, monkeypatch):
    """In a line, by every command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv.gz").write_bytes(packed(lines(100), "gz")[:12])
    for command in (["run", QUERY], ["check", QUERY]):
        assert main([*command, "A=a.csv.gz"]) == 2
        told = capsys.readouterr().err
        assert told.startswith("eddy: a.csv.gz is damaged: ") and told.count("\n") == 1


def test_a_file_that_is_still_being_compressed(tmp_path):
    """What there is of it is read, and the rest when it is there."""
    whole = packed(lines(5_000), "gz")
    path = tmp_path / "a.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    pieces = eddy.source(path, schema=SCHEMA, follow=True).read(None)
    seen, quiet = [], 0
    while quiet < 2:
        piece = next(pieces)
        assert not piece.bad
        seen += [] if piece.rows is None else piece.rows.column("ts").to_pylist()
        quiet += piece.rows is None
    assert 100 < len(seen) < 5_000
    path.write_bytes(whole)
    while len(seen) < 5_000:
        piece = next(pieces)
        seen += [] if piece.rows is None else piece.rows.column("ts").to_pylist()
    assert seen == list(range(5_000))


@pytest.mark.parametrize("line", [b"\xff,1,2\n", b"\xff\n", b"\xff,1\n", b"5,\xff\n"])
def test_lines_that_are_no_text_say_nothing_of_types(line, tmp_path, capfd):
    """Where types are inferred: they are bad rows, whatever else is wrong with them."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"ts,k\n1,1\n" + line + b"9,2\n")
    outcome = eddy.run(QUERY, {"A": path})
    assert outcome.to_arrow().to_pylist() == [{"ts": 1, "k": 1}, {"ts": 9, "k": 2}]
    assert outcome.bad == {"A": 1} and capfd.readouterr().err == ""


def test_a_file_of_another_encoding(tmp_path, capfd):
    """Its header and its types are as far as they can be read; rows that are no UTF-8 are bad."""
    path = tmp_path / "a.csv"
    path.write_bytes("ts,k,größe\n1,1,süß\n2,2,a\n".encode("latin-1"))
    outcome = eddy.run(QUERY, {"A": path})
    assert outcome.to_arrow().column("ts").to_pylist() == [1, 2] and capfd.readouterr().err == ""


def test_bytes_that_are_no_file_of_lines(tmp_path, capfd):
    """One line, and nothing else."""
    path = tmp_path / "a.csv"
    path.write_bytes(random.Random(2).randbytes(5_000))
    with pytest.raises(eddy.EddyError) as error:
        eddy.run(QUERY, {"A": path})
    assert capfd.readouterr().err == "" and str(error.value)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_the_first_file_that_has_columns_says_them(ending, tmp_path):
    """Those before it are empty, or no such file: they stop no run of a folder."""
    (tmp_path / "in").mkdir()
    for name, content in (("0", b""), ("1", b"\x1f\x8b" if ending == "csv.gz" else b"")):
        (tmp_path / "in" / f"{name}.{ending}").write_bytes(content)
    table, path = pa.table({"ts": [1, 2], "k": [3, 4]}), tmp_path / "in" / f"2.{ending}"
    if ending == "csv.gz":
        path.write_bytes(gzip.compress(b"ts,k\n1,3\n2,4\n"))
    else:
        write(table, path)
    outcome = eddy.run(QUERY, {"A": f"{tmp_path}/in/"})
    assert outcome.to_arrow().to_pylist() == table.to_pylist()
    path.unlink()
    with pytest.raises(eddy.EddyError, match=r"0\.\w+(\.gz)? is (empty|no whole)"):
        eddy.run(QUERY, {"A": f"{tmp_path}/in/"})
