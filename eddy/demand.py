"""Who waits for whom under a plan.

At every join one side waits for the other. So nothing waits in a circle, and a batch that visits the side that is
waited for first finds everything up to date that a row may wait for. (Where both sides wait, as printed in JIT, two
rows may wait for each other for ever.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.binding import Binder, Halt, Hop, Recipe
from eddy.blacklist import Blacklist, Rows
from eddy.itinerary import Key, StairId, Streams
from eddy.leaf import StreamState
from eddy.plan import Join, Leaf, Node, Orderings
from eddy.presence import Anything, Filtered, Parted, Parts, Presence, Whole
from eddy.track import Track
from stairs import Stair
from stairs.holes import Keys

if TYPE_CHECKING:
    from policies import Feedback


WORTH, SCAN = 2.0, 0.05
"""What a probe, or a composite that is made, costs, and an entry that is scanned, where a look at a key costs 1."""

SEEN = 4
"""A fan-out is seen only where one entry in so many can be found: that of the last few says little."""


@define(eq=False)
class Edge:
    """Entries of one node wait for entries of another, with which they meet higher up."""

    streams: Streams
    opposite: Streams
    classes: tuple[int, ...]
    """Key classes that must be there together; none: any entry will do."""
    parts: Parts
    """Where the entries that wait have these."""
    presence: Presence
    blacklist: Blacklist
    static: bool = False
    """What is waited for is made of static relations only."""
    drop: Callable[[Rows], None] | None = None
    """Takes entries that need not wait, once those relations are loaded: their partners will never come."""
    resting: int = 0
    """Batches for which nothing is judged."""
    barred: bool = False
    """Nothing is judged, here or elsewhere."""
    patience: int = 0
    """Batches for which it rested the last time."""
    batches: int = 0
    judged: int = 0
    failed: int = 0
    returned: int = 0
    looked: int = 0
    """Since the last review: entries judged, those suspended, those that came back, and keys looked up for that."""
    worth: float = 1.0
    """What it spares to suspend one entry, in such looks."""
    suspended: int = 0
    resumed: int = 0
    """Entries so far that began to wait here, and those that were woken."""

    @property
    def awake(self) -> bool:
        """Whether entries are judged: not while it rests or is barred, nor while what they wait for has holes."""
        return self.resting == 0 and not self.barred and self.presence.sure

    def bar(self, barred: bool) -> None:
        """Judge nothing, or judge again."""
        self.barred = barred
        if barred:
            self.presence.forget()

    def rest(self, batches: int) -> None:
        """Judge nothing for so many batches."""
        self.resting = batches
        if batches:
            self.presence.forget()

    def judge(
        self,
        rows: Rows,
        keys: Keys,
        marks: NDArray[np.int32],
        moments: NDArray[np.int32],
        flags: NDArray[np.uint8],
    ) -> int:
        """Suspend entries whose keys are not there at their moments, and clear their flags; how many."""
        before = flags.copy()
        self.presence.find(keys, marks, moments, flags)
        failed = np.flatnonzero(before != flags)
        self.suspend(rows[failed], keys[failed])
        return len(failed)

    def suspend(self, rows: Rows, keys: Keys) -> None:
        """Let entries wait for these keys, or drop them if that is in vain."""
        if self.drop is None:
            self.blacklist.suspend(rows, keys)
        else:
            self.drop(rows)
        self.suspended += len(rows)


@define(eq=False)
class Tally:
    """Entries so far that came, those that were suspended, and those of them that came back."""

    arrived: int = 0
    suspended: int = 0
    resumed: int = 0


@define(eq=False)
class Unit:
    """A node whose entries may wait: a stream, or a STAIR."""

    streams: Streams
    state: StreamState | None
    """Of a stream."""
    stair: Stair | None
    """Of composites."""
    halt: Halt
    """Where they are made; of a stream, the stop of its first join."""
    recipe: Recipe = None
    """How composites get their key."""
    edges: list[Edge] = field(factory=list)
    above: Unit | None = None
    """What it makes with its sibling."""
    path: list[tuple[Halt, Hop]] = field(factory=list)
    """The STAIRs above, and the hops by which its entries get there."""
    arrived: int = 0
    suspended: int = 0
    resumed: int = 0
    """Entries so far that came, those that were suspended, and those of them that came back."""
    made: int = 0
    """Of composites: how many were stored."""
    fanout: float = 0.0
    """Composites that an entry makes with its sibling."""
    counted: tuple[int, int, int] = (0, 0, 0)
    """Entries that came, those that could be found, and composites that were made of them, when it was last seen."""

    def look(self, nested: bool) -> float:
        """See what an entry costs that can be found, in looks."""
        if not self.path:
            return WORTH
        made = 0 if self.above is None else self.above.made
        entries, visible = self.arrived, self.arrived - self.suspended + self.resumed
        came, found, composites = (
            now - then for now, then in zip((entries, visible, made), self.counted, strict=True)
        )
        self.counted = entries, visible, made
        if found > 0 and SEEN * found >= came:
            self.fanout = composites / found
        scanned = sum(hop.target.tail - hop.target.low for _, hop in self.path) if nested else 0
        return WORTH * (1 + self.fanout) + scanned * SCAN


Schedule = list["Halt | Unit"]
"""In which order a batch visits the streams and the stops. Composites are visited in their stop, before they are
stored."""


class Designer:
    """Finds the edges of a plan."""

    def __init__(self, policy: Feedback, binder: Binder, track: Track) -> None:
        self.policy = policy
        self.binder = binder
        self.track = track
        self.units: list[Unit] = []
        self._halts = {
            stop.steps[0].streams: halt for stop, halt in zip(track.table.stops, track.halts, strict=True)
        }
        self._ids = {wanted.streams: wanted for wanted in track.table.stairs}

    def design(self) -> tuple[list[Unit], Schedule]:
        """The units of the plan, and a schedule in which what is waited for comes first."""
        plan = self.track.plan
        schedule = self._orderings() if isinstance(plan, Orderings) else list(self._tree(plan, []))
        self._keep_static()
        return self.units, schedule

    def _keep_static(self) -> None:
        """Static relations that others are dropped for wait for no stream: all that they have must be there."""
        edges = [edge for unit in self.units for edge in unit.edges if edge.static]
        wanted = frozenset(s for edge in edges for s in edge.opposite)
        for unit in self.units:
            if wanted.issuperset(unit.streams):
                unit.edges = [edge for edge in unit.edges if edge.static]

    def _orderings(self) -> Schedule:
        """No composites: a stream waits for those declared after it."""
        numbers = range(len(self.binder.streams))
        for s in reversed(numbers):
            unit = Unit((s,), self.binder.streams[s], None, self.track.halts[-1])
            self.units.append(unit)
            for other in numbers[s + 1 :]:
                self._edge(unit, (other,))
        return [*self.units, *self.track.halts]

    def _tree(
        self, node: Node, above: Sequence[tuple[Streams, Streams | None]], parent: Unit | None = None
    ) -> Iterator[Halt | Unit]:
        """``above``: for each ancestor, from the parent up, its streams, and those of its side that is waited for."""
        streams = self._numbers(node)
        unit = None
        if above:
            if isinstance(node, Leaf):
                halt = self._halts[above[0][0]]
                unit = Unit(streams, self.binder.streams[streams[0]], None, halt)
            else:
                wanted = self._ids[streams]
                halt, recipe = self._halts[streams], self.binder.recipe(wanted)
                unit = Unit(streams, None, self.track.stairs[wanted], halt, recipe)
            self.units.append(unit)
            unit.above = parent
            below = streams
            for ancestor, _ in above[:-1]:
                halt = self._halts[ancestor]
                hop = next(hop for hop in halt.hops if hop.step.source.streams == below)
                unit.path.append((halt, hop))
                below = ancestor
            # With its sibling it meets at once, and where nothing matches nothing is made.
            for _, opposite in above[1:]:
                if opposite is not None:
                    self._edge(unit, opposite)
        if isinstance(node, Join):
            left, right = self._numbers(node.left), self._numbers(node.right)
            waiting, other = (node.left, node.right)
            if not self.policy.waits(len(left), len(right)):
                waiting, other = other, waiting
            yield from self._tree(other, [(streams, None), *above], unit)
            yield from self._tree(waiting, [(streams, self._numbers(other)), *above], unit)
            yield self._halts[streams] if above else self.track.halts[-1]
        elif unit is not None:
            yield unit

    def _numbers(self, node: Node) -> Streams:
        return tuple(sorted(self.binder.compiler.number[name] for name in node.streams))

    def _edge(self, unit: Unit, opposite: Streams) -> None:
        shared = self.binder.compiler.shared(unit.streams, opposite)
        chosen = self.policy.judges(len(unit.streams), shared)
        if chosen is None:
            return
        classes = tuple(sorted(chosen))
        name = f"{self._name(unit.streams)} for {self._name(opposite)}"
        parts = self.binder.parts(Key(classes), unit.streams)
        presence = self._presence(opposite, classes)
        blacklist = Blacklist(name, unit.streams)
        static = self.binder.compiler.static.issuperset(opposite)
        unit.edges.append(Edge(unit.streams, opposite, classes, parts, presence, blacklist, static))

    def _name(self, streams: Streams) -> str:
        return " ".join(self.binder.compiler.names[s] for s in streams)

    def _presence(self, opposite: Streams, classes: tuple[int, ...]) -> Presence:
        key = Key(classes)
        if len(opposite) == 1:
            if not classes:
                return Anything(self.binder.streams[opposite[0]].base)
            return Whole(self.binder.leaf(StairId(opposite, key)))
        wanted = self._ids[opposite]
        stair = self.track.stairs[wanted]
        if not classes:
            return Anything(stair)
        if wanted.key == key:
            return Whole(stair)
        kind = Filtered if self.policy.filters else Parted
        return kind(stair, self.binder.parts(key, opposite))
