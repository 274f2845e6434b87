"""What comes in through the doors: checked, typed, filtered, keyed, and in one arrival order.

Everything that can be wrong with a batch is found here, before anything of the engine has changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray

from eddy.errors import BatchError, OrderError
from eddy.intake.columns import normalise
from eddy.intake.lowwater import Given
from eddy.intake.merge import TIMED_PART, arrange, take_turns
from eddy.intake.travel import ROW
from eddy.query.query import Query
from eddy.values.instants import format_instant
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column
from stairs.lowlevel.address import handle

Keys = NDArray[np.int64]

_ALWAYS = np.iinfo(np.int64).min
"""The time of what is static."""


@define(eq=False)
class Travel:
    """What rows of one stream bring along where an engine has only some of them."""

    rows: Keys
    """Their numbers in the whole stream."""
    marks: Keys
    """[rows, streams whose marks are given]."""
    events: Keys | None
    """The numbers of their events, ascending, by which streams are merged; None: by time."""


@define(eq=False)
class Part:
    """The rows of one stream. (Not frozen: that would take as long as the rest of its preparation.)"""

    stream: int
    columns: dict[str, Column]
    keys: dict[int, Keys]
    """Canonical keys by key class."""
    kept: NDArray[np.uint8] | None
    """0 for rows that a filter or a NULL key rules out; None: all count."""
    events: NDArray[np.int32]
    """Index of each row's event in the batch."""

    def take(self, where: slice | Array, columns: Iterable[str] | None = None) -> Part:
        """The rows at ``where``, a slice or an array of indexes; with these columns only, if they are named."""
        names = self.columns if columns is None else columns
        taken: Callable[[Array], Array] = (
            (lambda values: values[where]) if isinstance(where, slice) else lambda values: values.take(where)
        )
        return Part(
            self.stream,
            {name: self.columns[name].take(where) for name in names},
            {c: taken(keys) for c, keys in self.keys.items()},
            None if self.kept is None else taken(self.kept),
            taken(self.events),
        )

    def copied(self) -> Part:
        """The same rows, with columns and keys in memory of their own."""
        columns = {name: column.copied() for name, column in self.columns.items()}
        keys = {c: keys.copy() for c, keys in self.keys.items()}
        return Part(self.stream, columns, keys, self.kept, self.events)


@define(eq=False)
class Arrivals:
    """A batch of events in arrival order."""

    streams: NDArray[np.int32]
    times: Keys | None
    parts: tuple[Part, ...]
    given: Given | None = None

    def copied(self) -> Arrivals:
        """The same in memory of its own."""
        parts = tuple(part.copied() for part in self.parts)
        times = None if self.times is None else self.times.copy()
        return Arrivals(self.streams, times, parts, self.given)

    def cut(self, size: Callable[[], int]) -> Iterator[Arrivals]:
        """These in batches, of at most as many events as ``size`` says each time."""
        count, stop = len(self.streams), 0
        while stop < count or count == 0:
            start, stop = stop, min(stop + size(), count)
            if stop - start == count:
                yield self
                return
            times = None if self.times is None else self.times[start:stop]
            parts = tuple(_between(part, start, stop) for part in self.parts)
            parts = tuple(part for part in parts if len(part.events))
            given = None if self.given is None else self.given.cut(start, stop)
            yield Arrivals(self.streams[start:stop], times, parts, given)


def _between(part: Part, start: int, stop: int) -> Part:
    """The rows of the events from ``start`` to ``stop``, which are counted from ``start``."""
    bounds = np.array(
        (start, stop), part.events.dtype
    )  # of another type, all events would be converted first
    low, high = part.events.searchsorted(bounds).tolist()
    here = part.take(slice(low, high))
    here.events = here.events - np.int32(start)
    return here


