"""Tables of PostgreSQL as sinks: every result is there once, whatever happens to the process or the connection."""

from __future__ import annotations

import datetime
import decimal
import os
import random
import uuid

import pyarrow as pa
import pytest

import eddy
from tests.faults.killed import World, damage
from tests.faults.tables import CALLS, PgWorld, again_and_again, broken_again_and_again, tables
from tests.postgresql.test_table import rows_of

ROUNDS = int(os.environ.get("EDDY_FAULTS", "2"))


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Kernels are loaded before processes are forked."""
    World(tmp_path_factory.mktemp("warm"), 1, "out.csv", disorder=4).run()


def test_killed_at_steps_of_a_commit(db, tmp_path, warm):
    """At one in a few of them, each time another; a restart goes on."""
    folder = tmp_path / "counted"
    folder.mkdir()
    world = PgWorld(folder, 1, db, rows=12)
    count = world.killed(10**9, batch=6)
    world.check()
    every = list(range(1, count + 1))
    assert count > 60
    for number, step in enumerate(every[:: max(1, count // (4 * ROUNDS))]):
        db.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        folder = tmp_path / str(number)
        folder.mkdir()
        world = PgWorld(folder, 1, db, rows=12)
        assert world.killed(step, batch=6) is None
        assert world.killed(10**9, batch=6) is not None
        world.check()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_again_and_again(seed, db, tmp_path, warm):
    """At random steps; sometimes the newest checkpoint is damaged, and then its rows are taken back."""
    again_and_again(db, tmp_path, seed)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_broken_again_and_again(seed, db, tmp_path, warm):
    """Connections end in the middle of what is sent, and runs are killed: each result is there once."""
    assert broken_again_and_again(db, tmp_path, seed)["broken connection"] > 2


class ChangesWorld(PgWorld):
    """Rows that are inserted into a table go into another one."""

    def __init__(self, folder, db):
        self.folder, self.db = folder, db

    def run(self, **options):
        given = {"batch": 4, "every": 0, "checkpoint": self.folder / "progress", **options}
        sources = {"t": self.db.address("/t?changes=1")}
        return eddy.run("SELECT id FROM t [ROWS 1]", sources, self.db.address("/results"), **given)


@pytest.mark.filterwarnings("ignore::eddy.CheckpointWarning")
@pytest.mark.parametrize("seed", range(ROUNDS // 2))
def test_killed_while_changes_are_read(seed, db, tmp_path, warm):
    """What was inserted before or between the kills comes once: the slot is never ahead of the checkpoints."""
    pick, world, kills, inserted = random.Random(seed), ChangesWorld(tmp_path, db), 0, 0
    db.execute("CREATE TABLE t (id int, ts int)")
    list(eddy.source(db.address("/t?changes=1")).read(None))
    while kills < 6:
        rows = pick.randint(1, 20)
        query = "INSERT INTO t SELECT g, g FROM generate_series(%s::int, %s::int) g"
        db.execute(query, (inserted, inserted + rows - 1))
        inserted += rows
        if world.killed(pick.randint(1, 120), batch=pick.choice([2, 5, 9])) is not None:
            break  # it came to its end
        kills += 1
        if any(b'"finished": true' in one.read_bytes() for one in (tmp_path / "progress").glob("*.json")):
            break  # what is inserted now is another run's
        if pick.random() < 0.4:
            damage(tmp_path / "progress", pick)
    world.run()
    found = [number for (number,) in db.execute("SELECT id FROM results ORDER BY id")]
    assert found == list(range(inserted))


@pytest.mark.parametrize("seed", range(ROUNDS // 2))
def test_connections_that_are_cut(seed, db, tmp_path, monkeypatch):
    """Again and again, before or behind what is sent: the run goes on, and gives each result once."""
    pick, busy, left = random.Random(seed), [], [12]

    def cutting(function):
        def cut(*args, **kwargs):
            if busy or not left[0]:
                return function(*args, **kwargs)
            busy.append(1)
            try:
                before = pick.random()
                if before < 0.06:
                    left[0] -= 1
                    db.cut()
            finally:
                busy.pop()
            found = function(*args, **kwargs)
            if before > 0.94 and not busy:
                left[0] -= 1
                busy.append(1)
                db.cut()
                busy.pop()
            return found

        return cut

    world = PgWorld(tmp_path, seed, db)
    world.run(checkpoint=tmp_path / "warm", limit=1)
    db.execute("DROP TABLE results, eddy_commits")
    for owner, name in CALLS:
        monkeypatch.setattr(owner, name, cutting(getattr(owner, name)))
    world.run(batch=8)
    monkeypatch.undo()
    assert left[0] < 12
    world.check()


TABLE = pa.table(
    {
        "b": pa.array([True, None]),
        "i8": pa.array([-8, None], pa.int8()),
        "u32": pa.array([2**32 - 1, 0], pa.uint32()),
        "u64": pa.array([2**64 - 1, None], pa.uint64()),
        "f": pa.array([float("nan"), float("-inf")]),
        "f4": pa.array([0.5, None], pa.float32()),
        "n": pa.array([decimal.Decimal("-1.50"), None], pa.decimal128(9, 2)),
        "s": ['a "b",\n\\N\t\r', ""],
        "d": pa.array(["x", None]).dictionary_encode(),
        "y": pa.array([b"\x00\xff", b""]),
        "ts": pa.array([1, None], pa.timestamp("us")),
        "tz": pa.array([1, None], pa.timestamp("us", "Europe/Berlin")),
        "day": pa.array([0, -1], pa.date32()),
        "time": pa.array([1, None], pa.time64("us")),
        "dur": pa.array([90_000_001, None], pa.duration("us")),
        "id": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef", None], pa.binary(16))),
        "list": [[1, None], None],
    }
)


def put(address, table):
    """A table through a sink."""
    sink = eddy.sink(address)
    sink.open(table.schema, None)
    sink.write(table)
    sink.commit(sink.prepare())
    sink.close()


def test_values_of_every_type(db):
    """A table that is missing is made, with the types of the results, and has their values; eddy reads them back."""
    put(db.address("/made"), TABLE)
    (first, second) = db.execute("SELECT * FROM made ORDER BY i8 NULLS LAST")
    names = TABLE.column_names
    found = dict(zip(names, first, strict=True))
    assert str(found.pop("f")) == "nan"
    assert found == {
        "b": True,
        "i8": -8,
        "u32": 2**32 - 1,
        "u64": 2**64 - 1,
        "f4": 0.5,
        "n": decimal.Decimal("-1.50"),
        "s": 'a "b",\n\\N\t\r',
        "d": "x",
        "y": b"\x00\xff",
        "ts": datetime.datetime(1970, 1, 1, microsecond=1),
        "tz": datetime.datetime(1970, 1, 1, microsecond=1, tzinfo=datetime.timezone.utc),
        "day": datetime.date(1970, 1, 1),
        "time": datetime.time(microsecond=1),
        "dur": datetime.timedelta(seconds=90, microseconds=1),
        "id": uuid.UUID(bytes=b"0123456789abcdef"),
        "list": [1, None],
    }
    known = {"f": float("-inf"), "s": "", "y": b"", "u32": 0, "day": datetime.date(1969, 12, 31)}
    assert dict(zip(names, second, strict=True)) == dict.fromkeys(names) | known
    back = pa.concat_tables(
        [piece.rows for piece in eddy.source(db.address("/made")).read(None) if piece.rows]
    )
    for name in ("b", "f4", "n", "s", "y", "ts", "id"):
        assert sorted(map(str, back.column(name).to_pylist())) == sorted(
            map(str, TABLE.column(name).to_pylist())
        )


def test_texts(db):
    """Whatever stands in a text comes through, also what has a meaning for COPY; a zero is refused in one line."""
    texts = ["\\.", "a\n\\.\nb", "\n", "", None, "\\.\n", "\r\n", "\\N", " x ", '"']
    put(db.address("/t"), pa.table({"x": texts}))
    assert [text for (text,) in db.execute("SELECT x FROM t")] == texts
    assert rows_of(eddy.source(db.address("/t?static=1")).read(None)).count({"x": None}) == 1
    with pytest.raises(eddy.EddyError, match="invalid byte sequence for encoding"):
        put(db.address("/t"), pa.table({"x": ["a\0b"]}))


def test_tables_that_are_there(db):
    """Rows are added; other columns get their defaults; what cannot take results is told before anything is read."""
    db.execute("CREATE SCHEMA s; CREATE TABLE s.t (id serial, note text DEFAULT 'none', x int, j jsonb)")
    db.execute("INSERT INTO s.t (x) VALUES (1)")
    put(db.address("/s.t"), pa.table({"x": [2, 3], "j": ['{"a": 1}', None]}))
    assert db.execute("SELECT * FROM s.t") == [
        (1, "none", 1, None),
        (2, "none", 2, {"a": 1}),
        (3, "none", 3, None),
    ]
    db.execute(
        "CREATE TABLE needy (x int, must int NOT NULL); CREATE TABLE made (x int GENERATED ALWAYS AS (1) STORED)"
    )
    for rest, told in {
        "/s.needy2": None,
        "/none.t": 'schema "none" does not exist',
        "/needy": "the column must is NOT NULL",
        "/made": "the server computes the column x",
        "/s.t?": "has no column y",
        "": "names no table",
    }.items():
        table = pa.table({"y": [1]}) if rest.endswith("?") else pa.table({"x": [1]})
        if told is None:
            put(db.address(rest), table)
            continue
        with pytest.raises(eddy.EddyError, match=told) as caught:
            put(db.address(rest.rstrip("?")), table)
        assert "\n" not in str(caught.value)
    with pytest.raises(eddy.EddyError, match="invalid input syntax for type json"):
        put(db.address("/s.t"), pa.table({"j": ["{"]}))
    with pytest.raises(eddy.EddyError, match="leave format='csv' out"):
        eddy.sink(db.address("/t"), format="csv")
    assert tables(db) == {"needy", "made"} and len(db.execute("SELECT 1 FROM s.t")) == 3


def test_rows_that_the_table_refuses(db, tmp_path):
    """They wait, the error says where; when that is mended, the same call goes on, and every result is there once."""
    world = PgWorld(tmp_path, 3, db)
    db.execute("CREATE TABLE results (a bigint, b bigint, c bigint CHECK (c < 30))")
    with pytest.raises(
        eddy.EddyError, match=r"violates check constraint .*; the rows wait in .*eddy_staged_"
    ) as caught:
        world.run()
    assert "\n" not in str(caught.value)
    db.execute("ALTER TABLE results DROP CONSTRAINT results_c_check")
    world.run()
    world.check()


def test_two_runs_into_one_table(db, tmp_path):
    """Both add their rows, and what a run without checkpoints leaves behind when it dies goes with the next."""
    worlds = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        worlds.append(PgWorld(tmp_path / name, 3, db))
    worlds[0].killed(75)
    worlds[1].run(limit=10)
    worlds[0].run()
    worlds[0].run()
    count = db.execute("SELECT count(*) FROM results")[0][0]
    assert count == worlds[0].wanted.total() + 10
    sink = eddy.sink(db.address("/results"))
    sink.open(pa.schema({"a": pa.int64()}), None)
    for _ in range(30):
        sink.write(pa.table({"a": range(10**5)}))
    assert any("staged" in name for name in tables(db))
    sink._connection.close()  # as if it had died
    put(db.address("/results"), pa.table({"a": [1]}))
    assert tables(db) == {"results", "eddy_commits"}
    assert db.execute("SELECT count(*) FROM results") == [(count + 1,)]


def test_a_run_without_results_so_far_is_not_swept(db, tmp_path):
    """Others may write into the table while it is stopped: its checkpoint goes on nevertheless."""
    rows, given = tmp_path / "t.csv", {"checkpoint": tmp_path / "progress", "every": 0, "batch": 1}
    rows.write_text("ts,k\n1,1\n2,1\n3,2\n")
    query, out = "SELECT ts AS ts FROM t [ROWS 1] WHERE k = 2", db.address("/results")
    stopped = eddy.run(query, {"t": str(rows)}, out, control=lambda loop: loop.stop(), **given)
    assert (stopped.ended, stopped.results) == ("stopped", 0)
    put(out, pa.table({"ts": [7]}))
    assert eddy.run(query, {"t": str(rows)}, out, **given).ended == "end"
    assert sorted(db.execute("SELECT * FROM results")) == [(3,), (7,)]


def test_a_run_that_died_in_its_first_commit_is_swept_after_a_month(db):
    """Its rows wait so long for a checkpoint that comes back, and then go with the next run."""
    sink = eddy.sink(db.address("/results"))
    sink.open(pa.schema({"a": pa.int64()}), None)
    sink.write(pa.table({"a": [1]}))
    sink.prepare()
    sink.abandon(True)
    put(db.address("/results"), pa.table({"a": [2]}))
    assert any("staged" in name for name in tables(db))
    db.execute("UPDATE eddy_commits SET at = now() - interval '31 days' WHERE number = 0")
    put(db.address("/results"), pa.table({"a": [3]}))
    assert tables(db) == {"results", "eddy_commits"}
    assert sorted(db.execute("SELECT a FROM results")) == [(2,), (3,)]


def test_checkpoints_whose_run_is_gone(db, tmp_path):
    """A checkpoint of a run that the database does not know is refused, and so is one that is far behind."""
    world = PgWorld(tmp_path, 3, db)
    world.run(limit=40)
    manifests = sorted((tmp_path / "progress").glob("*.json"))
    assert manifests
    db.execute("UPDATE eddy_commits SET number = number - 2")
    with pytest.raises(eddy.EddyError, match=r"has commit .* and the checkpoint is of commit"):
        world.run()
    db.execute("DROP TABLE eddy_commits")
    with pytest.raises(eddy.EddyError, match="eddy_commits does not know the run of this checkpoint"):
        world.run()
