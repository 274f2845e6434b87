"""What aggregates of rows in order have in common: the rows of each group by their ids, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.aggregate.accumulators import Touches
from eddy.aggregate.encoding import plain
from eddy.aggregate.extremes import Extreme
from eddy.aggregate.log import Log
from eddy.aggregate.texts_of import Texts
from eddy.values.arrow import with_nulls
from eddy.values.compute import to_datum
from eddy.values.types import Array, Column, ColumnType


@define(eq=False)
class Ordered(Extreme):
    """The tree of each group holds the ids of its rows; the values lie in one log for all groups.

    NULL is a value. Where there is a condition, a last argument, rows count for which it is true.
    """

    ordered: ClassVar[bool] = True

    items: tuple[ColumnType, ...] = field(kw_only=True)
    """The types of the values."""
    conditional: bool = field(kw_only=True, default=False)
    texts: Texts | None = field(kw_only=True, default=None)
    _log: Log = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._log = Log(self.items[:1] if self.conditional else self.items)

    @property
    def nbytes(self) -> int:
        return int(self._state.nbytes + self._nodes.nbytes + self._log.nbytes)

    def codes_in_use(self) -> Iterator[Array]:
        return self._log.codes_in_use()

    def enter(self, touches: Touches, arguments: Sequence[Column]) -> tuple[Array, Array]:
        """Let the values come and go; returns the ids of the rows and their weights, in order of touch."""
        columns = list(arguments)
        if touches.order is not None:
            columns = [column.take(touches.order) for column in columns]
        ids, *values = columns
        weights = touches.signs
        if self.conditional:
            condition = values.pop()
            weights = np.where(condition.values & condition.known, weights, 0)
        found, weights = plain(ids.values, np.int64), plain(weights, np.int8)
        self._log.follow(found, weights, values)
        return found, weights

    def values(self, ids: Array) -> list[Column]:
        """The values of these rows, strings as codes."""
        return self._log.columns(self._log.find(ids))

    def spelled(self, column: Column, of: ColumnType) -> Column:
        """The column with strings in the place of their codes."""
        if of.kind != "string":
            return column
        assert self.texts is not None
        if column.valid is None:
            return Column(self.texts.decode(column.values))
        known = column.valid  # a code of NULL is the code of nothing
        places = pa.array(np.cumsum(known) - 1, mask=~known)
        texts = self.texts.decode(column.values[known]).take(places)
        return Column(with_nulls(texts, None), known)

    def arrow(self, column: Column, of: ColumnType) -> pa.Array:
        """The column as one array of Arrow."""
        found = to_datum(self.spelled(column, of), of, False)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
