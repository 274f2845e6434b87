"""The demo's feed: four streams of a shop, seeded, whose selectivities drift from phase to phase.

A phase says from which customers each stream's rows come. Streams that draw from the same crowd match often;
one that draws from everybody, or from another region, seldom, and then a plan that joins it early is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np
import numpy.typing as npt

Slice = dict[str, dict[str, npt.NDArray[np.generic]]]
"""What arrives within one span of time: for each stream its columns."""

STREAMS = ("clicks", "orders", "payments", "parcels")
SCHEMA = {"ts": "timestamp", "customer": "int64", "id": "int64"}

MOST_ROWS = 100_000
"""The rows of a window, at most."""

QUERY = """
    SELECT clicks.id AS click, orders.id AS "order", payments.id AS payment, parcels.id AS parcel
    FROM clicks [ROWS {rows}], orders [ROWS {rows}], payments [RANGE {rows} MS], parcels [RANGE {rows} MS]
    WHERE clicks.customer = orders.customer AND orders.customer = payments.customer
      AND payments.customer = parcels.customer
"""
"""A row comes about every millisecond, so windows of time have as many rows as the others."""

EVERYBODY = (0, 1_000_000)
CROWD = (0, 50_000)
NORTH = (0, 50_000)
SOUTH = (45_000, 95_000)

ROWS_A_SLICE = 1_024
"""Rows of one stream in one slice: about one each millisecond of the feed's own time."""

MICROSECONDS_A_SLICE = 1_000 * ROWS_A_SLICE


@attrs.frozen
class Phase:
    """A while in which each stream draws its customers from a fixed range, where windows have MOST_ROWS rows."""

    title: str
    customers: Mapping[str, tuple[int, int]]


def _all_but(title: str, stream: str) -> Phase:
    """Everyone draws from the crowd, and one stream from everybody: it seldom matches."""
    return Phase(title, {name: EVERYBODY if name == stream else CROWD for name in STREAMS})


PHASES = (
    _all_but("an ordinary day: few parcels match", "parcels"),
    _all_but("the bank is slow: few payments match", "payments"),
    Phase(
        "orders and parcels move to another region",
        {"clicks": NORTH, "payments": NORTH, "orders": SOUTH, "parcels": SOUTH},
    ),
    _all_but("robots at the door: few clicks match", "clicks"),
    _all_but("a shortage: few orders match", "orders"),
    _all_but("an ordinary day again: few parcels match", "parcels"),
)


@attrs.define(eq=False)
class Feed:
    """Slices without end. The same seed and the same phases give the same slices, whatever the machine.

    ``rows``: those of a window. With fewer of them there are fewer customers, so that a row finds as many others.
    """

    seed: int
    rows: int = MOST_ROWS
    _random: np.random.Generator = attrs.field(init=False)
    _slices: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def next(self, phase: Phase) -> Slice:
        """The next slice, drawn as ``phase`` says. Times never go back, within a slice or between slices."""
        start = self._slices * MICROSECONDS_A_SLICE
        first = self._slices * ROWS_A_SLICE
        self._slices += 1
        return {name: self._rows(start, first, phase.customers[name]) for name in STREAMS}

    def _rows(self, start: int, first: int, customers: tuple[int, int]) -> dict[str, npt.NDArray[np.generic]]:
        low, high = (bound * self.rows // MOST_ROWS for bound in customers)
        times = np.sort(self._random.integers(start, start + MICROSECONDS_A_SLICE, ROWS_A_SLICE))
        return {
            "ts": times.view("datetime64[us]"),
            "customer": self._random.integers(low, high, ROWS_A_SLICE),
            "id": np.arange(first, first + ROWS_A_SLICE),
        }
