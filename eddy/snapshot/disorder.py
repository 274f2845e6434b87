"""What a snapshot keeps of the reorder buffer: the rows that wait, late ones that are kept, and the watermarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from eddy.reorder.buffer import ReorderBuffer, merged_in_arrival
from eddy.reorder.disorder import Disorder
from eddy.reorder.runs import Run
from eddy.reorder.watermark import Watermarks
from eddy.snapshot.format import SnapshotFile, Table
from eddy.snapshot.rows import PIECE
from eddy.state import EngineState

FORMAT = 2
"""A file that holds a buffer: a library that knows nothing of it would lose the rows in it."""


def describe(buffer: ReorderBuffer | None) -> dict[str, Any] | None:
    """All but the rows, as JSON can hold it; None where there is no buffer."""
    if buffer is None:
        return None
    marks, disorder = buffer.watermarks, buffer.disorder
    return {
        "bounds": list(disorder.bounds),
        "late": disorder.late,
        "idle": disorder.idle,
        "newest": list(marks.newest.values()),
        "promised": list(marks.promised.values()),
        "at": marks.at,
        "seen": buffer.seen,
        "late_counts": buffer.late_counts,
    }


def allowed(saved: dict[str, Any] | None) -> Disorder | None:
    """The disorder that the saved engine allowed."""
    return None if saved is None else Disorder(tuple(saved["bounds"]), saved["late"], saved["idle"])


def tables(buffer: ReorderBuffer | None) -> list[Table]:
    """The rows that wait, a table for each stream that is not static, and then the late rows that are kept.

    What waits is never changed, so whoever writes the tables may put them in order later.
    """
    if buffer is None:
        return []
    waiting = [_later(buffer, number, runs.whole) for number, runs in buffer.waiting.items()]
    late = [_later(buffer, n, partial(_kept, list(buffer.kept.get(n, ())))) for n in buffer.waiting]
    return [*waiting, *late]


def _later(buffer: ReorderBuffer, number: int, whole: Callable[[], Run | None]) -> Table:
    def pieces() -> Iterator[pa.RecordBatch]:
        yield from buffer.table(number, whole()).to_batches(max_chunksize=PIECE)

    return buffer.table(number, None).schema, pieces()


def _kept(runs: list[Run]) -> Run | None:
    return merged_in_arrival(runs) if runs else None


def restore(state: EngineState, saved: dict[str, Any] | None, file: SnapshotFile, first: int) -> None:
    """Give the buffer of a new engine what the saved one had, from table ``first`` on. One without had processed all
    that had come."""
    buffer = state.reorder
    if buffer is None:
        return
    if saved is None:
        if state.intake.now is not None:
            buffer.watermarks = buffer.watermarks.passed(state.intake.now)
        buffer.seen = state.intake.loaded
        return
    with file.reading():
        numbers = list(buffer.waiting)
        found = [
            _table(file, first + place, buffer.table(number, None))
            for place, number in enumerate(numbers * 2)
        ]
        marks = Watermarks(
            dict(zip(numbers, saved["newest"], strict=True)),
            dict(zip(numbers, saved["promised"], strict=True)),
            buffer.watermarks.heard,
            saved["at"],
        )
        buffer.restore(
            marks,
            dict(zip(numbers, found[: len(numbers)], strict=True)),
            dict(zip(numbers, found[len(numbers) :], strict=True)),
        )
        buffer.seen, buffer.late_counts = bool(saved["seen"]), list(map(int, saved["late_counts"]))


def _table(file: SnapshotFile, number: int, empty: pa.Table) -> pa.Table:
    return pa.Table.from_batches(file.batches(number, empty.schema), empty.schema).combine_chunks()
