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
    first.secure(kept)
    first.commit(kept)
    first.write(rows(3))
    prepared = first.prepare()
    first.secure(prepared)  # the process dies before the commit, and the token was not kept either
    second = eddy.sink(where)
    second.open(SCHEMA, json.loads(json.dumps(kept)))
    second.write(rows(4))
    last = second.prepare()
    second.secure(last)  # dies before the commit, and the token was kept
    assert last == prepared or name.endswith(("csv", "jsonl"))
    third = eddy.sink(where)
    third.open(SCHEMA, last)
    third.commit(last)
    third.write(rows(5))
    ended = third.prepare()
    third.secure(ended)
    third.commit(ended)
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


def test_chunks_without_rows_are_written_as_nothing():
    """pyarrow writes the header again for such a chunk, or what stands in its memory."""
    from eddy.sinks.formats import csv_bytes

    some = rows(1, 2)
    table = pa.concat_tables([some.slice(0, 0), some.slice(0, 1), some.slice(1, 0), some.slice(1, 1)])
    assert csv_bytes(table, False) == b"1,1,1\n2,2,2\n"
    assert csv_bytes(table, True) == b'"a","b","c"\n1,1,1\n2,2,2\n'
    assert csv_bytes(table.slice(0, 0), False) == b""


def test_changes_of_groups_are_written_as_csv(tmp_path):
    """Their tables have chunks without rows."""
    orders = pa.table({"ts": [1, 2, 3], "k": ["a", "b", "a"]})
    query = "SELECT k, COUNT(*) AS n FROM orders [ROWS 9] GROUP BY k"
    eddy.run(query, {"orders": orders}, tmp_path / "out.csv", batch=2)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"k","n","sign"'
    assert sorted(lines[1:]) == ['"a",1,-1', '"a",1,1', '"a",2,1', '"b",1,1']


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


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_bytes_are_written_as_the_text_that_they_are(ending, tmp_path):
    """And read again as what they were; such as are no text are refused, in a line that says what can hold them."""
    query, out = "SELECT ts AS ts, b AS b, u AS u FROM t [ROWS 1]", f"{tmp_path}/out{ending}"
    columns = {"ts": "int64", "b": "binary", "u": "uuid"}
    table = pa.table(
        {"ts": [1, 2], "b": [b"ab \"'", None], "u": pa.array([bytes(range(16)), None], pa.uuid())}
    )
    eddy.run(query, {"t": table}, out)
    back = eddy.run(query, {"t": eddy.source(out, schema=columns)}, bad="error").to_arrow()
    assert back.to_pylist() == table.to_pylist()
    wrong = table.set_column(1, "b", pa.array([b"\xff", None]))
    with pytest.raises(eddy.EddyError, match=r"bytes that are no text .* write Parquet or Arrow"):
        eddy.run(query, {"t": wrong}, out)


def test_values_that_are_texts_in_json_come_back(tmp_path):
    """Dates, times, durations, UUIDs and bytes of a fixed size; of others it is told why."""
    import datetime

    table = pa.table(
        {
            "ts": [1, 2],
            "d": pa.array([datetime.date(2024, 1, 2), None]),
            "t": pa.array([datetime.time(1, 2, 3, 4), None], pa.time64("us")),
            "l": pa.array([1500, None], pa.duration("us")),
            "u": pa.array([bytes(range(16)), None], pa.uuid()),
            "f": pa.array([b"ab", None], pa.binary(2)),
        }
    )
    out, query = (
        tmp_path / "out.jsonl",
        "SELECT ts AS ts, d AS d, t AS t, l AS l, u AS u, f AS f FROM s [ROWS 1]",
    )
    eddy.run(query, {"s": table}, out)
    out.write_text(
        out.read_text() + '{"ts": 3, "u": "0102"}\n{"ts": 4, "d": "2024-13-01"}\n{"ts": 5, "f": "a"}\n'
    )
    back = eddy.run(query, {"s": eddy.source(out, schema=table.schema)})
    assert back.to_arrow().to_pylist() == table.to_pylist() and back.bad == {"s": 3}
    told = [
        "column u: '0102' does not fit",
        "column d: '2024-13-01' does not fit",
        "column f: 'a' does not fit",
    ]
    for one, line in zip(told, back.letters, strict=True):
        assert one in line
    out.write_text('{"ts": 1, "d": 1}\n{"ts": 2, "d": "1970-01-03"}\n{"ts": 3}\n')
    dates = eddy.run(
        "SELECT d AS d FROM s [ROWS 1]", {"s": eddy.source(out, schema={"ts": "int64", "d": "date"})}
    )
    assert dates.to_arrow().column("d").to_pylist() == [
        datetime.date(1970, 1, 2),
        datetime.date(1970, 1, 3),
        None,
    ]


def test_what_is_nested_is_json_in_csv(tmp_path):
    """CSV has no form of its own for it."""
    table = pa.table({"ts": [1, 2], "l": [[1, 2], None]})
    eddy.run("SELECT ts AS ts, l AS l FROM t [ROWS 1]", {"t": table}, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == '"ts","l"\n1,"[1, 2]"\n2,\n'


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
