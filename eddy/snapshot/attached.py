"""What a snapshot keeps of attachments: rows of the attached streams, and what each stage knows beyond the rows.

Rows are named by the numbers that they have in their streams, as everywhere in a file. An engine that is loaded stores
them under other numbers where some were ruled out, or have left their windows and are held for those that may ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eddy.attachments.kept import Kept
from eddy.errors import EddyError
from eddy.query.windows import uses_time
from eddy.results.result import to_arrow
from eddy.snapshot.format import SnapshotFile, Table, damaged
from eddy.snapshot.numbering import Numbering
from eddy.snapshot.rows import PIECE
from eddy.state import EngineState
from eddy.store.payload import Payload
from eddy.values import arrow
from eddy.values.conversion import convert
from eddy.values.types import Array, Column

if TYPE_CHECKING:
    from eddy.attachments.output import AttachedOutput
    from eddy.attachments.streams import AttachedStream, AttachedStreams

FORMAT = 3
"""A file that holds attachments: a library that knows nothing of them would lose their rows."""
TABLES, OF_ROWS = 4, (0, 1)
"""Of each attachment: rows, times of live ones, what is known of composites, and of rows. Those that only grow."""
TIMES = pa.schema([pa.field("time", pa.int64())])

Int64s = NDArray[np.int64]


def describe(state: EngineState) -> dict[str, Any] | None:
    """All but the tables, as JSON can hold it; None where nothing is attached."""
    if state.attached is None:
        return None
    lowwater = state.attached.lowwater
    return {
        "lows": lowwater.lows.tolist(),
        "nexts": lowwater.counts.tolist(),
        "changes": _output(state).changes,
        "standing": state.options.query.in_order,
    }


def many(saved: dict[str, Any] | None) -> int:
    """How many tables a file has of them."""
    return 0 if saved is None else TABLES * len(saved["lows"]) + bool(saved.get("standing"))


def loaded(saved: dict[str, Any] | None, state: EngineState, first_row: int) -> bool:
    """Whether a row had come of an attached stream that is not static."""
    if saved is None or state.attached is None:
        return False
    streams = state.options.query.streams
    return any(
        stop > first_row and not streams[stream.name].static
        for stop, stream in zip(saved["nexts"], state.attached.streams, strict=True)
    )


def _output(state: EngineState) -> AttachedOutput:
    return cast("AttachedOutput", state.output)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _core_numberings(state: EngineState) -> list[Numbering]:
    """Those of the core's streams: of composites that live, all of whose rows do."""
    own, whole = state.row_numbers, state.lowwater
    lows, counts = own.lows.tolist(), whole.counts.tolist()
    return [Numbering(lows[s], own.held(s, lows[s]), counts[s]) for s in range(len(state.query.names))]


def _held(attached: AttachedStreams, firsts: Sequence[int]) -> list[Numbering]:
    """Those of attached streams, from these rows of the store on."""
    stops = attached.lowwater.counts.tolist()
    return [Numbering(first, attached.row_numbers.held(s, first), stops[s]) for s, first in enumerate(firsts)]


def _bounds(births: Int64s, numberings: Sequence[Numbering], translate: str) -> Int64s:
    """What composites know from their birth, in other numbers; two numbers that nobody reads stay."""
    if births.shape[1] == 2:
        return births
    translated = births.copy()
    for s, numbering in enumerate(numberings):
        for place in (2 * s, 2 * s + 1):
            translated[:, place] = getattr(numbering, translate)(births[:, place])
    return translated


# -- saving ------------------------------------------------------------------------------------------------------------


def first_held(state: EngineState) -> list[int]:
    """Of each attached stream the number of the first row that a snapshot needs."""
    attached = state.attached
    if attached is None:
        return []
    numbers = attached.row_numbers
    return [numbers.number_of(s, first) for s, first in enumerate(_output(state).needed())]


def tables(state: EngineState) -> list[Table]:
    """For each attachment its rows, the times of the live ones, and what its stage knows of composites and rows."""
    attached = state.attached
    if attached is None:
        return []
    output, found = _output(state), list[Table]()
    firsts = output.needed()
    held = _held(attached, firsts)
    every = [*_core_numberings(state), *held]
    for number, (stream, stage) in enumerate(zip(attached.streams, output.stages, strict=True)):
        kept = stage.kept(firsts[number])
        lasting = held[number]
        first = int(lasting.numbers[0]) if len(lasting.numbers) else lasting.stop
        found.append((schema_of(stream), rows_of(attached, number, first, lasting.stop)))
        timed = uses_time(state.options.query.streams[stream.name].window)
        low, stop = int(attached.lowwater.lows[number]), lasting.stop
        found.append((TIMES, times_of(attached, number, low if timed else stop, stop)))
        width = kept.births.shape[1]
        composites, right = (partial(told, kept, every, held, number) for told in (_composites, _right))
        found.append(_longs(_composite_columns(state, width), composites))
        found.append(_longs(_row_columns(width), right))
    standing = None if output.groups is None else output.groups.standing()
    if standing is not None:
        rows = np.column_stack([numbering.in_stream(standing[:, s]) for s, numbering in enumerate(every)])
        found.append(_longs(_row_names(state), lambda: rows))
    return found


