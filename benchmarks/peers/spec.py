"""What a runner is told: the streams, the join and where the data is. It needs nothing but the standard library.

Times are milliseconds, all different. A result is one row of each stream. In a window of ``range`` its rows are no
further apart than that; in one of ``tumbling`` they lie in the same pane; without a window every row is kept for ever.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = "spec.json"


class Spec:
    """One workload on disk: `spec.json`, and one Parquet file for each stream, in the order of time."""

    def __init__(self, folder: Path, content: dict[str, Any]) -> None:
        self.folder = folder
        self.content = content
        self.name: str = content["name"]
        self.streams: dict[str, dict[str, str]] = content["streams"]
        """Of each stream its columns and their types: int64 or string; ``ts`` is the time."""
        self.equal: list[tuple[tuple[str, str], tuple[str, str]]] = [
            (_pair(left), _pair(right)) for left, right in content["equal"]
        ]
        """Columns that must be equal. Each stream but the first has a line with one before it."""
        self.filters: dict[str, str] = content["filters"]
        """Of some streams a condition, in SQL, with plain names of columns."""
        self.range: int | None = content["range"]
        self.tumbling: int | None = content["tumbling"]
        self.select: list[tuple[str, str]] = [_pair(column) for column in content["select"]]
        self.events: int = content["events"]
        self.shape: str = content["shape"]
        """"one key", "chain", "star", or "nexmark"."""

    @classmethod
    def read(cls, folder: str | Path) -> Spec:
        folder = Path(folder)
        return cls(folder, json.loads((folder / FILE).read_text()))

    @property
    def names(self) -> list[str]:
        return list(self.streams)

    def path(self, stream: str) -> Path:
        return self.folder / f"{stream}.parquet"

    def links(self, stream: str) -> list[tuple[str, tuple[str, str]]]:
        """For each condition between a stream and those before it: its own column, and the other one."""
        before = self.names[: self.names.index(stream)]
        found = []
        for left, right in self.equal:
            for (own, column), other in ((left, right), (right, left)):
                if own == stream and other[0] in before:
                    found.append((column, other))
        return found

    def outputs(self) -> list[str]:
        """The names of the columns of a result."""
        return [f"{stream}_{column}" for stream, column in self.select]


def _pair(text: str) -> tuple[str, str]:
    stream, _, column = text.partition(".")
    return stream, column


def row_filter(places: dict[str, int], text: str) -> Any:
    """The condition of a workload's filter as a function of a row."""
    column, _, rest = text.partition(" ")
    place = places[column]
    if rest.startswith("= "):
        value = int(rest[2:])
        return lambda row: row[place] == value
    values = {part.strip(" '") for part in rest.removeprefix("IN (").removesuffix(")").split(",")}
    return lambda row: row[place] in values
