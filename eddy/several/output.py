"""From what a batch of a core has made to what each of its queries is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from attrs import evolve, frozen

from eddy.access import Access
from eddy.intake.travel import WHEN
from eddy.results.contents import Contents, Fetch, Place
from eddy.results.output import Output, SignedOutput
from eddy.results.recent import RecentResults
from eddy.results.result import Result
from eddy.router.executor import Executor
from eddy.several.core import QUERIES, CoreQuery
from eddy.several.lineage import Lineage
from eddy.several.shares import Alike, CoreContents, Demand, Member, Share, places_of
from eddy.several.split import Split
from eddy.store.payload import Payload
from eddy.store.stream import StoredStream
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column


@frozen(eq=False)
class Values:
    """The values of a stream's rows for who reads a payload: those of the feed, and when the core had them."""

    feed: Payload
    core: Payload

    def storage(self, column: str, rows: Array) -> Column:
        return (self.core if column == WHEN else self.feed).storage(column, rows)

    def take(self, column: str, rows: Array) -> Column:
        return (self.core if column == WHEN else self.feed).take(column, rows)


@frozen(eq=False)
class Stored:
    """A stream as `GroupedOutput` reads it, by its number in the query."""

    number: int
    payload: Values


class SharedOutput(Output):
    """Makes a `Share` of what a batch has brought, and collects it for who hands results out."""

    def __init__(
        self,
        core: CoreQuery,
        pool: StringPool,
        lineage: Lineage,
        feed: Callable[[str], Payload],
        access: Access,
    ) -> None:
        super().__init__(core, pool)
        self.lineage, self._feed, self._access = lineage, feed, access
        self.members: dict[str, Member] = {}
        """The queries; another dict whenever one comes or goes."""
        self.collected: list[Share] = []
        """Of the last push, batch by batch."""
        self.demand = Demand()
        self.recent: RecentResults | None = None
        self._changes: SignedOutput | None = None
        self._shown: list[Place] | None = None
        self._alike: list[Alike] | None = None
        self._young: list[Member] | None = None
        self._signed = 0
        """How many queries ask for withdrawals."""

    @property
    def signed(self) -> bool:  # type: ignore[override]
        """Whether a query asks for withdrawals."""
        return self._signed > 0

    @property
    def shown(self) -> list[Place]:
        """What queries show of their results, groups aside."""
        if self._shown is None:
            found: dict[Place, None] = {}
            for member in self.members.values():
                query = member.query
                if member.groups is None:
                    found.update(((one.stream, one.column), None) for one in query.select)
                    found.update((pair, None) for one in query.computed for pair in one.expression.columns)
            self._shown = list(found)
        return self._shown

    @property
    def alike(self) -> list[Alike]:
        """The queries that show the same."""
        if self._alike is None:
            self._alike = Alike.among(self.members.values())
        return self._alike

    def join(self, member: Member) -> None:
        """One more query."""
        self.members = {**self.members, member.name: member}
        self._signed += member.signed
        self._shown = self._alike = self._young = None

    def see_otherwise(self) -> None:
        """Queries see other rows from now on."""
        self._alike = self._young = None

    def settle(self, lows: Array) -> None:
        """Windows begin at these rows: queries that see all of them are like those that were there from the beginning.

        Those who have results from before know them as they were.
        """
        if self._young is None:
            self._young = [member for member in self.members.values() if member.firsts is not None]
        grown = {m.name: evolve(m, firsts=None) for m in self._young if (m.firsts <= lows).all()}
        if grown:
            self.members = {name: grown.get(name, member) for name, member in self.members.items()}
            self.see_otherwise()

    def leave(self, name: str) -> Member:
        """A query goes."""
        left = dict(self.members)
        member = left.pop(name)
        self.members = left
        self._signed -= member.signed
        self._shown = self._alike = self._young = None
        if not self.signed:
            self._changes = None
        return member

    def of(self, router: Executor, ring: int, streams: Sequence[StoredStream], fetch: Fetch) -> Result:
        def split(rows: Array) -> Split | None:
            return self._split(rows, streams)

        assert self.recent is not None
        shown = self.shown
        count, rows = router.made(ring)
        new = CoreContents(self.query, count, rows, fetch, shown, split, demand=self.demand)
        share = Share(self.recent, self._access, new)
        self.collected.append(share)
        if not self.signed:
            return Result(new)
        found, signs, events = self._withdrawals().changed(router, ring)
        changes = CoreContents(self.query, len(found), lambda: found, fetch, shown, split, lambda: signs)
        share.changes = changes
        for member in self._aggregating(changes):
            here = changes.places(member)
            share.groups[member.name] = self._groups(member, found[here], signs[here], events[here], streams)
        if count:  # the next batch of the push uses the ring again
            new.rows()
        self.recent.give(Result(new))
        return Result(changes)

    def _aggregating(self, changes: CoreContents) -> Iterator[Member]:
        """The queries whose groups may change."""
        if not changes.count or not any(member.groups is not None for member in self.members.values()):
            return
        split = changes.split()
        owners = None if split is None else set(split.owners.tolist())
        for member in self.members.values():
            if member.groups is not None and (owners is None or member.slot in owners):
                yield member

    def _withdrawals(self) -> SignedOutput:
        if self._changes is None:
            self._changes = SignedOutput(self.query, self.pool)
        return self._changes

    def _split(self, rows: Array, streams: Sequence[StoredStream]) -> Split | None:
        if not self.query.filters:
            return None
        numbers = [
            stream.payload.storage(QUERIES, np.ascontiguousarray(rows[:, i])).values
            for i, stream in enumerate(streams)
        ]
        return self.lineage.split(numbers)

    def _groups(
        self, member: Member, rows: Array, signs: Array, events: Array, streams: Sequence[StoredStream]
    ) -> Result:
        """What results that come and go change in the groups of a query."""
        assert member.groups is not None
        own = np.ascontiguousarray(rows[:, member.order])
        return member.groups.taken(own, signs, events, self._stored(member, streams))

    def _stored(self, member: Member, streams: Sequence[StoredStream]) -> Any:
        names = member.query.names
        found = [
            Stored(i, Values(self._feed(name), streams[place].payload))
            for i, (name, place) in enumerate(zip(names, member.order.tolist(), strict=True))
        ]
        return cast(Any, found)

    # -- what is kept beside results ---------------------------------------------------------------------------------

    def restore(self, rows: Array, streams: Sequence[StoredStream]) -> None:
        if self.signed:
            self._withdrawals().restore(rows, streams)

    def begin(self, member: Member, rows: Array, streams: Sequence[StoredStream]) -> None:
        """A query that is new begins with its share of ``rows``, which are all live results of the core."""
        if member.groups is None:
            return
        rows = rows[places_of(member, rows, self._split(rows, streams))]
        n = len(rows)
        if n:
            self._groups(member, rows, np.ones(n, np.int8), np.zeros(n, np.int32), streams)

    def codes_in_use(self) -> Iterator[Array]:
        for member in self.members.values():
            if member.groups is not None:
                yield from member.groups.codes_in_use()

    @property
    def nbytes(self) -> int:
        groups = sum(member.groups.nbytes for member in self.members.values() if member.groups is not None)
        return groups + (0 if self._changes is None else self._changes.nbytes)

    def nothing(self, fetch: Fetch) -> Result:
        rows = np.empty((0, len(self.query.names)), np.int64)
        return Result(Contents(self.query, 0, lambda: rows, fetch))
