"""Texts as values of other types, where a stream allows that: ISO 8601 for times, and otherwise what Arrow reads.

A text that does not say a value of the column exactly is refused, but for floats, which become the nearest.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from eddy.errors import BatchError
from eddy.values.cast_kinds import uuids_of_text
from eddy.values.types import ColumnType

PARSED = frozenset(("int", "uint", "float", "bool", "timestamp", "date", "time", "decimal", "uuid"))
"""Kinds of types that texts are read as."""
HINT = "Stream(..., parse=True) reads texts"


def is_text(of: pa.DataType) -> bool:
    """Whether values of this type of Arrow's are texts."""
    return pat.is_string(of) or pat.is_large_string(of) or pat.is_string_view(of)


def read_texts(kind: ColumnType, text: pa.Array) -> pa.Array:
    """The values that texts say, as Arrow has them; BatchError names the first that says none."""
    text = text.cast(pa.string())
    try:
        return _read(kind, text)
    except pa.ArrowInvalid:
        wrong = next(one for one in text.drop_null().to_pylist() if not _fits(kind, one))
    raise BatchError(f"{wrong!r} is no {kind}{_form(kind)}")


def _read(kind: ColumnType, text: pa.Array) -> pa.Array:
    if kind.kind == "time":
        whole = pc.binary_join_element_wise("1970-01-01T", text, "")
        return whole.cast(pa.timestamp(kind.unit)).cast(kind.arrow)
    if kind.kind == "uuid":
        found = uuids_of_text(text)
        if found.null_count != text.null_count:
            raise pa.ArrowInvalid("not all are UUIDs")
        return found
    return text.cast(kind.arrow)


def _fits(kind: ColumnType, one: str) -> bool:
    try:
        _read(kind, pa.array([one], pa.string()))
    except pa.ArrowInvalid:
        return False
    return True


def _form(kind: ColumnType) -> str:
    zone = "+01:00" if kind.zone else ""
    forms = {
        "timestamp": f"write it as '2024-01-31T12:00:00{zone}', with no more digits than its unit has",
        "date": "write it as '2024-01-31'",
        "time": "write it as '12:00:00', with no more digits than its unit has",
        "uuid": "write 32 hexadecimal digits, with hyphens or without",
        "decimal": "write it as '12.50', with no more digits than it has",
    }
    return f": {forms[kind.kind]}" if kind.kind in forms else ""
