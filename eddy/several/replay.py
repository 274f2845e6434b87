"""A query that keeps its rows by itself is added: it is given those that are there, in the order in which they came."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial

import numpy as np

from eddy.engine.pushing import take
from eddy.intake.intake import Travel
from eddy.intake.travel import WHEN
from eddy.query.query import Query
from eddy.several.feed import Feed
from eddy.several.planting import rows_of
from eddy.state import EngineState
from eddy.values.types import Array, Column

PIECE = 1 << 16
"""Rows that are taken in at a time."""


def replay(state: EngineState, feed: Feed, query: Query, firsts: Mapping[str, int]) -> None:
    """Take in the rows of the feed from ``firsts`` on, by stream. What they bring is dropped: it is past.

    For a caller who has not taken the state: it is taken for each piece.
    """
    events = state.access.read(partial(_events, feed, firsts))
    bounds = np.sort(np.concatenate(list(events.values())))[::PIECE].tolist()
    for start, stop in itertools.pairwise([*bounds, np.iinfo(np.int64).max]):
        piece = state.access.read(partial(_piece, feed, firsts, events, start, stop))
        take(state, state.intake.admit(*piece), None)


def _events(feed: Feed, firsts: Mapping[str, int]) -> dict[str, Array]:
    return {
        name: feed.payload(name).storage(WHEN, np.arange(first, feed.payload(name).next_row)).values
        for name, first in firsts.items()
    }


def _piece(
    feed: Feed, firsts: Mapping[str, int], events: Mapping[str, Array], start: int, stop: int
) -> tuple[dict[str, dict[str, Column]], dict[str, Travel]]:
    """The rows of events from ``start`` to ``stop``, and when they came."""
    batches: dict[str, dict[str, Column]] = {}
    travel: dict[str, Travel] = {}
    for name, when in events.items():
        low, high = when.searchsorted([start, stop]).tolist()
        rows = np.arange(firsts[name] + low, firsts[name] + high)
        if len(rows):
            batches[name] = rows_of(feed, name, rows)
            travel[name] = Travel(rows, np.empty((len(rows), 0), np.int64), when[low:high])
    return batches, travel
