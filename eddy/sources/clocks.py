"""Texts that are times become timestamps, by one rule in all formats: that of `eddy.query` for times that are written.

Where a column has a zone, a text without an offset is local time there; where clocks go back, the earlier of the two.
Where a column has none, a text with an offset does not fit: nobody has said whose clock it is to be read on.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

ZONED = r"(Z|:.*[+-]\d\d(:?\d\d)?)$"
"""What ends a text that says its zone."""


def is_timestamp(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind))


def as_texts(columns: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The types with which lines are read whose times are made of texts."""
    return {name: pa.string() if is_timestamp(kind) else kind for name, kind in columns.items()}


def timed(table: pa.Table, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """The table, whose columns are these in this order, with timestamps in the place of texts."""
    for place, (name, kind) in enumerate(columns.items()):
        if is_timestamp(kind):
            table = table.set_column(place, name, on_clock(name, table.column(place), kind))
    return table


def on_clock(name: str, texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The times that texts of a column are, as timestamps of this type; ValueError if one is none."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        found = _local(texts, kind) if kind.tz is not None else None
        if found is None:
            raise ValueError(_told(name, texts, kind)) from error
        return found


def _local(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Those without an offset on the clocks of the column's zone; None if one is no time there."""
    import pyarrow.compute as pc

    has_zone, none = pc.match_substring_regex(texts, ZONED), pa.scalar(None, texts.type)
    try:
        zoned = pc.if_else(has_zone, texts, none).cast(kind)
        local = pc.if_else(has_zone, none, texts).cast(pa.timestamp(kind.unit))
        placed = pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="raise")
        return pc.coalesce(zoned, placed.cast(kind))
    except pa.ArrowInvalid:
        return None


def _told(name: str, texts: pa.ChunkedArray, kind: pa.DataType) -> str:
    """What is wrong, of the one text there is where anybody reads it."""
    import pyarrow.compute as pc

    text = next((text for text in texts.to_pylist() if text is not None), None)
    told = f"column {name}: {text!r} does not fit {kind}"
    has_zone = kind.tz is None and pc.any(pc.match_substring_regex(texts, ZONED)).as_py()
    return told + (", which has no zone" if has_zone else "")