class Intake:
    """Turns the batches of a push into arrivals."""

    def __init__(
        self, query: Query, pool: StringPool, stored: dict[str, set[str]], thins: bool = True
    ) -> None:
        """``thins``: rows that are ruled out are not stored, and nobody asks for their strings."""
        self.query = query
        self.pool = pool
        self._thins = thins and query.base is None
        self._texts = {
            name: [c for c in stored[name] if stream.columns[c].is_coded]
            for name, stream in query.streams.items()
        }
        self._carried = carried_columns(query)
        self._coded = {name: self._compared(name) for name in query.names}
        self._keyed = {
            name: [(c, c.members[name]) for c in query.key_classes if name in c.members]
            for name in query.names
        }
        self.number = {name: i for i, name in enumerate(query.names)}
        self._static = {name for name, stream in query.streams.items() if stream.static}
        self._order = sorted(query.streams.items(), key=lambda item: not item[1].static)
        """The streams, static ones first."""
        self.loaded = False
        """Whether a row has come of a stream that is not static."""
        self.time_windows = query.time_windows
        self.timed = query.timed
        self._clocks = {name: stream.time or "" for name, stream in query.streams.items()}
        self._ready = {
            name
            for name, time in self._clocks.items()
            if self.timed and time and query.streams[name].columns[time].dtype == np.int64
            if query.time_of(name, np.ones(1, np.int64))[0] == 1
        }
        """Streams whose times need no conversion."""
        self._plain = {
            name: tuple((c.index, member) for c, member in self._keyed[name])
            for name in query.names
            if name not in query.filters and not self._texts[name]
            if all(c.is_own_key(name) for c, _ in self._keyed[name])
        }
        """Streams whose rows need no preparation at all, and the columns that are their keys."""
        self.now: int | None = None
        """Time of the newest event, where a window uses time."""

    @property
    def is_plain(self) -> bool:
        """Whether batches of plain arrays need no preparation at all: no filter, no text, no time to convert."""
        names = self.query.names
        ready = not self.timed or all(name in self._ready for name in names)
        return ready and not self._static and all(name in self._plain for name in names)

    def own_columns(self, name: str) -> tuple[tuple[int, str], ...]:
        """The key classes of a stream that needs no preparation, and the columns that are its keys as they are."""
        return self._plain[name]

    def admit(self, batches: Mapping[str, Any], travel: Mapping[str, Travel] | None = None) -> Arrivals:
        """Check and prepare the batches; an error leaves nothing changed."""
        number = self.number
        for name in batches:
            if name not in number:
                raise BatchError(
                    f"the query has no stream {name!r}: push to one of {', '.join(self.query.names)}"
                    + self._column_of(name)
                )
        names, read, offsets = [], [], [0]
        for name, stream in self._order:
            if name in batches:
                columns, count = normalise(name, stream, batches[name], self._coded[name])
                if count:
                    if self.loaded and name in self._static:
                        raise BatchError(_too_late(name))
                    names.append(name)
                    read.append(columns)
                    offsets.append(offsets[-1] + count)
        given = [] if travel is None else [travel[name] for name in names]
        order = [brought.events for brought in given if brought.events is not None]
        streams, events, times = self._ordered(names, read, offsets, order)
        if times is not None and names and self.now is not None and times[0] < self.now:
            raise OrderError(
                f"time goes back: the batch starts at {self._when(times[0])}, but an event at {self._when(self.now)} "
                "was already pushed",
                f". {self._why_in_order()} needs its batches in order of time: "
                + ("" if len(batches) > 1 else "push the streams together with push_all, or ")
                + "say how late rows may be, such as eddy.Eddy(query, lateness=...)",
            )
        parts = [
            self.part(name, columns, events[offsets[i] : offsets[i + 1]])
            for i, (name, columns) in enumerate(zip(names, read, strict=True))
        ]
        for brought, columns in zip(given, read, strict=False):
            columns[ROW] = Column(brought.rows)
        if self._static:
            parts.sort(key=lambda part: part.stream)
        return Arrivals(streams, times, tuple(parts), _given(given, events))

    def _why_in_order(self) -> str:
        """What it is that needs the order of time."""
        if not self.query.followed:
            return "A query with time windows"
        names = ", ".join(sorted(self.query.followed))
        return (
            f"A query whose predicates bound times, so that rows of {names} are kept for as long only (declare "
            "Unbounded() to keep them for ever),"
        )

    def _column_of(self, name: str) -> str:
        """What to do with a name that is no stream's but a column's; nothing if it is not."""
        of = [stream for stream in self.query.names if name in self.query.streams[stream].columns]
        return (
            f"; it is a column: give it with its stream, as in {{{of[0]!r}: {{{name!r}: ...}}}}" if of else ""
        )

    def accept(self, arrivals: Arrivals) -> None:
        """The arrivals are being processed: time moves on."""
        if arrivals.times is not None and len(arrivals.times):
            self.now = int(arrivals.times[-1])
        if self._static and len(arrivals.streams):
            self.loaded = self.query.names[arrivals.streams[-1]] not in self._static

    def _ordered(
        self, names: list[str], columns: list[dict[str, Column]], offsets: list[int], order: list[Keys]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], Keys | None]:
        """Streams and places of all events in arrival order, and their times if a window uses time.

        ``offsets`` says where the rows of each stream begin if one follows the other; ``order`` what they are merged
        by, if not by time.
        """
        if names and names[0] in self._static:
            return self._static_first(names, columns, offsets, order)
        total = offsets[-1]
        streams, events = np.empty(total, np.int32), np.empty(total, np.int32)
        if len(names) == 1 and not self.time_windows and not order:
            streams[:] = self.number[names[0]]
            events[:] = np.arange(total, dtype=np.int32)
            return streams, events, None
        if not self.timed and not order:
            rows = [(0, offsets[i + 1] - offsets[i], self.number[name]) for i, name in enumerate(names)]
            take_turns(np.array(rows, TIMED_PART), streams, events)
            return streams, events, None
        times = self._times(names, columns, offsets)
        parts = [
            (handle((order or times)[i]), offsets[i + 1] - offsets[i], self.number[name])
            for i, name in enumerate(names)
        ]
        merged = np.empty(total if self.time_windows and not order else 0, np.int64)
        s = arrange(np.array(parts, TIMED_PART), streams, events, merged)
        if order and (s >= 0 or self.time_windows):
            merged = _reordered(times, events, s >= 0)
        if s >= 0:
            at = int(np.argmax(times[s][1:] < times[s][:-1])) + 1
            raise OrderError(
                f"stream {names[s]}: time goes back at row {at} of the batch "
                f"({self._when(times[s][at])} after {self._when(times[s][at - 1])})",
                f": sort the batch by {self.query.streams[names[s]].time}, or say how late rows may be, "
                "such as eddy.Eddy(query, lateness=...)",
            )
        return streams, events, merged if self.time_windows else None

    def _static_first(
        self, names: list[str], columns: list[dict[str, Column]], offsets: list[int], order: list[Keys]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], Keys | None]:
        """The same where some are static, which come first: before all other rows, one relation after the other."""
        k = sum(name in self._static for name in names)
        n = offsets[k]
        after = [place - n for place in offsets[k:]]
        streams, events, times = self._ordered(names[k:], columns[k:], after, order[k:])
        loaded = np.repeat([self.number[name] for name in names[:k]], np.diff(offsets[: k + 1]))
        return (
            np.concatenate((loaded.astype(np.int32), streams)),
            np.concatenate((np.arange(n, dtype=np.int32), events + np.int32(n))),
            None if times is None else np.concatenate((np.full(n, _ALWAYS), times)),
        )

    def _when(self, time: Any) -> str:
        """A time as its column shows it."""
        unit = self.query.time_unit
        return str(time) if unit is None else format_instant(int(time), unit, None)

    def _times(self, names: list[str], columns: list[dict[str, Column]], offsets: list[int]) -> list[Keys]:
        """The times of each stream's rows; their position where not every stream has a time."""
        if not self.timed:
            return [np.arange(b - a) for a, b in itertools.pairwise(offsets)]
        times = []
        for name, of in zip(names, columns, strict=True):
            values = of[self._clocks[name]].values
            times.append(values if name in self._ready else self.query.time_of(name, values))
        return times

    def part(self, name: str, columns: dict[str, Column], events: NDArray[np.int32]) -> Part:
        """Rows of one stream, filtered, coded and keyed."""
        keys: dict[int, Keys] | None = self._own_keys(name, columns)
        if keys is not None:
            return Part(self.number[name], columns, keys, None, events)
        kept: NDArray[np.bool_] | None = None
        if name in self.query.filters:
            kept = self.query.filters[name].holds(lambda _, column: columns[column], len(events))
        here = None if kept is None or not self._thins else kept.nonzero()[0]
        carried = []
        for column in self._texts[name]:
            if (name, column) in self._carried:
                carried.append(column)
            else:  # those that the filter has read tell why a row was ruled out
                told = here if column in self._coded[name] else None
                columns[column] = self.coded(name, column, columns[column], told)
        keys = {}
        for key_class, member in self._keyed[name]:
            found = columns[member]
            keys[key_class.index], valid = key_class.encode(name, found.values, found.valid)
            if (
                valid is not None and name != self.query.base
            ):  # what nothing matches is a result of a difference
                kept = valid if kept is None else kept & valid
        if carried and kept is not None and self._thins:
            here = kept.nonzero()[0]
        for column in carried:
            columns[column] = self.coded(name, column, columns[column], here)
        return Part(self.number[name], columns, keys, None if kept is None else kept.astype(np.uint8), events)

    def _compared(self, name: str) -> frozenset[str]:
        """The columns of strings of which only the codes are read: they may come coded by a dictionary."""
        filtered = self.query.filters[name].columns if name in self.query.filters else ()
        codes = [(name, column) for column in self._texts[name] if (name, column) not in self._carried]
        return frozenset(column for _, column in set(codes).difference(filtered))

    def coded(self, name: str, column: str, text: Column, here: Keys | None = None) -> Column:
        """Strings of a column as codes of the pool; ``here`` are the rows that are stored, if not all are.

        Codes stay as they are: those of a pool that several cores share."""
        if isinstance(text.values, np.ndarray):
            return text
        if (name, column) in self._carried:
            return Column(self.pool.carry((name, column), text.values, here), text.valid)
        return Column(self.pool.encode(text.values, here), text.valid)

    def _own_keys(self, name: str, columns: dict[str, Column]) -> dict[int, Keys] | None:
        """The keys of a stream whose rows need no preparation; None if they do."""
        plain = self._plain.get(name)
        if plain is None:
            return None
        keys = {}
        for index, member in plain:
            column = columns[member]
            if column.valid is not None:
                return None
            keys[index] = column.values
        return keys


