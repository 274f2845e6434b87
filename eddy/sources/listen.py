"""Rows that are posted to a local port as JSON lines.

    curl --data-binary @clicks.jsonl http://127.0.0.1:8080/clicks

A request is answered when its rows are in the queue of its stream: with 200, how many were rows and how many bad; 400
if none was a row; 503 while the queue is full.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sources.base import BATCH, Piece, Source
from eddy.sources.inbox import Doors, Inbox
from eddy.values.types import column_type

HOST = "127.0.0.1"
EXAMPLE = "listen://127.0.0.1:8080/clicks"
_HOST = re.compile(r"(?P<host>.*?):(?P<port>\d{1,5})")


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Source:
    """The source of an address."""
    if format not in (None, "jsonl"):
        raise EddyError(f"{address} takes JSON lines, not format={format!r}")
    address.checked(("body", "waiting"))
    path = address.needs_path("stream", EXAMPLE)
    found = _HOST.fullmatch(address.hosts)
    if found is None or int(found["port"]) > 65_535:
        raise EddyError(f"{address} names no port: write {EXAMPLE}")
    if schema is None:
        raise EddyError(
            f"{address}: nobody knows its columns before the first row is there: give schema={{'ts': 'timestamp', ...}}"
        )
    inbox = Inbox(
        f"/{path}",
        str(address),
        _whole(address, "body", 1 << 24),
        _whole(address, "waiting", 1 << 17),
        address.password,
    )
    return Listening((found["host"].strip("[]") or HOST, int(found["port"])), inbox, schema, time)


class Listening(Source):
    """The rows of one path."""

    bounded = False
    seekable = False

    def __init__(self, place: tuple[str, int], inbox: Inbox, schema: Any, time: str | None) -> None:
        self.place, self.inbox, self.schema, self.time = place, inbox, schema, time
        self.name = inbox.title
        pairs = (
            zip(schema.names, schema.types, strict=True) if isinstance(schema, pa.Schema) else schema.items()
        )
        self.columns = {name: column_type(spec).arrow for name, spec in pairs}
        self.batch = BATCH
        self.doors = Doors.at(place)
        self.doors.take(inbox)

    @property
    def port(self) -> int:
        """Where it listens, while it is read; 0 in the address is any free port."""
        return self.doors.port

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        narrow = copy.copy(self)
        narrow.columns, narrow.batch = dict(columns), batch or self.batch
        return narrow

    def read(self, position: Any) -> Iterator[Piece]:
        if position is not None:
            raise EddyError(f"{self.name}: rows come once, so no checkpoint can go back in them")
        count = 0
        with self.doors.opened(self.inbox, self.columns):
            while True:
                piece = self.inbox.next(count)
                count += 0 if piece.rows is None else piece.rows.num_rows
                yield piece


def _whole(address: Address, name: str, usual: int) -> int:
    given = address.options.get(name, str(usual))
    if not given.isdigit() or not int(given):
        told = "bytes of a request" if name == "body" else "rows that may wait"
        raise EddyError(f"{address}: {name} is the most {told}, not {given!r}")
    return int(given)
