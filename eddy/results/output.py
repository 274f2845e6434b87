"""From what a batch has made to what a push returns: plain results, signed ones, or changes of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eddy.intake.travel import WHEN
from eddy.query.expressions import Expression, Get, Reference
from eddy.query.own_aggregate import compiled
from eddy.query.own_function import OwnFunction
from eddy.query.query import AggregateOutput, Query
from eddy.results.contents import Contents, Fetch, Number
from eddy.results.result import Result
from eddy.results.sorting import places
from eddy.router.executor import Executor
from eddy.store.stream import StoredStream
from eddy.values.compute import repeated
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column, ColumnType

if TYPE_CHECKING:
    from eddy.aggregate.choice import Function
    from eddy.difference.chain import Chain
    from eddy.results.order import EventOrder
    from eddy.results.withdrawals import LiveResults

COMPARED = ("MIN", "MAX", "QUANTILE_DISC")
"""Aggregates that compare strings, and are given them as they are, not as codes."""


class Output:
    """Results as they come: each is new, and nothing is withdrawn."""

    signed = False

    def __init__(self, query: Query, pool: StringPool) -> None:
        self.query = query
        self.pool = pool
        self.number: Number | None = None
        """What rows are called in results, if not by the engine's own numbers."""

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        """What the batch has brought; ``ring`` is the result ring that it wrote to."""
        count, rows = router.made(ring)
        return Result(Contents(self.query, count, rows, fetch, None, self.number))

    def call_rows(self, number: Number) -> None:
        """From now on ``number`` says what rows are called in results, unless somebody else does already."""
        if self.number is None:
            self.number = number

    def nothing(self, fetch: Fetch) -> Result:
        """No result at all."""
        rows = np.empty((0, len(self.query.names)), np.int64)
        return Result(Contents(self.query, 0, lambda: rows, fetch))

    def table(self) -> Result:
        """The groups of an aggregate as they are now."""
        raise NotImplementedError("there are no groups")

    def ended(self, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        """What is given when all windows end. (Nothing is withdrawn.)"""
        return self.nothing(fetch)

    def restore(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        """``rows`` are all live results, after a restart."""

    def codes_in_use(self) -> Iterator[Array]:
        """String codes that are still needed."""
        return iter(())

    @property
    def nbytes(self) -> int:
        return 0


class SignedOutput(Output):
    """Results, and withdrawals when one of their rows leaves its window."""

    signed = True

    def __init__(self, query: Query, pool: StringPool) -> None:
        super().__init__(query, pool)
        self._live_results: LiveResults | None = None
        if query.base is None and not query.attachments:  # a set difference finds its withdrawals itself
            from eddy.results.withdrawals import (
                LiveResults,  # its kernels are compiled only where they are needed
            )

            self._live_results = LiveResults(len(query.names))

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        rows, signs, _ = self.changed(router, ring)
        return Result(Contents(self.query, len(rows), lambda: rows, fetch, lambda: signs, self.number))

    def changed(
        self, router: Executor, ring: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]]:
        """Row numbers of all streams, signs and events of the batch."""
        if self._live_results is None:
            found, signs, events = cast("Chain", router).changes
            rows = np.full((len(found), len(self.query.names)), -1, np.int64)
            rows[:, self.query.names.index(self.query.base or "")] = found
            return rows, signs, events
        found, events = router.signed(ring)
        changes = self._live_results.step(found, events, router.marks, router.newest)
        return changes.rows, changes.signs, changes.events

    def restore(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        if self._live_results is not None:
            self._live_results.restore(rows)

    @property
    def nbytes(self) -> int:
        return 0 if self._live_results is None else self._live_results.nbytes


def _function(aggregate: AggregateOutput, types: tuple[ColumnType, ...]) -> Function:
    """What groups know an aggregate of these types by."""
    if isinstance(aggregate.own, OwnFunction):
        return aggregate.own
    if aggregate.own is not None:
        return compiled(aggregate.own, types)
    if aggregate.quantile is not None:
        return aggregate.quantile
    return f"DISTINCT {aggregate.function}" if aggregate.distinct else aggregate.function


class GroupedOutput(SignedOutput):
    """Changes of groups: the old row of a group is withdrawn, and its new one follows."""

    def __init__(self, query: Query, pool: StringPool) -> None:
        super().__init__(query, pool)
        from eddy.aggregate.groups import Groups  # its kernels too
        from eddy.aggregate.texts_of import Texts

        self.groups = Groups(
            [output.type for output in query.group_by],
            [
                (_function(one, types), types)
                for one in query.aggregates
                for types in [tuple(column.type for column in one.arguments)]
            ],
            Texts(pool.decode, self._codes),
        )
        self._order: EventOrder | None = None
        if query.in_order:
            from eddy.results.order import EventOrder  # kernels too

            self._order = EventOrder(query)

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        return self.taken(*self.changed(router, ring), streams)

    def taken(
        self,
        rows: NDArray[np.int64],
        signs: NDArray[np.int8],
        events: NDArray[np.int32],
        streams: Sequence[StoredStream],
    ) -> Result:
        """What results that come and go, in the order of events, change in the groups."""
        ids = (
            None if self._order is None else self._order.ids(rows, self._whens(rows, streams), signs, events)
        )
        changes = self.groups.step(*self._columns(rows, streams), signs, events, ids)
        return self._result(changes.keys, changes.values, changes.signs)

    def nothing(self, fetch: Fetch) -> Result:
        none = slice(0)
        keys, values = self.groups.table()
        return self._result(
            [c.take(none) for c in keys], [c.take(none) for c in values], np.empty(0, np.int8)
        )

    def table(self) -> Result:
        """All groups as they are now, or those of them that LIMIT leaves, sorted by ORDER BY."""
        found = self._result(*self.groups.table(), None).contents
        if not self.query.cut:
            return Result(found)
        types = dict(self.query.outputs)
        columns = {name: found.columns[name, name] for name in types}
        here = places(self.query.cut, columns, types)
        columns = {name: column.take(here) for name, column in columns.items()}
        return Result(Contents.of_columns(self.query, columns, types))

    def _columns(
        self, rows: Array, streams: Sequence[StoredStream]
    ) -> tuple[list[Column], list[list[Column]]]:
        """Group values, strings as codes, and arguments of these rows."""
        stored, text = self._reads(rows, streams)

        def found(expression: Expression, coded: bool) -> Column:
            if isinstance(expression, Reference):
                return (stored if coded else text)(expression.stream, expression.column)
            column = repeated(expression.evaluate(text), len(rows))
            if not coded or not expression.type.is_coded:
                return column
            return Column(self._codes(column.values), column.valid)

        keys = [found(output.expression, True) for output in self.query.group_by]
        arguments = [
            [found(argument, aggregate.function not in COMPARED) for argument in aggregate.arguments]
            for aggregate in self.query.aggregates
        ]
        return keys, arguments

    def _reads(self, rows: Array, streams: Sequence[StoredStream]) -> tuple[Get, Get]:
        """What reads a column for these rows, as it is stored and with strings as text."""
        names = self.query.names

        def stored(stream: str, column: str) -> Column:
            number = names.index(stream)
            return streams[number].payload.storage(column, np.ascontiguousarray(rows[:, number]))

        def text(stream: str, column: str) -> Column:
            number = names.index(stream)
            return streams[number].payload.take(column, np.ascontiguousarray(rows[:, number]))

        return stored, text

    def _whens(self, rows: Array, streams: Sequence[StoredStream]) -> list[Array]:
        """The events of these rows, of each stream."""
        if self.query.base is not None:
            return []  # its rows are the results, and nobody asks
        return [
            stream.payload.storage(WHEN, np.ascontiguousarray(rows[:, stream.number])).values
            for stream in streams
        ]

    def _codes(self, text: pa.Array | pa.ChunkedArray) -> Array:
        """Codes of strings that were computed; groups tell the pool which of them they need."""
        if isinstance(text, pa.ChunkedArray):
            parts = [self.pool.encode(chunk) for chunk in text.chunks]
            return np.concatenate([np.empty(0, np.int64), *parts])
        return self.pool.encode(text)

    def _result(self, keys: list[Column], values: list[Column], signs: Any) -> Result:
        shown: dict[str, Column] = {}
        for output, column in zip(self.query.group_by, keys, strict=True):
            if output.type.is_coded:
                column = Column(self.pool.decode(column.values, output.type), column.valid)
            shown[output.name] = column
        for aggregate, column in zip(self.query.aggregates, values, strict=True):
            shown[aggregate.name] = column
        if self.query.computed:
            shown, signs = self._computed(shown, signs)
        return Result(Contents.of_columns(self.query, shown, dict(self.query.outputs), signs))

    def _computed(self, kept: dict[str, Column], signs: Any) -> tuple[dict[str, Column], Any]:
        """The expressions of what groups keep, of those rows that HAVING lets through."""
        n = len(next(iter(kept.values())))

        def get(_: str, name: str) -> Column:
            return kept[name]

        if self.query.having is not None:
            here = np.flatnonzero(self.query.having.holds(get, n))
            kept = {name: column.take(here) for name, column in kept.items()}
            signs = None if signs is None else signs[here]
            n = len(here)
        shown = {one.name: repeated(one.expression.evaluate(get), n) for one in self.query.computed}
        return shown, signs

    def restore(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        super().restore(rows, streams)
        n = len(rows)
        signs, events = np.ones(n, np.int8), np.zeros(n, np.int32)
        ids = (
            None if self._order is None else self._order.ids(rows, self._whens(rows, streams), signs, events)
        )
        self.groups.step(*self._columns(rows, streams), signs, events, ids)

    def codes_in_use(self) -> Iterator[Array]:
        return self.groups.codes_in_use()

    @property
    def nbytes(self) -> int:
        order = 0 if self._order is None else self._order.nbytes
        return super().nbytes + self.groups.nbytes + order
