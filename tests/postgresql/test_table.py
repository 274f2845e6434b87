"""Tables of PostgreSQL as sources."""

from __future__ import annotations

import datetime
import decimal
import time
import uuid

import pyarrow as pa
import pytest

import eddy
from tests.runs import QUERY, counted, expected, feed

D, U = decimal.Decimal, uuid.UUID
UTC = datetime.timezone.utc
EVERY = """
    CREATE TABLE every (
        id bigint PRIMARY KEY, ts timestamptz, plain timestamp, d date, t time, u uuid, b bytea, j jsonb, js json,
        f8 float8, f4 float4, i2 int2, i4 int4, ok bool, n numeric(12, 3), m numeric, "Odd name" text, v varchar(9),
        a int[], o oid
    )
"""
ROW = {
    "id": 1,
    "ts": datetime.datetime(2026, 1, 1, 8, tzinfo=UTC),
    "plain": datetime.datetime(2026, 1, 1, 10, 0, 0, 123456),
    "d": datetime.date(1969, 12, 31),
    "t": datetime.time(10, 11, 12, 500000),
    "u": U("12345678-9abc-def0-1234-56789abcdef0"),
    "b": b"\x00\xff,\n",
    "j": '{"a": [1]}',
    "js": '{"a" : 1}',
    "f8": 0.1,
    "f4": 0.5,
    "i2": -2,
    "i4": 4,
    "ok": True,
    "n": D("-12.500"),
    "m": "1.23456789012345678901234567890",
    "Odd name": 'x\n"y", \\z ü',
    "v": "",
    "a": "{1,2}",
    "o": 7,
}


def rows_of(pieces):
    return [row for piece in pieces if piece.rows is not None for row in piece.rows.to_pylist()]


def fill(db):
    db.execute(EVERY)
    columns = ", ".join(f'"{name}"' for name in ROW)
    db.execute(f"INSERT INTO every ({columns}) VALUES ({', '.join(['%s'] * len(ROW))})", tuple(ROW.values()))
    db.execute("INSERT INTO every (id) VALUES (2)")


def test_values_of_every_type(db):
    """What a table has comes as Arrow's values of the same type; NULL stays NULL."""
    fill(db)
    source = eddy.source(db.address("/every"))
    assert rows_of(source.read(None)) == [dict.fromkeys(ROW) | {"id": 2}, ROW]  # what has no time comes first
    kinds = dict(zip(source.schema.names, source.schema.types, strict=True))
    assert kinds["n"] == pa.decimal128(12, 3) and kinds["ts"] == pa.timestamp("us", "UTC")
    assert kinds["u"] == pa.uuid() and kinds["m"] == kinds["j"] == kinds["a"] == pa.string()


@pytest.mark.parametrize("key", ["id int PRIMARY KEY", "id int"])
def test_from_any_position(db, key):
    """Behind any position come the same rows as without a stop, whatever happens to older ones."""
    db.execute(f"CREATE TABLE t ({key}, ts timestamptz, x text)")
    db.execute("INSERT INTO t SELECT g, timestamptz '2026-01-01' + (g / 7) * interval '1 s', 'x' || g % 3 FROM "
               "generate_series(1, 40) g")  # fmt: skip
    db.execute(
        "INSERT INTO t VALUES (90, NULL, 'a'), (91, NULL, 'b'), (92, 'infinity', 'c'), (93, '-infinity', 'd')"
    )
    wanted = {"id": pa.int64(), "ts": pa.timestamp("us")}
    source = eddy.source(db.address("/public.t")).narrowed(wanted, 3)
    pieces = list(source.read(None))
    every = rows_of(pieces)
    assert len(every) == 42 and sum(len(piece.bad) for piece in pieces) == 2
    assert [row["id"] for row in every][:3] == [90, 91, 1]
    assert pieces[-1].position["end"] and list(source.read(pieces[-1].position)) == []
    done = 0
    for number, piece in enumerate(pieces[:-1]):
        done += 0 if piece.rows is None else piece.rows.num_rows
        if number % 3 != 1:  # in the middle of some time, and at the end of another
            assert rows_of(source.narrowed(wanted, 5).read(piece.position)) == every[done:]
    middle = pieces[9]
    db.execute("DELETE FROM t WHERE ts < %s::timestamptz", (middle.position["at"],))
    left = rows_of(source.read(middle.position))
    assert left == every[-len(left) :] and left


