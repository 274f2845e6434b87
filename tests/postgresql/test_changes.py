"""Changes of tables of PostgreSQL as sources."""

from __future__ import annotations

import threading
import time

import pytest

import eddy
from tests.postgresql.test_table import fill, rows_of


def slot_of(db):
    """How far a slot was advanced; None if there is none."""
    query = "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s"
    found = db.execute(query, (f"eddy_t_{relation(db)}",))
    return found[0][0] if found else None


def ids(pieces):
    return [row["id"] for row in rows_of(pieces)]


def test_values_are_those_of_the_table(db):
    """What is inserted comes as the same values, in the same types, as when the table is read."""
    fill(db)
    db.execute("CREATE TABLE copy (LIKE every)")
    table, changes = eddy.source(db.address("/copy")), eddy.source(db.address("/copy?changes=1"))
    assert rows_of(changes.read(None)) == [] and changes.schema == table.schema
    db.execute("INSERT INTO copy SELECT * FROM every")
    wanted = dict(zip(table.schema.names, table.schema.types, strict=True))
    found = rows_of(changes.narrowed(wanted).read(None))
    assert sorted(found, key=lambda row: row["id"]) == sorted(
        rows_of(table.read(None)), key=lambda row: row["id"]
    )
    assert len(found) == 2


def test_rows_come_as_they_were_committed(db):
    """Of transactions that overlap the one that was committed first comes first; what was undone does not come."""
    db.execute("CREATE TABLE t (id int, ts int); CREATE TABLE other (id int)")
    source = eddy.source(db.address("/t?changes=1"))
    list(source.read(None))
    with db.cluster.connect(db.name) as a, db.cluster.connect(db.name) as b:
        for number in range(20):
            a.execute("BEGIN" if number == 0 else "SELECT 1")
            a.execute("INSERT INTO t SELECT %s + g, 0 FROM generate_series(0, 2) g", (1000 + 3 * number,))
            b.execute(f"BEGIN; INSERT INTO t VALUES ({number}, 0); INSERT INTO other VALUES (1)")
            b.execute("ROLLBACK" if number % 5 == 4 else "COMMIT")
        a.execute("COMMIT")
    db.execute("INSERT INTO t VALUES (5000, 0)")
    expected = [*(n for n in range(20) if n % 5 != 4), *range(1000, 1060), 5000]
    narrow = source.narrowed({"id": None}, 7)
    pieces = list(narrow.read(None))
    assert ids(pieces) == expected
    done = 0
    for number, piece in enumerate(pieces[:-1]):
        done += piece.rows.num_rows if piece.rows is not None else 0
        if number % 3 == 1:
            assert ids(source.narrowed({"id": None}, 5).read(piece.position)) == expected[done:]
    assert ids(narrow.read(pieces[-1].position)) == []


