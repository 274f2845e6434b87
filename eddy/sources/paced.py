"""A source whose rows come in time with a clock: as fast as when they were recorded, or so many times faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, evolve, field, frozen

from eddy.errors import EddyError
from eddy.shown import shown
from eddy.sources.base import Piece, Source
from eddy.sources.memory import as_table
from eddy.values import arrow
from eddy.values.types import UNITS, Array, ColumnType

SECOND = 1_000_000_000
NEVER = 1 << 90
"""A time after all others, in nanoseconds."""
MAX = "max"
"""The speed of rows that wait for no clock."""


def speed_of(value: Any) -> float | None:
    """How many times as fast as recorded; None for no pace at all."""
    if value is None or value == MAX:
        return None
    try:
        found = float(value.removesuffix("x") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 < found < float("inf"):
        raise EddyError(
            f"speed is how many times as fast as recorded rows come, such as 10x, or max, not {shown(value)}"
        )
    return found


@define(eq=False)
class Pace:
    """The time that it is in the recording. It begins with the oldest of the first rows of its sources."""

    speed: float
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False, default=0.0)
    _origin: int | None = field(init=False, default=None)

    def begins(self, at: int) -> None:
        """A source has its first row at this time, in nanoseconds."""
        if self._origin is None:
            self._began, self._origin = self.clock(), at
        self._origin = min(self._origin, at)

    @property
    def now(self) -> int:
        """In nanoseconds; rows up to here are due."""
        assert self._origin is not None, "no source has begun"
        if self.speed == float("inf"):
            return NEVER
        return self._origin + int((self.clock() - self._began) * self.speed * SECOND)


@frozen(eq=False)
class Paced(Source):
    """Another source, whose rows are there when their time has come. Whole numbers as times count seconds."""

    source: Source
    column: str
    kind: ColumnType
    pace: Pace

    def __attrs_post_init__(self) -> None:
        if self.kind.kind not in ("timestamp", "int", "uint"):
            raise EddyError(
                f"{self.source} cannot keep to its times: {self.column} is {self.kind}, not a timestamp or whole number"
            )

    @property
    def schema(self) -> Any:  # type: ignore[override]
        return self.source.schema

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.source.bounded

    @property
    def seekable(self) -> bool:  # type: ignore[override]
        return self.source.seekable

    @property
    def time(self) -> str | None:  # type: ignore[override]
        return self.source.time

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.source)

    def committed(self, position: Any) -> None:
        self.source.committed(split(position)[0])

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        return evolve(self, source=self.source.narrowed(columns, batch))

    def there(self) -> bool:
        return self.source.there()

    def size(self) -> int | None:
        return self.source.size()

    def reached(self, position: Any) -> int | None:
        at, used = split(position)
        begun = 0 if at is None else self.source.reached(at)
        if not used or begun is None or NEXT not in position:
            return begun
        end = self.source.reached(position[NEXT])
        return begun if end is None else begun + (end - begun) * used // position["of"]

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        return self.source.disorder(column, kind)

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        most, source = self.source.look(column, kind, room)
        return most, evolve(self, source=source)

    def read(self, position: Any) -> Iterator[Piece]:
        at, used = split(position)
        for item in self.source.read(at):
            piece = item if isinstance(item, Piece) else Piece(*item)
            count = 0 if piece.rows is None else _count(piece.rows)
            if (
                used and count is not None and used >= count
            ):  # pieces were larger before, by another size of batches
                used -= count
                yield evolve(piece, rows=None, position={WITHIN: piece.position, "used": used})
            else:
                yield from self._due(piece, at, used)
                used = 0
            at = piece.position

    def _due(self, piece: Piece, at: Any, used: int) -> Iterator[Piece]:
        """The rows of a piece from one of them on, each when its time has come; until then there is nothing."""
        behind: dict[str, Any] = {WITHIN: piece.position, "used": 0}
        rows = piece.rows if isinstance(piece.rows, pa.RecordBatch) else as_table(piece.rows)
        times = None if rows is None else self._times(rows)
        if rows is None or times is None or not len(times):
            yield evolve(piece, position=behind)
            return
        self.pace.begins(int(times[used]) * self._factor)
        within = {WITHIN: at, "of": len(times), NEXT: piece.position}
        while used < len(times):
            now = min(self.pace.now // self._factor, int(times[-1]))
            stop = int(np.searchsorted(times, now, side="right"))
            if stop <= used:
                yield Piece(None, {**within, "used": used})
                continue
            last = stop == len(times)
            yield Piece(
                rows.slice(used, stop - used),
                behind if last else {**within, "used": stop},
                piece.bad if last else (),
                piece.file,
                piece.first + used,
                None if piece.lines is None else piece.lines[used:stop],
                None if piece.files is None else piece.files[used:stop],
            )
            used = stop

    @property
    def _factor(self) -> int:
        """Nanoseconds of a unit of its times."""
        return SECOND // (1 if self.kind.unit is None else UNITS[self.kind.unit])

    def _times(self, rows: Any) -> Array | None:
        """The newest time up to each row; None if they are no times, or there is none among them."""
        if self.column not in rows.schema.names:
            return None
        column = rows.column(self.column)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        try:
            times = arrow.to_numpy(column.cast(self.kind.arrow).cast(pa.int64()), np.dtype(np.int64))
        except pa.ArrowException:
            return None
        valid = arrow.valid_of(column)
        if valid is not None:
            if not valid.any():
                return None
            times = np.where(valid, times, times[valid].min())
        return np.asarray(np.maximum.accumulate(times))


def _count(rows: Any) -> int | None:
    """How many rows there are; None where that is not known."""
    table = rows if isinstance(rows, pa.RecordBatch) else as_table(rows)
    return None if table is None else int(table.num_rows)


WITHIN, NEXT = "paced", "next"


def split(position: Any) -> tuple[Any, int]:
    """The position of the source itself, and how many rows behind it were given."""
    if isinstance(position, dict) and WITHIN in position:
        return position[WITHIN], position["used"]
    return position, 0
