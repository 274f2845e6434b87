"""What the shell prints: in a terminal tables for eyes, anywhere else lines that programs read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from attrs import define, field

from eddy.sinks.base import Sink
from eddy.sinks.memory import StandardOutput

WIDEST = 40
"""Columns of the terminal that one column of results gets, at most, if rows do not fit in a line."""
SOME = 1024
"""Rows that are made text at a time."""


class View(Protocol):
    """Where a session shows things."""

    def results(self) -> Sink:
        """Takes the results of a query, and shows them as they come."""

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """A table."""

    def lines(self, lines: Sequence[str]) -> None:
        """Text."""

    def end(self, lines: Sequence[str]) -> None:
        """What came of a query."""

    def warn(self, text: str) -> None:
        """A warning."""


@define(eq=False)
class Plain:
    """Tables as standard output has them, in a format; everything else to standard error."""

    format: str
    quiet: bool = False

    def results(self) -> Sink:
        return StandardOutput(self.format)

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> None:
        table = pa.table(dict(columns))
        sink = StandardOutput(self.format)
        sink.open(table.schema, None)
        sink.write(table)
        sink.close()

    def lines(self, lines: Sequence[str]) -> None:
        print("\n".join(lines), flush=True)

    def end(self, lines: Sequence[str]) -> None:
        if not self.quiet:
            print("\n".join(lines), file=sys.stderr)

    def warn(self, text: str) -> None:
        if not self.quiet:
            print(f"eddy: {text}", file=sys.stderr)


@define(eq=False)
class Screen:
    """For a terminal."""

    def results(self) -> Sink:
        width, height = shutil.get_terminal_size()
        return Rows(width, height - 3)

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> None:
        table = pa.table(dict(columns))
        rows = Rows(shutil.get_terminal_size().columns, table.num_rows)
        rows.open(table.schema, None)
        rows.write(table)

    def lines(self, lines: Sequence[str]) -> None:
        print("\n".join(lines))

    def end(self, lines: Sequence[str]) -> None:
        print("\n".join(lines))

    def warn(self, text: str) -> None:
        print(f"warning: {text}")


@define(eq=False)
class Rows(Sink):
    """Prints rows. Columns are as wide as the first screen of them asks for, and stay so."""

    width: int
    height: int
    _widths: list[int] | None = field(init=False, default=None)
    _right: list[bool] = field(init=False, factory=list)
    _names: list[str] = field(init=False, factory=list)

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._names = [shown(name) for name in schema.names]
        self._right = [_is_number(kind) for kind in schema.types]

    def write(self, table: pa.Table) -> None:
        for start in range(0, table.num_rows, SOME):
            columns = [
                [_text(value) for value in column.to_pylist()] for column in table.slice(start, SOME).columns
            ]
            if self._widths is None:
                self._begin(columns)
            print("\n".join(map(self._line, zip(*columns, strict=True))), flush=True)

    def _begin(self, columns: list[list[str]]) -> None:
        """Choose the widths, and print the names."""
        first = [values[: max(self.height, 1)] for values in columns]
        asked = [max(map(len, (name, *values))) for name, values in zip(self._names, first, strict=True)]
        fits = sum(asked) + 2 * (len(asked) - 1) <= self.width
        self._widths = asked if fits else [min(width, WIDEST) for width in asked]
        print(self._line(self._names))
        print("  ".join("-" * width for width in self._widths))

    def _line(self, values: Sequence[str]) -> str:
        assert self._widths is not None
        cells = [
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, self._widths, self._right, strict=True)
        ]
        return "  ".join(cells).rstrip()


def shown(text: str) -> str:
    """A text that a terminal prints as it is: nothing in it moves the cursor."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _text(value: Any) -> str:
    return "NULL" if value is None else shown(str(value))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
