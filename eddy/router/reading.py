"""Reading what a batch has made out of a ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eddy.router.executor import Made
from eddy.tracks.moment import Moment
from stairs import Ring
from stairs.ring_kernels import order_of, read_rows


def reading(ring: Ring, moment: Moment) -> Made:
    """The results in a ring as they are now: they can be read until the ring is used again."""
    newest, events = moment.newest, len(moment.marks)
    state, start, count = ring.state, ring.base, len(ring)

    def rows() -> NDArray[np.int64]:
        out, order = np.empty((count, len(newest)), np.int64), np.empty(count, np.int64)
        order_of(state[2], events, order)
        read_rows(state, start, order, np.arange(len(newest)), newest, out)
        return out

    return count, rows


def reading_events(ring: Ring, moment: Moment) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The rows of the results in a ring, and their latest events by their places in the batch, in their order."""
    of, order = ring.state[2], np.empty(len(ring), np.int64)
    order_of(of, len(moment.marks), order)
    return reading(ring, moment)[1](), of[order]
