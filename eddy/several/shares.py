"""The results of a batch by query. They are split, and their values read, when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from eddy.access import Access
from eddy.query.query import Query
from eddy.results.contents import Contents, Fetch, Place
from eddy.results.output import GroupedOutput, Output
from eddy.results.recent import RecentResults
from eddy.results.result import Result
from eddy.several.split import Split
from eddy.store.payload import Payload
from eddy.values.strings import StringPool
from eddy.values.types import Array, Column


@define(eq=False)
class Member:
    """A query of a core."""

    name: str
    query: Query
    slot: int
    """Its number in the lineage."""
    order: Array
    """The places of its streams among those of the core."""
    signed: bool
    groups: GroupedOutput | None = None
    """Of a query that aggregates."""
    firsts: Array | None = None
    """The first row of each stream of the core that counts for it; None: all do."""

    in_place: bool = field(init=False)
    """Whether its streams are in the order of the core."""
    _nothing: Contents | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.in_place = bool((self.order == np.arange(len(self.order))).all())

    def nothing(self) -> Result:
        """No change of its groups."""
        if self._nothing is None:
            self._nothing = nothing_of(self.query).contents
        return Result(self._nothing)


@frozen(eq=False)
class Alike:
    """Queries of a core that show the same, of the same results, in the same order of streams."""

    members: Sequence[Member]
    """In the order in which they came."""
    slots: Array
    called: frozenset[str]
    names: pa.Array
    whole: bool
    """Whether all results that their filters let through are theirs, however old the rows."""

    @staticmethod
    def among(members: Iterable[Member]) -> list[Alike]:
        """All queries that do not aggregate, by what they show."""
        kinds: dict[Hashable, list[Member]] = {}
        for member in members:
            if member.groups is None:
                query = member.query
                shown: tuple[Hashable, ...] = tuple((one.name, str(one.expression)) for one in query.computed)
                shown = shown or tuple((one.name, one.stream, one.column) for one in query.select)
                kinds.setdefault((member.signed, member.order.tobytes(), shown), []).append(member)
        return [
            Alike(
                some,
                np.array([one.slot for one in some]),
                frozenset(one.name for one in some),
                pa.array([one.name for one in some]),
                all(one.firsts is None for one in some),
            )
            for some in kinds.values()
        ]


Places = Array | slice
"""Where some results are among others."""


def places_of(member: Member, rows: Array, split: Split | None) -> Places:
    """Which of these results of a core are a query's; ``split`` tells whose they are, None: everybody's."""
    if member.firsts is None:
        return slice(None) if split is None else split.of(member.slot)
    young: Array = np.asarray((rows >= member.firsts).all(axis=1))
    if split is None:
        return np.flatnonzero(young)
    here = split.of(member.slot)
    return here[young[here]]


@define
class Demand:
    """Whether somebody reads the results of a core."""

    seen: bool = False
    """Whether results were read since this was last looked at."""

    def look(self) -> bool:
        """Whether they were, since the last call."""
        seen, self.seen = self.seen, False
        return seen


class CoreContents(Contents):
    """The results of a core in one batch, of which each query has some.

    Once `materialise` was called they stand by themselves: they are split, and have what queries show of them.
    """

    def __init__(
        self,
        core: Query,
        count: int,
        rows: Callable[[], Array],
        fetch: Fetch,
        shown: Sequence[Place],
        split: Callable[[Array], Split | None],
        sign: Callable[[], Array] | None = None,
        demand: Demand | None = None,
    ) -> None:
        super().__init__(core, count, rows, fetch, sign)
        self._shown, self._make, self._demand = shown, split, demand
        self._split: Split | None = None
        self._was_split = False

    def split(self) -> Split | None:
        """Which results are whose; None: all are everybody's."""
        if not self._was_split:
            self._split, self._was_split = self._make(self._own_rows()), True
        return self._split

    def places(self, member: Member) -> Places:
        """Where the results of a query are, ascending."""
        return places_of(member, self._own_rows(), self.split())

    def read_ahead(self) -> None:
        """Read what somebody is going to ask for, as long as it is in the processor's cache."""
        if self.split() is None:
            self.read(self._shown)

    def materialise(self) -> None:
        if self.fetch is None:
            return
        self.split()
        if self.sign_fn is not None:
            self.sign()
        self.read(self._shown)
        self.rows_fn = self.sign_fn = self.fetch = None

    def of(self, member: Member, recent: RecentResults) -> Contents:
        """Those of one query, which show what it selects."""
        found = self.some_of(member, self.places(member))
        if self.fetch is not None:
            recent.derive(found, self)
        return found

    def some_of(self, member: Member, here: Places) -> Contents:
        """The results at some places, as a query shows them."""
        if self._demand is not None:
            self._demand.seen = True
        rows = self._own_rows()[here]
        own = rows if member.in_place else np.ascontiguousarray(rows[:, member.order])
        found = Contents(member.query, len(own), None, self.fetch)
        found.give_rows(own)
        if self.sign_fn is not None or self.known_sign is not None:
            found.known_sign = self.sign()[here]
        if self.fetch is None or isinstance(here, slice):
            found.columns.update((place, column.take(here)) for place, column in self.columns.items())
        if self.fetch is None:
            found.fetch = _all_here
            found.materialise()
        return found


