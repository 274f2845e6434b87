"""Which files are still to be read, and how far times go back in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from eddy.errors import EddyError
from eddy.sources.base import Piece
from eddy.sources.places import Files
from eddy.values import arrow

T = TypeVar("T")


def first_with_columns(
    names: Iterable[str],
    opened: Callable[[str], Any],
    columns_in: Callable[[str, Any], T],
    tells: Callable[[T], bool] = lambda found: True,
) -> T:
    """What ``columns_in`` finds in the first file that has columns, and ``tells`` of them, or if none does, in the
    first that has columns; the first error where none has.

    Those before it are empty or damaged, and told of when they are read.
    """
    failed: EddyError | None = None
    silent: T | None = None
    for name in names:
        with opened(name) as file:
            try:
                found = columns_in(name, file)
            except EddyError as error:
                failed = failed or error
                continue
        if tells(found):
            return found
        silent = silent or found
    if silent is not None:
        return silent
    assert failed is not None
    raise failed


def known_files(files: Files, last: str, follow: bool = False) -> list[str]:
    """The files from ``last`` on, in the order of their names; EddyError if there is none at all, unless it may come
    later, or not that one."""
    names = files.names()
    if last and last not in names:
        raise EddyError(
            f"{last} is gone, and it is where reading was to go on: put it back, or begin a new checkpoint"
        )
    if not names and not files.many and not follow:
        raise files.absent()
    return [name for name in names if name >= last]


def total(files: Files) -> int:
    """The bytes of all files."""
    return sum(files.size(name) for name in files.names())


def before(files: Files, last: str) -> int:
    """The bytes of the files before ``last``."""
    return sum(files.size(name) for name in files.names() if name < last)


def worst(pieces: Iterable[Piece], column: str, kind: pa.DataType) -> int | None:
    """How far values of a column, as this type, go back, at most, below one that came before; None if nobody knows."""
    newest, most = None, 0
    for piece in pieces:
        if piece.rows is None or not piece.rows.num_rows:
            continue
        found = piece.rows.column(column).drop_null()
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        try:
            times = arrow.to_numpy(found.cast(kind).cast(pa.int64()), np.dtype(np.int64))
        except pa.ArrowException:
            return None
        if not len(times):
            continue
        if (newest is None or newest <= times[0]) and (times[1:] >= times[:-1]).all():
            newest = int(times[-1])
            continue
        highest = np.maximum.accumulate(times)
        if newest is not None:
            highest = np.maximum(highest, newest)
        most = max(most, int((highest - times).max()))
        newest = int(highest[-1])
    return most
