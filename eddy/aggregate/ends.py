"""FIRST and LAST: the value of the first or the last row of each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define

from eddy.aggregate.accumulators import COUNT, FIRST, Touches
from eddy.aggregate.ordered import Ordered
from eddy.values.types import Array, Column


@define(eq=False)
class End(Ordered):
    """The value of the row at one end of the order, by the rank of `Extreme`."""

    def step(self, touches: Touches, arguments: Sequence[Column]) -> Column:
        ids, weights = self.enter(touches, arguments)
        out = np.zeros((2 * len(touches), 3), np.int64)
        self._step(touches, weights, [ids], out)
        return self._show(out)

    def finish(self, shown: Column) -> Column:
        return self.spelled(shown, self.type)

    def _show(self, state: Array) -> Column:
        some = state[:, COUNT] > 0
        (held,) = self.values(state[some, FIRST])
        values, valid = np.zeros(len(state), held.values.dtype), some.copy()
        values[some], valid[some] = held.values, held.known
        return Column(values, valid)
