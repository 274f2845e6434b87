"""Saving an engine and loading it again: the live rows and the plan, and nothing else.

Composites follow from the rows, so none is saved: after loading every key of every composite STAIR is a hole,
and fills when it is asked for. So a snapshot is as large as the windows, loads as quickly as its rows can be
appended, and may be loaded under another plan, other policies, and a later version of the library. (What attachments
know of composites does not all follow, and is in it: see `attached`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import asdict, fields_dict

from eddy.errors import EddyError
from eddy.migration.black_box import BlackBox, history
from eddy.query.query import Query
from eddy.query.windows import uses_time
from eddy.router.executor import PlanExecutor
from eddy.snapshot import attached, disorder
from eddy.snapshot.format import SnapshotFile, Table, damaged, opened, write
from eddy.snapshot.header import BEFORE, OPTIONS, POLICIES, SEVERAL, Saved, was_auto
from eddy.snapshot.metadata import check_metadata
from eddy.snapshot.place import Path, Place
from eddy.snapshot.policy import is_auto, made_again, saved_options
from eddy.snapshot.query import arranged, check_same, describe, rebuilt
from eddy.snapshot.rows import append, batches_of, schema_of
from eddy.state import EngineState
from eddy.store.leaves import Leaves
from eddy.store.stream import StreamState
from eddy.values import arrow
from eddy.values.types import Array

Make = Callable[[Query, dict[str, Any], bool, int], EngineState]
"""Makes an empty state: of a query, under options, whether the plan is the user's own, with this first row."""


def save(state: EngineState, path: Path, metadata: Any = None) -> None:
    """Write a snapshot of the engine, which must not be in the middle of a push."""
    check_metadata(metadata)
    if isinstance(path, Place):
        path.save(state, metadata)
        return
    write(path, *contents_of(state, metadata))


def contents_of(state: EngineState, metadata: Any = None) -> tuple[dict[str, Any], list[Table]]:
    """The header and the tables of a snapshot."""
    version, saved = header_of(state, metadata)
    tables: list[Table] = [
        (schema_of(state.query, stream), batches_of(state, stream)) for stream in state.streams
    ]
    tables += [*attached.tables(state), *disorder.tables(state.reorder)]
    return {"format": version, **asdict(saved)}, tables


def header_of(state: EngineState, metadata: Any) -> tuple[int, Saved]:
    """The lowest format that tells what a snapshot of the engine holds, and all of it but the rows."""
    from eddy import __version__

    lowwater, executor, options = state.lowwater, state.executor, state.options
    saved = Saved(
        library=__version__,
        query=describe(options.query),
        plan=str(state.plan),
        batch_size=options.batch_size,
        joins=options.joins,
        seed=int(options.seed),
        retractions=options.retractions,
        policies={what: type(getattr(options, what)).__name__ for what in POLICIES},
        first_row=state.first_row,
        lows=lowwater.lows.tolist(),
        nexts=lowwater.counts.tolist(),
        now=state.intake.now,
        counters={
            "events": state.events,
            "results": state.results,
            "migrations": state.migrations,
            "keys_filled": executor.keys_filled,
            "composites_built": executor.composites_built,
            "decided": state.steering.decided,
        },
        pins=list(state.steering.pinned),
        frozen=state.steering.frozen,
        advise=options.advise,
        stays=options.stays,
        auto=is_auto(options.routing),
        options=saved_options(options.routing),
        disorder=disorder.describe(state.reorder),
        attached=attached.describe(state),
        metadata=metadata,
    )
    version = 1 if state.reorder is None else disorder.FORMAT
    return (version if state.attached is None else attached.FORMAT), saved


class OfSeveral(Exception):
    """A snapshot is of an engine of several queries, which `eddy.several` loads."""


