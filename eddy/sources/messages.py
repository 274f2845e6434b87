"""Messages of brokers, one row each: payloads become rows of given types, or an error that says why not.

A broker's source fetches payloads and knows their positions; what is in them is the business of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from attrs import frozen

from eddy.sources.base import Bad, Piece
from eddy.sources.isolating import isolated
from eddy.sources.lines import CONTENT
from eddy.sources.text import JsonLines


class Payloads(Protocol):
    """A format of messages."""

    def read(self, payloads: Sequence[Any], /) -> pa.RecordBatch | Exception:
        """The rows of payloads, one each; an error if one of them is no row."""

    def reason(self, error: Exception) -> str:
        """What is wrong with the one payload that gave this error."""


_SEPARATOR = b"\n"


def _apart(joined: bytes, count: int) -> bool:
    """Whether so many payloads begin and end as objects do: then none can be read together with its neighbour, and if
    there are as many rows as payloads, each is one."""
    ends = joined[:1] == b"{" and joined[-1:] == b"}"
    return ends and joined.count(_SEPARATOR) == joined.count(b"}\n{") == count - 1


class Json:
    """One JSON object a message."""

    def __init__(self, columns: dict[str, pa.DataType]) -> None:
        self.reader: Any = JsonLines().reader("", columns)

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | Exception:
        joined = _SEPARATOR.join(payloads)
        if not _apart(joined, len(payloads)):
            # a line break within an object is white space, since strings have it escaped
            joined = _SEPARATOR.join([payload.replace(_SEPARATOR, b" ").strip() for payload in payloads])
            if len(payloads) > 1 and not _apart(joined, len(payloads)):
                return ValueError("not one object each")
        return self.reader.read(joined, len(payloads))

    def reason(self, error: Exception) -> str:
        return str(self.reader.reason(error))


class Raw:
    """The payload as it is: one column, text or bytes."""

    COLUMN = "value"

    def __init__(self, columns: dict[str, pa.DataType]) -> None:
        self.schema = pa.schema(list(columns.items()))

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | Exception:
        found = pa.array(payloads, pa.binary())
        try:
            columns = [found.cast(kind) for kind in self.schema.types]
        except pa.ArrowException as error:
            return error
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def reason(self, error: Exception) -> str:
        return "not UTF-8"


@frozen
class Decoded:
    """What became of some payloads."""

    rows: pa.Table | None
    bad: tuple[Bad, ...]
    kept: Any
    """The places of the payloads that are rows."""


def text(payload: bytes) -> str:
    """A payload as a message shows it."""
    return payload.decode("utf-8", "replace")


def decoded(
    format: Payloads, payloads: Sequence[Any], first: int = 1, shown: Callable[[Any], str] = text
) -> Decoded:
    """The rows of payloads; where they cannot be read as a whole, all but the bad ones. ``first``: what a message calls
    the first of them."""
    if not payloads:
        return Decoded(None, (), np.empty(0, np.int64))
    whole = format.read(payloads)
    if not isinstance(whole, Exception):
        return Decoded(pa.Table.from_batches([whole]), (), np.arange(len(payloads)))

    def some(start: int, stop: int) -> Any:
        found = format.read(payloads[start:stop])
        return found if isinstance(found, Exception) else (found, start)

    good, failed = isolated(some, 0, len(payloads))
    bad = tuple(Bad(format.reason(error), shown(payloads[i])[:CONTENT], first + i) for i, error in failed)
    kept = [np.arange(start, start + found.num_rows) for found, start in good]
    rows = pa.Table.from_batches([found for found, _ in good]).combine_chunks() if good else None
    return Decoded(rows, bad, np.concatenate(kept) if kept else np.empty(0, np.int64))


def piece(format: Payloads, payloads: Sequence[bytes], position: Any, name: str, first: int = 1) -> Piece:
    """The piece that payloads are, with the position behind them."""
    found = decoded(format, payloads, first)
    return Piece(found.rows, position, found.bad, name, first, found.kept + first)
