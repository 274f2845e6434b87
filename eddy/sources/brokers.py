"""What the sources of messages share: which format, which columns, and rows and dead letters with their places."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sources.base import Bad, Piece
from eddy.sources.inferring import schema_of
from eddy.sources.messages import Decoded, Json, Payloads, Raw
from eddy.sources.text import JsonLines
from eddy.values.types import column_type

SAMPLE = 1000
"""Messages from which the types of columns are inferred, where none are given."""
FORMATS = {"json": "json", "jsonl": "json", "raw": "raw"}


def format_of(address: Address, format: str | None) -> str:
    """What payloads are: JSON unless it is said; EddyError for what they cannot be."""
    found = FORMATS.get(format or "json")
    if found is None:
        raise EddyError(f"messages of {address} are json or raw, not {format!r}")
    return found


def payloads(format: str, columns: Mapping[str, pa.DataType]) -> Payloads:
    """Reads payloads of a format."""
    return Raw(dict(columns)) if format == "raw" else Json(dict(columns))


def inferred(format: str, address: Address, first: Iterable[bytes]) -> pa.Schema:
    """The columns of a source that begins with these messages."""
    if format == "raw":
        return pa.schema({Raw.COLUMN: pa.string()})
    objects = [payload.replace(b"\n", b" ") for payload in first if _is_object(payload)]
    if not objects:
        raise EddyError(f"{address} has no messages that say its columns: {needs_schema()}")
    return schema_of(str(address), JsonLines().inferred(str(address), b"\n".join(objects)))


def needs_schema() -> str:
    """What to do about it."""
    return "give its schema, as in schema={'ts': 'timestamp'}"


def _is_object(payload: bytes) -> bool:
    try:
        return isinstance(json.loads(payload), dict)
    except ValueError:
        return False


def arrow_types(schema: Any) -> dict[str, pa.DataType]:
    """The columns of a schema as Arrow has them."""
    if isinstance(schema, pa.Schema):
        return dict(zip(schema.names, schema.types, strict=True))
    return {name: column_type(spec).arrow for name, spec in schema.items()}


@frozen(eq=False)
class Places:
    """Where each row stands: an address, and an id in it. It is put into words for the few that are asked for."""

    start: str
    ids: Any

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return Places(self.start, self.ids[row])
        found = self.ids[row]
        return self.start + (found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found))


def numbered(found: Decoded, position: Any, name: str, numbers: Sequence[int]) -> Piece:
    """A piece of messages that have numbers; ``found`` counts them from 0."""
    lines = np.asarray(numbers, np.int64)
    bad = tuple(evolve(one, row=int(lines[one.row])) for one in found.bad)
    return Piece(found.rows, position, bad, name, lines=lines[found.kept])


def placed(found: Decoded, position: Any, name: str, start: str, ids: Sequence[Any]) -> Piece:
    """A piece of messages that have ids; ``found`` counts them from 0."""
    places = Places(start, ids)
    bad = tuple(evolve(one, row=None, file=places[one.row]) for one in found.bad)
    kept = ids if len(found.kept) == len(ids) else [ids[row] for row in found.kept]
    return Piece(found.rows, position, bad, name, files=Places(start, kept))


def with_missing(found: Decoded, have: Sequence[int], count: int, reason: str) -> Decoded:
    """What was decoded of those of ``count`` messages that ``have`` names; the others are bad."""
    places = np.asarray(have, np.int64)
    missing = np.setdiff1d(np.arange(count), places)
    bad = [evolve(one, row=int(places[one.row])) for one in found.bad]
    bad += [Bad(reason, row=int(row)) for row in missing]
    return Decoded(found.rows, tuple(sorted(bad, key=lambda one: one.row or 0)), places[found.kept])
