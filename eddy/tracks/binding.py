"""From a routing table to rings: every step knows where it reads, where it writes and how its keys are made.

Nothing is compiled here: a plan is data.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from eddy.plan.compiler import RESULTS, Compiler, Key, Place, RoutingTable, StairId, Step
from eddy.plan.selectors import Drawn, Selector
from eddy.store.stream import StreamState
from eddy.tracks.theta import Decision, Theta
from stairs import Ring, Stair
from stairs.layout import ROWS
from stairs.lowlevel.address import address_of
from stairs.probe_kernels import join_for
from stairs.program_kernels import kind_of, part_of
from stairs.ring import power_of_two
from stairs.select_kernels import enter_values

NO_CHECKS: NDArray[np.int64] = np.zeros(0, np.int64)
"""Of a step by a single key: nothing is left to verify."""

Recipe = list[tuple[int, Stair]] | int | None
"""How entries get their key: from these components' leaves, from a component's row number (-1: none), or not at all,
since they have it already."""


@frozen(eq=False)
class Pick:
    """The rows of a leaf that take one of several ways, batch by batch."""

    leaf: Ring
    ring: Ring
    """Where the selected rows are, from the time on that the program has come to it."""
    keyed: Ring
    """The leaf whose keys decide."""
    share: tuple[int, int]
    """From which number on, and up to which, rows are selected."""
    table: NDArray[np.int64] | None
    """The numbers of some keys; None: rows are drawn for."""
    salt: int = 0

    @property
    def fields(self) -> tuple[int, ...]:
        """The instruction for it, from OUT on."""
        table, extent = (0, self.salt) if self.table is None else (address_of(self.table), len(self.table))
        rings = self.ring.address, self.leaf.address, self.keyed.address
        return (*rings, 0, table, extent, 0, *self.share)

    def make_room(self) -> int:
        """Make room for all rows of the batch; 0, since the instruction is to be followed once more."""
        start, stop = self.leaf.delta
        self.ring.reserve(stop - start)
        return 0


@define(eq=False)
class Hop:
    """A step with its rings."""

    step: Step
    source: Ring
    target: Stair
    kernel: Any
    kind: int
    """Which kernel that is, in a program."""
    place: NDArray[np.int64]
    """Where the components of the source, and then those of the target, are among those of both."""
    verified: list[tuple[int, Stair, int, Stair]]
    """Components to compare exactly, by their leaves, where the key is a mix of several."""
    asked: list[tuple[int, Stair]] | None
    """Where the source has the part of its key by which the target knows its holes; None: it is the whole key."""
    theta: Theta | None
    decision: Decision | None
    """Decides the step's other predicates on its matches; None: there are none."""
    plain: bool
    """Nothing but a probe, and what is verified."""
    checks: NDArray[np.int64]
    """What is verified, for kernels: components and addresses of leaves."""
    pick: Pick | None = None
    """What selects the rows that take it, where that is not a range of a batch."""
    _streams: NDArray[np.int64] | None = field(init=False, default=None)

    @property
    def streams(self) -> NDArray[np.int64]:
        """Those of the target, then those of the source, for filling; the same array every time."""
        if self._streams is None:
            self._streams = np.array(self.step.target.streams + self.step.source.streams, np.int64)
        return self._streams

    @property
    def arriving(self) -> Ring:
        """Where the entries of this batch are that take it: the source, or what was selected of it."""
        return self.source if self.pick is None else self.pick.ring

    @property
    def delta(self) -> tuple[int, int]:
        """The entries of this batch that take it, in ``arriving``."""
        if self.pick is not None:
            return self.pick.ring.delta
        start, stop = self.source.delta
        first, last = part_of.py_func(start, stop, *self.step.share)
        return first, last


@define(eq=False)
class Halt:
    """A stop with its rings."""

    out: Ring
    stair: Stair | None
    hops: list[Hop]
    recipe: Recipe
    mirror: Stair | None = None
    """A STAIR beside ``stair`` that gets the same entries."""
    visits: Sequence[Any] = ()
    """What is done with the entries of a batch before they are stored: see `eddy.tracks.program.Visit`."""
    additions: Sequence[Any] = ()
    """What is done afterwards, and may store more: chains run from the newest entry to the oldest, so what comes later
    is linked later."""