def _composites(kept: Kept, every: Sequence[Numbering], held: Sequence[Numbering], number: int) -> Int64s:
    """What a stage knows of composites, in the numbers of the streams. It is copied already, so this may be done when
    the engine has gone on."""
    rows = [numbering.in_stream(kept.rows[:, s]) for s, numbering in enumerate(every)]
    births = _bounds(kept.births, held, "in_stream")
    return np.column_stack((*rows, kept.partners, held[number].in_stream(kept.chosen), births))


def _right(kept: Kept, every: Sequence[Numbering], held: Sequence[Numbering], number: int) -> Int64s:
    """The same of rows of its stream."""
    return np.column_stack((kept.right_partners, _bounds(kept.right_births, held, "in_stream")))


def _composite_columns(state: EngineState, births: int) -> list[str]:
    return [*_row_names(state), "partners", "chosen", *(f"birth {i}" for i in range(births))]


def _row_names(state: EngineState) -> list[str]:
    return [f"row {name}" for name in state.options.query.names]


def _row_columns(births: int) -> list[str]:
    return ["partners", *(f"birth {i}" for i in range(births))]


def schema_of(stream: AttachedStream) -> pa.Schema:
    values = [pa.field(f"value {name}", kind.arrow) for name, kind in stream.payload.columns.items()]
    return pa.schema([pa.field("row", pa.int64()), *values])


def rows_of(attached: AttachedStreams, number: int, first: int, stop: int) -> Iterator[pa.RecordBatch]:
    """The rows of an attached stream with these numbers, as far as they are stored."""
    stream = attached.streams[number]
    schema, payload = schema_of(stream), stream.payload
    own, numbers = attached.row_numbers.stored(number, first, stop)
    for start in range(0, len(numbers), PIECE):
        some = numbers[start : start + PIECE]
        rows = np.arange(own + start, own + start + len(some))
        arrays = [to_arrow(payload.take(name, rows), kind) for name, kind in payload.columns.items()]
        whole = pa.Table.from_arrays([arrow.from_numpy(some, None, pa.int64()), *arrays], schema=schema)
        yield from whole.to_batches()


def times_of(attached: AttachedStreams, number: int, first: int, stop: int) -> Iterator[pa.RecordBatch]:
    """The times of live rows of an attached stream."""
    times = attached.lowwater.times(number, first, stop - first)
    yield from _longs(["time"], lambda: times.reshape(-1, 1))[1]


def _longs(names: Sequence[str], found: Callable[[], Int64s]) -> Table:
    """A table of whole numbers, with these columns."""
    schema = pa.schema([pa.field(name, pa.int64()) for name in names])

    def pieces() -> Iterator[pa.RecordBatch]:
        values = found()
        for start in range(0, len(values), PIECE):
            piece = values[start : start + PIECE]
            columns = [arrow.from_numpy(np.ascontiguousarray(column), None, pa.int64()) for column in piece.T]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, pieces()


# -- loading -----------------------------------------------------------------------------------------------------------


def check(state: EngineState, saved: dict[str, Any] | None, file: SnapshotFile) -> None:
    """Refuse to withdraw results that an engine had given for good, and the other way round."""
    with file.reading():
        if (saved is None) != (state.attached is None):
            raise ValueError("its query has attachments, and it has no rows of theirs")
        if saved is None or state.attached is None:
            return
        for rows in (saved["lows"], saved["nexts"]):
            if len(rows) != len(state.attached.streams) or not all(
                type(n) is int and 0 <= n < 2**62 for n in rows
            ):
                raise ValueError(f"it counts the rows of attached streams as {rows}")
        if saved["changes"] == _output(state).changes:
            return
        found = bool(saved["changes"])
    raise EddyError(
        f"the snapshot {file.path!r} is of an engine with attachments that was made with retractions={found}: "
        "leave retractions out, since what it has given is not known in another way"
    )