def load(path: Path, query: object, options: dict[str, Any], make: Make) -> tuple[EngineState, Any]:
    """The state of an engine that goes on where the saved one stood, and the metadata that it was saved with.

    ``options`` go before its own, but for None.
    """
    with path.opened() if isinstance(path, Place) else opened(path) as file:
        if SEVERAL in file.header:
            raise OfSeveral
        with file.reading():
            header = {**BEFORE, **file.header}
            header.setdefault("auto", was_auto(file.header))
            saved = Saved(**{name: header[name] for name in fields_dict(Saved)})
            own: dict[str, Any] = {name: getattr(saved, name) for name in OPTIONS}
            if query is None:
                query = rebuilt(saved.query, file.path)
            elif isinstance(query, Query):
                again = options["retractions"]
                query = query.as_declared() if (saved.retractions if again is None else again) else query
                check_same(saved.query, query, file.path)
                query = arranged(query, saved.query, file.path)
            else:
                raise EddyError(f"query must be the eddy.Query of the snapshot, not {type(query).__name__}")
            names = query.core.names
            if not len(names) == len(saved.lows) == len(saved.nexts):
                raise ValueError(f"it counts the rows of {len(saved.lows)} streams, not {len(names)}")
        made = {**own, **{name: value for name, value in options.items() if value is not None}}
        with file.reading():
            made.setdefault("lateness", disorder.allowed(saved.disorder))
        stays = "routing" not in made and (saved.stays or options["plan"] is not None)
        asked = made["advise"] or not stays
        if "routing" not in made and asked and saved.auto:
            with file.reading():
                made["routing"] = made_again(saved.options)
        state = make(query, made, stays, saved.first_row)
        attached.check(state, saved.attached, file)
        state.steering.restore(saved.pins, saved.frozen)
        _restore(state, saved, file)
        first = len(state.query.names)
        attached.restore(state, saved.attached, file, first)
        disorder.restore(state, saved.disorder, file, first + attached.many(saved.attached))
    return state, saved.metadata


def _restore(state: EngineState, saved: Saved, file: SnapshotFile) -> None:
    """Give a new engine the rows, the plan and the counters of a snapshot; its composites are holes."""
    times: dict[int, Array] = {}
    streams: list[StreamState] = []
    for number, name in enumerate(state.query.names):
        low, stop = saved.lows[number], saved.nexts[number]
        stream = state.factory.stream(number, low)
        streams.append(stream)
        leaves, found, kept = Leaves([stream]), [], [np.empty(0, np.bool_)]
        lows, counts = np.full(number + 1, low), np.full(number + 1, low)
        for batch in file.batches(number, schema_of(state.query, stream)):
            leaves.begin(lows, counts)
            kept.append(arrow.to_numpy(batch.column("kept"), np.dtype(np.bool_)))
            found.append(append(state, stream, leaves, batch, kept[-1]))
            counts[number] = stream.payload.next_row
        leaves.begin(lows, counts)
        rows = np.concatenate(kept)
        if not saved.first_row <= low <= stop == low + len(rows):
            raise damaged(file.path, f"stream {name} has not the rows {low} to {stop}")
        if state.row_numbers.thins and not rows.all():
            state.row_numbers.restore(number, stream.payload, low, low + np.flatnonzero(rows), low)
            state.output.call_rows(state.row_numbers.number)
        if uses_time(state.query.streams[name].window):
            times[number] = np.concatenate([np.empty(0, np.int64), *found])
    state.lowwater.restore(saved.lows, saved.nexts, times)
    state.intake.now = saved.now
    state.intake.loaded = any(
        stop > saved.first_row and not declared.static
        for stop, declared in zip(saved.nexts, state.query.streams.values(), strict=True)
    ) or attached.loaded(saved.attached, state, saved.first_row)
    state.streams = [*streams]
    executor = state.executor = state.factory.executor(streams, state.feedback, state.plan, fresh=False)
    if state.output.signed or state.query.base is not None:
        executor = _recall(state, executor)
    with file.reading():
        counters = saved.counters
        state.events = state.loaded = counters["events"]
        state.results = counters["results"]
        state.migrations, executor.filled_before = counters["migrations"], counters["keys_filled"]
        decided, executor.composites_built = counters["decided"], counters["composites_built"]
    state.steering.resume(decided)
    state.changes.resume()


def _recall(state: EngineState, executor: PlanExecutor) -> PlanExecutor:
    """Give the output the live results. Returns who goes on: a chain, which one stream is too, knows of no rows but
    those that it was given."""
    live, box = live_results(state)
    if not box.router.routers:  # a chain has no other way to learn of the rows
        executor = state.executor = box.router
        state.streams = [*box.streams]
    if state.output.signed:
        state.output.restore(live, state.streams)
    return executor


def live_results(state: EngineState) -> tuple[Array, BlackBox]:
    """Live results follow from the live rows, so they are made again from them: row numbers, and what has made them."""
    query, lows = state.query, state.row_numbers.lows.copy()
    box = state.factory.box(state.plan, lows.tolist())
    live: list[Array] = [np.empty((0, len(query.names)), np.int64)]
    for batch in history(state.streams, lows):
        box.feed(batch)
        box.drain()
        live += [router.made(0)[1]() for router in box.router.routers]
    live.append(box.router.standing())
    return np.concatenate(live), box
