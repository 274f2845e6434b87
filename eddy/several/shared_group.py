"""Queries of one core: one plan, one set of STAIRs, one copy of the rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

import numpy as np
from attrs import evolve

from eddy.engine.build import build, started, steered
from eddy.engine.eddy import EngineOver
from eddy.engine.options import checked
from eddy.inspect.explanation import FILTERED, Explanation
from eddy.intake.intake import Arrivals
from eddy.query.query import Query
from eddy.results.output import GroupedOutput
from eddy.results.result import Result
from eddy.several.core import QUERIES, CoreQuery, core_of
from eddy.several.feed import Admitted
from eddy.several.group import Batches, Group, Makers
from eddy.several.lineage import Lineage
from eddy.several.opening import Opening, Saved
from eddy.several.output import SharedOutput
from eddy.several.planting import plant, reader
from eddy.several.shares import Member, Parts, nothing_of
from eddy.several.wanted_rows import WantedRows
from eddy.snapshot.snapshot import live_results
from eddy.state import EngineState, Options
from eddy.values.types import Array, Column

T = TypeVar("T")


class SharedGroup(Group):
    """Queries of one core."""

    def __init__(self, opening: Opening, query: Query, said: Hashable, filtered: bool, ordered: bool) -> None:
        """A group for a query, which is to be added then; ``said`` is the `signature` of the core.

        ``filtered``: one of the queries, of those to come too, has filters; ``ordered``: one asks for an order.
        """
        self.said, self.given_plan = said, opening.given
        self._feed, self._house, self._options = opening.feed, opening.house, opening.options
        order = [name for name in self._feed.streams if name in query.streams]
        self.core = core_of(query, order, ordered, filtered)
        self.lineage = Lineage(self.core.names)
        self.output = SharedOutput(
            self.core, self._feed.pool, self.lineage, self._feed.payload, self._house.access
        )
        self._next = 0
        self._begun = np.zeros(len(order), np.int64)
        """The first row of each stream that it was given."""
        core_options = {**opening.options, "retractions": False}
        options = checked(self.core, opening.plan if opening.given else None, **core_options)
        self.engine = EngineOver(self._new(options, opening.plan))

    def _new(self, options: Options, plan: str | None) -> EngineState:
        """An empty state."""
        house = evolve(self._house, output=lambda: self.output)
        state = steered(build(options, plan, house=house))
        state.fetch, state.shares_strings = self._feed.fetch, True
        self.output.recent, self.output.query = state.recent, self.core
        return started(state)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.output.members)

    @property
    def members(self) -> dict[str, Member]:
        """The queries by name."""
        return self.output.members

    def takes(self, said: Hashable, plan: str | None) -> bool:
        """Whether it is for queries of a core that were given this plan, or none."""
        if said != self.said or self.given_plan != (plan is not None):
            return False
        return plan is None or self.state.factory.parse(plan) == self.state.plan

    # -- queries come and go -----------------------------------------------------------------------------------------

    def add_first(self, name: str, query: Query, firsts: Mapping[str, int]) -> None:
        """The first query, which sees the rows of the feed from ``firsts`` on."""
        member = self._member(name, query)
        self.lineage.add(member.slot, query.filters)
        self.output.join(member)
        if not any(self._feed.payload(stream).next_row for stream in self.core.names):
            return
        plant(self.state, self.core, self._feed, self.lineage, firsts)
        self._begun = self._in_order(firsts)
        if member.signed:
            live = live_results(self.state)[0]
            self.output.restore(live, self.state.streams)
            self.output.begin(member, live, self.state.streams)

    def restore(self, queries: Mapping[str, tuple[Query, Any]], saved: Saved) -> bool:
        """The queries of a snapshot, each with the first rows that it sees; whether the feed has the rows for them."""
        for name, (query, firsts) in queries.items():
            member = self._member(name, query)
            member.firsts = firsts
            self.lineage.add(member.slot, query.filters)
            self.output.join(member)
        state = self.state
        state.events = state.loaded = saved.counters["events"]
        state.results, state.migrations = saved.counters["results"], saved.counters["migrations"]
        plant(state, self.core, self._feed, self.lineage, saved.lows)
        self._begun = self._in_order(saved.lows)
        if saved.now is not None and state.intake.now is not None and saved.now > state.intake.now:
            state.intake.now = saved.now
            state.lowwater.advance(np.array([-1], np.int32), np.array([saved.now]))
        state.steering.restore(saved.pins, saved.frozen)
        state.steering.resume(saved.decided)
        if self.output.signed:
            live = live_results(state)[0]
            self.output.restore(live, state.streams)
            for member in self.members.values():
                self.output.begin(member, live, state.streams)
        return self.live() == dict(saved.lows)

    def add(self, name: str, query: Query, history: bool, firsts: Mapping[str, int]) -> None:
        """One more query. With ``history`` it sees the rows from ``firsts`` on that are live, else those to come.

        If that fails, as by a function of its own, the group is as it was.
        """
        self.state.recent.seal()
        member = self._member(name, query)
        try:
            self._add(member, history, self._in_order(firsts))
        except BaseException:
            if name in self.members:
                self.output.leave(name)
                self.lineage.drop(member.slot)
            self.core, self.output.recent = cast(CoreQuery, self.state.query), self.state.recent
            self.output.query = self.core
            raise

    def _add(self, member: Member, history: bool, firsts: Array) -> None:
        query, was_signed = member.query, self.output.signed
        back = history and self._looks_back(firsts)
        ordered, filtered = self.core.ordered or query.in_order, self.core.filtered or bool(query.filters)
        again = (ordered, filtered) != (self.core.ordered, self.core.filtered)
        again = again or back or (history and self._rows.has_more_for(query))
        counts = self.state.lowwater.counts
        if not history:
            member.firsts = counts.copy() if counts.any() else None
        elif (firsts > self._lows).any():
            member.firsts = firsts
        if history and not again:
            self._rows.join(member.slot, query)
        self.lineage.add(member.slot, query.filters)
        self.output.join(member)
        if again:
            self.core = core_of(query, self.core.names, ordered, filtered)
            self._plant_again(firsts if back else None)
        if back:
            for other in self.members.values():
                if other is not member and other.firsts is None:
                    other.firsts = self._begun
            self.output.see_otherwise()
            self._begun = np.minimum(self._begun, firsts)
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
        """A query is gone; what the core has joined for it alone goes with its windows."""
        self.state.recent.seal()
        self.lineage.drop(self.output.leave(name).slot)

    @property
    def _rows(self) -> WantedRows:
        return WantedRows(self.state, self.core, self._feed, self.lineage, self._begun)

    @property
    def _lows(self) -> Array:
        """The first row of each stream that a window holds: a pane may have begun before the rows that came here."""
        found: Array = np.maximum(self.state.lowwater.lows, self._begun)
        return found

    def _looks_back(self, firsts: Array) -> bool:
        """Whether its windows would hold rows from ``firsts`` on that came before those that it was given."""
        partial = self._lows == self._begun
        return bool((partial & (firsts < self._begun)).any())

    def _in_order(self, rows: Mapping[str, int]) -> Array:
        return np.array([rows[name] for name in self.core.names], np.int64)

    def _plant_again(self, firsts: Array | None) -> None:
        """Make the engine anew of its live rows, which are stored otherwise now; its composites are holes again.

        ``firsts``: it is given older rows too, from these on, which the queries that it has do not see.
        """
        old = self.state
        new = self._new(evolve(old.options, query=self.core), str(old.plan))
        new.events, new.results, new.migrations = old.events, old.results, old.migrations
        new.batches, new.seconds, new.refused = old.batches, old.seconds, old.refused
        new.beside = old.beside
        new.steering.restore(old.steering.pinned, old.steering.frozen)
        lows = self._lows if firsts is None else np.minimum(self._lows, firsts)
        begin = dict(zip(self.core.names, lows.tolist(), strict=True))
        plant(new, self.core, self._feed, self.lineage, begin)
        new.steering.resume(old.steering.decided)
        self.engine.replace(new)

    # -- pushes --------------------------------------------------------------------------------------------------------

    def admit(self, admitted: Admitted) -> Arrivals | Batches | None:
        used = [name for name in admitted.coded if name in self.core.streams]
        if not used:
            return None
        if (
            not self.core.filtered
            and self.state.fast_path is not None
            and admitted.in_order(self.core, self.state.intake.now, used)
        ):
            return Batches(self._own(admitted.plain, used))
        batches = self._own(admitted.coded, used)
        if self.core.filtered:
            self._rows.tidy()
            for name, found in batches.items():
                text, n = admitted.columns[name], admitted.counts[name]
                found[QUERIES] = Column(self.lineage.numbers(name, reader(text), n))
        return self.state.intake.admit(batches)

    def _own(self, columns: Mapping[str, Mapping[str, T]], used: Iterable[str]) -> dict[str, dict[str, T]]:
        """Of some streams the columns that the core has, but for the sets of queries."""
        streams = self.core.streams
        return {name: {c: columns[name][c] for c in streams[name].columns if c != QUERIES} for name in used}

    def take(self, arrivals: Arrivals | Batches, crowded: bool = False) -> Makers:
        wanted = self.output.demand.look()
        self.output.settle(self._lows)
        found = super().take(arrivals)
        if wanted and crowded and isinstance(found, Parts):
            self._house.access.take()
            try:
                found.read_ahead()
            finally:
                self._house.access.give()
        return found

    def given(self, result: Any) -> Makers:
        shares, self.output.collected = self.output.collected, []
        return Parts(self.members, self.output.alike, shares, self._house.access, self.nothing)

    def nothing(self, member: Member) -> Result:
        """No result."""
        return nothing_of(member.query)

    def lows(self) -> dict[str, int]:
        return dict(zip(self.core.names, self.state.recent.oldest(self._lows.tolist()), strict=True))

    def live(self) -> dict[str, int]:
        return dict(zip(self.core.names, self._lows.tolist(), strict=True))

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.lineage.nbytes

    def seen(self) -> dict[str, int]:
        live, firsts = self.live(), [member.firsts for member in self.members.values()]
        some = [rows for rows in firsts if rows is not None]
        if len(some) < len(firsts):
            return live
        oldest = np.min(some, axis=0).tolist()
        return {name: max(live[name], first) for name, first in zip(self.core.names, oldest, strict=True)}

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
                if here and not self._rows.wants(query, stream, np.array([row]))[0]:
                    said = f"{stream} {row} was ruled out by the filter of {name}: {query.filters[stream]}"
                    return Explanation(FILTERED, said, dict(rows), streams=(stream,))
        return self.engine.why_not(**rows)
