"""Queries that are run together: those of one core, or one that shares nothing but the streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define, evolve

from eddy.engine.build import House, build, started, steered
from eddy.engine.eddy import EngineOver
from eddy.engine.options import checked
from eddy.engine.passing import passed
from eddy.engine.pushing import prepare, take
from eddy.inspect.collect import bytes_held
from eddy.inspect.explanation import FILTERED, Explanation
from eddy.intake.intake import Arrivals
from eddy.query.query import Query
from eddy.results.output import GroupedOutput, Output
from eddy.results.result import Result
from eddy.several.core import QUERIES, core_of
from eddy.several.feed import Admitted, Feed
from eddy.several.lineage import Lineage
from eddy.several.output import SharedOutput
from eddy.several.planting import plant, rows_of
from eddy.several.replay import replay
from eddy.several.shares import Member, Share
from eddy.snapshot.snapshot import live_results
from eddy.state import EngineState, Options
from eddy.values.types import Column

Makers = dict[str, Callable[[], Result]]
"""What finds the results of each query of a group."""


class Group(ABC):
    """Some queries and the engine that runs them."""

    engine: EngineOver
    before: Mapping[str, int] = {}
    """Rows of each stream of which its engine knows nothing, and which it does not count."""

    @property
    def state(self) -> EngineState:
        """What the engine holds."""
        return self.engine.state

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The queries."""

    @abstractmethod
    def admit(self, admitted: Admitted) -> Arrivals | None:
        """Check a push; None: none of its streams is used here."""

    def take(self, arrivals: Arrivals) -> Makers:
        """Process what was admitted."""
        return self.given(take(self.state, arrivals, None))

    def passed(self, time: int) -> Makers:
        """Time goes on to ``time``, in the unit of the query, without rows."""
        return self.given(passed(self.state, time, None))

    @abstractmethod
    def given(self, result: Any) -> Makers:
        """What the engine has given, by query."""

    @abstractmethod
    def lows(self) -> dict[str, int]:
        """For each stream the first row that somebody here may ask the feed for."""

    def live(self) -> dict[str, int]:
        """For each stream the first row that a window holds."""
        state = self.state
        lows = dict(zip(state.query.names, state.lowwater.lows.tolist(), strict=True))
        if state.attached is not None:
            attached = zip(state.attached.streams, state.attached.lowwater.lows.tolist(), strict=True)
            lows.update((stream.name, low) for stream, low in attached)
        return {name: low + self.before.get(name, 0) for name, low in lows.items()}

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, with its composites."""
        executor = self.state.executor
        composites = sum(stair.nbytes for router in executor.routers for stair in router.every_stair)
        return bytes_held(self.state) + composites


class OwnGroup(Group):
    """A query that shares no core: of a set difference, or with joins that are attached. Its engine keeps its rows."""

    def __init__(self, name: str, query: Query, plan: str | None, options: Mapping[str, Any], house: House) -> None:
        self.name, self.query = name, query
        state = build(checked(query, plan, **options), plan, house=House(house.access))
        self.engine = EngineOver(started(steered(state)))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def admit(self, admitted: Admitted) -> Arrivals | None:
        batches = {name: found for name, found in admitted.columns.items() if name in self.query.streams}
        if not batches:
            return None
        prepare(self.state)
        return self.state.intake.admit({name: dict(found) for name, found in batches.items()})

    def given(self, result: Any) -> Makers:
        return {self.name: lambda: result}

    def lows(self) -> dict[str, int]:
        return self.live()

    def begin(self, feed: Feed, firsts: Mapping[str, int]) -> None:
        """Take in the rows that are there already, from ``firsts`` on, as they came; what they bring is past."""
        self.before = dict(firsts)
        replay(self.state, feed, self.query, firsts)


@define(eq=False)
class Opening:
    """What a group is made with."""

    feed: Feed
    house: House
    options: Mapping[str, Any]
    plan: str | None


class SharedGroup(Group):
    """Queries of one core."""

    def __init__(self, opening: Opening, query: Query, said: Hashable) -> None:
        """A group for a query, which is to be added then; ``said`` is the `signature` of the core."""
        self.said = said
        self._feed, self._house, self._options = opening.feed, opening.house, opening.options
        order = [name for name in self._feed.streams if name in query.streams]
        self.core = core_of(query, order, query.in_order)
        self.lineage = Lineage(self.core.names)
        self.output = SharedOutput(
            self.core, self._feed.pool, self.lineage, self._feed.payload, self._house.access
        )
        self._next = 0
        core_options = {**opening.options, "retractions": False}
        self.engine = EngineOver(self._new(checked(self.core, opening.plan, **core_options), opening.plan))

    def _new(self, options: Options, plan: str | None) -> EngineState:
        """An empty state."""
        house = evolve(self._house, output=lambda: self.output)
        state = steered(build(options, plan, house=house))
        state.fetch = self._feed.fetch
        self.output.recent, self.output.query = state.recent, self.core
        return started(state)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.output.members)

    @property
    def members(self) -> dict[str, Member]:
        """The queries by name."""
        return self.output.members

    # -- queries come and go -----------------------------------------------------------------------------------------

    def add_first(self, name: str, query: Query, firsts: Mapping[str, int]) -> None:
        """The first query, which sees the rows of the feed from ``firsts`` on."""
        member = self._member(name, query)
        self.lineage.add(member.slot, query.filters)
        self.output.members[name] = member
        if not any(self._feed.payload(stream).next_row for stream in self.core.names):
            return
        plant(self.state, self.core, self._feed, self.lineage, firsts)
        if member.signed:
            live = live_results(self.state)[0]
            self.output.restore(live, self.state.streams)
            self.output.begin(member, live, self.state.streams)

    def add(self, name: str, query: Query, history: bool) -> None:
        """One more query. With ``history`` it sees the rows that are live, else those to come."""
        self.state.recent.seal()
        member, was_signed = self._member(name, query), self.output.signed
        ordered = query.in_order and not self.core.ordered
        again = ordered or (history and self._wants_more(query))
        if not history:
            member.firsts = self.state.lowwater.counts.copy()
        elif not again:
            self._join(member.slot, query)
        self.lineage.add(member.slot, query.filters)
        self.output.members[name] = member
        if again:
            self.core = core_of(query, self.core.names, self.core.ordered or ordered)
            self._plant_again()
        anew = self.output.signed and (again or not was_signed)
        if anew or (history and member.groups is not None):
            live = live_results(self.state)[0]
            if anew:
                self.output.restore(live, self.state.streams)
            if history:
                self.output.begin(member, live, self.state.streams)

    def _member(self, name: str, query: Query) -> Member:
        slot, self._next = self._next, self._next + 1
        order = np.array([self.core.names.index(stream) for stream in query.names])
        signed = query.signed or bool(self._options.get("retractions"))
        groups = GroupedOutput(query, self._feed.pool) if query.grouped else None
        return Member(name, query, slot, order, signed, groups)

    def drop(self, name: str) -> None:
        """A query is gone; what was stored for it alone goes with its windows."""
        self.state.recent.seal()
        self.lineage.drop(self.output.members.pop(name).slot)

    def _wants_more(self, query: Query) -> bool:
        """Whether a query wants live rows that nobody has wanted before, so that they are in no STAIR."""
        for number, name in enumerate(self.core.names):
            rows = self._live(number)
            unwanted = rows[self._numbers(number, rows) == 0]
            if len(unwanted) and (self._wants(query, name, unwanted)).any():
                return True
        return False

    def _join(self, slot: int, query: Query) -> None:
        """Note of the live rows which a new query wants."""
        for number, name in enumerate(self.core.names):
            rows = self._live(number)
            payload, wants = self.state.streams[number].payload, None
            if name in query.filters:
                wants = self._wants(query, name, rows)
            numbers = self._numbers(number, rows)
            found = self.lineage.joined_by(slot, name, numbers, wants)
            payload.rings[QUERIES][rows & (payload.capacity - 1)] = np.where(numbers == 0, 0, found)

    def _live(self, number: int) -> Any:
        lowwater = self.state.lowwater
        return np.arange(int(lowwater.lows[number]), int(lowwater.counts[number]))

    def _numbers(self, number: int, rows: Any) -> Any:
        return self.state.streams[number].payload.storage(QUERIES, rows).values

    def _wants(self, query: Query, name: str, rows: Any) -> Any:
        if name not in query.filters:
            return np.ones(len(rows), np.bool_)
        columns = rows_of(self._feed, name, rows)
        return query.filters[name].holds(lambda _, column: columns[column], len(rows))

    def _plant_again(self) -> None:
        """Make the engine anew of its live rows, which are stored otherwise now; its composites are holes again."""
        old = self.state
        new = self._new(evolve(old.options, query=self.core), str(old.plan))
        new.events, new.results, new.migrations = old.events, old.results, old.migrations
        new.batches, new.seconds, new.refused = old.batches, old.seconds, old.refused
        new.beside = old.beside
        new.steering.restore(old.steering.pinned, old.steering.frozen)
        firsts = dict(zip(self.core.names, old.lowwater.lows.tolist(), strict=True))
        plant(new, self.core, self._feed, self.lineage, firsts)
        new.steering.resume(old.steering.decided)
        self.engine.replace(new)

    # -- pushes --------------------------------------------------------------------------------------------------------

    def admit(self, admitted: Admitted) -> Arrivals | None:
        batches: dict[str, dict[str, Column]] = {}
        for name, columns in admitted.coded.items():
            if name in self.core.streams:
                text, n = admitted.columns[name], len(next(iter(columns.values())))
                numbers = self.lineage.numbers(name, lambda _, column, text=text: text[column], n)
                own = self.core.streams[name].columns
                batches[name] = {column: columns[column] for column in own if column != QUERIES}
                batches[name][QUERIES] = Column(numbers)
        return self.state.intake.admit(batches) if batches else None

    def given(self, result: Any) -> Makers:
        shares, self.output.collected = self.output.collected, []
        return {name: _maker(shares, member, self) for name, member in self.members.items()}

    def nothing(self, member: Member) -> Result:
        """No result."""
        return (member.groups or _plain(member.query, self)).nothing(self._feed.fetch)

    def lows(self) -> dict[str, int]:
        return {name: self.state.streams[i].payload.low for i, name in enumerate(self.core.names)}

    def codes_in_use(self) -> Iterator[Any]:
        """Codes of strings that it needs beside those of the feed's rows."""
        yield from self.output.codes_in_use()
        yield from self.state.changes.codes_in_use()
        for stream in self.state.streams:
            yield from stream.payload.codes_in_use()

    def why_not(self, name: str, rows: Mapping[str, int]) -> Explanation:
        """Why these rows gave a query no result: its own filters first, then what its core knows."""
        query = self.members[name].query
        for stream, row in rows.items():
            if stream in query.filters and isinstance(row, int):
                payload = self._feed.payload(stream)
                here = payload.low <= row < payload.next_row
                if here and not self._wants(query, stream, np.array([row]))[0]:
                    said = f"{stream} {row} was ruled out by the filter of {name}: {query.filters[stream]}"
                    return Explanation(FILTERED, said, dict(rows), streams=(stream,))
        return self.engine.why_not(**rows)


def _plain(query: Query, group: SharedGroup) -> Any:
    return Output(query, group.output.pool)


def _maker(shares: list[Share], member: Member, group: SharedGroup) -> Callable[[], Result]:
    def made() -> Result:
        def read() -> Result:
            parts = [share.of(member) for share in shares]
            if not parts:
                return group.nothing(member)
            return parts[0] if len(parts) == 1 else Result.concat(parts)

        found: Result = group.state.access.read(read)
        return found

    return made
