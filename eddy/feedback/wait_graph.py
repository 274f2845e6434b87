"""Who waits for whom under a plan.

At every join one side waits for the other. So nothing waits in a circle, and a batch that visits the side that is
waited for first finds everything up to date that a row may wait for. (Where both sides wait, as printed in JIT, two
rows may wait for each other for ever.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from eddy.errors import EddyError
from eddy.feedback.banded import Banded
from eddy.feedback.blacklist import Blacklist
from eddy.feedback.edge import Edge
from eddy.feedback.payoff import DEAR, partners, weight
from eddy.feedback.presence import Anything, Filtered, Paired, PairLeaves, Parted, Presence, Whole, recipe_of
from eddy.feedback.suppression import Side, Suppression
from eddy.feedback.unit import Unit
from eddy.plan.compiler import Compiler, Key, StairId, Streams
from eddy.plan.orderings import Orderings
from eddy.plan.plan import Join, Leaf, Node, Plan, joins
from eddy.query.residual import Residual
from eddy.tracks.binding import Binder, Halt, Hop
from eddy.tracks.track import Track
from stairs import Stair

if TYPE_CHECKING:
    from policies import Feedback

Schedule = list["Halt | Unit"]
"""In which order a batch visits the streams and the stops. Composites are visited in their stop, before they are
stored."""


def judged_classes(
    policy: Feedback, compiler: Compiler, streams: Streams, opposite: Streams
) -> Streams | None:
    """By which key classes entries of some streams are judged that wait for others; None: they are not judged."""
    shared = compiler.shared(streams, opposite)
    what = f"{type(policy).__name__}.judges({len(streams)}, {shared})"
    try:
        chosen = policy.judges(len(streams), shared)
        classes = None if chosen is None else tuple(sorted(set(chosen)))
    except Exception as error:
        raise EddyError(f"{what} failed: {error!r}") from error
    if classes is not None and not set(classes) <= set(shared):
        raise EddyError(
            f"{what} returned {chosen!r}: it must return some of the attributes it was given, () for any entry at "
            "all, or None"
        )
    return classes


def waits(policy: Feedback, node: Join, nested: bool) -> bool:
    """Whether the left side of a join waits for the right one."""
    given = len(node.left.streams), len(node.right.streams), nested
    try:
        return bool(policy.waits(*given))
    except Exception as error:
        raise EddyError(f"{type(policy).__name__}.waits{given} failed: {error!r}") from error


def check_feedback(policy: Feedback, compiler: Compiler, plan: Plan, nested: bool) -> None:
    """Refuse a policy that cannot say what it judges under a plan, before anything is changed."""
    numbers = [compiler.number[name] for name in compiler.names]
    if isinstance(plan, Orderings):
        for s, later in itertools.combinations(numbers, 2):
            judged_classes(policy, compiler, (s,), (later,))
        return
    for node in joins(plan):
        sides = node.left, node.right
        waiting, other = sides if waits(policy, node, nested) else sides[::-1]
        opposite = tuple(sorted(compiler.number[name] for name in other.streams))
        for below in joins(waiting) if isinstance(waiting, Join) else ():
            for side in (below.left, below.right):
                streams = tuple(sorted(compiler.number[name] for name in side.streams))
                judged_classes(policy, compiler, streams, opposite)


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
        self._siblings: dict[Streams, int] = {}
        """For a stream the one that it is joined with first, if that is a stream."""
        self._ids = {wanted.streams: wanted for wanted in track.table.stairs}

    def design(self) -> tuple[list[Unit], Schedule]:
        """The units of the plan, and a schedule in which what is waited for comes first."""
        plan = self.track.plan
        schedule = self._orderings() if isinstance(plan, Orderings) else list(self._tree(plan, []))
        self._keep_static()
        units = {unit.streams: unit for unit in self.units}
        for streams, sibling in self._siblings.items():
            if self.policy.hesitates and (sibling,) < streams and units[sibling,].edges:
                units[streams].senior = units[sibling,]
        return self.units, schedule

    def _keep_static(self) -> None:
        """Static relations that others are dropped for wait for no stream: all that they have must be there."""
        edges = [edge for unit in self.units for edge in unit.edges if edge.static]
        wanted = frozenset(s for edge in edges for s in edge.opposite)
        for unit in self.units:
            if wanted.issuperset(unit.streams):
                unit.suppression = None
                unit.edges = [edge for edge in unit.edges if edge.static]

    def _orderings(self) -> Schedule:
        """A stream waits for those declared after it, and composites for nothing."""
        numbers = range(len(self.binder.streams))
        for s in reversed(numbers):
            unit = Unit(streams=(s,), halt=self.track.halts[-1], state=self.binder.streams[s])
            stored = [halt for halt in self.track.halts if halt.stair is not None]
            unit.ways = [self._way(halt, s) for halt in stored if s in halt.hops[0].step.streams]
            self.units.append(unit)
            for other in numbers[s + 1 :]:
                self._edge(unit, (other,))
        rows = list(self.units)
        for wanted, stair in self.track.stairs.items():
            halt = next(halt for halt in self.track.halts if halt.stair is stair)
            self.units.append(self._composites(wanted, halt))
        return [*rows, *self.track.halts]

    def _composites(self, wanted: StairId, halt: Halt) -> Unit:
        """The unit of a STAIR."""
        recipe = self.binder.recipe(wanted)
        unit = Unit(streams=wanted.streams, halt=halt, stair=self.track.stairs[wanted], recipe=recipe)
        unit.weight = weight(len(wanted.key.classes))
        unit.dearness = DEAR if self.binder.nested else 1
        return unit

    def _way(self, halt: Halt, s: int) -> list[tuple[Halt, Hop]]:
        """The hops that lead from the rows of a stream to a halt: one way, where they have several."""
        hop = next(hop for hop in halt.hops if s in hop.step.source.drivers)
        if len(hop.step.source.streams) == 1:
            return [(halt, hop)]
        below = next(other for other in self.track.halts if other.out is hop.source)
        return [*self._way(below, s), (halt, hop)]

    def _tree(
        self, node: Node, above: Sequence[tuple[Streams, Streams | None]], parent: Unit | None = None
    ) -> Iterator[Halt | Unit]:
        """``above``: for each ancestor, from the parent up, its streams, and those of its side that is waited for."""
        streams = self._numbers(node)
        unit = None
        if above:
            if isinstance(node, Leaf):
                halt = self._halts[above[0][0]]
                unit = Unit(streams=streams, halt=halt, state=self.binder.streams[streams[0]])
                if streams in self._siblings:
                    unit.partners = self._partners(streams[0], self._siblings[streams])
            else:
                unit = self._composites(self._ids[streams], self._halts[streams])
            self.units.append(unit)
            unit.above = parent
            below = streams
            for ancestor, _ in above[:-1]:
                halt = self._halts[ancestor]
                hop = next(hop for hop in halt.hops if hop.step.source.streams == below)
                unit.path.append(
                    (halt, hop, recipe_of(halt.recipe) if isinstance(halt.recipe, list) else None)
                )
                below = ancestor
            if isinstance(node, Join) and above[0][1] is not None and self.policy.pairs:
                unit.suppression = self._suppression(unit, node, above[0][1])
            # With its sibling it meets at once, and where nothing matches nothing is made.
            for _, opposite in above[1:]:
                if opposite is not None:
                    self._edge(unit, opposite)
        if isinstance(node, Join):
            left, right = self._numbers(node.left), self._numbers(node.right)
            sides = node.left, node.right
            waiting, other = sides if waits(self.policy, node, self.binder.nested) else sides[::-1]
            if above and isinstance(node.left, Leaf) and isinstance(node.right, Leaf):
                self._siblings[left], self._siblings[right] = right[0], left[0]
            yield from self._tree(other, [(streams, None), *above], unit)
            yield from self._tree(waiting, [(streams, self._numbers(other)), *above], unit)
            yield self._halts[streams] if above else self.track.halts[-1]
        elif unit is not None:
            yield unit

    def _partners(self, s: int, sibling: int) -> Callable[[], float] | None:
        classes = self.binder.compiler.shared((s,), (sibling,))
        if not classes:
            return None
        return partial(partners, self.binder.streams[s], self.binder.streams[sibling], classes)

    def _numbers(self, node: Node) -> Streams:
        return tuple(sorted(self.binder.compiler.number[name] for name in node.streams))

    def _edge(self, unit: Unit, opposite: Streams) -> None:
        classes = judged_classes(self.policy, self.binder.compiler, unit.streams, opposite)
        if classes is None:
            return
        name = f"{self._name(unit.streams)} for {self._name(opposite)}"
        presence = self._presence(unit.streams, opposite, classes)
        blacklist = Blacklist(name, unit.streams)
        static = self.binder.compiler.static.issuperset(opposite)
        unit.edges.append(Edge(unit.streams, opposite, classes, presence, blacklist, static))

    def _suppression(self, unit: Unit, node: Join, opposite: Streams) -> Suppression | None:
        """Which composites of a node are not stored for want of what they meet next: those that are found wanting by
        attributes of both sides together. (By those of one side that side waits.)"""
        compiler, stair = self.binder.compiler, unit.stair
        classes = compiler.shared(unit.streams, opposite)
        parts = [compiler.shared(self._numbers(side), opposite) for side in (node.left, node.right)]
        if stair is None or any(set(part) == set(classes) for part in parts):
            return None
        sides = []
        for hop in unit.halt.hops:
            streams = hop.step.source.streams
            key = Key(compiler.shared(streams, opposite))
            own, wanted = (recipe_of(self.binder.parts(key, of)) for of in (streams, opposite))
            assert isinstance(hop.source, Stair)
            sides.append(Side(hop, hop.source, own, wanted, self._verified(hop)))
        return Suppression(
            unit.streams,
            opposite,
            classes,
            self._presence(unit.streams, opposite, classes),
            Blacklist(f"{self._name(unit.streams)} for {self._name(opposite)}", ()),
            sides=sides,
            stair=stair,
        )

    def _verified(self, hop: Hop) -> list[tuple[int, Stair, int, Stair]]:
        """Components that are alike in a match of a step, each with its leaf under the attribute."""
        (ours, theirs), both = (hop.step.source.streams, hop.step.target.streams), hop.step.streams
        found = []
        for c in hop.step.target.key.classes:
            ((i, one),), ((j, other),) = (self.binder.parts(Key((c,)), of) for of in (ours, theirs))
            found.append((both.index(ours[i]), one, both.index(theirs[j]), other))
        return found

    def _name(self, streams: Streams) -> str:
        return " ".join(self.binder.compiler.names[s] for s in streams)

    def _presence(self, streams: Streams, opposite: Streams, classes: tuple[int, ...]) -> Presence:
        """How entries of some streams look for those of others."""
        key = Key(classes)
        wanted = self.binder.parts(key, streams)
        if len(opposite) == 1:
            if not classes:
                residuals = self._residuals(streams, opposite)
                if residuals:
                    return Banded(residuals, streams[0], opposite[0], self.binder.streams)
                return Anything(self.binder.streams[opposite[0]].base)
            return Whole(self.binder.leaf(StairId(opposite, key)), wanted)
        id_ = self._ids[opposite]
        stair = self.track.stairs[id_]
        if not classes:
            return Anything(stair)
        if id_.key == key:
            return Whole(stair, wanted)
        parts = self.binder.parts(key, opposite)
        if self.policy.filters:
            return Filtered(stair, wanted, parts)
        if len(opposite) == 2:
            return Paired(stair, wanted, parts, self._pair(opposite, classes))
        return Parted(stair, wanted, parts)

    def _residuals(self, streams: Streams, opposite: Streams) -> list[Residual]:
        """Predicates between two streams without an equality for which a sorted index tells what may satisfy them."""
        if not self.policy.bands or len(streams) > 1 or self.binder.nested:
            return []
        both = frozenset((*streams, *opposite))
        name = self.binder.compiler.names[opposite[0]]
        return [r for r, reads in self.binder.compiler.residuals if reads == both and r.bands_for(name)]

    def _pair(self, opposite: Streams, classes: tuple[int, ...]) -> PairLeaves:
        """Two streams with their leaves under these attributes, and under those that they share."""
        sides = [
            (
                s,
                [
                    (self._leaf(s, c), i)
                    for i, c in enumerate(classes)
                    if s in self.binder.compiler.classes[c]
                ],
            )
            for s in opposite
        ]
        one, other = sides if sides[0][1] else sides[::-1]  # rows of the first are found by what is wanted
        shared = self.binder.compiler.shared(opposite[:1], opposite[1:])
        links = [(self._leaf(one[0], c), self._leaf(other[0], c)) for c in shared]
        return one, other, links if other[1] else links[:1]

    def _leaf(self, stream: int, c: int) -> Stair:
        return self.binder.leaf(StairId((stream,), Key((c,))))
