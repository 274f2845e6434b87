"""The columns of JSON lines, where nobody says what they are. Lines that are no objects say nothing of it."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from eddy.errors import EddyError
from eddy.sources.inferring import EXACT, Columns, Inferred, Misfit
from eddy.sources.utf8 import marked, text_lines

SHOWN = 60
"""Characters of a line that an error shows."""
_NESTED = ("array", "object")
_KINDS = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
"""What JSON calls values."""


def inferred_json(name: str, sample: bytes) -> Inferred:
    """The columns of JSON lines that begin like this; EddyError if there is no line that is an object."""
    sample = text_lines(sample) or marked(sample)
    with contextlib.suppress(pa.ArrowException):
        table = _read(sample)
        if table.num_rows == sum(not line.isspace() for line in sample.splitlines() if line):
            return _of_table(table, sample)
    rows = _objects(sample)
    if not rows:
        raise EddyError(f"{name}: {_no_objects(sample)}")
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for key, value in row.items():
            counts.setdefault(key, Counter()).update(() if value is None else (_kind(value),))
    most = {
        key: next((kind for kind, _ in counted.most_common() if kind), "") for key, counted in counts.items()
    }
    return _with_misfits(_of_rows(rows, most), rows, counts, most)


def _of_rows(rows: Sequence[Mapping[str, Any]], most: Mapping[str, str]) -> Inferred:
    """The columns of rows of which only values count that are of the kind that most are in their column."""
    nested: dict[str, pa.DataType] = {}
    for without in ((), _NESTED):  # what is nested may be of many kinds inside
        kept = {key for key, kind in most.items() if kind not in without}
        nested = {key: pa.struct([]) for key in most if key not in kept}
        fit = (
            {
                key: value if _kind(value) == most[key] != "" else None
                for key, value in row.items()
                if key in kept
            }
            for row in rows
        )
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in fit)
        try:
            found = _of_table(_read(lines), lines)
        except pa.ArrowException:
            continue
        fields = [*found.schema, *(pa.field(key, kind) for key, kind in nested.items())]
        return evolve(found, schema=pa.schema(fields))
    raise AssertionError("numbers, strings and booleans can be read")


def _with_misfits(
    found: Inferred,
    rows: Sequence[Mapping[str, Any]],
    counts: Mapping[str, Counter[str]],
    most: Mapping[str, str],
) -> Inferred:
    """With the values that are of another kind than most in their column: no text is what all of them are."""
    misfits = dict(found.misfits)
    for key, counted in counts.items():
        others = counted.total() - counted[most[key]]
        if others:
            odd = next(row[key] for row in rows if row.get(key) is not None and _kind(row[key]) != most[key])
            before = misfits[key].misfits if key in misfits else 0
            kind = found.schema.field(key).type
            misfits[key] = Misfit(kind, others + before, counted.total(), str(odd))
    return evolve(found, misfits=misfits)


def _of_table(table: pa.Table, sample: bytes) -> Inferred:
    """The columns of lines that were read as a whole."""
    texts = [
        one.name for one in table.schema if pa.types.is_string(one.type) or pa.types.is_timestamp(one.type)
    ]
    found = Columns(dict(zip(table.column_names, table.schema.types, strict=True)))
    if texts:
        written = _read(sample, pa.schema([(name, pa.string()) for name in texts]))
        for name in texts:
            found.kinds[name] = pa.string()
            found.texts(name, written.column(name), False)
    floats = [one.name for one in table.schema if _may_be_whole(table.column(one.name))]
    if floats:
        rows = _objects(sample, as_written=True)
        for name in floats:
            found.floats(name, pa.chunked_array([[row.get(name) for row in rows]], pa.string()), False)
    return found.inferred(False)


def _may_be_whole(column: pa.ChunkedArray) -> bool:
    """Whether most numbers are whole, or some so large that they may be whole numbers that were rounded."""
    if not pa.types.is_floating(column.type):
        return False
    values = column.drop_null()
    whole = pc.sum(pc.equal(values, pc.floor(values))).as_py() or 0
    return 2 * whole > len(values) or bool(pc.any(pc.greater(pc.abs(values), float(EXACT))).as_py())


def _read(sample: bytes, schema: pa.Schema | None = None) -> pa.Table:
    import pyarrow.json as paj

    options = paj.ReadOptions(use_threads=False, block_size=max(len(sample) + 1, 1 << 10))
    behaviour = "infer" if schema is None else "ignore"
    parsing = paj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behaviour)
    return paj.read_json(pa.BufferReader(sample), options, parsing)


def _objects(sample: bytes, as_written: bool = False) -> list[dict[str, Any]]:
    """The lines that are objects; numbers as they are written, if that is asked for."""
    how: dict[str, Any] = {"parse_int": str, "parse_float": str, "parse_constant": str} if as_written else {}
    found = []
    for line in sample.splitlines():
        try:
            row = json.loads(line, **how)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def _kind(value: Any) -> str:
    """What JSON calls a value; a half of a character is nothing."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return ""
    return _KINDS.get(type(value), "")


def _no_objects(sample: bytes) -> str:
    """Why lines cannot be read: what they are instead, if that can be seen."""
    first = next((line.strip() for line in sample.splitlines() if line.strip()), b"")
    shown = first[:SHOWN].decode("utf-8", "replace")
    if first.startswith(b"["):
        return "a JSON array, where each line is to be an object: jq -c '.[]' makes such lines of it"
    if first in (b"{", b"{}"):
        return (
            "a JSON object over several lines, where each line is to be one: jq -c . makes such lines of it"
        )
    told = f"a file of JSON lines has one object in a line, and begins with {shown!r}"
    return told if first.startswith(b"{") else f"{told}. For CSV give format='csv'"
