"""Bands: conditions beside the keys that say between which bounds a number of a partner lies.

They are looked at before the conditions themselves, which are tested on what they let through. So they may let through
too much, and they do where numbers are rounded. Where NULL makes a bound or a number unknown, so that nothing matches,
the one before is as good: what ascends still does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.attachments.layout import Float64s, Int64s
from eddy.attachments.reader import Reader
from eddy.query.attachment import Attachment
from eddy.query.bands import Band, Bound, bands, halves
from eddy.query.expressions import Get
from eddy.query.logic import conjuncts
from eddy.values.types import Column

ROUNDING = 1e-12
"""By how much a number is off at the most, as a part of those that it is made of."""


@define(eq=False)
class Filled:
    """Numbers in the order in which they come, with the one before in the place of what is unknown."""

    _last: float

    def fill(self, numbers: Float64s) -> tuple[Float64s, NDArray[np.int64]]:
        """All of them known, and the places of those that are less than the one before."""
        known = ~np.isnan(numbers)
        if not known.all():
            places = np.maximum.accumulate(np.where(known, np.arange(len(numbers)), -1))
            numbers = np.where(places < 0, self._last, numbers[places])
        descends = np.flatnonzero(numbers < np.concatenate(([self._last], numbers[:-1])))
        if len(numbers):
            self._last = float(numbers[-1])
        return numbers, descends


@define(eq=False)
class Banded:
    """The band of an attachment."""

    band: Band
    _low: Filled = field(init=False, factory=lambda: Filled(-np.inf))
    _high: Filled = field(init=False, factory=lambda: Filled(-np.inf))
    _measures: Filled = field(init=False, factory=lambda: Filled(-np.inf))

    @staticmethod
    def of(attachment: Attachment, time: str | None) -> Banded | None:
        """The first band of its condition: one over the ``time`` of its stream, one with two ends, or any."""
        if attachment.residual is None or attachment.loose is not None:  # keys with NULL are enough
            return None
        found = [half for part in conjuncts(attachment.residual) for half in halves(part) or ()]
        timed = f"{attachment.stream}.{time}"

        def rank(band: Band) -> tuple[bool, bool]:
            return str(band.index) == timed, bool(band.lower and band.upper)

        best = max(bands(found, attachment.stream), key=rank, default=None)
        return None if best is None else Banded(best)

    def of_composites(self, rows: Int64s, reader: Reader) -> tuple[Float64s, int]:
        """The bounds of composites, [composites, 2], and how many of them come before those from which on all bounds
        ascend; -1: they do from before the first on."""

        def get(stream: str, column: str) -> Column:
            return reader.text(stream, column, np.ascontiguousarray(rows[:, reader.places[stream]]))

        n = len(rows)
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        for bound in self.band.lower:
            np.maximum(low, _value(bound, get, n, -1), out=low)
        for bound in self.band.upper:
            np.minimum(high, _value(bound, get, n, 1), out=high)
        low, first = self._low.fill(low)
        high, second = self._high.fill(high)
        return np.stack((low, high), axis=1), _latest(first, second)

    def of_rows(self, get: Get, n: int) -> tuple[Float64s, int]:
        """The numbers of rows of the stream; likewise."""
        if not n:
            return np.empty(0), -1
        found, descends = self._measures.fill(self.band.index.values(get, n))
        return found, _latest(descends)


def _value(bound: Bound, get: Get, n: int, widens: int) -> Float64s:
    """What a bound is, and a little more, so that no rounding makes it less."""
    found, size = np.full(n, float(bound.constant)), np.full(n, float(bound.size))
    with np.errstate(invalid="ignore"):
        for sign, term in bound.terms:
            values = term.values(get, n)
            found += sign * values
            size += np.abs(values)
        slack = ROUNDING * size
        return np.where(np.isinf(slack), widens * np.inf, found + widens * slack)


def _latest(*places: Sequence[int] | NDArray[np.int64]) -> int:
    return max((int(found[-1]) for found in places if len(found)), default=-1)
