"""A PostgreSQL server: its address, connections to it, and what its errors mean in one line.

Rows are read in bulk through ADBC, as Arrow; all else goes through psycopg.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
from attrs import frozen
from psycopg import sql
from psycopg.conninfo import make_conninfo

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.query.names import nearest

LIBPQ = ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout")
"""Options of an address that are those of libpq."""
CONNECT = 10
"""Seconds until a server that does not answer is given up."""
_SETTINGS = (
    "-c timezone=UTC -c datestyle=ISO -c bytea_output=hex -c extra_float_digits=1 -c intervalstyle=postgres"
)
_LOST = re.compile(
    r"server closed the connection|terminating connection|no connection to the server|could not (receive|send) data|"
    r"connection (has been|is|was) (closed|lost|bad)|SSL SYSCALL|starting up|shutting down|recovery mode|"
    r"Connection (refused|reset|timed out)|timeout expired|is active for PID|could not connect|Failed to connect"
)
_NEVER = re.compile(r"authentication failed|no password supplied|does not exist|no pg_hba.conf entry")
"""What no second try mends, though it happens while connecting."""
NATURAL = ("r", "p", "v", "m", "f")
"""What may be read like a table."""


class Lost(EddyError):
    """The connection is gone, and may come back."""


@frozen
class Relation:
    """A table that is there."""

    schema: str
    name: str
    oid: int

    @property
    def identifier(self) -> sql.Identifier:
        """As SQL writes it."""
        return sql.Identifier(self.schema, self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@frozen
class Server:
    """Connects to the database of an address. Messages show the address, without user and password."""

    address: Address

    @property
    def database(self) -> str:
        """The first part of the path."""
        return self.address.needs_path("database", "postgresql://host/database/table").partition("/")[0]

    def table(self) -> str | None:
        """The table that the address names: behind the database, or as an option."""
        path, option = self.address.path.partition("/")[2], self.address.options.get("table")
        if path and option:
            raise EddyError(f"{self.address} names a table, and so does table={option}: leave one out")
        return path or option or None

    def conninfo(self) -> str:
        """What libpq is given."""
        address = self.address
        hosts = [_host(part) for part in address.hosts.split(",")] if address.hosts else []
        given: dict[str, Any] = {"connect_timeout": CONNECT}
        given |= {name: value for name, value in address.options.items() if name in LIBPQ}
        if hosts:
            given["host"] = ",".join(host for host, _ in hosts)
            given["port"] = ",".join(port for _, port in hosts)
        given |= {"user": address.user, "password": address.password}
        given = {name: value for name, value in given.items() if value is not None}
        return make_conninfo(
            dbname=self.database,
            options=_SETTINGS,
            application_name="eddy",
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=30_000,
            **given,
        )

    def connect(self) -> psycopg.Connection[Any]:
        """A connection, in which every statement is a transaction of its own; EddyError or `Lost`."""
        with self.explained():
            return psycopg.connect(self.conninfo(), autocommit=True, prepare_threshold=None)

    def bulk(self) -> Bulk:
        """A connection for reading many rows."""
        return Bulk(self)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the server as `Lost`, or as EddyError with the address."""
        try:
            yield
        except psycopg.Error as error:
            raise self.told(error, error.sqlstate) from error
        except (pa.ArrowException, OSError) as error:  # in the middle of what ADBC reads
            raise self.told(error, None) from error

    def told(self, error: Exception, state: str | None) -> Exception:
        """The error to raise for one of a library."""
        text = self.line(error)
        lost = _LOST.search(str(error)) is not None or (state or "")[:2] == "08" or state in _LOST_STATES
        if lost and not _NEVER.search(str(error)):
            return Lost(text)
        return EddyError(text)

    def line(self, error: Exception) -> str:
        """What an error says, in one line without the statement."""
        lines = [line.strip() for line in str(error).strip().splitlines()]
        kept = next((line for line in lines if re.search(r"FATAL:|ERROR:", line)), lines[0] if lines else "")
        text = re.sub(r"^.*?(FATAL|ERROR):\s*", "", kept)
        text = re.sub(r"^\w+: \[libpq\] Failed to connect: |^connection failed: ", "", text)
        hint = next((line[5:].strip() for line in lines if line.startswith("HINT:")), "")
        text = f"{self.address}: {text or type(error).__name__}{f' ({hint})' if hint else ''}"
        secret = self.address.password
        return text.replace(secret, "***") if secret else text

    def first(self) -> psycopg.Connection[Any]:
        """A connection at the beginning: a server that is not there is an error at once."""
        try:
            return self.connect()
        except Lost as error:
            raise EddyError(f"{error}: is the server running, and is this its address?") from None

    def relation(self, connection: psycopg.Connection[Any], name: str) -> Relation | None:
        """The table of a name, which may have its schema before it; None if there is none."""
        schema, _, table = name.rpartition(".")
        found = connection.execute(
            "SELECT n.nspname, c.relname, c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = ANY(%s) AND (c.relname = %s AND pg_table_is_visible(c.oid) "
            "OR n.nspname = %s AND c.relname = %s)",
            (list(NATURAL), name, schema, table),
        ).fetchone()
        return None if found is None else Relation(*found)

    def missing(self, connection: psycopg.Connection[Any], name: str) -> EddyError:
        """There is no such table."""
        rows = connection.execute(
            "SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = ANY(%s) "
            "AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') "
            "AND c.relname !~ '^eddy_(commits|staged)' LIMIT 10000",
            (list(NATURAL),),
        ).fetchall()
        known = [
            table if visible and "." not in name else f"{schema}.{table}" for schema, table, visible in rows
        ]
        told = nearest(name, dict.fromkeys(known)) if known else "the database has none"
        return EddyError(f"{self.address}: there is no table {name}: {told}")


_LOST_STATES = ("57P01", "57P02", "57P03", "55006")


def _host(part: str) -> tuple[str, str]:
    """A host and its port."""
    name, colon, port = part.rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), port
    return part.strip("[]"), "5432"


class Bulk:
    """A connection through ADBC. What it reads comes as Arrow, so that nothing is done for a row."""

    def __init__(self, server: Server) -> None:
        import adbc_driver_manager as adbc
        from adbc_driver_postgresql import connect

        self.server, self.adbc = server, adbc
        self._open: list[Any] = []
        with self._explained():
            self._open.append(connect(server.conninfo()))
            self._open.append(adbc.AdbcConnection(self._open[0]))

    def read(self, query: str, size: int) -> Iterator[pa.RecordBatch]:
        """The rows of a query in batches of about so many bytes."""
        with self._explained():
            statement = self.adbc.AdbcStatement(self._open[1])
        try:
            with self._explained():
                statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(size)})
                statement.set_sql_query(query)
                stream, _ = statement.execute_query()
                reader = pa.RecordBatchReader.from_stream(stream)
            try:
                while True:
                    with self._explained():
                        try:
                            batch = reader.read_next_batch()
                        except StopIteration:
                            return
                    yield batch
            finally:
                reader.close()
        finally:
            statement.close()

    def close(self) -> None:
        """End the connection."""
        while self._open:
            self._open.pop().close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with self.server.explained():
            try:
                yield
            except self.adbc.Error as error:
                raise self.server.told(error, error.sqlstate) from error