def _all_here(stream: str, columns: Sequence[str], rows: Array) -> Any:
    raise AssertionError("everything that a query shows was read")


def nothing_of(query: Query) -> Result:
    """No result of a query."""
    pool = StringPool()

    def fetch(stream: str, columns: Sequence[str], rows: Array) -> list[Column]:
        return Payload(query.streams[stream].columns, pool).take_all(columns, rows)

    return (GroupedOutput if query.grouped else Output)(query, pool).nothing(fetch)


@define(eq=False)
class Share:
    """What a batch has brought to the queries of a core."""

    recent: RecentResults
    access: Access
    new: CoreContents
    """New results."""
    changes: CoreContents | None = None
    """New results and withdrawn ones; None: no query asks for them."""
    groups: dict[str, Result] = field(factory=dict)
    """Changes of groups, by query."""

    def of(self, member: Member) -> Result:
        """What is a query's; for who may read the engine."""
        if member.groups is not None:
            found = self.groups.get(member.name)
            return member.nothing() if found is None else found
        contents = self.changes if member.signed and self.changes is not None else self.new
        result = Result(contents.of(member, self.recent))
        result.access = self.access if result.contents.fetch is not None else None
        return result


@frozen(eq=False)
class Part:
    """What a push has brought to a query of a core, once it is asked for."""

    member: Member
    shares: list[Share]
    """Of the push, batch by batch; the same list for all queries of the core."""
    access: Access
    nothing: Callable[[Member], Result]

    def __call__(self) -> Result:
        found: Result = self.access.read(self._read)
        return found

    def _read(self) -> Result:
        parts = [share.of(self.member) for share in self.shares]
        if not parts:
            return self.nothing(self.member)
        return parts[0] if len(parts) == 1 else Result.concat(parts)


class Parts(Mapping[str, Part]):
    """What a push has brought to each query of a core."""

    def __init__(
        self,
        members: Mapping[str, Member],
        alike: Sequence[Alike],
        shares: list[Share],
        access: Access,
        nothing: Callable[[Member], Result],
    ) -> None:
        self._members = members
        self.alike, self.shares, self.access, self.nothing = alike, shares, access, nothing

    def read_ahead(self) -> None:
        """Read what somebody is going to ask for; for who has the engine."""
        for share in self.shares:
            share.new.read_ahead()

    @property
    def read_together(self) -> frozenset[str]:
        """The queries that `alike` has."""
        return frozenset[str]().union(*(one.called for one in self.alike))

    def __getitem__(self, name: str) -> Part:
        return Part(self._members[name], self.shares, self.access, self.nothing)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
