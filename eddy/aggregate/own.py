"""An aggregate of the user's own: the fields of every group, and the loop that runs the user's functions on them."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from eddy.aggregate.accumulators import FIRST, SECOND, Accumulator, Touches, moved
from eddy.aggregate.encoding import canonical, from_words
from eddy.query.own_aggregate import Compiled
from eddy.values.types import Array, Column


@define(eq=False)
class Own(Accumulator):
    """A compiled class of the user's. Of the three words that are shown, SECOND tells whether FIRST is a value."""

    compiled: Compiled = field(kw_only=True)
    _fields: Array = field(init=False, repr=False)
    """A record of fields for each slot, bit by bit."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._fields = np.zeros((0, self.compiled.fields.itemsize // 8), np.int64)

    def move(self, slots: Array, capacity: int) -> None:
        super().move(slots, capacity)
        self._fields = moved(self._fields, slots, capacity)

    @property
    def nbytes(self) -> int:
        return int(self._state.nbytes + self._fields.nbytes)

    def _step(self, touches: Touches, weights: Array, words: list[Array], out: Array) -> None:
        columns = tuple(column.view(of) for column, of in zip(words, self.compiled.arguments, strict=True))
        fields = self._fields.view(self.compiled.fields).reshape(-1)
        values = self._state.view(self.compiled.value)
        given = touches.starts, touches.slots, weights, columns, fields, self._fields
        self.compiled.step(*given, self._state, values, out)

    def _show(self, state: Array) -> Column:
        shown = canonical(np.ascontiguousarray(state[:, FIRST]), self.type)
        return Column(from_words(shown, self.type), state[:, SECOND] != 0)
