"""Saving an engine and loading it again: the live rows and the plan, and nothing else.

Composites follow from the rows, so none is saved: after loading every key of every composite STAIR is a hole,
and fills when it is asked for. So a snapshot is as large as the windows, loads as quickly as its rows can be
appended, and may be loaded under another plan, other policies, and a later version of the library.

Of a row are saved the columns that the engine holds, in their own types; canonical keys and times only where
they come from columns that it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from attrs import asdict, field, fields_dict, frozen, validators
from numpy.typing import NDArray

from eddy import arrow
from eddy.box import history
from eddy.conversion import convert
from eddy.errors import EddyError
from eddy.handout import emit
from eddy.intake import Part
from eddy.leaf import StreamState
from eddy.leaves import Leaves
from eddy.numbers import chosen
from eddy.options import made_again, saved_options
from eddy.query import Query
from eddy.result import to_arrow
from eddy.snapshot_format import Path, SnapshotFile, damaged, opened, write
from eddy.snapshot_query import arranged, check_same, describe, rebuilt
from eddy.types import Array, Column
from eddy.windows import uses_time

if TYPE_CHECKING:
    from eddy.engine import Eddy

E = TypeVar("E", bound="Eddy")

PIECE = 1 << 16
"""Rows that are written, and loaded, at a time."""
POLICIES = ("routing", "migration", "feedback")
OPTIONS = ("plan", "batch_size", "joins", "seed", "retractions", "advise")
"""What a loaded engine has from the saved one, where it is given nothing else."""
BEFORE: dict[str, Any] = {
    **dict.fromkeys(("retractions", "frozen", "advise", "stays"), False),
    "pins": [],
    "options": {},
}
"""Of files from before these were saved."""

_int, _str, _dict = validators.instance_of(int), validators.instance_of(str), validators.instance_of(dict)
_row = validators.and_(_int, validators.ge(0), validators.lt(2**62))


@frozen
class Saved:
    """The header of a snapshot. Row numbers by stream, in the order of the query."""

    library: str = field(validator=_str)
    query: dict[str, Any] = field(validator=_dict)
    plan: str = field(validator=_str)
    batch_size: int = field(validator=_int)
    joins: str = field(validator=_str)
    seed: int = field(validator=_int)
    retractions: bool = field(validator=validators.instance_of(bool))
    policies: dict[str, str] = field(validator=_dict)
    """What they were called: for people to read."""
    first_row: int = field(validator=_row)
    lows: list[int] = field(validator=validators.deep_iterable(_row))
    """The first live row."""
    nexts: list[int] = field(validator=validators.deep_iterable(_row))
    """The row that is to come."""
    now: int | None = field(validator=validators.optional(_int))
    """Time of the newest event, in the query's unit, where a window uses time."""
    counters: dict[str, int] = field(validator=validators.deep_mapping(_str, _int))
    pins: list[str] = field(validator=validators.deep_iterable(_str))
    """Sub-plans that the user wants kept."""
    frozen: bool = field(validator=validators.instance_of(bool))
    """Whether the routing policy is kept from deciding."""
    advise: bool = field(validator=validators.instance_of(bool))
    """Whether it only says what it would do."""
    stays: bool = field(validator=validators.instance_of(bool))
    """Whether the plan was given, and no policy that may change it."""
    options: dict[str, Any] = field(validator=_dict)
    """The numbers and names that the routing policy was made with, if it is one that `load` makes again."""


def save(engine: Eddy, path: Path) -> None:
    """Write a snapshot of the engine, which must not be in the middle of a push."""
    from eddy import __version__

    lowwater, router = engine._lowwater, engine._router
    saved = Saved(
        library=__version__,
        query=describe(engine.query),
        plan=engine.plan,
        batch_size=engine.batch_size,
        joins=engine.joins,
        seed=int(engine.seed),
        retractions=engine.retractions,
        policies={what: type(getattr(engine, what)).__name__ for what in POLICIES},
        first_row=engine._first_row,
        lows=lowwater.lows.tolist(),
        nexts=lowwater.counts.tolist(),
        now=engine._intake.now,
        counters={
            "events": engine._events,
            "results": engine._results,
            "migrations": engine._migrations,
            "keys_filled": router.keys_filled,
            "composites_built": router.composites_built,
            "decided": engine._steering.decided,
        },
        pins=list(engine.pinned),
        frozen=engine.frozen,
        advise=engine.advise,
        stays=engine._stays,
        options=saved_options(engine.routing),
    )
    tables = [(_schema(engine.query, state), _batches(engine, state)) for state in engine._streams]
    write(path, asdict(saved), tables)


