"""The look for disorder: what it keeps is read once, and all rows come once, in their order, whatever the room."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eddy
from tests.runs import feed, write

KINDS = {"ts": pa.int64(), "id": pa.int64()}


def rows_of(pieces):
    """The ids of all rows."""
    return [i for piece in pieces if piece.rows is not None for i in piece.rows.column("id").to_pylist()]


@pytest.fixture
def files(tmp_path):
    """Three files of each format, of one table whose times go back by up to 9."""
    table = feed(3, disorder=9)["A"]
    times = table.column("ts").to_pylist()
    most = max(max(times[:i]) - ts for i, ts in enumerate(times) if i)
    for ending in ("parquet", "csv", "jsonl", "arrow"):
        (tmp_path / ending).mkdir()
        for number in range(3):
            write(table.slice(40 * number, 40), tmp_path / ending / f"{number}.{ending}")
    return tmp_path, most


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "arrow"])
@pytest.mark.parametrize("room", [0, 600, 1 << 20])
def test_every_row_comes_once(ending, room, files):
    """With room for one piece, for some, and for all; from the beginning, and from each position."""
    folder, most = files
    source = eddy.source(folder / ending).narrowed(KINDS, 7)
    found, looked = source.look("ts", pa.int64(), room)
    assert found == most == source.disorder("ts", pa.int64())
    pieces = list(looked.read(None))
    assert rows_of(pieces) == list(range(120))
    assert rows_of(looked.read(None)) == list(range(120))  # nothing is at hand any more
    done = 0
    for piece in pieces:
        done += piece.rows.num_rows
        assert rows_of(looked.read(piece.position)) == list(range(done, 120))
    assert (looked.bounded, looked.seekable, str(looked)) == (True, True, str(source))
    assert looked.size() == source.size()


@pytest.mark.parametrize("room, kept", [(1 << 20, True), (600, False)])
def test_what_is_at_hand_is_not_read_again(room, kept, files):
    """A file that is written over after the look shows its new rows only where there was no room for its old ones."""
    folder, _ = files
    _, looked = eddy.source(folder / "csv").narrowed(KINDS, 7).look("ts", pa.int64(), room)
    last = folder / "csv" / "2.csv"
    last.write_text(last.read_text().replace(",11", ",77"))
    found = rows_of(looked.read(None))
    assert len(found) == 120 and found[:80] == list(range(80))
    assert (found == list(range(120))) is kept


def test_bad_rows_of_the_look_are_told_of_once(files):
    """They are kept with the rows."""
    folder, _ = files
    with open(folder / "csv" / "1.csv", "a") as file:
        file.write("7,none,of,these\n")
    sources = {"A": eddy.source(folder / "csv", schema=feed(0)["A"].schema)}
    outcome = eddy.run("SELECT A.id AS id FROM A [ROWS 1]", sources)
    assert sorted(outcome.to_arrow().column("id").to_pylist()) == list(range(120))
    assert outcome.bad == {"A": 1}
    assert len(outcome.letters) == 1 and "1.csv, row 42" in outcome.letters[0]
