"""Delta tables: a commit of the table adds data files, with the run and its number as an application's transaction."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from attrs import define

from eddy.connect.address import Address
from eddy.connect.delta import Place, place_of
from eddy.errors import EddyError
from eddy.sinks.disk import force, force_folder
from eddy.sinks.lake_types import LakeTypes
from eddy.sinks.lakes import APP, COMMIT, FILES, DataFile, Lake, Last

FEATURES = {
    "appendOnly",
    "changeDataFeed",
    "timestampNtz",
    "domainMetadata",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}
"""Features of tables to which data files can be added without more ado."""
RECENT = 50
"""Commits of the table among which those are that a damaged checkpoint leaves to be taken back."""

TYPES = LakeTypes("Delta Lake", small=True, times=False, fixed=False)


def open(address: Address, *, format: str | None = None) -> Lake:
    """The sink of an address."""
    if format not in (None, "parquet"):
        raise EddyError(f"{address} is a Delta table, whose data files are Parquet, not {format}")
    types, rest = TYPES.asked(address)
    return Lake(str(address), Delta(str(address), place_of(rest), types))


@define(eq=False)
class Delta:
    """A Delta table."""

    name: str
    place: Place
    types: LakeTypes

    def columns(self) -> pa.Schema | None:
        table = self.place.opened()
        if table is None:
            if self.place.local:
                os.makedirs(
                    self.place.uri, exist_ok=True
                )  # what cannot be written is told before anything is read
            return None
        protocol, metadata, schema = table.protocol(), table.metadata(), table.schema()
        problem = None
        if metadata.partition_columns:
            problem = f"is partitioned by {', '.join(metadata.partition_columns)}"
        more = set(protocol.writer_features or ()) - FEATURES
        if protocol.writer_features is None:  # older tables may have what versions stand for
            more |= {key for key in metadata.configuration if key.startswith("delta.constraints.")}
            more |= {key for one in schema.fields for key in one.metadata if key.startswith("delta.")}
            mapping = metadata.configuration.get("delta.columnMapping.mode", "none")
            more |= {"columnMapping"} if mapping != "none" else set()
        more -= (
            {"invariants"} if not any("delta.invariants" in one.metadata for one in schema.fields) else set()
        )
        if more:
            problem = f"has {', '.join(sorted(more))}"
        if problem is not None:
            raise EddyError(
                f"the table {self.name} {problem}, which this sink cannot keep to: give another table"
            )
        return pa.schema(schema.to_arrow())

    def create(self, schema: pa.Schema) -> None:
        from deltalake import DeltaTable

        if self.place.opened() is None:
            DeltaTable.create(
                self.place.uri, schema, mode="ignore", storage_options=self.place.options or None
            )
            self._force_log(0)

    def file(self, name: str) -> Any:
        if self.place.local:
            return pa.OSFile(os.path.join(self.place.uri, name), "wb")
        import pyarrow.fs
        from deltalake.fs import DeltaStorageHandler

        handler = DeltaStorageHandler(self.place.uri, self.place.options)
        return pyarrow.fs.PyFileSystem(handler).open_output_stream(name)

    def force(self, names: Sequence[str]) -> None:
        if self.place.local:
            for name in names:
                _force_file(os.path.join(self.place.uri, name))
            force_folder(self.place.uri)

    def last(self, run: str) -> Last:
        table = self.place.opened()
        commit = table.transaction_version(run) or 0
        told = [entry for entry in table.history(RECENT) if entry.get(APP) == run]
        return Last(commit, {int(entry[COMMIT]): int(entry[FILES]) for entry in reversed(told)})

    def commit(self, run: str, number: int, added: Sequence[DataFile], removed: Sequence[str]) -> None:
        from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

        table, now = self.place.opened(), int(time.time() * 1000)
        actions: list[Any] = [
            AddAction(file.name, file.bytes, {}, now, True, json.dumps({"numRecords": file.rows}))
            for file in added
        ]
        actions += [RemoveAction(path=name, data_change=True, deletion_timestamp=now) for name in removed]
        said = {APP: run, COMMIT: number, FILES: len(added)}
        properties = CommitProperties(said, app_transactions=[Transaction(run, number)])
        table.create_write_transaction(actions, "append", table.schema(), commit_properties=properties)
        self._force_log(table.version())

    def live(self) -> list[str]:
        actions = pa.table(self.place.opened().get_add_actions())
        found: list[str] = actions.column("path").to_pylist()
        return found

    def unused(self, prefix: str) -> list[str]:
        return [n for n in os.listdir(self.place.uri) if n.startswith(prefix)] if self.place.local else []

    def remove(self, name: str) -> None:
        if self.place.local:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.place.uri, name))

    def _force_log(self, since: int) -> None:
        """What the log says from a version on, to the disk; deltalake leaves that to the system."""
        if self.place.local:
            log = os.path.join(self.place.uri, "_delta_log")
            for name in os.listdir(log):
                version = name.partition(".")[0]
                if name.endswith(".json") and version.isdigit() and int(version) >= since:
                    _force_file(os.path.join(log, name))
            force_folder(log)


def _force_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        force(descriptor)
    finally:
        os.close(descriptor)
