"""QUANTILE_CONT: the values of each group in order, and the number between the two nearest to a rank."""

from __future__ import annotations

import numpy as np
from attrs import define

from eddy.aggregate.accumulators import COUNT, FIRST, SECOND
from eddy.aggregate.between_kernels import between_floats, between_integers
from eddy.aggregate.encoding import plain
from eddy.aggregate.extremes import Extreme
from eddy.values.types import Array, Column


@define(eq=False)
class Continuous(Extreme):
    """The exact number at a rank, rounded once. NaN is larger than every number."""

    def _show(self, state: Array) -> Column:
        numerator, denominator = self.share
        count = np.ascontiguousarray(state[:, COUNT])
        rests = numerator * np.maximum(count - 1, 0) % denominator
        lower, upper = self._values(state[:, FIRST]), self._values(state[:, SECOND])
        out = np.empty(len(state))
        if self.argument.kind == "float":
            low, high = plain(lower, np.float64), plain(upper, np.float64)
            bits = low.view(np.int64), high.view(np.int64)
            between_floats(low, high, *bits, rests, denominator, out)
        else:
            unsigned = self.argument.name == "uint64"
            words = [plain(one.view(np.int64) if unsigned else one, np.int64) for one in (lower, upper)]
            between_integers(*words, unsigned, rests, denominator, out)
        return Column(out, count > 0)
