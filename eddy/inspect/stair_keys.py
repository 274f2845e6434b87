"""Keys of a STAIR as a user writes them: values of columns, or row numbers, become the keys that kernels know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.errors import BatchError, EddyError
from eddy.plan.compiler import Key
from eddy.query.keys import KeyClass
from eddy.query.query import Query
from eddy.shown import shown
from eddy.values.conversion import convert
from eddy.values.strings import StringPool
from stairs.holes import Keys
from stairs.key_kernels import mix_into


@frozen(eq=False)
class WantedKeys:
    """Keys that a user has named: of each key class of a STAIR, or rows by their numbers in the stream."""

    by_class: dict[int, Keys]
    rows: Keys | None = None
    """Where the key is the row number of a stream."""

    def under(self, key: Key) -> Keys:
        """Under a key of some of the classes, as entries have it."""
        return mixed([self.by_class[c] for c in key.classes])


def mixed(parts: Sequence[Keys]) -> Keys:
    """The keys that consist of these, one for each class; of no class it is always 0."""
    if not parts:
        return np.zeros(1, np.int64)
    if len(parts) == 1:
        return parts[0]
    keys = parts[0].copy()
    for part in parts[1:]:
        mix_into(keys, part)
    return keys


def read_keys(query: Query, pool: StringPool, key: Key, columns: Sequence[str], keys: Any) -> WantedKeys:
    """The keys that are written here: one, or a list or array of them. One of several columns is a tuple.

    A value that nothing can equal (NULL, 1.5 beside integers) is a key that no entry has, and left out.
    """
    many = keys if isinstance(keys, (list, np.ndarray)) else [keys]
    if key.row is not None:
        rows = np.asarray(many)
        if rows.dtype.kind not in "iu" and len(rows):
            raise EddyError(f"this STAIR is keyed by {columns[0]}: give row numbers, not {shown(keys)}")
        return WantedKeys({}, rows.astype(np.int64))
    if not key.classes:
        raise EddyError("this STAIR has no key, since nothing but a cross product asks it: leave the key out")
    parts: list[Any] = [many]
    if len(key.classes) > 1:
        parts = [list(part) for part in zip(*map(_tuple(columns), many), strict=True)] or [[]] * len(columns)
    found, fits = {}, np.ones(len(many), np.bool_)
    for c, values in zip(key.classes, parts, strict=True):
        found[c], known = _encoded(query.key_classes[c], pool, values)
        fits &= known
    return WantedKeys({c: np.ascontiguousarray(part[fits]) for c, part in found.items()})


def _tuple(columns: Sequence[str]) -> Any:
    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple) or len(value) != len(columns):
            raise EddyError(
                f"this STAIR is keyed by {', '.join(columns)}: a key is a tuple of {len(columns)} values, "
                f"not {shown(value)}"
            )
        return value

    return check


def _encoded(of: KeyClass, pool: StringPool, values: Any) -> tuple[Keys, NDArray[np.bool_]]:
    """The keys of values in a class, read in the type of the first member that can hold them; and which can match."""
    errors = []
    for stream, kind in of.types.items():
        try:
            column = convert(f"{stream}.{of.members[stream]}", kind, values)
        except BatchError as error:
            errors.append(str(error))
            continue
        known, stored = column.known, column.values
        if kind.is_coded:
            stored = pool.encode(stored)
        keys, valid = of.encode(stream, stored, known)
        return np.asarray(keys, np.int64), known if valid is None else valid
    raise EddyError(f"no key of {of}: {errors[0]}")
