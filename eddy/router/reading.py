"""Reading what a batch has made out of a ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.router.executor import Made
from eddy.tracks.moment import Moment
from stairs import Ring
from stairs.ring import State
from stairs.ring_kernels import order_of, read_rows


def reading(ring: Ring, moment: Moment) -> Made:
    """The results in a ring as they are now: they can be read until the ring is used again."""
    newest, events = moment.newest, len(moment.marks)
    state, (tail, start) = ring.state, ring.bounds
    count = tail - start

    def rows() -> NDArray[np.int64]:
        return _rows(state, start, _order(state, events, count), newest)

    return count, rows


def reading_events(ring: Ring, moment: Moment) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The rows of the results in a ring, and their latest events by their places in the batch, in their order."""
    state = ring.state
    order = _order(state, len(moment.marks), len(ring))
    return _rows(state, ring.base, order, moment.newest), state[2].take(order)


def _order(state: State, events: int, count: int) -> NDArray[np.int64]:
    """The order of the ``count`` entries of a ring by their events, of which there are so many."""
    order = np.empty(count, np.int64)
    order_of(state[2], events, order)
    return order


def _rows(state: State, start: int, order: NDArray[np.int64], newest: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of the entries from ``start`` on, in this order."""
    out = np.empty((len(order), len(newest)), np.int64)
    read_rows(state, start, order, np.arange(len(newest)), newest, out)
    return out
