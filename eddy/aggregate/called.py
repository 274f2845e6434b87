"""An aggregate that is a Python function of the user's: it is called with the values of a group's rows, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.aggregate.accumulators import FIRST, SECOND, Touches
from eddy.aggregate.encoding import as_words, canonical, from_words
from eddy.aggregate.lists import Listed, previous
from eddy.errors import EddyError
from eddy.query.own_function import OwnFunction
from eddy.values.compute import from_datum
from eddy.values.types import Array, Column

MOST = 1 << 20
"""Values that are held for the function at a time, but for those of one group."""


@define(eq=False)
class Called(Listed):
    """The word of the value that was shown last is kept for each group: of a string its code."""

    function: OwnFunction = field(kw_only=True)

    def step(self, touches: Touches, arguments: Sequence[Column]) -> Column:
        ids, weights = self.enter(touches, arguments)
        slots, group = np.unique(touches.slots, return_inverse=True)
        held = self._state[slots, FIRST], self._state[slots, SECOND]
        counts = self.ahead(touches, weights)
        found: list[Any] = []
        for _, offsets, some in self.follow(touches, weights, ids, counts, MOST):
            found += self._ask(offsets, some)
        after = self._coded(found)
        out = np.zeros((2 * len(touches), 3), np.int64)
        for place, words, first in zip((FIRST, SECOND), after, held, strict=True):
            out[::2, place], out[1::2, place] = previous(group, words, first), words
            self._state[touches.slots, place] = words  # of several touches the last one holds
        return self._show(out)

    def finish(self, shown: Column) -> Column:
        return self.spelled(shown, self.type)

    def codes_in_use(self) -> Iterator[Array]:
        yield from super().codes_in_use()
        if self.type.kind == "string":
            yield self._state[self._state[:, SECOND] != 0, FIRST]

    def _show(self, state: Array) -> Column:
        return Column(from_words(np.ascontiguousarray(state[:, FIRST]), self.type), state[:, SECOND] != 0)

    def _ask(self, offsets: Array, ids: Array) -> Iterator[Any]:
        """What the function returns for each of these lists; None for one that is empty."""
        columns = [self.arrow(column, of) for column, of in zip(self.values(ids), self.items, strict=True)]
        ends = offsets.tolist()
        for start, stop in itertools.pairwise(ends):
            if start == stop:
                yield None
                continue
            yield self.function.function(*(column.slice(start, stop - start) for column in columns))

    def _coded(self, found: list[Any]) -> tuple[Array, Array]:
        """The words of these values, and which are not NULL."""
        try:
            column = from_datum(pa.array(found, self.type.arrow), self.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            raise EddyError(
                f"the aggregate {self.function.name} returned what is no {self.type}: {error}; return one value, or "
                "give eddy.aggregate_function the type that it has"
            ) from error
        known = column.known
        if self.type.kind == "string":
            assert self.texts is not None
            words = self.texts.encode(column.values)
        else:
            words = canonical(as_words(column.values, self.type), self.type)
        return np.where(known, words, 0), known.astype(np.int64)