def test_rows_are_those_of_one_moment(db):
    """What is inserted or deleted while a table is read is not seen."""
    db.execute(
        "CREATE TABLE t AS SELECT g AS ts, g % 5 AS k, repeat('x', 200) AS x FROM generate_series(1, 60000) g"
    )
    pieces = eddy.source(db.address("/t")).read(None)
    first = next(pieces)
    db.execute("DELETE FROM t WHERE ts > 100; INSERT INTO t VALUES (70000, 1, '')")
    times = [*first.rows.column("ts").to_pylist(), *(row["ts"] for row in rows_of(pieces))]
    assert times == list(range(1, 60001))


def test_a_run_gives_what_the_oracle_gives(db, tmp_path):
    """Three streams, of two tables and a query, which are not stored in the order of their times."""
    tables = feed(5)
    for name, table in tables.items():
        db.execute(f'CREATE TABLE "{name}" (ts bigint, k bigint, id bigint PRIMARY KEY, note text)')
        for row in reversed(table.to_pylist()):
            db.execute(f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s)', tuple(row.values()))
    sources = {
        "A": eddy.source(db.address("/A")),
        "B": eddy.source(db.address('?query=SELECT ts, id, k FROM "B" WHERE ts >= 0;')),
        "C": eddy.source(db.address("/public.C")),
    }
    plain = {
        name: table.sort_by([("ts", "ascending"), ("id", "ascending")]) for name, table in tables.items()
    }
    assert counted(eddy.run(QUERY, sources).to_arrow()) == expected(plain)


def test_static_relations(db):
    """A table is a static relation by its address, and by the text of a query."""
    db.execute("CREATE TABLE users (id int, ts timestamptz, name text)")
    db.execute("INSERT INTO users VALUES (1, now(), 'Ann'), (2, NULL, 'Bo')")
    clicks = pa.table({"ts": [1, 2, 3], "user": [2, 1, 2]})
    text = "SELECT clicks.ts, users.name FROM clicks [RANGE 10], users{} WHERE clicks.user = users.id"
    given = [db.address("/users?static=1"), db.address("?query=SELECT id, name FROM users&static=1")]
    for address in given:
        found = eddy.run(text.format(""), {"clicks": clicks, "users": address}).to_arrow()
        assert sorted(found.column("users.name").to_pylist()) == ["Ann", "Bo", "Bo"]
    found = eddy.run(text.format(" [STATIC]"), {"clicks": clicks, "users": db.address("/users")})
    assert found.results == 3


def test_what_is_no_value_goes_to_the_dead_letters(db):
    """Infinity, a time that Arrow does not reach, and a number that is none; the run goes on."""
    db.execute("CREATE TABLE t (ts timestamptz, d date, n numeric(5, 1), x text)")
    db.execute(
        "INSERT INTO t VALUES ('infinity', NULL, 1, ''), ('294000-01-01', NULL, 2, ''), "
        "('2026-01-01', '-infinity', 3, ''),"
        "('2026-01-02', '2026-01-01', 'NaN', ''), (NULL, NULL, 5, ''), ('2026-01-03', '2026-01-01', 6, 'x')"
    )
    outcome = eddy.run("SELECT ts, d, n, x FROM t [ROWS 1]", {"t": db.address("/t")})
    assert outcome.to_arrow().column("n").to_pylist() == [D("6.0")] and outcome.bad == {"t": 5}
    told = " ".join(outcome.letters)
    for reason in (
        "column ts: infinity",
        "column d: -infinity",
        "column n: 'NaN' does not fit decimal",
        "is NULL",
    ):
        assert reason in told


def test_a_schema_says_what_text_is(db):
    """Numerics without digits, and texts, become what schema= says; what does not fit is bad."""
    db.execute("CREATE TABLE t (ts bigint, n numeric, x text, y text)")
    db.execute("INSERT INTO t VALUES (1, 1.5, '10', 'a'), (2, 2.25, 'ten', 'b'), (3, NULL, NULL, 'c')")
    schema = {"ts": "int64", "n": "decimal(6, 2)", "x": "int64"}
    outcome = eddy.run("SELECT n, x FROM t [ROWS 1]", {"t": eddy.source(db.address("/t"), schema=schema)})
    assert outcome.to_arrow().to_pylist() == [{"n": D("1.50"), "x": 10}, {"n": None, "x": None}]
    assert "column x: 'ten' does not fit int64" in outcome.letters[0]
    with pytest.raises(eddy.EddyError, match="no column z"):
        eddy.source(db.address("/t"), schema={"z": "int64"})