def load(cls: type[E], path: Path, query: Query | None, options: dict[str, Any]) -> E:
    """An engine that goes on where the saved one stood; ``options`` that are not None go before its own."""
    with opened(path) as file:
        with file.reading():
            header = {**BEFORE, **file.header}
            saved = Saved(**{name: header[name] for name in fields_dict(Saved)})
            own: dict[str, Any] = {name: getattr(saved, name) for name in OPTIONS}
            if query is None:
                query = rebuilt(saved.query, file.path)
            elif isinstance(query, Query):
                check_same(saved.query, query, file.path)
                query = arranged(query, saved.query, file.path)
            else:
                raise EddyError(f"query must be the eddy.Query of the snapshot, not {type(query).__name__}")
            if not len(query.names) == len(saved.lows) == len(saved.nexts):
                raise ValueError(f"it counts the rows of {len(saved.lows)} streams, not {len(query.names)}")
        made = {**own, **{name: value for name, value in options.items() if value is not None}}
        stays = "routing" not in made and (saved.stays or options["plan"] is not None)
        asked = made["advise"] or not stays
        if "routing" not in made and asked and saved.policies.get("routing") == "Auto":
            with file.reading():
                made["routing"] = made_again(saved.options)
        engine = cls(query, **made, _first_row=saved.first_row)
        engine._stays = stays or engine._stays
        engine._steering.restore(saved.pins, saved.frozen)
        _restore(engine, saved, file)
    return engine


# -- rows ----------------------------------------------------------------------


def _schema(query: Query, state: StreamState) -> pa.Schema:
    """What is saved of the rows of a stream."""
    held, stream = state.payload.columns, query.streams[state.name]
    keys = [c.members[state.name] for c in query.key_classes if state.name in c.members]
    return pa.schema(
        [pa.field("kept", pa.bool_())]
        + [pa.field(f"value {name}", kind.arrow) for name, kind in held.items()]
        + [pa.field(f"key {name}", pa.int64()) for name in keys if name not in held]
        + [pa.field("time", pa.int64()) for _ in (1,) if uses_time(stream.window) and stream.time not in held]
    )


