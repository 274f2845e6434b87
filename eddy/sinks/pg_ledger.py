"""What the database knows of a run: how much was staged, prepared and committed; in a table, `eddy_commits`.

One row a run. It changes in the same transactions as the rows of results do, so it tells of them after any crash.
"""

from __future__ import annotations

from typing import Any

import psycopg
from attrs import frozen
from psycopg import sql

from eddy.connect.postgresql import Lost
from eddy.errors import EddyError

NAME = "eddy_commits"
STAGED = "eddy_staged_"
XIDS = 4
"""Commits that can be taken back."""
KNOWN = 2**31
"""Transactions by which a row's own is told from others."""
LEFT = "30 days"
"""After which a run does not come back that has died in its first commit: it may be named by a checkpoint, or not."""
NOTHING = -1
"""The newest commit that is prepared, of a run that no checkpoint can name yet."""


@frozen
class State:
    """The row of a run."""

    blocks: int
    """Blocks of rows that wait in the staging table."""
    prepared: int
    """The newest commit that is prepared; 0 for one of no rows, `NOTHING` before the first."""
    number: int
    """The newest commit whose rows are in the table."""
    xids: tuple[int, ...]
    """The transactions of the newest commits."""


@frozen
class Ledger:
    """The row of one run, and its staging table."""

    schema: str
    run: str
    target: str

    @property
    def table(self) -> sql.Identifier:
        """All runs."""
        return sql.Identifier(self.schema, NAME)

    @property
    def staging(self) -> sql.Identifier:
        """Where rows wait."""
        return sql.Identifier(self.schema, STAGED + self.run.replace("-", "")[:16])

    def begin(self, connection: psycopg.Connection[Any]) -> None:
        """A new run. What others have left that died before a checkpoint could name them is removed."""
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (NAME,)
        )  # one makes the table
        connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (run uuid PRIMARY KEY, target text NOT NULL, blocks bigint NOT NULL, "
                "prepared bigint NOT NULL, number bigint NOT NULL, xids bigint[] NOT NULL, "
                "at timestamptz NOT NULL DEFAULT now())"
            ).format(self.table)
        )
        self._sweep(connection)
        query = sql.SQL("INSERT INTO {} VALUES (%s, %s, 0, %s, 0, '{{}}')").format(self.table)
        connection.execute(query, (self.run, self.target, NOTHING))

    def lock(self, connection: psycopg.Connection[Any]) -> None:
        """Hold the run as long as the connection lasts; Lost while another has it, maybe that of a killed process."""
        found = connection.execute(
            "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (self.run,)
        ).fetchone()
        if found != (True,):
            raise Lost(f"{self.target}: another connection writes the results of this run")

    def state(self, connection: psycopg.Connection[Any]) -> State:
        """What is in; EddyError if nothing is known of the run."""
        query = sql.SQL("SELECT blocks, prepared, number, xids FROM {} WHERE run = %s").format(self.table)
        try:
            row = connection.execute(query, (self.run,)).fetchone()
        except psycopg.errors.UndefinedTable:
            row = None
        if row is None:
            raise EddyError(
                f"{self.target}: the table {self.schema}.{NAME} does not know the run of this checkpoint: put it back, "
                "or begin with an empty folder of checkpoints"
            )
        blocks, prepared, number, xids = row
        return State(blocks, prepared, number, tuple(xids))

    def set(self, connection: psycopg.Connection[Any], **values: int) -> None:
        """Change the row."""
        self._set(connection, {name: sql.Literal(value) for name, value in values.items()})

    def commit(self, connection: psycopg.Connection[Any], number: int) -> None:
        """What was staged is in the table, by this transaction."""
        newest = sql.SQL("(xids || pg_current_xact_id()::text::bigint)[greatest(1, cardinality(xids) - {}):]")
        values = {"number": sql.Literal(number), "blocks": sql.Literal(0)}
        self._set(connection, {**values, "xids": newest.format(sql.Literal(XIDS - 2))})

    def take_back(self, connection: psycopg.Connection[Any], target: sql.Composable, number: int) -> bool:
        """Remove the rows of all commits behind one: those that their transactions have inserted. Whether they are
        still known."""
        state = self.state(connection)
        back = state.number - number
        (now,) = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() or (0,)
        if back > len(state.xids) or any(now - xid >= KNOWN for xid in state.xids):
            return False
        if back > 0:
            ours = ",".join(str(xid & 0xFFFFFFFF) for xid in state.xids[-back:])
            query = sql.SQL("DELETE FROM {} WHERE xmin = ANY ({}::xid[])")
            connection.execute(query.format(target, sql.Literal("{" + ours + "}")))
            xids = sql.Literal(list(state.xids[:-back]))
            self._set(
                connection, {"number": sql.Literal(number), "xids": sql.SQL("{}::bigint[]").format(xids)}
            )
        return True

    def _set(self, connection: psycopg.Connection[Any], values: dict[str, sql.Composable]) -> None:
        parts = [sql.SQL("{} = {}").format(sql.Identifier(name), value) for name, value in values.items()]
        query = sql.SQL("UPDATE {} SET {}, at = now() WHERE run = %s").format(
            self.table, sql.SQL(", ").join(parts)
        )
        connection.execute(query, (self.run,))

    def forget(self, connection: psycopg.Connection[Any]) -> None:
        """Nobody comes back for the run."""
        self.drop(connection)
        connection.execute(sql.SQL("DELETE FROM {} WHERE run = %s").format(self.table), (self.run,))

    def drop(self, connection: psycopg.Connection[Any]) -> None:
        """Remove the staging table."""
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self.staging))

    def _sweep(self, connection: psycopg.Connection[Any]) -> None:
        query = sql.SQL(
            "SELECT run::text, target FROM {} WHERE target = %s "
            "AND (prepared = %s OR prepared = 1 AND number = 0 AND at < now() - %s::interval)"
        ).format(self.table)
        for run, target in connection.execute(query, (self.target, NOTHING, LEFT)).fetchall():
            other = Ledger(self.schema, run, target)
            try:
                with connection.transaction():
                    other.lock(connection)
                    other.forget(connection)
            except (Lost, psycopg.errors.InsufficientPrivilege):
                continue  # it is at work, or somebody else's
            connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (run,))
