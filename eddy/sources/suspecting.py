"""Lines that look as if they were no rows: cheap to say, and never the last word, which the parser has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

_NONE = type(None)
Number = type[int] | type[float]


def suspect_csv(
    names: Sequence[str], columns: Mapping[str, pa.DataType], delimiter: str
) -> Callable[[bytes], bool]:
    """Whether a line has another number of fields, or what is no number in a column of numbers."""
    numbers = [(names.index(name), number) for name, kind in columns.items() if (number := _number(kind))]
    between = delimiter.encode()

    def suspect(line: bytes) -> bool:
        if b'"' in line:
            return False  # a separator may stand in it
        try:
            fields = line.decode().rstrip("\r\n").encode().split(between)
            if len(fields) != len(names):
                return True
            for place, number in numbers:
                if fields[place]:
                    number(fields[place])
        except ValueError:
            return True
        return False

    return suspect


def suspect_json(columns: Mapping[str, pa.DataType]) -> Callable[[bytes], bool]:
    """Whether a line is no object, or has something else where a number, a text or a truth is to be."""
    known = {name: types for name, kind in columns.items() if (types := _types(kind))}

    def suspect(line: bytes) -> bool:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return True
        return not isinstance(row, dict) or any(
            type(row.get(name)) not in types for name, types in known.items()
        )

    return suspect


def _number(kind: pa.DataType) -> Number | None:
    return int if pa.types.is_integer(kind) else float if pa.types.is_floating(kind) else None


def _types(kind: pa.DataType) -> tuple[type, ...]:
    """What JSON has for a type; nothing where it may have several."""
    if pa.types.is_integer(kind):
        return int, _NONE
    if pa.types.is_floating(kind):
        return float, int, _NONE
    if pa.types.is_boolean(kind):
        return bool, _NONE
    return (str, _NONE) if pa.types.is_string(kind) else ()