def _given(travel: list[Travel], events: NDArray[np.int32]) -> Given | None:
    """What the rows bring along, in arrival order."""
    if not travel:
        return None
    given = Given(
        np.empty(len(events), np.int64), np.empty((len(events), travel[0].marks.shape[1]), np.int64)
    )
    given.rows[events] = np.concatenate([brought.rows for brought in travel])
    given.marks[events] = np.concatenate([brought.marks for brought in travel])
    return given


def _reordered(times: list[Keys], events: NDArray[np.int32], wrong: bool) -> Keys:
    """Times in the order of the events, which must not go back."""
    merged = np.empty(len(events), np.int64)
    merged[events] = np.concatenate(times)
    if wrong or (merged[1:] < merged[:-1]).any():
        raise BatchError(
            "the rows are not in the order of their events, or time goes back in that order: sort them"
        )
    return merged


def _too_late(name: str) -> str:
    return (
        f"stream {name} is static, and rows of other streams have come already: push all its rows before them, "
        "or together with the first of them with push_all; what may change later is declared without static=True"
    )


def stored_columns(query: Query, tested: bool = False) -> dict[str, set[str]]:
    """The columns that are kept while a row is live: selected ones, those that predicates read later, string keys.

    Of a difference all keys: a NULL must be told from a value, and one column may have two keys. ``tested``: only
    those that predicates read later.
    """
    stored: dict[str, set[str]] = {name: set() for name in query.names}
    for output in () if tested else query.select:
        stored[output.stream].add(output.column)
    for residual in query.residuals:
        for stream, column in residual.columns:
            stored[stream].add(column)
    for stream, column in () if tested else query.read_later:
        stored[stream].add(column)
    for key_class in () if tested else query.key_classes:
        for stream, column in key_class.members.items():
            if query.streams[stream].columns[column].is_coded or query.base is not None:
                stored[stream].add(column)
    return stored


def carried_columns(query: Query) -> set[tuple[str, str]]:
    """The coded columns, by stream and name, that nobody compares: they are shown in results, and that is all."""
    shown = {(output.stream, output.column) for output in query.select}
    compared = {pair for output in query.group_by for pair in output.expression.columns}
    for aggregate in query.aggregates:
        compared.update(pair for argument in aggregate.arguments for pair in argument.columns)
    for expression in (*query.filters.values(), *query.predicates):
        compared |= expression.columns
    for residual in query.residuals:
        compared |= residual.columns
    compared |= query.read_later
    for key_class in query.key_classes:
        compared.update(key_class.members.items())
    coded = {
        (s, c): of for s, stream in query.streams.items() for c, of in stream.columns.items() if of.is_coded
    }
    return {pair for pair, of in coded.items() if pair in shown - compared or not of.is_comparable}