def restore(state: EngineState, saved: dict[str, Any] | None, file: SnapshotFile, first: int) -> None:
    """Give a new engine, whose core is restored, the attached streams and stages; ``first`` is their first table."""
    attached = state.attached
    if attached is None or saved is None:
        return
    with file.reading():
        lows, nexts, times = saved["lows"], saved["nexts"], dict[int, Array]()
        held = []
        for number, stream in enumerate(attached.streams):
            table = first + TABLES * number
            held.append(_bring(state, stream, lows[number], nexts[number], file, table))
            if uses_time(state.options.query.streams[stream.name].window):
                times[number] = _read(file, table + 1, ["time"])[:, 0]
        attached.lowwater.restore(lows, nexts, times)
        for number, (stream, numbering) in enumerate(zip(attached.streams, held, strict=True)):
            if not numbering.is_plain:
                attached.row_numbers.restore(
                    number, stream.payload, numbering.first, numbering.numbers, lows[number]
                )
        attached.coming = attached.nothing()
        kept = _kept(state, held, file, first)
        firsts = [numbering.first for numbering in held]
        standing = None
        if state.options.query.in_order:
            every = [*_core_numberings(state), *held]
            standing = _in_store(every, _read(file, first + TABLES * len(held), _row_names(state)), file)
    _output(state).restore_stages(kept, firsts, standing, state.streams, state.fetch)


def _bring(
    state: EngineState, stream: AttachedStream, low: int, stop: int, file: SnapshotFile, table: int
) -> Numbering:
    """Store the rows of a stream, so that its first live row has the same number in the stream and in the store."""
    batches = list(file.batches(table, schema_of(stream)))
    numbers = np.concatenate([np.empty(0, np.int64), *(_column(batch, "row") for batch in batches)])
    bounds = np.concatenate(([state.first_row - 1], numbers, [stop]))
    if not state.first_row <= low <= stop or (np.diff(bounds) <= 0).any():
        raise damaged(file.path, f"the rows of stream {stream.name} are out of order")
    first = low - int(np.searchsorted(numbers, low))
    stream.payload = Payload(stream.payload.columns, stream.payload.pool, first)
    for batch in batches:
        columns: dict[str, Column] = {}
        for column, kind in stream.payload.columns.items():
            told = f"stream {stream.name}, column {column!r}"
            found = convert(told, kind, batch.column(f"value {column}"))
            if kind.is_coded:
                found = state.intake.coded(stream.name, column, found)
            columns[column] = found
        stream.payload.append(columns, batch.num_rows)
    return Numbering(first, numbers, stop)


def _kept(state: EngineState, held: list[Numbering], file: SnapshotFile, first: int) -> list[Kept]:
    """What each stage knew, in the numbers of the rows as they are stored now."""
    every = [*_core_numberings(state), *held]
    n, found = len(every), []
    for number, stage in enumerate(_output(state).stages):
        fresh = stage.kept(state.first_row)
        width = fresh.births.shape[1]
        table = first + TABLES * number
        composites = _read(file, table + 2, _composite_columns(state, width))
        right = _read(file, table + 3, _row_columns(width))
        if len(right) not in (0, len(held[number].numbers)):
            raise damaged(file.path, f"it tells of {len(right)} rows of an attached stream")
        rows = _in_store(every, composites[:, :n], file)
        found.append(
            Kept(
                rows,
                composites[:, n],
                held[number].in_store(composites[:, n + 1]),
                _bounds(np.ascontiguousarray(composites[:, n + 2 :]), held, "in_store"),
                right[:, 0],
                _bounds(np.ascontiguousarray(right[:, 1:]), held, "in_store"),
            )
        )
    return found


def _in_store(every: Sequence[Numbering], composites: Int64s, file: SnapshotFile) -> Int64s:
    """Composites by the numbers that their rows have in the store."""
    rows = np.empty(composites.shape, np.int64)
    for s, numbering in enumerate(every):
        rows[:, s] = numbering.in_store(composites[:, s])
        if not np.array_equal(numbering.in_stream(rows[:, s]), composites[:, s]):
            raise damaged(file.path, "a composite has rows that are not there")
    return rows


def _read(file: SnapshotFile, table: int, names: list[str]) -> Int64s:
    """A table of whole numbers: [lines, columns]."""
    schema = pa.schema([pa.field(name, pa.int64()) for name in names])
    found = [np.empty((0, len(names)), np.int64)]
    for batch in file.batches(table, schema):
        found.append(np.column_stack([_column(batch, name) for name in names]))
    return np.concatenate(found)


def _column(batch: pa.RecordBatch, name: str) -> Int64s:
    return np.require(arrow.to_numpy(batch.column(name), np.dtype(np.int64)), np.int64, ["C", "A", "W"])
