"""A chain of set differences in place of a router: the same doors, so that techniques and boxes need not know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.difference.alone import Alone
from eddy.difference.difference import Difference
from eddy.difference.rows import KeyedRows
from eddy.intake.intake import Part
from eddy.plan.compiler import Compiler
from eddy.plan.difference_plan import Subtractions
from eddy.query.query import Query
from eddy.router.executor import Executor, Made, PlanExecutor
from eddy.statistics import StairStatistics
from eddy.store.leaves import Leaves
from eddy.store.stream import StreamState
from eddy.tracks.moment import Moment
from policies import Feedback

if TYPE_CHECKING:
    from eddy.feedback.suspension import Suspension


@define(eq=False)
class States:
    """The states of the chain together, as a technique sees a STAIR: base rows may be holes."""

    difference: Difference | Alone
    partial: bool = field(default=False, init=False)

    @property
    def holes(self) -> Difference | Alone | None:
        """Where holes may be; None when there are none."""
        return None if self.complete else self.difference

    @property
    def complete(self) -> bool:
        return self.difference.settled_all

    @property
    def keys_filled(self) -> int:
        return self.difference.settled

    @property
    def nbytes(self) -> int:
        return self.difference.nbytes

    def settle(self, budget: int) -> int:
        """Settle up to ``budget`` holes, newest rows first; returns how many were settled."""
        before = self.difference.settled
        self.difference.settle(budget)
        return self.difference.settled - before

    def fill(self) -> None:
        """Settle all holes."""
        self.settle(1 << 40)

    promote_all = fill

    @property
    def rows_before(self) -> int:
        """Base rows that may be holes."""
        return self.difference.unsettled

    def fill_up_to(self, composites: int) -> None:
        """Settle all holes: there are no composites."""
        self.fill()


@define(eq=False)
class ChainTrack:
    """There is one, always."""

    plan: Subtractions
    stairs: dict[str, States]


class Chain(PlanExecutor):
    """Runs batches through a `Difference`; its streams are the base and then the others, in the query's order."""

    def __init__(self, query: Query, compiler: Compiler, streams: list[StreamState]) -> None:
        self.query = query
        self.compiler = compiler
        self.streams = streams
        self.leaves = ChainLeaves(streams)
        newest = np.array([stream.payload.next_row for stream in streams], np.int64)
        self.moment = Moment(np.empty((0, len(streams)), np.int32), newest)
        self.changes: tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]] = _no_changes()
        base = query.names.index(query.base or "")
        self._numbers = [base, *(query.names.index(minus.stream) for minus in query.minus)]
        self._place = np.argsort(np.array(self._numbers)).astype(np.int32)
        self._difference: Difference | Alone = Alone()
        if query.minus:
            self._difference = Difference(len(query.minus), [minus.classes for minus in query.minus])
        firsts = [streams[number].payload.low for number in self._numbers]
        self._difference.restore(firsts, firsts, {})
        self._tracks: list[ChainTrack] = []

    @property
    def tracks(self) -> list[ChainTrack]:
        return self._tracks

    @property
    def stairs(self) -> dict[str, States]:
        return self.tracks[-1].stairs

    @property
    def every_stair(self) -> list[States]:
        return list(self.stairs.values())

    @property
    def keys_filled(self) -> int:
        return self.filled_before + self._difference.settled

    def succeed(self, former: Executor) -> None:
        """Take the place of another chain: what is counted goes on from where that one had come."""
        self.filled_before, self.composites_built = former.keys_filled, former.composites_built
        self.counting = False

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.changes)

    def state_statistics(self) -> tuple[StairStatistics, ...]:
        """The states of the order, lowest first; the bytes of all are counted with the first."""
        names, difference = self.query.names, self._difference
        _, blockers, _ = difference.known()
        text, streams, found = names[self._numbers[0]], [names[self._numbers[0]]], []
        for place, (inner, fraction) in enumerate(zip(difference.order, difference.complete, strict=True)):
            name = names[self._numbers[inner]]
            text, streams = f"{text} - {name}", [*streams, name]
            live = int(np.count_nonzero(~np.isin(blockers, difference.order[: place + 1])))
            size, settled, holes = 0, 0, 0
            if place == 0:
                size, settled, holes = difference.nbytes, difference.settled, difference.holes
            whole = fraction == 1.0
            found.append(
                StairStatistics(
                    text, tuple(streams), live, size, bool(whole), float(fraction), settled, holes
                )
            )
        return tuple(found)

    # -- plans -----------------------------------------------------------------------------------------------------

    def install(self, plan: Subtractions, fresh: bool) -> tuple[list[States], list[States]]:
        """Subtract in another order from now on."""
        numbers = [self.query.names.index(name) for name in plan.order]
        self._difference.reorder([self._numbers.index(number) for number in numbers])
        states = States(self._difference)
        self._tracks = [ChainTrack(plan, {"chain": states})]
        return [states], []

    # -- a batch ---------------------------------------------------------------------------------------------------

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        self.leaves.begin(low_rows, next_rows)

    def foresee(self, parts: Sequence[Part]) -> None:
        """A difference has no holes that could be filled before."""

    def attend(self, policy: Feedback, former: Suspension | None = None) -> None:
        """A row that nothing matches is a result: nothing can wait."""

    def store(self, parts: Sequence[Part]) -> None:
        """Store the rows of a batch."""
        self.leaves.append(parts)

    def run(self, marks: NDArray[np.int32], ring: int, results: bool = True) -> None:
        """Take the rows that have just been stored through the chain."""
        self.moment.run(marks)
        places = np.full(len(marks), -1, np.int32)  # -1: time goes on, and no row comes
        rows = {}
        for part in self.leaves.parts:
            places[part.events] = self._place[part.stream]
            rows[int(self._place[part.stream])] = self._keyed(part)
        self.changes = self._difference.step(places, marks[:, self._numbers], rows)

    def made(self, ring: int) -> Made:
        """The new results: all that a query over one stream gives, whose rows are never withdrawn."""
        rows, signs, _ = self.changes
        found = rows[signs > 0]
        return len(found), lambda: found.reshape(-1, 1)

    def signed(self, ring: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        raise NotImplementedError("what a chain makes has signs: see `changes`")

    def drawn(self, max_rows: int, ring: int) -> Iterator[Made]:
        """The same in parts; what there is of it was found for the whole batch."""
        found = self.made(ring)[1]()
        for start in range(0, len(found), max_rows):
            part = found[start : start + max_rows]
            yield len(part), partial(np.array, part)

    def standing(self) -> NDArray[np.int64]:
        """The live results, as row numbers of all streams."""
        found = self._difference.results()
        rows = np.full((len(found), len(self.streams)), -1, np.int64)
        rows[:, self._numbers[0]] = found
        return rows

    def _keyed(self, part: Part) -> KeyedRows:
        name = self.query.names[part.stream]
        if name != self.query.base:  # NULL keys are not kept
            classes = next(minus.classes for minus in self.query.minus if minus.stream == name)
            return KeyedRows([part.keys[c] for c in classes], (), part.kept)
        classes = tuple(range(len(self.query.key_classes)))
        valid = [validity(self.query, name, c, part) for c in classes]
        return KeyedRows([part.keys[c] for c in classes], valid, part.kept)


class ChainLeaves(Leaves):
    """Remembers the batch."""

    parts: Sequence[Part] = ()

    def append(self, parts: Sequence[Part], unlinked: Collection[int] = ()) -> None:
        self.parts = parts
        super().append(parts, unlinked)


def validity(query: Query, name: str, c: int, part: Part) -> NDArray[np.bool_] | None:
    """Where a row's key in a class can match at all; None: everywhere."""
    key_class = query.key_classes[c]
    column = part.columns[key_class.members[name]]
    return key_class.encode(name, column.values, column.valid)[1]


def _no_changes() -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]]:
    return np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int32)
