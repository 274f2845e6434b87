"""The queries of an engine, and who runs each: they come, go, and are given the rows of every push."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from eddy.access import Access
from eddy.engine.build import House
from eddy.engine.options import checked
from eddy.errors import EddyError, PlanError
from eddy.query.query import Query
from eddy.reorder.buffer import ReorderBuffer
from eddy.several.core import is_shareable, signature
from eddy.several.feed import Admitted, Feed, FeedStream
from eddy.several.group import Group, Makers
from eddy.several.opening import Opening
from eddy.several.own_group import OwnGroup
from eddy.several.results import Results
from eddy.several.shared_group import SharedGroup
from eddy.several.waiting import Waiting
from eddy.shown import shown

T = TypeVar("T")


class Registry:
    """All queries, in groups; for who has entered the engine."""

    def __init__(self, options: Mapping[str, Any], order: tuple[Any, Any, Any, Any]) -> None:
        """``options``: those of every group's engine; ``order``: lateness, late, idle and clock."""
        self.options = options
        self.access, self.feed = Access(), Feed()
        self.waiting = Waiting(self.feed, *order)
        self.groups: list[Group] = []
        self.called: dict[str, Group] = {}
        """The same by the query that each began with; another name where an older group goes by that."""
        self.changes_dropped = 0
        """Changes of plan of groups that are gone."""
        self.of: dict[str, Group] = {}
        self.queries: dict[str, Query] = {}
        """Another dict whenever one comes or goes."""
        self._uses = Counter[str]()
        """How many queries have each stream."""
        self._broken: BaseException | None = None
        self.house = House(self.access, self.feed.pool)
        self._filtered: set[Any] = set()
        """Cores, and the plans that their queries are given, that are going to have filters when all are added."""

    # -- queries come and go -----------------------------------------------------------------------------------------

    def begin(self, queries: Mapping[str, Query], plans: Mapping[str, str | None]) -> None:
        """Add the first queries."""
        some = {n: one for n, one in queries.items() if isinstance(one, Query) and one.filters}
        self._filtered = {(signature(one), plans.get(n)) for n, one in some.items() if is_shareable(one)}
        for name, query in queries.items():
            self.add(name, self.check(name, query, plans.get(name)), plans.get(name), False)
        self._filtered.clear()

    def check(self, name: object, query: Any, plan: str | None) -> Query:
        """Refuse what cannot be added; returns the query as it is run."""
        if not isinstance(name, str) or not name:
            raise EddyError(f"a query has a name, which is a text, not {shown(name)}")
        if name in self.queries:
            raise EddyError(
                f"there is a query {name!r} already: drop it first, or give this one another name"
            )
        options = checked(query, plan, **self.options)
        if options.migration.holds:
            raise EddyError('several queries take no technique that holds results back: use order="max"')
        self.feed.check(name, options.query)
        for stream, declared in options.query.streams.items():
            if declared.static and stream not in self.feed.streams and self.feed.loaded:
                raise EddyError(
                    f"query {name}: stream {stream} is static, and rows of other streams have come already, so that it "
                    "could not be loaded any more: declare it without static=True, or make a new engine with the query"
                )
        return options.query

    def add(self, name: str, query: Query, plan: str | None, history: bool) -> None:
        """One more query, which was checked."""
        before, waiting = dict(self.feed.streams), self.waiting.buffer
        add = self._add_shared if is_shareable(query) else self._add_own
        try:
            add(name, query, plan, history)
        except BaseException as error:
            self._with_state(partial(self._undeclare, before, waiting))
            if isinstance(error, PlanError):
                raise PlanError(f"query {name}: {error}") from None
            raise

    def _add_shared(self, name: str, query: Query, plan: str | None, history: bool) -> None:
        def work() -> None:
            firsts = self._declare(query, history)
            self._run(self._group_for(name, query, plan, history, firsts), name, query)

        self._with_state(work)

    def _add_own(self, name: str, query: Query, plan: str | None, history: bool) -> None:
        """It takes the state itself for each piece of the rows that are there; nobody sees it before it has them."""
        firsts = self._with_state(partial(self._declare, query, history))
        own = OwnGroup(name, query, plan, self.options, self.house)
        own.begin(self.feed, firsts)
        self._with_state(partial(self._run, own, name, query))

    def _declare(self, query: Query, history: bool) -> dict[str, int]:
        """Have the streams of a query; returns of each the first row that it sees."""
        firsts = self._live(query) if history else {}
        self.feed.declare(query)
        self.waiting.declare()
        return {s: firsts.get(s, self.feed.payload(s).next_row) for s in query.streams}

    def _undeclare(self, streams: dict[str, FeedStream], waiting: ReorderBuffer | None) -> None:
        self.feed.restore(streams)
        self.waiting.buffer = waiting

    def _run(self, group: Group, name: str, query: Query) -> None:
        self.enter(group, {name: query})
        self.waiting.need(self.used)

    def enter(self, group: Group, queries: Mapping[str, Query]) -> None:
        """A group runs these queries from now on."""
        if group not in self.groups:
            self.groups.append(group)
            self.called[self._name_for(next(iter(queries)))] = group
            group.state.beside = partial(self._beside, group)
        self.of.update(dict.fromkeys(queries, group))
        self.queries = {**self.queries, **queries}
        for query in queries.values():
            self._uses.update(query.streams.keys())

    def _name_for(self, first: str) -> str:
        """A name that no group goes by."""
        more = (f"{first} ({n})" for n in itertools.count(2))
        return next(name for name in itertools.chain([first], more) if name not in self.called)

    def _group_for(
        self, name: str, query: Query, plan: str | None, history: bool, firsts: dict[str, int]
    ) -> Group:
        """The group that has taken a query in: that of its core and the plan that it was given, or a new one."""
        said = signature(query)
        for group in self.groups:
            if isinstance(group, SharedGroup) and group.takes(said, plan):
                group.add(name, query, history, firsts)
                return group
        opening = Opening(self.feed, self.house, self.options, plan, plan is not None)
        filtered = bool(query.filters) or (said, plan) in self._filtered
        fresh = SharedGroup(opening, query, said, filtered, query.in_order)
        fresh.add_first(name, query, firsts)
        return fresh

    def drop(self, name: str) -> None:
        """A query goes, and what only it used."""
        self._with_state(partial(self._drop, name, self.group(name)))

    def _drop(self, name: str, group: Group) -> None:
        self._broken = self.broken
        if isinstance(group, SharedGroup):
            group.drop(name)
        else:
            group.state.recent.seal()
        if isinstance(group, OwnGroup) or not group.names:
            self.groups.remove(group)
            self.called = {name: one for name, one in self.called.items() if one is not group}
            self.changes_dropped += group.state.migrations
        del self.of[name]
        self._uses -= Counter(self.queries[name].streams.keys())
        self.queries = {known: query for known, query in self.queries.items() if known != name}
        self.tidy()

    def tidy(self) -> None:
        """Queries have gone: let go of what only they used."""
        self._forget()
        self.feed.give_back()
        self.waiting.need(self.used)

    @property
    def used(self) -> Collection[str]:
        """The streams that queries have."""
        return self._uses.keys()

    def group(self, name: object) -> Group:
        """Who runs a query."""
        found = self.of.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(self.queries) or "none"
            raise EddyError(f"there is no query {shown(name)}; the queries are: {known}")
        return found

    def _live(self, query: Query) -> dict[str, int]:
        """For each stream of a query that some query sees rows of, the first of these."""
        found: dict[str, int] = {}
        for group in self.groups:
            for stream, low in group.seen().items():
                if stream in query.streams:
                    found[stream] = min(low, found.get(stream, low))
        return found

    def lows(self) -> dict[str, int]:
        """For each stream the first row that some window holds; the next one if none does."""
        found = {name: one.payload.next_row for name, one in self.feed.streams.items()}
        for group in self.groups:
            for stream, low in group.live().items():
                found[stream] = min(low, found[stream])
        return found

    # -- rows ----------------------------------------------------------------------------------------------------------

    def take(self, batches: Mapping[str, Any]) -> list[Makers]:
        """Take rows in that are in order: all groups admit them before one changes."""
        for group in self.groups:
            group.state.faults.tell()
        self._with_state(self._sweep)
        admitted = self.feed.admit(batches)
        arrivals = [(group, group.admit(admitted)) for group in self.groups]
        taking = [(group, found) for group, found in arrivals if found is not None]
        due = [group.state.steering for group, _ in taking if group.state.steering.due]
        for steering in due:
            self._with_state(steering.decide)
        self._with_state(partial(self._store, admitted))
        try:
            return [group.take(found, len(taking) > 1) for group, found in taking]
        except BaseException as error:  # those that come after it have missed the rows
            self._broken = error
            raise

    @property
    def broken(self) -> BaseException | None:
        """What has ended it in the middle of a batch, if so; that the query is dropped mends nothing."""
        for group in self.groups:
            self._broken = self._broken or group.state.broken
        return self._broken

    def _sweep(self) -> None:
        self.feed.sweep(self._codes())

    def _store(self, admitted: Admitted) -> None:
        self._forget()
        self.feed.take(admitted)

    def _with_state(self, work: Callable[[], T]) -> T:
        """Do something that nobody may read results in the middle of."""
        self.access.take()
        try:
            return work()
        finally:
            self.access.give()

    def _codes(self) -> Iterator[Any]:
        for group in self.groups:
            if isinstance(group, SharedGroup):
                yield from group.codes_in_use()

    def _forget(self) -> None:
        """Let go of rows that no query needs any more."""
        lows: dict[str, int] = {}
        for group in self.groups:
            for stream, low in group.lows().items():
                lows[stream] = min(low, lows.get(stream, low))
        self.feed.retain(lows)

    def results(self, parts: list[Makers]) -> Results:
        """What was given, by query; nothing for those that no part names."""
        return Results(self.queries, parts)

    def close(self) -> None:
        """Let go of all queries and rows."""

        def work() -> None:
            self.groups, self.called, self.of, self.queries, self.feed = [], {}, {}, {}, Feed()
            self._uses.clear()

        self._with_state(work)

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of all rows and strings, and of the state of every group."""
        return self.feed.nbytes + sum(group.nbytes for group in self.groups) + self.waiting.nbytes

    def _beside(self, group: Group) -> int:
        """Bytes that are held beside a group."""
        return self.nbytes - group.nbytes
