"""ARRAY_AGG: the values of the rows of each group, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.aggregate.accumulators import COUNT, Touches
from eddy.aggregate.extremes import MISSED
from eddy.aggregate.list_kernels import DONE, MISSING, count_ahead, keep_lists, read_lists
from eddy.aggregate.ordered import Ordered
from eddy.errors import StateError
from eddy.values import arrow
from eddy.values.types import Array, Column

MOST = 2**31 - 1
"""Values that an Arrow list column can have."""


@define(eq=False)
class Listed(Ordered):
    """Rows of groups as lists of ids: how all are read, and kept up while rows come and go."""

    words: int = 5

    def lists(self, slots: Array) -> tuple[Array, Array]:
        """Where the lists of these groups start, the end added, and the ids in them."""
        offsets = _offsets(self._state[slots, COUNT])
        out = np.empty(offsets[-1], np.int64)
        read_lists(np.ascontiguousarray(slots, np.int64), offsets, self._nodes, self._state, out)
        return offsets, out

    def ahead(self, touches: Touches, weights: Array) -> Array:
        """How long the list of each touch's group is after it; to be asked once, before `follow`."""
        counts = np.empty(len(touches), np.int64)
        count_ahead(touches.starts, touches.slots, weights, self._state, counts)
        return counts

    def follow(
        self, touches: Touches, weights: Array, ids: Array, counts: Array, most: int
    ) -> Iterator[tuple[int, Array, Array]]:
        """Let rows come and go: the first touch of a piece, where its lists start, and the ids in them.

        A piece has as many touches as have ``most`` ids, but one at least.
        """
        at, ends, first = np.zeros(2, np.int64), np.cumsum(counts), 0
        while first < len(touches):
            before = int(ends[first - 1]) if first else 0
            stop = max(first + 1, int(np.searchsorted(ends, before + most, "right")))
            offsets = _offsets(counts[first:stop])
            out = np.empty(offsets[-1], np.int64)
            given = touches.starts, touches.slots, weights, ids, offsets, first
            while True:
                done = keep_lists(at, stop, *given, self._nodes, self._state, out)
                if done == DONE:
                    break
                if done == MISSING:
                    raise StateError(MISSED)
                self._grow()
            yield first, offsets, out
            first = stop


@define(eq=False)
class Lists(Listed):
    """What is shown are numbers of lists until `finish`."""

    _held: tuple[Array, Array] = field(init=False, repr=False)
    """The lists that were read last: where they start, and their ids."""

    def step(self, touches: Touches, arguments: Sequence[Column]) -> Column:
        ids, weights = self.enter(touches, arguments)
        slots, group = np.unique(touches.slots, return_inverse=True)
        starts, old = self.lists(slots)
        pieces = [*self.follow(touches, weights, ids, self.ahead(touches, weights), MOST)]
        _, new_starts, new = pieces[0] if pieces else (0, np.zeros(1, np.int64), np.empty(0, np.int64))
        if len(pieces) > 1 or len(old) + len(new) > MOST:
            raise StateError(
                "ARRAY_AGG has made more than 2 ** 31 values at once: give the engine a smaller batch_size"
            )
        offsets = np.concatenate([starts[:-1], new_starts + len(old)])
        self._held = offsets, np.concatenate([old, new])
        after = len(slots) + np.arange(len(touches))
        before = previous(group, after, np.arange(len(slots)))
        numbers = np.empty(2 * len(touches), np.int64)
        numbers[::2], numbers[1::2] = before, np.where(self._same(before, after), before, after)
        return Column(numbers, np.diff(offsets)[numbers] > 0)

    def show(self, slots: Array) -> Column:
        self._held = self.lists(slots)
        return Column(np.arange(len(slots)), np.diff(self._held[0]) > 0)

    def finish(self, shown: Column) -> Column:
        """The lists of these numbers."""
        offsets, ids = self._held
        lengths = np.where(shown.known, np.diff(offsets)[shown.values], 0)
        ends = _offsets(lengths)
        if ends[-1] > MOST:
            raise StateError(
                "ARRAY_AGG tells of more than 2 ** 31 values at once: give the engine a smaller batch_size"
            )
        places = _spread(offsets[shown.values], lengths, ends)
        (held,) = self.values(ids[places])
        lists = pa.ListArray.from_arrays(
            arrow.from_numpy(ends.astype(np.int32), None, pa.int32()),
            self.arrow(held, self.items[0]),
            type=self.type.arrow,
        )
        return Column(lists, shown.valid)

    def _same(self, before: Array, after: Array) -> Array:
        """Whether two lists have the same values, for each pair of their numbers."""
        offsets, ids = self._held
        lengths = np.diff(offsets)
        same = lengths[before] == lengths[after]
        pairs = np.flatnonzero(same & (lengths[before] > 0))
        counts = lengths[before[pairs]]
        ends = _offsets(counts)
        (one,) = self.values(ids[_spread(offsets[before[pairs]], counts, ends)])
        (other,) = self.values(ids[_spread(offsets[after[pairs]], counts, ends)])
        equal = one.known == other.known
        if one.values.dtype.kind == "f":  # NaN equals itself
            differ = (one.values != other.values) & ~(np.isnan(one.values) & np.isnan(other.values))
        else:
            differ = one.values != other.values
        equal &= ~(differ & one.known)
        if len(pairs):
            same[pairs] = np.logical_and.reduceat(equal, ends[:-1])
        return same


def previous(group: Array, after: Array, first: Array) -> Array:
    """For each touch what is after the one before it of the same group, or the ``first`` of the group."""
    order = np.argsort(group, kind="stable")
    found = np.empty(len(group), after.dtype)
    if len(order):
        begins = np.r_[True, group[order[1:]] != group[order[:-1]]]
        found[order] = np.where(begins, first[group[order]], np.r_[after[:1], after[order[:-1]]])
    return found


def _offsets(lengths: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _spread(starts: Array, lengths: Array, ends: Array) -> Array:
    """The places of all values of some lists, one list after the other."""
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
