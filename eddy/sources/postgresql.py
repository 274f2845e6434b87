"""PostgreSQL as a source: the rows of a table or a query, or the changes of a table."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

from eddy.connect.address import Address
from eddy.connect.patience import check
from eddy.connect.postgresql import LIBPQ, Relation, Server
from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.sources.base import Source
from eddy.sources.pg_changes import Changes
from eddy.sources.pg_columns import PgColumn, column_of, with_schema
from eddy.sources.pg_slot import Slot
from eddy.sources.pg_table import Rows

EXAMPLE = "postgresql://host/database/schema.table"
NO, YES = ("0", "false", "no"), ("", "1", "true", "yes")
INSERT, UPDATE = "insert", "update"


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Source:
    """The source of an address. What it reads must be there."""
    if format is not None:
        raise EddyError(f"{address} has columns with types: leave format={format!r} out")
    check(address, ("table", "query", "static", "changes", "slot", "publication", *LIBPQ))
    server, table, query = Server(address), Server(address).table(), address.options.get("query")
    ops = _changes(address)
    if (table is None) == (query is None):
        raise EddyError(
            f"{address} names no table, or a query as well: write {EXAMPLE}, or ?query=SELECT ..."
        )
    static = _flag(address, "static")
    for name, value in (
        ("slot", not ops),
        ("publication", not ops),
        ("static", bool(ops)),
        ("query", bool(ops)),
    ):
        if name in address.options and value:
            told = (
                "is for ?changes=1" if name in ("slot", "publication") else "cannot be combined with changes"
            )
            raise EddyError(f"{address}: {name} {told}")
    with server.first() as connection, server.explained():
        if query is not None:
            origin: sql.Composable = sql.SQL("({})").format(sql.SQL(query.rstrip().rstrip(";")))
            return _rows(server, connection, origin, f"{address}?query", (), schema, time, static)
        assert table is not None
        relation = server.relation(connection, table)
        if relation is None:
            raise server.missing(connection, table)
        title = f"postgresql://{address.hosts}/{server.database}/{relation}"
        if ops:
            columns = _columns(connection, relation.identifier)
            made = _generated(connection, relation.oid)
            found = with_schema(title, [column for column in columns if column.name not in made], schema)
            own_time(title, found, time)
            slot = Slot(
                title,
                relation,
                ops,
                address.options.get("slot") or _slot_name(relation),
                address.options.get("publication"),
            )
            return Changes(server, title, found, slot, time, bounded=not follow)
        key = _key(connection, relation.oid)
        return _rows(server, connection, relation.identifier, title, key, schema, time, static)


def _rows(
    server: Server,
    connection: psycopg.Connection[Any],
    origin: sql.Composable,
    title: str,
    key: tuple[str, ...],
    schema: Any,
    time: str | None,
    static: bool,
) -> Rows:
    if static and time is not None:
        raise EddyError(f"{title} is static, which has no time: leave time={time!r} out")
    columns = with_schema(title, _columns(connection, origin), schema)
    (encoding,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
    by = None if static else own_time(title, columns, time)
    return Rows(server, origin, title, columns, key, encoding == "SQL_ASCII", time, static, by)


def own_time(title: str, columns: tuple[PgColumn, ...], time: str | None) -> str | None:
    """The column of its time: the one that was said, `ts`, or the only timestamp; None where there is none of these."""
    names = {column.name: column for column in columns}
    if time is not None:
        if time not in names:
            raise EddyError(f"{title} has no column {time} for its time: {nearest(time, names)}")
        return time
    times = [name for name, column in names.items() if pa.types.is_timestamp(column.kind)]
    return "ts" if "ts" in names else times[0] if len(times) == 1 else None


def _columns(connection: psycopg.Connection[Any], origin: sql.Composable) -> list[PgColumn]:
    cursor = connection.execute(sql.SQL("SELECT * FROM {} AS r LIMIT 0").format(origin))
    described = cursor.description or []
    return [column_of(one.name, one.type_code, one.precision, one.scale) for one in described]


def _key(connection: psycopg.Connection[Any], oid: int) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT a.attname FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(number, place), pg_attribute a "
        "WHERE i.indrelid = %s AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place",
        (oid,),
    )
    return tuple(name for (name,) in rows)


def _generated(connection: psycopg.Connection[Any], oid: int) -> set[str]:
    """Columns that the server computes: changes do not have them."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND attgenerated <> ''"
    return {name for (name,) in connection.execute(query, (oid,))}


def _slot_name(relation: Relation) -> str:
    """That of a table; slots of all databases are in one place, and have few letters."""
    return f"eddy_{re.sub('[^a-z0-9_]', '_', relation.name.lower())[:40]}_{relation.oid}"


def _flag(address: Address, name: str) -> bool:
    given = address.options.get(name, "0").lower()
    if given not in (*NO, *YES):
        raise EddyError(f"{address}: {name} is 1 or 0, not {given!r}")
    return given in YES


def _changes(address: Address) -> frozenset[str]:
    """Which changes are rows; none if it is not about changes."""
    given = address.options.get("changes", "0").lower()
    if given in NO:
        return frozenset()
    if given in YES:
        return frozenset((INSERT,))
    found = frozenset(part.strip() for part in given.split(","))
    if INSERT in found and found <= {INSERT, UPDATE}:
        return found
    raise EddyError(
        f"{address}: changes is 1 for inserted rows, or insert,update for new versions too, not {given!r}"
    )
