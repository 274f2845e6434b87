"""Rows that come in time with a clock, which the tests set."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import eddy
from eddy.sources.paced import Pace, Paced, speed_of
from eddy.values.types import column_type
from tests.runs import write


class Clock:
    """Stands still until somebody moves it."""

    now = 100.0

    def __call__(self):
        return self.now


TIMES = [10, 10, 12, 11, 15, None, 20]
"""Seconds; one goes back, one is missing."""


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder(tmp_path):
    """The rows in two files, of which the second has a bad line."""
    for number, rows in enumerate(([0, 1, 2], [3, 4, 5, 6])):
        lines = [f"{'' if TIMES[i] is None else TIMES[i]},{i}\n" for i in rows]
        (tmp_path / f"{number}.csv").write_text("ts,id\n" + "".join(lines) + "x\n" * number)
    return tmp_path


def paced(folder, clock, speed=2.0, kind="int64"):
    source = eddy.source(folder, schema={"ts": kind, "id": "int64"})
    return Paced(source, "ts", column_type(kind), Pace(speed, clock))


def ids(piece):
    return None if piece.rows is None else piece.rows.column("id").to_pylist()


def test_a_row_comes_when_its_time_has_come(folder, clock):
    """Twice as fast as recorded; until then there is nothing. What has no time, or an older one, does not wait."""
    pieces = paced(folder, clock).read(None)
    assert ids(next(pieces)) == [0, 1]
    assert ids(next(pieces)) is None
    clock.now += 0.999
    assert ids(next(pieces)) is None
    clock.now += 0.001
    assert ids(next(pieces)) == [2]
    assert ids(next(pieces)) == [3]
    assert ids(next(pieces)) is None
    clock.now += 1.5
    found = next(pieces)
    assert ids(found) == [4, 5] and found.bad == () and [found.line(row) for row in (0, 1)] == [3, 4]
    clock.now += 100
    found = next(pieces)
    assert ids(found) == [6] and [bad.row for bad in found.bad] == [6] and found.line(0) == 5
    assert list(pieces) == []


def test_a_position_is_within_a_piece(folder, clock):
    """Reading goes on at each of them with the same rows, and tells of a bad line once."""
    source = paced(folder, clock)
    pieces, done, positions = source.read(None), 0, []
    for _ in range(40):
        piece = next(pieces, None)
        if piece is None:
            break
        clock.now += 0.25
        done += len(ids(piece) or ())
        positions.append((done, json.loads(json.dumps(piece.position))))
    assert done == 7 and len({count for count, _ in positions}) == 5
    for count, position in positions:
        other = paced(folder, clock, speed=float("inf"))
        rest = list(other.read(position))
        assert [i for piece in rest for i in ids(piece)] == list(range(count, 7))
        assert sum(len(piece.bad) for piece in rest) == (count < 7)
        assert source.reached(position) <= source.size()


def test_a_position_holds_where_batches_are_smaller(tmp_path, clock):
    """Those of a restart, whose pieces may end before the position: no row is lost, and no bad line told twice."""
    lines = [f"{i},{i}\n" + "x\n" * (i == 7) for i in range(4000)]
    (tmp_path / "0.csv").write_text("ts,id\n" + "".join(lines))
    columns = {"ts": pa.int64(), "id": pa.int64()}
    large = paced(tmp_path, clock).narrowed(columns, 100_000)
    small = paced(tmp_path, clock, speed=float("inf")).narrowed(columns, 7)
    pieces, done = large.read(None), 0
    for _ in range(3):
        piece = next(pieces)
        done += len(ids(piece) or ())
        clock.now += 700
    assert 0 < done < 4000 and piece.bad == ()
    rest = list(small.read(json.loads(json.dumps(piece.position))))
    assert len(rest) > 2
    assert [i for piece in rest for i in ids(piece) or ()] == list(range(done, 4000))
    assert sum(len(piece.bad) for piece in rest) == 1


def test_it_is_known_how_much_of_a_piece_was_given(tmp_path, clock):
    """Also when there is one only: what is reached goes on with the rows, so a run can say how much is left."""
    path = write(pa.table({"ts": range(1000), "id": range(1000)}), tmp_path / "0.csv")
    source = paced(path, clock, speed=10.0)
    pieces, parts = source.read(None), []
    for _ in range(5):
        piece = next(pieces)
        parts.append(source.reached(json.loads(json.dumps(piece.position))) / source.size())
        clock.now += 20
    assert parts == pytest.approx([0.001, 0.201, 0.401, 0.601, 0.801], abs=0.01)
    assert source.reached(next(pieces).position) == source.size()


def test_a_position_of_the_source_itself_will_do(folder, clock):
    """A run that kept no pace goes on with one."""
    source = eddy.source(folder, schema={"ts": "int64", "id": "int64"})
    first = next(iter(source.read(None)))
    rest = list(paced(folder, clock, speed=float("inf")).read(first.position))
    assert [i for piece in rest for i in ids(piece)] == [3, 4, 5, 6]


def test_sources_share_the_time_that_it_is(tmp_path, clock):
    """It begins with the oldest first row, whichever is read first."""
    pace = Pace(1.0, clock)
    late = Paced(eddy.source({"ts": [7, 8], "id": [0, 1]}), "ts", column_type("int64"), pace).read(None)
    early = Paced(eddy.source({"ts": [5, 9], "id": [0, 1]}), "ts", column_type("int64"), pace).read(None)
    assert (ids(next(late)), ids(next(early))) == ([0], [0])
    clock.now += 2.5
    assert (ids(next(late)), ids(next(early))) == (None, None)
    clock.now += 0.5
    assert (ids(next(late)), ids(next(early))) == ([1], None)
    clock.now += 1
    assert ids(next(early)) == [1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time(unit, tmp_path, clock):
    """A second of a timestamp is one, whatever its unit."""
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    start = 1_800_000_000
    times = pa.array([(start + s) * ticks for s in (0, 1, 5)], pa.timestamp(unit))
    path = write(pa.table({"ts": times, "id": [0, 1, 2]}), tmp_path / "a.parquet")
    source = Paced(eddy.source(path), "ts", column_type(f"timestamp[{unit}]"), Pace(8.0, clock))
    pieces = source.read(None)
    assert ids(next(pieces)) == [0]
    clock.now += 0.125
    assert ids(next(pieces)) == [1]
    clock.now += 0.4375
    assert ids(next(pieces)) is None
    clock.now += 0.0625
    assert ids(next(pieces)) == [2]


@pytest.mark.parametrize("speed", ["fast", "0x", "-1", 0, True and float("nan"), "infx", [2]])
def test_what_is_no_speed(speed):
    """One error, with what to give."""
    with pytest.raises(eddy.EddyError, match="speed is how many times as fast"):
        speed_of(speed)


def test_speeds():
    """None is as fast as rows can be read."""
    assert [speed_of(text) for text in ("10x", "0.5x", 3, "max", None)] == [10.0, 0.5, 3.0, None, None]


def test_a_source_without_times_cannot_be_paced(tmp_path, clock):
    """It says so before anything is read."""
    with pytest.raises(eddy.EddyError, match="is string, not a timestamp or whole number"):
        Paced(eddy.source({"id": ["a"]}), "id", column_type("string"), Pace(1.0, clock))
    with pytest.raises(eddy.EddyError, match="has no time to keep to"):
        eddy.run("SELECT id FROM A [ROWS 1]", {"A": {"id": [1, 2]}}, speed="2x")
