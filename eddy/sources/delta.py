"""Delta tables: the data files of one version, so a position is a version, a file and a row in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.connect.address import Address
from eddy.connect.delta import Place, place_of
from eddy.errors import EddyError
from eddy.sources.base import BATCH, Piece, Source
from eddy.sources.looking import looked
from eddy.sources.progress import worst
from eddy.sources.tables import behind

VERSION = "version"
"""The option of an address that asks for an older version."""


def open(
    address: Address,
    *,
    schema: Any = None,
    time: str | None = None,
    format: str | None = None,
    follow: bool = False,
) -> Source:
    """The source of an address."""
    if schema is not None or format not in (None, "parquet"):
        raise EddyError(f"the Delta table {address} says its columns and format itself: give neither")
    if follow:
        raise EddyError(f"the Delta table {address} is read as it is now: it cannot be followed")
    options = dict(address.options)
    asked = options.pop(VERSION, None)
    if asked is not None and not asked.isdigit():
        raise EddyError(f"version={asked} of {address} is no number of a version")
    place = place_of(evolve(address, options=options))
    table = opened(place, str(address), None if asked is None else int(asked))
    return DeltaFiles(place, str(address), table.version(), time, pa.schema(table.schema().to_arrow()))


def opened(place: Place, name: str, version: int | None) -> Any:
    """The table at a version, or as it is now."""
    try:
        table = place.opened(version)
    except Exception as error:  # deltalake has errors of many kinds, without a common one
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        which = "the" if version is None else f"version {version} of the"
        raise EddyError(f"cannot read {which} Delta table {name}: {told}") from error
    if table is None:
        raise EddyError(f"there is no Delta table {name}")
    return table


@frozen(eq=False)
class DeltaFiles(Source):
    """The rows of a table at a version. Files with older times are read first, as far as its log says."""

    place: Place
    name: str
    version: int
    time: str | None
    schema: pa.Schema
    columns: tuple[str, ...] | None = None
    batch: int = BATCH
    _rows: dict[str, int] = field(init=False, factory=dict)

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        return evolve(self, columns=tuple(columns), batch=batch or self.batch)

    def read(self, position: Any) -> Iterator[Piece]:
        at = position or {"version": self.version, "file": None, "row": 0}
        table = opened(self.place, self.name, at["version"])
        order = self._order(table)
        try:
            dataset = table.to_pyarrow_dataset()
            parts = sorted(dataset.get_fragments(), key=lambda part: order[part.path])
        except Exception as error:
            raise EddyError(f"cannot read the Delta table {self.name}: {error}") from error
        for part in parts:
            if at["file"] is not None and order[part.path] < order[at["file"]]:
                continue
            row = at["row"] if part.path == at["file"] else 0
            found = part.to_batches(
                schema=dataset.schema, columns=list(self.columns or self.schema.names), batch_size=self.batch
            )
            for rows in behind(found, row):
                row += rows.num_rows
                where = {"version": at["version"], "file": part.path, "row": row}
                yield Piece(rows, where, file=part.path, first=row - rows.num_rows + 1)

    def _order(self, table: Any) -> dict[str, tuple[Any, ...]]:
        """The place of each data file: by its oldest time, if the log has that of all, else by when it was written."""
        actions = pa.table(table.get_add_actions(flatten=True))
        oldest = f"min.{self._when()}"
        known = oldest in actions.column_names and not actions.column(oldest).null_count
        keys = actions.column(oldest if known else "modification_time").to_pylist()
        paths = actions.column("path").to_pylist()
        return {path: (key, path) for path, key in zip(paths, keys, strict=True)}

    def _when(self) -> str:
        """The column of the time."""
        times = [one.name for one in self.schema if pa.types.is_timestamp(one.type)]
        return self.time or (times[0] if len(times) == 1 else "ts")

    def size(self) -> int | None:
        return sum(self._counts().values()) if None not in self._counts().values() else None

    def reached(self, position: Any) -> int | None:
        counts = self._counts()
        order = self._order(opened(self.place, self.name, self.version))
        last = order.get(position["file"])
        before = [counts[path] for path, place in order.items() if last is not None and place < last]
        return sum(before) + int(position["row"])

    def _counts(self) -> dict[str, int]:
        """The rows of each file, as the log has them."""
        if not self._rows:
            actions = pa.table(opened(self.place, self.name, self.version).get_add_actions())
            pairs = zip(
                actions.column("path").to_pylist(), actions.column("num_records").to_pylist(), strict=True
            )
            self._rows.update(pairs)
        return self._rows

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        return worst(self._alone(column).read(None), column, kind)

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        return looked(self, self._alone(column), column, kind, room)

    def _alone(self, column: str) -> DeltaFiles:
        """One column, in large pieces."""
        return evolve(self, columns=(column,), batch=2**17)
