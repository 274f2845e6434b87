"""From what a batch has made to what a push returns: plain results, signed ones, or changes of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eddy.query.expressions import Expression, Reference
from eddy.query.own_aggregate import compiled
from eddy.query.query import AggregateOutput, Query
from eddy.results.contents import Contents, Fetch, Number
from eddy.results.result import Result
from eddy.router.executor import Executor
from eddy.store.stream import StoredStream
from eddy.values.compute import repeated
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column

if TYPE_CHECKING:
    from eddy.difference.chain import Chain
    from eddy.results.withdrawals import LiveResults


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

    def nothing(self, fetch: Fetch) -> Result:
        """No result at all."""
        rows = np.empty((0, len(self.query.names)), np.int64)
        return Result(Contents(self.query, 0, lambda: rows, fetch))

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
        if query.base is None:  # a set difference finds its withdrawals itself
            from eddy.results.withdrawals import (
                LiveResults,  # its kernels are compiled only where they are needed
            )

            self._live_results = LiveResults(len(query.names))

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        rows, signs, _ = self._changes(router, ring)
        return Result(Contents(self.query, len(rows), lambda: rows, fetch, lambda: signs, self.number))

    def _changes(
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


def _function(aggregate: AggregateOutput) -> str:
    """What groups call an aggregate."""
    return f"DISTINCT {aggregate.function}" if aggregate.distinct else aggregate.function


class GroupedOutput(SignedOutput):
    """Changes of groups: the old row of a group is withdrawn, and its new one follows."""

    def __init__(self, query: Query, pool: StringPool) -> None:
        super().__init__(query, pool)
        from eddy.aggregate.groups import Groups  # its kernels too

        self.groups = Groups(
            [output.type for output in query.group_by],
            [
                (_function(one) if one.own is None else compiled(one.own, types), types)
                for one in query.aggregates
                for types in [tuple(column.type for column in one.arguments)]
            ],
        )

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        rows, signs, events = self._changes(router, ring)
        changes = self.groups.step(*self._columns(rows, streams), signs, events)
        return self._result(changes.keys, changes.values, changes.signs)

    def nothing(self, fetch: Fetch) -> Result:
        none = slice(0)
        keys, values = self.groups.table()
        return self._result(
            [c.take(none) for c in keys], [c.take(none) for c in values], np.empty(0, np.int8)
        )

    def table(self) -> Result:
        """All groups as they are now."""
        return self._result(*self.groups.table(), None)

    def _columns(
        self, rows: Array, streams: Sequence[StoredStream]
    ) -> tuple[list[Column], list[list[Column]]]:
        """Group values, strings as codes, and arguments of these rows."""
        names = self.query.names

        def stored(reference: Reference) -> Column:
            number = names.index(reference.stream)
            return streams[number].payload.storage(reference.column, np.ascontiguousarray(rows[:, number]))

        def text(stream: str, column: str) -> Column:
            number = names.index(stream)
            return streams[number].payload.take(column, np.ascontiguousarray(rows[:, number]))

        def found(expression: Expression, coded: bool) -> Column:
            if isinstance(expression, Reference):
                return stored(expression) if coded else text(expression.stream, expression.column)
            column = repeated(expression.evaluate(text), len(rows))
            if not coded or not expression.type.is_coded:
                return column
            return Column(self._codes(column.values), column.valid)

        keys = [found(output.expression, True) for output in self.query.group_by]
        arguments = [
            [found(argument, aggregate.function not in ("MIN", "MAX")) for argument in aggregate.arguments]
            for aggregate in self.query.aggregates
        ]
        return keys, arguments

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
        self.groups.step(*self._columns(rows, streams), np.ones(n, np.int8), np.zeros(n, np.int32))

    def codes_in_use(self) -> Iterator[Array]:
        return self.groups.codes_in_use()

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.groups.nbytes
