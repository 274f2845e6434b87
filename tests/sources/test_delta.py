"""Delta tables as sources: one version, in whatever pieces it is read."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import eddy

COLUMNS = {"ts": pa.int64(), "id": pa.int64()}


@pytest.fixture
def table(tmp_path):
    """A table in three parts, the oldest of which was written last."""
    where = f"{tmp_path}/t"
    for part in (2, 1, 0):
        times = list(range(40 * part, 40 * part + 40))
        rows = pa.table({"ts": times, "part": [part] * 40, "id": times, "note": [f"row {t}" for t in times]})
        write_deltalake(where, rows, mode="append", partition_by=["part"])
    return where


def ids(pieces):
    """The ids of all rows."""
    return [i for piece in pieces for i in piece.rows.column("id").to_pylist()]


def test_reading_goes_on_at_any_position(table):
    """Files with older times come first; positions survive JSON, and commits that come later."""
    source = eddy.source(f"delta://{table}").narrowed(COLUMNS, 7)
    pieces = list(source.read(None))
    assert ids(pieces) == list(range(120)) and source.size() == 120
    assert source.disorder("ts", pa.int64()) == 0
    write_deltalake(table, pa.table({"ts": [-1], "part": [9], "id": [-1], "note": ["new"]}), mode="append")
    for done, piece in enumerate(pieces):
        again = json.loads(json.dumps(piece.position))
        assert ids(source.read(again)) == ids(pieces[done + 1 :])
        assert source.reached(again) == len(ids(pieces[: done + 1]))
    assert len(pieces) > 15
    assert ids(eddy.source(f"delta://{table}").read(None)) == [-1, *range(120)]
    assert ids(eddy.source(f"delta://{table}?version=1").read(None)) == list(range(40, 120))


def test_a_query_over_tables(table):
    """With a column that only the folders' names have."""
    query = "SELECT A.id, B.part FROM A [ROWS 200], B [ROWS 200] WHERE A.id = B.id AND A.note = 'row 50'"
    sources = dict.fromkeys("AB", f"delta://{table}")
    assert eddy.run(query, sources).to_arrow().to_pylist() == [{"A.id": 50, "B.part": 1}]


def test_what_is_written_can_be_read(tmp_path):
    """A run's results are another run's source, in the order in which they were committed."""
    numbers = pa.table({"ts": list(range(50)), "id": list(range(50))})
    out = f"delta://{tmp_path}/out"
    eddy.run(
        "SELECT ts, id FROM A [ROWS 1]", {"A": numbers}, out, checkpoint=tmp_path / "p", every=0, batch=6
    )
    assert len(DeltaTable(f"{tmp_path}/out").file_uris()) > 5
    source = eddy.source(out)
    assert ids(source.read(None)) == list(range(50))


@pytest.mark.parametrize(
    "address, options, said",
    [
        ("delta:///nowhere/t", {}, "there is no Delta table"),
        ("delta://{}?version=9", {}, "cannot read version 9 of the Delta table"),
        ("delta://{}?version=new", {}, "no number of a version"),
        ("delta://{}", {"schema": {"ts": "int64"}}, "says its columns"),
        ("delta://{}", {"follow": True}, "cannot be followed"),
    ],
)
def test_what_cannot_be_read_is_refused(address, options, said, table):
    """In one line."""
    with pytest.raises(eddy.EddyError, match=said):
        eddy.source(address.format(table), **options)
