"""Sources: whatever position a piece has, reading goes on there with the same rows."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
import pytest

import eddy
from eddy.sources.stdin import StandardInput
from tests.runs import feed, write


def rows_of(pieces):
    """The ids of all rows."""
    return [i for piece in pieces if piece.rows is not None for i in piece.rows.column("id").to_pylist()]


@pytest.fixture
def table():
    return feed(0)["A"]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_reading_goes_on_at_any_position(ending, table, tmp_path):
    """In several files; positions survive JSON."""
    for number in range(3):
        write(table.slice(40 * number, 40), tmp_path / f"{number}{ending}")
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    for source in (eddy.source(tmp_path), eddy.source(f"{tmp_path}/*{ending}")):
        source = source.narrowed({name: types[name] for name in ("ts", "id")}, 7)
        pieces = list(source.read(None))
        assert rows_of(pieces) == list(range(120))
        done = 0
        for piece in pieces:
            done += piece.rows.num_rows
            again = json.loads(json.dumps(piece.position))
            assert rows_of(source.read(again)) == list(range(done, 120))
    assert len(pieces) > 5


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.csv.zst"])
def test_compressed_lines(name, table, tmp_path):
    """They cannot seek, and go on all the same."""
    plain = write(table, tmp_path / name.rpartition(".")[0])
    content = open(plain, "rb").read()
    packed = (
        gzip.compress(content) if name.endswith("gz") else bytes(pa.compress(content, "zstd", asbytes=True))
    )
    if name.endswith("zst"):
        with pa.CompressedOutputStream(str(tmp_path / name), "zstd") as out:
            out.write(content)
    else:
        (tmp_path / name).write_bytes(packed)
    source = eddy.source(tmp_path / name)
    source = source.narrowed(dict(zip(table.schema.names, table.schema.types, strict=True)))
    (piece,) = source.read(None)
    assert rows_of([piece]) == list(range(120))
    assert rows_of(source.read(piece.position)) == []


def test_files_that_grow(tmp_path):
    """A line counts when it has an end; later files follow; nothing is read twice."""
    (tmp_path / "a").mkdir()
    first = tmp_path / "a" / "1.csv"
    first.write_text("ts,id\n1,1\n2,")
    source = eddy.source(tmp_path / "a", follow=True)
    assert not source.bounded
    pieces = source.read(None)
    assert rows_of([next(pieces)]) == [1]
    assert next(pieces).rows is None
    with open(first, "a") as file:
        file.write("2\n3,3\n4")
    piece = next(pieces)
    assert rows_of([piece]) == [2, 3]
    with open(first, "a") as file:
        file.write(",4\n")
    (tmp_path / "a" / "2.csv").write_text("ts,id\n5,5\n")
    seen = []
    while len(seen) < 2:
        seen += rows_of([next(pieces)])
    assert seen == [4, 5]
    again = source.read(piece.position)
    assert rows_of([next(again), next(again)]) == [4, 5]


def test_a_file_that_is_shorter_than_it_was(tmp_path):
    """Or gone: reading cannot go on there."""
    path = tmp_path / "a.csv"
    path.write_text("ts,id\n1,1\n2,2\n")
    source = eddy.source(path)
    (piece,) = source.read(None)
    path.write_text("ts,id\n")
    with pytest.raises(eddy.EddyError, match="shorter than it was"):
        list(source.read(piece.position))
    path.unlink()
    with pytest.raises(eddy.EddyError, match="is gone"):
        list(source.read(piece.position))


def test_files_of_another_place(table):
    """What fsspec reaches: here its memory."""
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://feed/a.csv", "wb") as file:
        pa.csv.write_csv(table, file)
    with fsspec.open("memory://feed/b.parquet", "wb") as file:
        pa.parquet.write_table(table, file)
    for address in ("memory://feed/a.csv", "memory://feed/*.parquet", "memory://feed/b.parquet"):
        assert rows_of(eddy.source(address).read(None)) == list(range(120))
    with pytest.raises(eddy.EddyError, match="pip install s3fs"):
        eddy.source("s3://bucket/a.csv")
    with pytest.raises(eddy.EddyError, match="fsspec knows"):
        eddy.source("nonsense://bucket/a.csv")


@pytest.mark.parametrize("what", ["exists", "isdir", "open", "glob"])
def test_a_place_that_fails_in_its_own_way(what, table, monkeypatch):
    """Each file system has errors of its own: they are told in a line that names the file."""
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://failing/a.csv", "wb") as file:
        pa.csv.write_csv(table, file)

    def fail(*_, **__):
        raise LookupError("no credentials")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem." + what, fail)
    with pytest.raises(eddy.EddyError, match=r"^cannot read .*failing/.*: no credentials$"):
        rows_of(
            eddy.source("memory://failing/*.csv" if what == "glob" else "memory://failing/a.csv").read(None)
        )


def test_without_fsspec_it_is_named(monkeypatch):
    """With the command that installs it."""
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(eddy.EddyError, match=r"pip install 'eddy-stairs\[remote\]'"):
        eddy.source("memory://feed/a.csv")


def test_standard_input(table, tmp_path):
    """Lines as they come; there is no way back."""
    for name, format in (("a.csv", "csv"), ("a.jsonl", "jsonl")):
        with open(write(table, tmp_path / name), "rb") as file:
            source = StandardInput(format, None, None, io.BytesIO(file.read()))
        assert not source.seekable
        source = source.narrowed(dict(zip(table.schema.names, table.schema.types, strict=True)), 7)
        assert rows_of(source.read(None)) == list(range(120))
        with pytest.raises(eddy.EddyError, match="read once"):
            list(source.read(None))


def test_the_disorder_of_files_is_measured(tmp_path):
    """The furthest that a time goes back below one before it, over all files."""
    kind = pa.int64()
    for number, times in enumerate([[1, 5, 3], [4, 9, 2]]):
        write(pa.table({"ts": times}), tmp_path / f"{number}.parquet")
        write(pa.table({"ts": times}), tmp_path / f"{number}.csv")
    for ending in ("parquet", "csv"):
        source = eddy.source(f"{tmp_path}/*.{ending}").narrowed({"ts": kind})
        assert source.disorder("ts", kind) == 7
    assert eddy.source(tmp_path / "0.csv", follow=True).disorder("ts", kind) is None


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("a.parquet", b"", "no whole Parquet file"),
        ("a.parquet", b"PAR1 and then something else", "no whole Parquet file"),
        ("a.arrow", b"x" * 20, "no whole Arrow file"),
        ("a.csv", b"", "is empty"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"hello\n", "one object in a line"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name, content, said, tmp_path):
    """With its name, and what is wrong with it."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(eddy.EddyError, match=said) as refused:
        eddy.source(tmp_path / name)
    assert name in str(refused.value) and "\n" not in str(refused.value)


def test_a_folder_without_data():
    """There is nothing that would say what it has."""
    with pytest.raises(eddy.EddyError, match="its name does not say"):
        eddy.source("/proc/self/fdinfo")
    with pytest.raises(eddy.EddyError, match="no format 'xml'"):
        eddy.source("a.csv", format="xml")
