"""The bands of a step, bound to the streams that they read: what kernels need to test them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eddy.query.bands import Band, Measure
from eddy.query.bands import bands as bands_of
from eddy.query.residual import Residual
from eddy.store.stream import StreamState
from eddy.values.types import Array, Column
from stairs.band_kernels import decide, find_ranges

Tables = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]

Rows = NDArray[np.int64]
"""Row numbers: a line for each combination, a column for each stream of the query."""


def reader(rows: Rows, states: Sequence[StreamState]) -> Callable[[str, str], Column]:
    """What gives an expression the columns of combinations of rows."""
    by_name = {state.name: state for state in states}

    def get(stream: str, column: str) -> Column:
        state = by_name[stream]
        return state.payload.take(column, rows[:, state.number])

    return get


def reader_of_pairs(
    entries: Rows, live: Rows, row: int, states: Sequence[StreamState]
) -> Callable[[str, str], Column]:
    """The same for every entry with every one of the ``live`` rows of stream number ``row``, entry by entry.

    Each value is looked up once, and then repeated.
    """
    by_name, many = {state.name: state for state in states}, (len(entries), len(live))

    def get(stream: str, column: str) -> Column:
        state = by_name[stream]
        if state.number == row:
            return _spread(state.payload.take(column, live), lambda values: np.tile(values, many[0]))
        found = state.payload.take(column, entries[:, state.number])
        return _spread(found, lambda values: np.repeat(values, many[1]))

    return get


def _spread(column: Column, repeated: Callable[[Array], Array]) -> Column:
    """A column whose values are ``repeated``, which says how."""
    if not isinstance(column.values, np.ndarray):
        return column.take(repeated(np.arange(len(column))))
    return Column(repeated(column.values), None if column.valid is None else repeated(column.valid))


def compile_bounds(found: Sequence[Band]) -> tuple[list[Measure], Tables]:
    """The terms of the bounds of some bands, and what `stairs.band_kernels.find_ranges` needs beside their values:
    the bounds, their constants with their sizes, and signs and places of all their terms, one after the other."""
    terms: dict[Measure, int] = {}
    bounds: list[tuple[int, ...]] = []
    constants: list[tuple[float, float]] = []
    signs: list[float] = []
    places: list[int] = []
    for k, band in enumerate(found):
        for upper, ends in enumerate((band.lower, band.upper)):
            for bound in ends:
                first, constant = len(places), float(bound.constant)
                for sign, term in bound.terms:
                    signs.append(float(sign))
                    places.append(terms.setdefault(term, len(terms)))
                exact = bound.exact and constant == bound.constant
                bounds.append((k, upper, bound.strict, exact, first, len(places)))
                constants.append((constant, float(bound.size)))
    return list(terms), (
        np.array(bounds, np.int64).reshape(-1, 6),
        np.array(constants, np.float64).reshape(-1, 2),
        np.array(signs, np.float64),
        np.array(places, np.int64),
    )


class _Source:
    """Where the values of a term come from: the measures of the one stream that it reads, or several payloads."""

    def __init__(self, term: Measure, owner: StreamState | None, states: Sequence[StreamState]) -> None:
        self._term, self._owner, self._states = term, owner, states
        self._line = 0 if owner is None else owner.measures.lines[term]

    def take(self, probes: Rows) -> NDArray[np.float64]:
        """The values for each combination of rows."""
        if self._owner is None:
            return self._term.values(reader(probes, self._states), len(probes))
        return self._owner.measures.take(self._line, probes[:, self._owner.number])


class Bands:
    """The bands over the rows of stream ``row`` that some predicates imply; other streams have the bounds.

    Where there is none of them, ``count`` is 0 and nothing else may be asked.
    """

    def __init__(self, residuals: Sequence[Residual], row: int, states: list[StreamState]) -> None:
        self.state = states[row]
        self._states = states
        name = self.state.name
        found = bands_of((half for residual in residuals for half in residual.halves), name)
        self.told = tuple(residual for residual in residuals if residual.is_told_by(name))
        """Predicates that need no other test where all bands are surely satisfied."""
        self.untold = tuple(residual for residual in residuals if residual not in self.told)
        """Those that say more than the bands do."""
        self.count = len(found)
        lines = self.state.measures.lines
        self.lines = np.array([lines[band.index] for band in found], np.int64)
        terms, self._tables = compile_bounds(found)
        owners = {frozenset([state.name]): state for state in states}
        self._sources = [_Source(term, owners.get(term.streams), states) for term in terms]

    def ranges(self, probes: Rows) -> NDArray[np.float64]:
        """Between which bounds the measures must lie for each combination of rows: see `stairs.band_kernels`."""
        values = np.empty((len(self._sources), len(probes)))
        for i, source in enumerate(self._sources):
            values[i] = source.take(probes)
        ranges = np.empty((len(probes), self.count, 4))
        find_ranges(values, *self._tables, ranges)
        return ranges

    def decide(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether all the predicates hold for each combination of rows, of which one is of the stream itself."""
        verdicts = np.empty(len(rows), np.uint8)
        own = np.ascontiguousarray(rows[:, self.state.number])
        decide(own, self.state.measures.table, self.lines, self.ranges(rows), verdicts)
        return self.confirmed(rows, verdicts)

    def confirmed(self, rows: Rows, verdicts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether all the predicates hold, where ``verdicts`` are those of the bands: 0 no, 1 perhaps, 2 surely."""
        kept = verdicts != 0
        doubtful = np.flatnonzero(verdicts == 1)
        if len(doubtful):
            kept[doubtful] = holds(self.told, rows[doubtful], self._states)
        if self.untold:
            left = np.flatnonzero(kept)
            kept[left] = holds(self.untold, rows[left], self._states)
        return kept


def holds(residuals: Sequence[Residual], rows: Rows, states: Sequence[StreamState]) -> NDArray[np.bool_]:
    """Whether all these predicates hold for each combination of rows; only the columns of their streams are read."""
    kept = np.ones(len(rows), np.bool_)
    for residual in residuals:
        left = np.flatnonzero(kept)
        if len(left) == 0:
            break
        kept[left] = residual.holds(reader(rows[left], states), len(left))
    return kept
