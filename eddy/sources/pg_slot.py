"""A slot of PostgreSQL's logical replication, and the publication that is read through it."""

from __future__ import annotations

from typing import Any

import psycopg
from attrs import frozen
from psycopg import sql

from eddy.connect.postgresql import Relation
from eddy.errors import EddyError


def ends(control: psycopg.Connection[Any]) -> tuple[int, int]:
    """Up to where the server has written its log, which is where a record ends, and up to where that is safe."""
    query = (
        "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, "
        "(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint"
    )
    inserted, flushed = control.execute(query).fetchone() or (0, 0)
    return int(inserted), int(flushed)


@frozen
class Slot:
    """Keeps the changes of a table that were not yet read."""

    title: str
    """What messages call the table."""
    relation: Relation
    ops: frozenset[str]
    """Which changes are rows: insert, and maybe update."""
    name: str
    publication: str | None
    """None for one of ours."""

    @property
    def publishing(self) -> str:
        """The publication that is read."""
        return self.publication or "_".join(("eddy", str(self.relation.oid), *sorted(self.ops)))

    @property
    def query(self) -> str:
        """Looks at all that the slot keeps."""
        text = sql.SQL(
            "SELECT data FROM pg_logical_slot_peek_binary_changes({}, NULL, NULL, 'proto_version', '1', "
            "'publication_names', {})"
        )
        name = sql.Identifier(self.publishing).as_string(None)
        return text.format(sql.Literal(self.name), sql.Literal(name)).as_string(None)

    def advance(self, control: psycopg.Connection[Any], lsn: int) -> None:
        """Give up what was committed before a place."""
        control.execute(
            "SELECT pg_replication_slot_advance(slot_name, '0/0'::pg_lsn + %s::numeric) FROM pg_replication_slots "
            "WHERE slot_name = %s AND NOT active AND confirmed_flush_lsn < '0/0'::pg_lsn + %s::numeric",
            (lsn, self.name, lsn),
        )

    def prepared(self, control: psycopg.Connection[Any], at: int | None) -> int:
        """Make the slot if it is not there. Where it begins; EddyError if that is behind ``at``."""
        (level,) = control.execute("SHOW wal_level").fetchone() or ("",)
        if level != "logical":
            raise EddyError(
                f"{self.title}: its changes need wal_level=logical, and the server has {level}: set it in "
                "postgresql.conf, and restart the server"
            )
        self._publish(control)
        start = self._started(control)
        if start is None:
            if at is not None:
                raise EddyError(
                    f"{self.title}: the slot {self.name} is gone, so changes since the last checkpoint cannot be "
                    "read: begin with an empty folder of checkpoints"
                )
            control.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self.name,))
            start = self._started(control) or 0
        if at is not None and start > at:
            raise EddyError(
                f"{self.title}: the slot {self.name} has gone beyond the last checkpoint; somebody else reads it: "
                "give each run its own, ?slot=name, and begin with an empty folder of checkpoints"
            )
        return start

    def _started(self, control: psycopg.Connection[Any]) -> int | None:
        """Where the slot begins; None if there is none."""
        found = control.execute(
            "SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint, plugin, database, wal_status, current_database() "
            "FROM pg_replication_slots WHERE slot_name = %s",
            (self.name,),
        ).fetchone()
        if found is None:
            return None
        lsn, plugin, database, status, ours = found
        if database != ours:
            raise EddyError(
                f"{self.title}: the slot {self.name} is of the database {database}: give ?slot=name"
            )
        if plugin != "pgoutput":
            raise EddyError(
                f"{self.title}: the slot {self.name} is of {plugin or 'another kind'}: give ?slot=name"
            )
        if status == "lost" or lsn is None:
            raise EddyError(
                f"{self.title}: the server has removed what the slot {self.name} was to keep "
                f"(max_slot_wal_keep_size): SELECT pg_drop_replication_slot('{self.name}'), and begin with an empty "
                "folder of checkpoints"
            )
        return int(lsn)

    def _publish(self, control: psycopg.Connection[Any]) -> None:
        """Make our publication if it is not there. It must be older than what is read through it.

        It has nothing but what are rows: once updates are published, the server refuses those of a table without a key.
        """
        query = "SELECT FROM pg_publication WHERE pubname = %s"
        if control.execute(query, (self.publishing,)).fetchone() is not None:
            return
        if self.publication is not None:
            raise EddyError(
                f"{self.title}: there is no publication {self.publication}: make it, or leave it out"
            )
        control.execute(
            sql.SQL(
                "CREATE PUBLICATION {} FOR TABLE {} WITH (publish = {}, publish_via_partition_root = true)"
            ).format(
                sql.Identifier(self.publishing),
                self.relation.identifier,
                sql.Literal(", ".join(sorted(self.ops))),
            )
        )
