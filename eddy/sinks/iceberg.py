"""Iceberg tables: a snapshot adds data files, and its summary names the run and the number of the commit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from attrs import define, field

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sinks.disk import force, force_folder
from eddy.sinks.lake_types import LakeTypes
from eddy.sinks.lakes import APP, COMMIT, FILES, DataFile, Lake, Last

EXAMPLE = "iceberg://catalog/namespace.table"

TYPES = LakeTypes("Iceberg", small=False, times=True, fixed=True)


def open(address: Address, *, format: str | None = None) -> Lake:
    """The sink of an address, whose options are properties of the catalogue."""
    if format not in (None, "parquet"):
        raise EddyError(
            f"{address} is an Iceberg table, to which data files of Parquet are added, not {format}"
        )
    path = address.needs_path("table", EXAMPLE)
    if "." not in path or not address.hosts:
        raise EddyError(f"{address} names no table of a namespace of a catalogue: write {EXAMPLE}")
    types, rest = TYPES.asked(address)
    return Lake(str(address), Iceberg(str(address), types, address.hosts, path, dict(rest.options)))


@define(eq=False)
class Iceberg:
    """An Iceberg table. The catalogue is asked anew each time, since others may write meanwhile."""

    name: str
    types: LakeTypes
    catalogue: str
    path: str
    options: dict[str, str] = field(repr=False)
    _opened: Any = None
    _folder: str | None = None

    def columns(self) -> pa.Schema | None:
        table = self._table()
        if table is None:
            return None
        if table.spec().fields:
            raise EddyError(
                f"the table {self.name} is partitioned by {', '.join(one.name for one in table.spec().fields)}, which "
                "this sink cannot keep to: give another table"
            )
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        self._folder = f"{table.location()}/data"
        return schema_to_pyarrow(table.schema(), include_field_ids=False)

    def create(self, schema: pa.Schema) -> None:
        table = self._table()
        if table is None:
            self._loaded().create_namespace_if_not_exists(self.path.rpartition(".")[0])
            table = self._loaded().create_table_if_not_exists(self.path, schema)
        self._folder = f"{table.location()}/data"

    def file(self, name: str) -> Any:
        return self._table().io.new_output(f"{self._folder}/{name}").create()

    def force(self, names: Sequence[str]) -> None:
        for name in names:
            _force(f"{self._folder}/{name}")

    def last(self, run: str) -> Last:
        table = self._table()
        mine = [
            snapshot.summary.additional_properties
            for snapshot in _ancestors(table)
            if snapshot.summary is not None and snapshot.summary.additional_properties.get(APP) == run
        ]
        files = {int(one[COMMIT]): int(one[FILES]) for one in reversed(mine)}
        return Last(int(mine[0][COMMIT]) if mine else 0, files)

    def commit(self, run: str, number: int, added: Sequence[DataFile], removed: Sequence[str]) -> None:
        table = self._table()
        said = {APP: run, COMMIT: str(number), FILES: str(len(added))}
        with table.transaction() as transaction:
            if added:
                paths = [f"{self._folder}/{file.name}" for file in added]
                transaction.add_files(paths, snapshot_properties=said, check_duplicate_files=False)
            if removed:
                with transaction.update_snapshot(snapshot_properties=said).overwrite() as snapshot:
                    for file in _data_files(table):
                        if _last(file.file_path) in removed:
                            snapshot.delete_data_file(file)
        self._force_metadata()

    def live(self) -> list[str]:
        return [_last(file.file_path) for file in _data_files(self._table())]

    def unused(self, prefix: str) -> list[str]:
        folder = _local(self._folder or "")
        if folder is None or not os.path.isdir(folder):
            return []
        return [name for name in os.listdir(folder) if name.startswith(prefix)]

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._table().io.delete(f"{self._folder}/{name}")

    def _force_metadata(self) -> None:
        """What the newest snapshot consists of, to the disk; pyiceberg leaves that to the system."""
        table = self._table()
        snapshot = table.current_snapshot()
        _force(table.metadata_location)
        if snapshot is not None:
            _force(snapshot.manifest_list)
            for manifest in snapshot.manifests(table.io):
                if manifest.added_snapshot_id == snapshot.snapshot_id:
                    _force(manifest.manifest_path)

    def _loaded(self) -> Any:
        from pyiceberg.catalog import load_catalog

        if self._opened is None:
            try:
                self._opened = load_catalog(self.catalogue, **self.options)
            except Exception as error:  # what is wrong with properties comes as errors of many kinds
                told = (str(error).splitlines() or [type(error).__name__])[0]
                raise EddyError(
                    f"cannot open the catalogue {self.catalogue}: {told}. Its properties stand in .pyiceberg.yaml, "
                    f"or in the address: {EXAMPLE}?uri=sqlite:////folder/catalog.db&warehouse=file:///folder"
                ) from error
        return self._opened

    def _table(self) -> Any:
        """The table as it is now; None if there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._loaded().load_table(self.path)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None


def _ancestors(table: Any) -> Iterator[Any]:
    """The snapshots that the table consists of, from the newest on."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def _data_files(table: Any) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _local(path: str) -> str | None:
    """The path of a file on this machine; None for others."""
    parts = urlsplit(path)
    return unquote(parts.path) if parts.scheme in ("", "file") else None


def _force(path: str) -> None:
    """A file, and its name, to the disk, if it is on this machine."""
    local = _local(path)
    if local is not None:
        descriptor = os.open(local, os.O_RDONLY)
        try:
            force(descriptor)
        finally:
            os.close(descriptor)
        force_folder(os.path.dirname(local))
