"""Values of composites that may lack a row of some streams: these are NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eddy.store.payload import Payload
from eddy.values.arithmetic import both
from eddy.values.conversion import convert
from eddy.values.types import Array, Column


class Reader:
    """Reads columns of streams, in the order of their ``names``, for rows by number; -1 is no row."""

    def __init__(self, names: Sequence[str], payloads: Sequence[Payload]) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self._payloads = payloads

    def coded(self, stream: str, column: str, rows: Array) -> Column:
        """The values of a column as they are stored: strings as codes."""
        return self._read(stream, column, rows, True)

    def text(self, stream: str, column: str, rows: Array) -> Column:
        """The values of a column; strings as text."""
        return self._read(stream, column, rows, False)

    def columns(self, stream: str, columns: Sequence[str], rows: Array) -> list[Column]:
        """The same of several columns."""
        return [self.text(stream, column, rows) for column in columns]

    def _read(self, stream: str, column: str, rows: Array, coded: bool) -> Column:
        payload = self._payloads[self.places[stream]]
        take = payload.storage if coded else payload.take
        here = rows >= 0
        if here.all():
            return take(column, np.ascontiguousarray(rows))
        kind = payload.columns[column]
        if here.any():
            found = take(column, rows[here]).take(np.maximum(np.cumsum(here) - 1, 0))
        elif kind.is_coded and not coded:
            return convert(column, kind, pa.nulls(len(rows), kind.arrow))
        else:
            found = Column(np.zeros(len(rows), kind.dtype))
        return Column(found.values, both(found.valid, here))