class Binder:
    """Knows the leaves, and which stream carries which key class."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        self.compiler = compiler
        self.streams = streams
        self.nested = nested
        self.bounded = bounded
        self._kernels: dict[tuple[int, int], tuple[Any, int]] = {}
        self._places: dict[tuple[int, int], NDArray[np.int64]] = {}

    def carrier(self, wanted: StairId) -> StairId:
        """The leaf that knows a STAIR's holes: of a stream that carries a part of its key, as much as can be.

        A stream with a window comes first: when that has turned over no hole is left.
        """
        if wanted.key.row is not None:
            return StairId((wanted.key.row,), wanted.key)
        members = {
            s: tuple(c for c in wanted.key.classes if s in self.compiler.classes[c]) for s in wanted.streams
        }
        stream = max(wanted.streams, key=lambda s: (bool(members[s]), self.bounded[s], len(members[s]), -s))
        return StairId((stream,), Key(members[stream]))

    def leaf(self, wanted: StairId) -> Stair:
        return self.streams[wanted.streams[0]].stair(wanted.key)

    def bind(
        self,
        table: RoutingTable,
        carriers: dict[StairId, StairId],
        stairs: dict[StairId, Stair],
        results: Ring,
    ) -> list[Halt]:
        """The stops of a routing table with their rings; places that store nothing get rings of their own."""
        places: dict[StairId | Place, Ring] = {RESULTS: results}
        for stop in table.stops:
            if isinstance(stop.out, Place) and stop.out is not RESULTS:
                places[stop.out] = Ring(len(stop.out.path), hashed=False)
        places.update({wanted: self.leaf(wanted) for wanted in table.leaves})
        for wanted, stair in stairs.items():
            places[wanted] = stair
        picks: dict[tuple[StairId | Place, tuple[int, int]], Pick] = {}
        for stop in table.stops:
            for step in stop.steps:
                if step.selector is not None and (step.source, step.share) not in picks:
                    picks[step.source, step.share] = self._pick(step, step.selector, places[step.source])
        return [
            Halt(
                places[stop.out],
                stairs.get(stop.out) if isinstance(stop.out, StairId) else None,
                [self._hop(step, places, carriers, picks) for step in stop.steps],
                self.recipe(stop.out, stop.steps),
            )
            for stop in table.stops
        ]

    def _pick(self, step: Step, selector: Selector, leaf: Ring) -> Pick:
        """What selects the rows of a leaf that take a step."""
        (stream,), ring = step.source.streams, Ring(1, hashed=False)
        if isinstance(selector, Drawn):  # streams are drawn for independently of each other
            return Pick(leaf, ring, leaf, step.share, None, selector.seed ^ (stream << 48))
        values = [(value, i) for i, some in enumerate(selector.values, 1) for value in some]
        keys, numbers = np.array(values, np.int64).T.copy()
        table = np.zeros((power_of_two(2 * len(values)), 2), np.int64)
        enter_values(table, keys, numbers)
        c = self.compiler.columns[self.compiler.names[stream]][selector.column]
        return Pick(leaf, ring, self.streams[stream].stair(self.compiler.key(1 << c)), step.share, table)

    def _hop(
        self,
        step: Step,
        places: dict[StairId | Place, Ring],
        carriers: dict[StairId, StairId],
        picks: dict[tuple[StairId | Place, tuple[int, int]], Pick],
    ) -> Hop:
        target = places[step.target]
        assert isinstance(target, Stair)
        ours, theirs = step.source.streams, step.target.streams
        classes, carrier = step.target.key.classes, carriers.get(step.target)
        verified = []
        if len(classes) > 1:
            both = step.streams
            for c in classes:
                (a, one), (b, other) = self._attribute(c, ours), self._attribute(c, theirs)
                verified.append((both.index(a), one, both.index(b), other))
        asked = None
        if carrier is not None and carrier.key != step.target.key:
            asked = self.parts(carrier.key, ours)
        return Hop(
            step,
            places[step.source],
            target,
            *self._kernel(len(ours), len(theirs)),
            self._place(ours, theirs),
            verified,
            asked,
            None if classes else Theta(step, self.streams, self.nested),
            Decision(step.residuals, self.streams, self.nested) if step.residuals else None,
            bool(classes) and not step.residuals and step.scope is None,
            np.array([(a, b.address, c, d.address) for a, b, c, d in verified], np.int64)
            if verified
            else NO_CHECKS,
            picks[step.source, step.share] if step.selector is not None else None,
        )

    def _kernel(self, sources: int, targets: int) -> tuple[Any, int]:
        """What joins entries of so many streams with STAIRs of so many, and which kernel of a program that is."""
        known = self._kernels.get((sources, targets))
        if known is None:
            join = join_for(sources, targets, self.nested, True)
            known = self._kernels[sources, targets] = join, kind_of(sources, targets, self.nested)
        return known

    def _place(self, ours: tuple[int, ...], theirs: tuple[int, ...]) -> NDArray[np.int64]:
        """Where the components of both sides are in an entry of all of them, in order."""
        if len(theirs) > 1:
            return ROWS + np.array(ours + theirs, np.int64).argsort().argsort()
        # Where one comes to many it depends on its place alone: steps of all pipelines have these arrays in common.
        many, before = len(ours), bisect_left(ours, theirs[0])
        known = self._places.get((many, before))
        if known is None:
            known = np.arange(ROWS, ROWS + many + 1)
            known[before:many] += 1
            known[many] = ROWS + before
            self._places[many, before] = known
        return known

    def _attribute(self, c: int, streams: tuple[int, ...]) -> tuple[int, Stair]:
        """A stream among these that carries a key class, and its leaf under it."""
        members = self.compiler.classes[c]
        for stream in streams:
            if stream in members:
                return stream, self.streams[stream].stair(self.compiler.key(1 << c))
        raise AssertionError(f"none of {streams} has a column of key class {c}")

    def parts(self, key: Key, streams: tuple[int, ...]) -> list[tuple[int, Stair]]:
        """For each class of a key, a component that carries it and its leaf."""
        found = []
        for c in key.classes:
            stream, leaf = self._attribute(c, streams)
            found.append((streams.index(stream), leaf))
        return found

    def recipe(self, out: StairId | Place, steps: tuple[Step, ...] = ()) -> Recipe:
        """How the entries that these steps put into a place get the key they have there."""
        if out is RESULTS:
            return None
        if out.key.classes:
            came_with_it = steps and all(step.target.key == out.key for step in steps)
            return None if came_with_it else self.parts(out.key, out.streams)
        return -1 if out.key.row is None or out.key.row not in out.streams else out.streams.index(out.key.row)