def _batches(engine: Eddy, state: StreamState) -> Iterator[pa.RecordBatch]:
    """The live rows of a stream, PIECE at a time."""
    query, lowwater, number = engine.query, engine._lowwater, state.number
    schema = _schema(query, state)
    members = {c.members[state.name]: c.index for c in query.key_classes if state.name in c.members}
    low, stop = int(lowwater.lows[number]), int(lowwater.counts[number])
    times = lowwater.times(number) if uses_time(query.streams[state.name].window) else np.empty(0, np.int64)
    stored, own = engine._numbers.live(number), int(engine._numbers.lows[number])

    def array(name: str, first: int, n: int) -> Any:
        what, _, column = name.partition(" ")
        if what == "value":
            rows = np.arange(first, first + n)
            return to_arrow(state.payload.take(column, rows), state.payload.columns[column])
        if what == "kept":
            return arrow.from_numpy(state.kept(first, n).view(np.bool_), None, pa.bool_())
        if what == "key":
            return arrow.from_numpy(state.stored_keys(members[column], first, n), None, pa.int64())
        return arrow.from_numpy(times[first - low : first - low + n], None, pa.int64())

    def thinned(name: str, first: int, n: int) -> Any:
        """The same where only some rows are stored: of the others there is their time, and that they are not kept."""
        assert stored is not None
        clock = query.streams[state.name].time
        if name == "time":
            return array(name, first, n)
        if name == f"value {clock}" and len(times):
            factor = query.time_of(state.name, np.ones(1, np.int64))
            kind, values = state.payload.columns[str(clock)], times[first - low : first - low + n] // factor
            return to_arrow(Column(values.astype(kind.dtype)), kind)
        start, stop = np.searchsorted(stored, (first, first + n)).tolist()
        places = np.full(n, -1)
        places[stored[start:stop] - first] = np.arange(stop - start)
        spread = array(name, own + start, stop - start).take(pa.array(places, mask=places < 0))
        return spread.fill_null(False) if name == "kept" else spread

    def cut(first: int, n: int) -> Iterator[pa.RecordBatch]:
        arrays = [(array if stored is None else thinned)(name, first, n) for name in schema.names]
        if any(isinstance(column, pa.ChunkedArray) for column in arrays):  # too much text for one
            yield from cut(first, n // 2)
            yield from cut(first + n // 2, n - n // 2)
        else:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    for first in range(low, stop, PIECE):
        yield from cut(first, min(PIECE, stop - first))


def _restore(engine: Eddy, saved: Saved, file: SnapshotFile) -> None:
    """Give a new engine the rows, the plan and the counters of a snapshot; its composites are holes."""
    times: dict[int, Array] = {}
    for number, name in enumerate(engine.query.names):
        low, stop = saved.lows[number], saved.nexts[number]
        state = engine._streams[number] = engine._workshop.stream(number, low)
        leaves, found, kept = Leaves([state]), [], [np.empty(0, np.bool_)]
        lows, counts = np.full(number + 1, low), np.full(number + 1, low)
        for batch in file.batches(number, _schema(engine.query, state)):
            leaves.begin(lows, counts)
            kept.append(arrow.to_numpy(batch.column("kept"), np.dtype(np.bool_)))
            found.append(_append(engine, state, leaves, batch, kept[-1]))
            counts[number] = state.payload.next_row
        leaves.begin(lows, counts)
        rows = np.concatenate(kept)
        if not saved.first_row <= low <= stop == low + len(rows):
            raise damaged(file.path, f"stream {name} has not the rows {low} to {stop}")
        if not engine.query.minus and not rows.all():
            engine._numbers.restore(number, state.payload, low, low + np.flatnonzero(rows), low)
            engine._output.number = engine._numbers.number
        if uses_time(engine.query.streams[name].window):
            times[number] = np.concatenate([np.empty(0, np.int64), *found])
    engine._lowwater.restore(saved.lows, saved.nexts, times)
    engine._intake.now = saved.now
    engine._intake.loaded = any(
        stop > saved.first_row and not stream.static
        for stop, stream in zip(saved.nexts, engine.query.streams.values(), strict=True)
    )
    engine._router = engine._workshop.router(engine._streams)
    engine._router.attend(engine._guarded)
    engine._router.install(engine._plan, fresh=False)
    if engine._output.signed:
        _recall(engine)
    router = engine._router
    with file.reading():
        counters = saved.counters
        engine._events = engine._loaded = counters["events"]
        engine._results = counters["results"]
        engine._migrations, router.filled_before = counters["migrations"], counters["keys_filled"]
        decided, router.composites_built = counters["decided"], counters["composites_built"]
    engine._steering.resume(decided)
    engine._changes.resume()


def _recall(engine: Eddy) -> None:
    """Results that stand follow from the live rows, so they are made again from them."""
    query, lows = engine.query, engine._numbers.lows.copy()
    box = engine._workshop.box(engine._plan, lows.tolist())
    standing: list[Array] = [np.empty((0, len(query.names)), np.int64)]
    for batch in history(engine._streams, lows):
        box.feed(batch)
        box.drain()
        if not query.minus:
            standing.append(emit(query, box.router, box.router.results[0], engine._fetch).rows)
    if query.minus:  # a chain has no other way to learn of the rows
        engine._router, engine._streams = box.router, box.streams
        standing.append(box.router.standing())
    engine._output.restore(np.concatenate(standing), engine._streams)


def _append(
    engine: Eddy, state: StreamState, leaves: Leaves, batch: pa.RecordBatch, kept: NDArray[np.bool_]
) -> Array:
    """Append rows as if they had come in former batches; returns their times, where the window needs them.

    Those not kept are left out, but their times are not.
    """
    query, name, n = engine.query, state.name, batch.num_rows
    columns: dict[str, Column] = {}
    for column, kind in state.payload.columns.items():
        found = convert(f"stream {name}, column {column!r}", kind, batch.column(f"value {column}"))
        if kind.kind == "string":
            found = Column(engine._pool.encode(found.values), found.valid)
        columns[column] = found
    keys = {}
    for key_class in query.key_classes:
        member = key_class.members.get(name)
        if member in columns:
            keys[key_class.index] = key_class.encode(name, columns[member].values, columns[member].valid)[0]
        elif member is not None:
            keys[key_class.index] = _longs(batch.column(f"key {member}"))
    flags = None if kept.all() else kept.view(np.uint8)
    part = Part(state.number, columns, keys, flags, np.full(n, -1, np.int32))
    leaves.append([part if flags is None or query.minus else chosen(part, np.flatnonzero(kept))])
    stream = query.streams[name]
    if not uses_time(stream.window):
        return np.empty(0, np.int64)
    if stream.time in columns:
        return query.time_of(name, columns[stream.time].values)
    return _longs(batch.column("time"))


def _longs(array: pa.Array) -> Array:
    return np.require(arrow.to_numpy(array, np.dtype(np.int64)), np.int64, ["C", "A", "W"])
