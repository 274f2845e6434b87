"""PostgreSQL as a sink: rows are added to a table, each commit in one transaction.

Rows first go to a staging table, in blocks. A commit moves what is staged into the table, together with its number
in the ledger: so after any crash both tell the same.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
import pyarrow as pa
from psycopg import sql

from eddy.connect.address import Address
from eddy.connect.patience import Patience, check
from eddy.connect.postgresql import LIBPQ, Lost, Relation, Server
from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.sinks.base import Sink
from eddy.sinks.pg_ledger import NOTHING, Ledger
from eddy.sinks.pg_text import csv_rows, type_of

T = TypeVar("T")
BLOCK = 1 << 23
"""Bytes of rows that are sent at a time, about."""


def open(address: Address, *, format: str | None) -> Sink:
    """The sink of an address."""
    if format is not None:
        raise EddyError(f"{address} takes columns with types: leave format={format!r} out")
    check(address, ("table", *LIBPQ))
    server = Server(address)
    name = server.table()
    if name is None:
        raise EddyError(f"{address} names no table: write postgresql://host/database/schema.table")
    return Table(server, name)


class Table(Sink):
    """Adds rows to a table, which is made if it is missing. A token is a run and the number of a commit."""

    exact = True

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.title = f"postgresql://{server.address.hosts}/{server.database}/{name}"
        self._connection: psycopg.Connection[Any] | None = None
        self._ledger: Any = None
        self._target: Any = None
        self._columns: list[str] = []
        self._held: list[bytes] = []
        self._blocks = 0
        self._number = 0
        self._prepared = NOTHING
        """Up to which commit the ledger knows that it is prepared."""

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._columns = schema.names
        self.server.first().close()
        relation = self._again(lambda connection: self._made(connection, schema))
        self._let_go()
        self._target = relation.identifier
        if token is None:
            self._ledger = Ledger(relation.schema, str(uuid.uuid4()), str(relation))
            self._again(self._ledger.begin)
            return
        self._ledger = Ledger(relation.schema, token["run"], str(relation))
        self._number = self._prepared = token["number"]
        self._again(self._restored)

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        self._held.append(csv_rows(table))
        if sum(map(len, self._held)) >= BLOCK:
            self._flush(None)

    def prepare(self) -> Any:
        self._number += bool(self._held or self._blocks)
        if self._number > self._prepared:
            self._flush(self._number)
            self._prepared = self._number
        return {"run": self._ledger.run, "number": self._number}

    def commit(self, token: Any) -> None:
        def work(connection: psycopg.Connection[Any]) -> None:
            if self._ledger.state(connection).number < token["number"]:
                self._move(connection, token["number"])

        self._again(work)
        self._blocks = 0

    def close(self) -> None:
        if self._ledger is not None:
            self._again(self._ledger.drop)
        self._let_go()

    def abandon(self, kept: bool) -> None:
        if not kept and self._ledger is not None:
            with contextlib.suppress(Lost, EddyError, psycopg.Error):
                self._ledger.forget(self._connected())
        self._let_go()

    def _made(self, connection: psycopg.Connection[Any], schema: pa.Schema) -> Relation:
        """The table, which is made if it is missing; EddyError if it cannot take such rows."""
        relation = self.server.relation(connection, self.name)
        if relation is not None:
            self._check(connection, relation)
            return relation
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.title,)
        )  # one makes it
        place, _, table = self.name.rpartition(".")
        where = sql.Identifier(place, table) if place else sql.Identifier(self.name)
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(one.name), sql.SQL(type_of(one.type))) for one in schema
        ]
        connection.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(where, sql.SQL(", ").join(columns))
        )
        found = self.server.relation(connection, self.name)
        if found is None:
            raise self.server.missing(connection, self.name)
        return found

    def _check(self, connection: psycopg.Connection[Any], relation: Relation) -> None:
        rows = connection.execute(
            "SELECT attname, attnotnull AND NOT atthasdef AND attidentity = '', "
            "attgenerated <> '' OR attidentity = 'a' FROM pg_attribute "
            "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped",
            (relation.oid,),
        ).fetchall()
        known = {name: (needed, own) for name, needed, own in rows}
        for name in self._columns:
            if name not in known:
                raise EddyError(
                    f"{self.title} has no column {name}, which results have: {nearest(name, known)}; name results with "
                    "AS, or give a table that is not there yet"
                )
            if known[name][1]:
                raise EddyError(
                    f"{self.title}: the server computes the column {name}, so no result can go there"
                )
        needed = [name for name, (must, _) in known.items() if must and name not in self._columns]
        if needed:
            raise EddyError(
                f"{self.title}: the column {needed[0]} is NOT NULL, and results have none of that name: give it a "
                "default, or name a result so"
            )

    def _restored(self, connection: psycopg.Connection[Any]) -> None:
        """What the last checkpoint has is in the table, and nothing else."""
        state, ledger, number = self._ledger.state(connection), self._ledger, self._number
        if state.number == number - 1 and state.prepared == number:
            self._move(connection, number)
            return
        if state.number < number or not ledger.take_back(connection, self._target, number):
            raise EddyError(
                f"{self.title} has commit {state.number} of this run, and the checkpoint is of commit {number}: begin "
                "with an empty folder of checkpoints"
            )
        ledger.drop(connection)
        ledger.set(connection, blocks=0, prepared=number)

    def _flush(self, prepared: int | None) -> None:
        """Stage what is held."""
        block = self._blocks + 1

        def work(connection: psycopg.Connection[Any]) -> None:
            if self._held and self._ledger.state(connection).blocks < block:
                self._stage(connection)
                self._ledger.set(connection, blocks=block)
            if prepared is not None:
                self._ledger.set(connection, prepared=prepared)

        self._again(work)
        self._blocks += bool(self._held)
        self._held = []

    def _stage(self, connection: psycopg.Connection[Any]) -> None:
        staging = self._ledger.staging
        names = sql.SQL(", ").join(map(sql.Identifier, self._columns))
        connection.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} AS SELECT {} FROM {} WITH NO DATA").format(
                staging, names, self._target
            )
        )
        copy = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(staging)
        with connection.cursor() as cursor, cursor.copy(copy) as rows:
            for part in self._held:
                rows.write(part)

    def _move(self, connection: psycopg.Connection[Any], number: int) -> None:
        """What is staged goes into the table."""
        staging, names = self._ledger.staging, sql.SQL(", ").join(map(sql.Identifier, self._columns))
        insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(self._target, names, names, staging)
        try:
            connection.execute(insert)
        except psycopg.errors.IntegrityError as error:
            raise EddyError(
                f"{self.server.line(error)}; the rows wait in {staging.as_string(None)}: mend that, and call it again "
                "to go on from the checkpoint"
            ) from error
        connection.execute(sql.SQL("TRUNCATE {}").format(staging))
        self._ledger.commit(connection, number)

    def _again(self, work: Callable[[psycopg.Connection[Any]], T], locked: bool = True) -> T:
        """Do something in one transaction, and again if the connection was lost; it looks whether it was done."""
        patience = Patience(self.server.address)
        while True:
            try:
                connection = self._connected()
                with self.server.explained(), connection.transaction():
                    found = work(connection)
                patience.fine()
                return found
            except Lost as error:
                self._let_go()
                patience.failed(error)
                patience.wait()

    def _connected(self) -> psycopg.Connection[Any]:
        """The connection, made again if it was lost; it holds the run."""
        if self._connection is None:
            self._connection = self.server.connect()
            with self.server.explained():
                self._connection.execute("SET client_min_messages = warning")
                self._connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false) "
                    "WHERE current_setting('synchronous_commit') = 'off'"
                )
                if self._ledger is not None:
                    self._ledger.lock(self._connection)
        return self._connection

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def __str__(self) -> str:
        return self.title