def test_updates_and_deletes(db):
    """They are no rows, and are not even sent; with changes=insert,update new versions are rows. What another
    publication sends besides is bad, and counted."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, ts int, x text); CREATE TABLE o (id int PRIMARY KEY)")
    db.execute("ALTER TABLE t REPLICA IDENTITY FULL; CREATE PUBLICATION all_of_it FOR TABLE t, o")
    plain = eddy.source(db.address("/t?changes=1"))
    newer = eddy.source(db.address("/t?changes=insert,update&slot=newer"))
    every = eddy.source(db.address("/t?changes=1&slot=every&publication=all_of_it"))
    for source in (plain, newer, every):
        list(source.read(None))
    db.execute(
        "INSERT INTO t SELECT g, g, NULL FROM generate_series(1, 4) g; INSERT INTO o VALUES (1); DELETE FROM o"
    )
    db.execute("UPDATE t SET x = 'new ' || id WHERE id > 2; DELETE FROM t WHERE id = 1")
    db.execute("INSERT INTO t VALUES (5, 5, 'x'); TRUNCATE o; TRUNCATE t")
    assert ids(plain.read(None)) == [1, 2, 3, 4, 5]
    found = rows_of(newer.read(None))
    assert [(row["id"], row["x"]) for row in found][4:] == [(3, "new 3"), (4, "new 4"), (5, "x")]
    pieces = list(every.read(None))
    assert ids(pieces) == [1, 2, 3, 4, 5]
    assert {bad.reason.partition(":")[0]: bad.rows for piece in pieces for bad in piece.bad} == {
        "UPDATE": 2,
        "DELETE": 1,
        "TRUNCATE": 1,
    }


def test_a_table_of_parts(db):
    """What goes into the parts of a table is of the whole."""
    db.execute("CREATE TABLE t (id int, ts int) PARTITION BY RANGE (id)")
    for start in (0, 10):
        db.execute(f"CREATE TABLE t{start} PARTITION OF t FOR VALUES FROM ({start}) TO ({start + 10})")
    source = eddy.source(db.address("/t?changes=1"))
    list(source.read(None))
    db.execute("INSERT INTO t SELECT g, g FROM generate_series(5, 14) g")
    assert ids(source.read(None)) == list(range(5, 15))


def test_a_table_without_a_key_can_still_be_updated(db):
    """The server refuses updates where they are published and there is no key, so they are not published."""
    db.execute("CREATE TABLE t (id int, ts int)")
    list(eddy.source(db.address("/t?changes=1")).read(None))
    db.execute("INSERT INTO t VALUES (1, 1); UPDATE t SET ts = 2; DELETE FROM t")


def test_values_that_do_not_fit_and_columns_that_change(db):
    """Infinity is bad; a column that is dropped makes its rows bad, one that is added does nothing."""
    db.execute("CREATE TABLE t (id int, ts timestamptz, x text)")
    source = eddy.source(db.address("/t?changes=1"))
    list(source.read(None))
    db.execute("INSERT INTO t VALUES (1, 'infinity', ''), (2, now(), 'a'); ALTER TABLE t ADD y int DEFAULT 3")
    db.execute(
        "INSERT INTO t VALUES (3, now(), 'b', 4); ALTER TABLE t DROP x; INSERT INTO t VALUES (4, now(), 5)"
    )
    pieces = list(source.read(None))
    assert ids(pieces) == [2, 3]
    assert [(bad.row, bad.reason) for piece in pieces for bad in piece.bad] == [
        (1, "column ts: 'infinity' does not fit timestamp[us, tz=UTC]"),
        (4, "column x is no longer in the table"),
    ]


def test_the_slot_follows_the_checkpoints(db, tmp_path):
    """A run gives what was inserted since the one before; the server need not keep what no checkpoint goes back to."""
    db.execute("CREATE TABLE t (id int, ts int)")
    query, given, seen = "SELECT id FROM t [ROWS 1]", {"t": db.address("/t?changes=1")}, []
    for number in range(3):
        db.execute(
            "INSERT INTO t SELECT g, 0 FROM generate_series(%s::int, %s::int) g",
            (10 * number, 10 * number + 9),
        )
        found = eddy.run(query, given).to_arrow().column("id").to_pylist()
        assert found == (
            [] if number == 0 else list(range(10 * number, 10 * number + 10))
        )  # the first makes the slot
        seen.append(slot_of(db))
    assert seen == sorted(set(seen))
    options = {"sink": str(tmp_path / "out.csv"), "checkpoint": tmp_path / "progress", "every": 0, "batch": 4}
    db.execute("INSERT INTO t SELECT g, 0 FROM generate_series(30, 39) g")
    eddy.run(query, given, limit=100, **options)
    assert slot_of(db) > seen[-1]
    assert (tmp_path / "out.csv").read_text().split() == ['"id"', *map(str, range(30, 40))]


def test_following_a_table(db):
    """A run goes on until it is stopped, over cut connections and a server that is started again; rows come once."""
    db.execute("CREATE TABLE t (id int, ts int)")
    source = eddy.source(db.address("/t?changes=1"), follow=True)
    controls, results = [], []

    class Keep(eddy.Sink):
        def write(self, table):
            results.extend(table.column("id").to_pylist())

    run = threading.Thread(
        target=eddy.run,
        args=("SELECT id FROM t [ROWS 1]", {"t": source}, Keep()),
        kwargs={"control": controls.append},
    )
    run.start()
    try:
        until(lambda: slot_of(db))
        for number in range(6):
            db.execute(
                "INSERT INTO t SELECT g, g FROM generate_series(%s::int, %s::int) g",
                (10 * number, 10 * number + 9),
            )
            if number == 3:
                db.cluster.stop()
                db.cluster.start()
                db.connection = db.cluster.connect(db.name)
            elif number % 2:
                db.cut()
            else:
                until(lambda n=number: len(results) >= 10 * n + 9)
        until(lambda: len(results) >= 59)  # the last one waits for others of its time
    finally:
        controls[0].stop()
        run.join(20)
    assert not run.is_alive() and results == list(range(59))


def until(condition, seconds=20):
    """Wait for something."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_slots_that_are_not_there(db, tmp_path):
    """A slot that is gone, or was read by somebody else, and a publication that is missing are told of."""
    db.execute("CREATE TABLE t (id int, ts int)")
    source = eddy.source(db.address("/t?changes=1"))
    at = list(source.read(None))[-1].position
    db.execute("INSERT INTO t VALUES (1, 1)")
    db.execute(f"SELECT pg_logical_slot_get_binary_changes('eddy_t_{relation(db)}', NULL, NULL, "
               f"'proto_version', '1', 'publication_names', 'eddy_{relation(db)}_insert')")  # fmt: skip
    with pytest.raises(eddy.EddyError, match="has gone beyond the last checkpoint"):
        list(source.read(at))
    db.execute(f"SELECT pg_drop_replication_slot('eddy_t_{relation(db)}')")
    with pytest.raises(eddy.EddyError, match=r"the slot eddy_t_[0-9]+ is gone"):
        list(source.read(at))
    with pytest.raises(eddy.EddyError, match="no publication mine"):
        list(eddy.source(db.address("/t?changes=1&publication=mine")).read(None))
    db.execute("SELECT pg_create_logical_replication_slot('of_others', 'test_decoding')")
    with pytest.raises(eddy.EddyError, match="the slot of_others is of test_decoding"):
        list(eddy.source(db.address("/t?changes=1&slot=of_others")).read(None))


def relation(db):
    return db.execute("SELECT 't'::regclass::oid")[0][0]
