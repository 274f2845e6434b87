"""Sinks: what is committed is there, what is not is taken back, and a commit may be repeated."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest

import eddy
from eddy.sinks.memory import StandardOutput
from tests.runs import read

SCHEMA = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.int64()})
SINKS = ["out.parquet", "out.csv", "out.jsonl", "out.arrow", "out/"]


def rows(*numbers):
    """A table of these."""
    return pa.table({name: list(numbers) for name in "abc"}, SCHEMA)


def numbers(path):
    """What is in the file."""
    return read(str(path).rstrip("/")).column("a").to_pylist()


@pytest.mark.parametrize("name", SINKS)
def test_what_is_not_committed_is_taken_back(name, tmp_path):
    """A process dies; another opens the sink with the token that was kept, of any moment."""
    where = f"{tmp_path}/{name}"
    first = eddy.sink(where)
    first.open(SCHEMA, None)
    first.write(rows(1, 2))
    kept = first.prepare()
    first.commit(kept)
    first.write(rows(3))
    prepared = first.prepare()  # the process dies before the commit, and the token was not kept either
    second = eddy.sink(where)
    second.open(SCHEMA, json.loads(json.dumps(kept)))
    second.write(rows(4))
    last = second.prepare()  # dies before the commit, and the token was kept
    assert last == prepared or name.endswith(("csv", "jsonl"))
    third = eddy.sink(where)
    third.open(SCHEMA, last)
    third.commit(last)
    third.write(rows(5))
    third.commit(third.prepare())
    third.close()
    assert numbers(where) == [1, 2, 4, 5]
    fourth = eddy.sink(where)  # it was over, and its end is repeated
    if name != "out/":
        fourth.open(SCHEMA, {"bytes": (tmp_path / name).stat().st_size, "part": 2})
        fourth.close()
        assert numbers(where) == [1, 2, 4, 5]


@pytest.mark.parametrize("name", SINKS)
def test_no_results_have_columns(name, tmp_path):
    """An empty file can be read all the same; one of JSON lines is empty."""
    sink = eddy.sink(f"{tmp_path}/{name}")
    sink.open(SCHEMA, None)
    sink.commit(sink.prepare())
    sink.close()
    found = read(f"{tmp_path}/{name}".rstrip("/"))
    assert found.num_rows == 0 and found.column_names == ["a", "b", "c"]


def test_a_table_appears_as_a_whole(tmp_path):
    """Until the end there is no such file, and an error leaves none, and what was there before."""
    path = tmp_path / "out.parquet"
    path.write_text("old")
    sink = eddy.sink(path)
    sink.open(SCHEMA, None)
    sink.write(rows(1))
    sink.commit(sink.prepare())
    assert path.read_text() == "old"
    sink.abandon(False)
    assert [file.name for file in tmp_path.iterdir()] == ["out.parquet"]


def test_a_folder_of_another_run_is_not_written_into(tmp_path):
    """Its results would be taken for these."""
    for _ in range(2):
        sink = eddy.sink(f"{tmp_path}/out/", format="csv")
        if (tmp_path / "out").exists():
            with pytest.raises(eddy.EddyError, match="parts of another run"):
                sink.open(SCHEMA, None)
            continue
        sink.open(SCHEMA, None)
        sink.write(rows(1))
        sink.commit(sink.prepare())
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["part-000000000.csv"]


def test_parts_that_are_gone_are_missed(tmp_path):
    """Results would be lost in silence."""
    sink = eddy.sink(f"{tmp_path}/out/")
    sink.open(SCHEMA, None)
    sink.write(rows(1))
    token = sink.prepare()
    sink.commit(token)
    (tmp_path / "out" / "part-000000000.parquet").unlink()
    with pytest.raises(eddy.EddyError, match="is gone"):
        eddy.sink(f"{tmp_path}/out/").open(SCHEMA, token)
    lines = eddy.sink(tmp_path / "out.csv")
    with pytest.raises(eddy.EddyError, match="shorter than it was"):
        lines.open(SCHEMA, {"bytes": 100})
    with pytest.raises(eddy.EddyError, match="is gone"):
        eddy.sink(tmp_path / "out.parquet").open(SCHEMA, {"part": 0})


@pytest.mark.parametrize("format", ["jsonl", "csv", "arrow"])
def test_standard_output(format):
    """Lines, or an Arrow stream."""
    out = io.BytesIO()
    sink = StandardOutput(format, out)
    sink.open(SCHEMA, None)
    sink.write(rows(1, 2))
    sink.close()
    if format == "arrow":
        assert pa.ipc.open_stream(out.getvalue()).read_all() == rows(1, 2)
    else:
        wanted = b'{"a": 1, "b": 1, "c": 1}\n' if format == "jsonl" else b'"a","b","c"\n1,1,1\n'
        assert out.getvalue().startswith(wanted)


def test_json_has_every_type():
    """What Python's json reads is what was there; what it has no number for is null."""
    import datetime

    utc = datetime.timezone.utc
    table = pa.table(
        {
            "i": [1, None],
            "f": [1.5, float("nan")],
            "s": ['a"b\\c', "z\u00e9\n\x01"],
            "t": pa.array([datetime.datetime(2024, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
            "z": pa.array(
                [datetime.datetime(2024, 1, 2, tzinfo=utc), None], pa.timestamp("ms", "Europe/Berlin")
            ),
            "b": [True, None],
        }
    )
    from eddy.sinks.formats import json_bytes

    found = [json.loads(line) for line in json_bytes(table).decode().split("\n")[:-1]]
    assert found == [
        {
            "i": 1,
            "f": 1.5,
            "s": 'a"b\\c',
            "t": "2024-01-02T03:04:05.000000",
            "z": "2024-01-02T00:00:00.000Z",
            "b": True,
        },
        {"i": None, "f": None, "s": "z\u00e9\n\x01", "t": None, "z": None, "b": None},
    ]


@pytest.mark.parametrize(
    "where, said",
    [
        ("out.xyz", "does not say what it is"),
        (7, "a sink is a path"),
        ("s3://bucket/out.parquet", "files of this machine"),
        ("/nowhere/at/all/out.csv", "cannot write /nowhere/at/all/out.csv"),
        ("/nowhere/at/all/out.parquet", "no folder /nowhere/at/all"),
    ],
)
def test_what_cannot_be_written_is_refused(where, said):
    """In one sentence."""
    with pytest.raises(eddy.EddyError, match=said):
        eddy.sink(where).open(SCHEMA, None)
    with pytest.raises(eddy.EddyError, match="no format"):
        eddy.sink("out", format="xml")