def test_a_connection_that_is_cut_is_made_again(db):
    """Reading goes on where it was."""
    db.execute(
        "CREATE TABLE t AS SELECT g / 3 AS ts, g AS id, repeat('x', 300) AS x FROM generate_series(1, 50000) g"
    )
    found, cut = [], 0
    for piece in eddy.source(db.address("/t")).read(None):
        found += [] if piece.rows is None else piece.rows.column("id").to_pylist()
        if cut < 3:
            cut += db.cut() > 0
    assert cut and found == list(range(1, 50001))


def test_a_server_that_stays_away(cluster, db):
    """Reading gives up with one line, in the time that the address gives it; the server's return is no secret."""
    db.execute("CREATE TABLE t AS SELECT g AS ts, repeat('x', 300) AS x FROM generate_series(1, 50000) g")
    pieces = eddy.source(db.address("/t?retry=0.4")).read(None)
    next(pieces)
    cluster.stop()
    began = time.monotonic()
    try:
        with pytest.raises(eddy.EddyError, match=r"has been away for 0.4 s") as caught:
            list(pieces)
        assert time.monotonic() - began < 5
        with pytest.raises(eddy.EddyError, match=r"Connection refused: is the server running"):
            eddy.source(db.address("/t"))
    finally:
        cluster.start()
        db.connection = cluster.connect(db.name)
    assert one_line(caught) and list(eddy.source(db.address("/t")).read(None))


WRONG = {
    "/nono": "there is no table nono: There is users",
    "/user": "there is no table user: did you mean users",
    "/other.users": "there is no table other.users: did you mean public.users",
    "": "names no table",
    "/users?changes=2": "changes is 1 for inserted rows",
    "/users?static=maybe": "static is 1 or 0",
    "/users?slot=a": "slot is for .changes=1",
    "/users?static=1&changes=1": "static cannot be combined with changes",
    "/users?retry=soon": "retry is a number of seconds",
    "/users?colour=1": "has no option 'colour'",
    "/users?table=users": "names a table, and so does",
    "?query=SELEC 1": "syntax error",
    "?query=SELECT 1 AS a, 2 AS a": '"a" is ambiguous',
    "?query=SELECT 1/0 AS ts": "division by zero",
}


def one_line(caught):
    text = str(caught.value)
    return "\n" not in text and "p@ss" not in text and "p%40ss" not in text


def test_addresses_that_are_wrong(db):
    """One line says what is wrong, without the password."""
    db.execute("CREATE TABLE users (id int, ts timestamptz)")
    for rest, told in WRONG.items():
        with pytest.raises(eddy.EddyError, match=told) as caught:
            list(eddy.source(db.address(rest)).read(None))
        assert one_line(caught)


def test_who_may_not_connect(cluster, db):
    """A wrong password, a database that is not there, a host that is none, a port where nobody is."""
    good = db.address("/t")
    for address, told in {
        good.replace("p%40ss", "wrong"): "password authentication failed",
        cluster.address("nodb", "/t"): 'database "nodb" does not exist',
        good.replace("127.0.0.1", "host.invalid"): "host.invalid",
        good.replace(f":{cluster.port}/", ":1/"): "Connection refused",
    }.items():
        for what in (eddy.source, lambda where: eddy.sink(where).open(pa.schema({"a": pa.int64()}), None)):
            with pytest.raises(eddy.EddyError, match=told) as caught:
                what(address)
            assert one_line(caught)
    db.execute("CREATE TABLE t (ts int); CREATE ROLE poor LOGIN PASSWORD 'poor'")
    try:
        poor = eddy.source(good.replace("eddy:p%40ss%3Awo%2Frd", "poor:poor"))
        with pytest.raises(eddy.EddyError, match="permission denied for table t"):
            list(poor.read(None))
    except eddy.EddyError as error:
        assert "permission denied" in str(error)
    finally:
        db.execute("DROP ROLE poor")
