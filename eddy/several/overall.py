"""What an engine of several queries holds and has done, all queries together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from eddy.reorder.buffer import ReorderBuffer
from eddy.reorder.watermark import NEVER
from eddy.statistics import StreamStatistics

if TYPE_CHECKING:
    from eddy.several.registry import Registry


@frozen
class Overall:
    """All queries together. Of what each does see `SharedEddy.statistics`."""

    events: int
    """Rows that have arrived."""
    migrations: int
    """Changes of plan, those of cores that are gone too."""
    bytes: int
    memory: int | None
    """The memory budget, if there is one."""
    streams: tuple[StreamStatistics, ...]
    """Their ``live`` rows are those that the window of some query holds."""
    watermark: int | None
    """The time that has passed for all streams; None: nothing is known yet, or nobody looks at times."""
    time_unit: str | None
    """Of the times; None where these are plain numbers."""


def overall_of(registry: Registry) -> Overall:
    """The same of the queries of an engine, for who may read it."""
    states = [group.state for group in registry.groups]
    buffer = registry.waiting.buffer
    return Overall(
        events=registry.feed.events,
        migrations=registry.changes_dropped + sum(state.migrations for state in states),
        bytes=registry.nbytes,
        memory=states[0].options.memory if states else None,
        streams=_streams(registry, buffer),
        watermark=_watermark(registry, buffer),
        time_unit=registry.feed.query.time_unit if registry.feed.streams else None,
    )


def _streams(registry: Registry, buffer: ReorderBuffer | None) -> tuple[StreamStatistics, ...]:
    feed, lows = registry.feed, registry.lows()
    newest, marks, waiting, late = _newest(registry), dict[str, int](), dict[str, int](), dict[str, int]()
    if buffer is not None:
        reached = buffer.watermarks.reached(buffer.disorder.bounds)
        for name, number in buffer.numbers.items():
            if buffer.watermarks.newest[number] != NEVER:
                newest[name] = buffer.watermarks.newest[number]
            if reached[number] != NEVER:
                marks[name] = reached[number]
            waiting[name], late[name] = len(buffer.waiting[number]), buffer.late_counts[number]
    furthest = max(newest.values(), default=0)
    return tuple(
        StreamStatistics(
            name,
            one.payload.next_row,
            one.payload.next_row - lows[name],
            one.payload.nbytes,
            waiting.get(name, 0),
            late.get(name, 0),
            newest=newest.get(name),
            lag=furthest - newest[name] if name in newest else None,
            watermark=marks.get(name),
        )
        for name, one in feed.streams.items()
    )


def _newest(registry: Registry) -> dict[str, int]:
    """The time of the last row of each stream, where times can be compared."""
    if not registry.feed.streams:
        return {}
    query = registry.feed.query
    return {
        name: int(query.time_of(name, one.newest.values)[0])
        for name, one in registry.feed.streams.items()
        if query.timed and one.newest is not None and not one.declared.static
    }


def _watermark(registry: Registry, buffer: ReorderBuffer | None) -> int | None:
    if buffer is None:
        return max(_newest(registry).values(), default=None)
    at = buffer.watermarks.at
    return None if at == NEVER else at
