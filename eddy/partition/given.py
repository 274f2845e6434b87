"""What partitioning is given, checked: one error that says what is wrong, before anything is dealt out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.checks import checked
from eddy.errors import EddyError
from eddy.intake.columns import _mapping
from eddy.query.keys import KeyClass
from eddy.query.query import Query
from eddy.values.types import Array
from policies.options import number

SIZE = number(least=0, below=math.inf)
"""A number of rows, or of rows in a time: it is compared with others, so it need not be whole."""


def check_streams(query: Query, names: Iterable[str]) -> None:
    """All of them are streams of the query."""
    if not isinstance(query, Query):
        raise EddyError(f"query must be an eddy.Query, not {type(query).__name__}")
    for name in names:
        if name not in query.streams:
            raise EddyError(f"the query has no stream {name!r}: it has {', '.join(query.names)}")


def check_sizes(rows: Mapping[str, Any] | None) -> None:
    """Sizes or rates: numbers of at least 0."""
    for name, size in (rows or {}).items():
        checked(f"rows of stream {name}", size, SIZE)


def checked_sample(
    query: Query, sample: Mapping[str, Any] | None, classes: Sequence[KeyClass], timed: bool
) -> dict[str, dict[str, Any]]:
    """Rows of some streams, with their columns of these classes, and their times if these are asked for."""
    batches = {name: dict(_mapping(name, batch)) for name, batch in (sample or {}).items()}
    for name, batch in batches.items():
        declared = query.streams[name].columns
        for column in batch:
            if column not in declared and not str(column).startswith("__"):
                raise EddyError(
                    f"sample: stream {name} has no column {column!r}: it has {', '.join(declared)}"
                )
        check_columns(query, name, batch, classes, timed, "sample: ")
    return batches


def check_columns(
    query: Query,
    name: str,
    batch: Mapping[str, Any],
    classes: Sequence[KeyClass],
    timed: bool,
    where: str = "",
    **beside: Any,
) -> None:
    """What rows are dealt out by is there; all columns, and what is given ``beside`` them, have the same length."""
    stream = query.streams[name]
    needed = [c.members[name] for c in classes if name in c.members]
    if timed and stream.time is not None and not stream.static:
        needed.append(stream.time)
    for column in needed:
        if column not in batch:
            raise EddyError(
                f"{where}stream {name}: column {column!r} is missing, by which rows are dealt out"
            )
    given = {**batch, **{what: values for what, values in beside.items() if values is not None}}
    lengths = {what: len(values) for what, values in given.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{what} has {n:,}" for what, n in lengths.items())
        raise EddyError(f"{where}stream {name}: columns differ in length: {shown}")


def checked_events(names: Sequence[str], streams: Any, counts: Sequence[int]) -> tuple[Array, list[int]]:
    """The stream of each event by its place in the query, and how many rows of every stream came before."""
    if len(counts) != len(names):
        raise EddyError(
            f"counts must say of each stream how many rows came before, in the order {', '.join(names)}: "
            f"{len(names)} numbers, not {len(counts)}"
        )
    before = np.asarray(counts)
    if before.dtype.kind not in "iu" or (before < 0).any():
        raise EddyError(f"counts must be whole numbers of at least 0, not {counts!r}")
    places = np.asarray(streams)
    if places.ndim != 1 or (len(places) and places.dtype.kind not in "iu"):
        raise EddyError("streams must be the place of each event's stream in the query, an array of int32")
    if len(places) and not 0 <= places.min() <= places.max() < len(names):
        wrong = places[(places < 0) | (places >= len(names))][0]
        raise EddyError(
            f"streams: there is no stream number {wrong}: the query has {len(names)}, from 0 to {len(names) - 1}"
        )
    return places, before.tolist()
