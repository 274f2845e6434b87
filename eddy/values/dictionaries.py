"""Strings that come coded by a dictionary: its strings are interned once, not those of every row.

A dictionary is known again by where its buffers are. It is held for as long as it is known, so nothing else can be
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from attrs import define, field

from eddy.values import arrow
from eddy.values.types import Array

MOST = 16
"""Dictionaries that are known at a time."""

Place = tuple[int, ...]


@define(eq=False)
class Known:
    """A dictionary, and the codes of its strings."""

    dictionary: pa.Array
    codes: Array
    used: bool = True
    """Since the last sweep."""


@define(eq=False)
class Dictionaries:
    """The dictionaries of the last pushes."""

    _known: dict[Place, Known] = field(init=False, factory=dict)
    _seen: pa.Array | None = field(init=False, default=None)
    """One that was too large for its rows to be worth it, if it does not come again."""

    @property
    def nbytes(self) -> int:
        """What is held with them."""
        return sum(known.dictionary.nbytes + known.codes.nbytes for known in self._known.values())

    def encode(self, text: pa.DictionaryArray, intern: Callable[[pa.Array], Array]) -> Array:
        """The codes of these strings, by ``intern``; anything where they are null."""
        indices = text.indices
        dictionary = text.dictionary
        place = _place(dictionary)
        known = self._known.get(place)
        if known is None:
            if len(dictionary) > len(text) and (self._seen is None or _place(self._seen) != place):
                self._seen = dictionary
                return intern(arrow.with_nulls(dictionary.take(indices), None))
            while len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            known = self._known[place] = Known(dictionary, intern(dictionary))
            self._seen = None
        known.used = True
        numbers = np.frombuffer(
            indices.buffers()[1], np.dtype(str(indices.type)), len(indices) + indices.offset
        )
        numbers = numbers[indices.offset :]
        valid = arrow.valid_of(indices)
        if valid is not None:  # what is there may be anything
            numbers = np.where(valid, numbers, 0)
        codes: Array = known.codes.take(numbers)
        return codes

    def codes_in_use(self) -> Iterator[Array]:
        """At a sweep: the codes of those that have come since the last one. The others are forgotten."""
        self._known = {place: known for place, known in self._known.items() if known.used}
        for known in self._known.values():
            known.used = False
            yield known.codes


def is_coded(values: pa.Array) -> bool:
    """Whether these are strings that `Dictionaries` takes, of which not all are null."""
    return (
        pat.is_dictionary(values.type)
        and pat.is_string(values.type.value_type)
        and values.null_count < len(values)
        and not values.dictionary.null_count
    )


def _place(dictionary: pa.Array) -> Place:
    _, ends, data = dictionary.buffers()
    return (ends.address, 0 if data is None else data.address, dictionary.offset, len(dictionary))
