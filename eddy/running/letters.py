"""Dead letters: rows that are bad, and late ones, with the reason and the place."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field

from eddy.checks import choice
from eddy.errors import BatchError, EddyError
from eddy.shown import shown
from eddy.sinks.base import Sink
from eddy.sinks.formats import ENDINGS
from eddy.sinks.sink import sink
from eddy.sources.base import Bad

SCHEMA = pa.schema(
    {
        "stream": pa.string(),
        "file": pa.string(),
        "row": pa.int64(),
        "reason": pa.string(),
        "content": pa.string(),
    }
)
KEPT = 100
"""Of how many an `Outcome` tells."""
WAYS = ("drop", "error", "keep:FILE")


def way_of(what: str, value: Any) -> tuple[str, Sink | None]:
    """What is to become of bad or late rows: "drop", "error", or "keep" with the sink that they go to."""
    if isinstance(value, Sink):
        return "keep", value
    if isinstance(value, str) and value.startswith("keep:"):
        if not value.removeprefix("keep:"):
            raise EddyError(f"{what}='keep:' needs a file: keep:bad.jsonl")
        return "keep", _lines(what, value.removeprefix("keep:"))
    if value in ("drop", "error"):
        return str(value), None
    if isinstance(value, str):
        choice(what, value, WAYS)
    raise EddyError(f"{what} is 'drop', 'error', 'keep:FILE' or an eddy.Sink, not {shown(value)}")


def _lines(what: str, path: str) -> Sink:
    """A file of JSON lines, unless its name asks for something else."""
    plain = "://" not in path and path != "-" and not path.endswith("/") and not os.path.isdir(path)
    unknown = plain and os.path.splitext(path)[1].lower() not in ENDINGS
    try:
        return sink(path, format="jsonl" if unknown else None)
    except EddyError as error:
        raise EddyError(f"{what}={f'keep:{path}'!r}: {error}") from error


@define(eq=False)
class Letters:
    """Takes bad rows, or late ones."""

    what: str
    way: str
    sink: Sink | None
    counts: dict[str, int] = field(factory=dict)
    first: list[str] = field(factory=list)
    """The first of them, in words."""

    def take(self, stream: str, file: str | None, bad: tuple[Bad, ...]) -> None:
        """Count them, and keep them if they are to be kept; BatchError if they are errors."""
        if not bad:
            return
        self.counts[stream] = self.counts.get(stream, 0) + sum(one.rows for one in bad)
        told = [told_of(stream, file, one) for one in bad[: KEPT - len(self.first)]]
        if self.way == "error":
            raise BatchError(
                f"{told[0]}; {self.what}='drop' or {self.what}='keep:FILE' goes on without such rows"
            )
        self.first += told
        if self.sink is not None:
            rows = [
                {
                    "stream": stream,
                    "file": b.file or file,
                    "row": b.row,
                    "reason": b.reason,
                    "content": b.content,
                }
                for b in bad
            ]
            self.sink.write(pa.Table.from_pylist(rows, SCHEMA))

    def take_late(self, late: Mapping[str, pa.Table]) -> None:
        """Late rows of some streams."""
        for stream, table in late.items():
            rows = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
            self.take(stream, None, tuple(Bad("late", row) for row in rows))

    @property
    def total(self) -> int:
        """How many there were."""
        return sum(self.counts.values())


def told_of(stream: str, file: str | None, bad: Bad) -> str:
    """One of them in words."""
    place = f"{bad.file or file or stream}" + (f", row {bad.row}" if bad.row is not None else "")
    more = f" ({bad.rows} rows)" if bad.rows > 1 else ""
    content = f": {shown(bad.content)}" if bad.content else ""
    return f"{place}: {bad.reason}{more}{content}"
