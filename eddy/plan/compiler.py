"""From a plan to a routing table: for each stream, the steps that its rows take.

A step probes one STAIR with the key of the entries at hand and puts the matches into the next STAIR, or into a
ring that nobody probes, or among the results. Trees and orderings both come down to this, so the router knows
nothing else. Steps that write to one place form a *stop*; a batch runs through the stops in order, each when
all that it reads is up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddy.plan.orderings import Orderings
from eddy.plan.pipelines import Pipelines
from eddy.plan.plan import Join, Leaf, Node, Plan, joins
from eddy.plan.routes import RESULTS, Key, Place, RoutingTable, StairId, Step, Stop, Streams
from eddy.plan.selectors import Selector
from eddy.query.query import Query
from eddy.query.residual import Residual
from stairs.program_kernels import WHOLE

__all__ = ["RESULTS", "Compiler", "Key", "Place", "RoutingTable", "StairId", "Step", "Stop", "Streams"]


class Compiler:
    """Knows a query's predicates by stream number."""

    def __init__(self, query: Query) -> None:
        number = {name: i for i, name in enumerate(query.names)}
        self.number = number
        self.classes = [frozenset(number[name] for name in c.members) for c in query.key_classes]
        self.masks = [
            sum(1 << i for i, members in enumerate(self.classes) if s in members) for s in range(len(number))
        ]
        """For each stream the key classes that it has a column of, as bits."""
        self.columns: dict[str, dict[str, int]] = {
            name: {c.members[name]: i for i, c in enumerate(query.key_classes) if name in c.members}
            for name in query.names
        }
        """The key columns of each stream, and the class of each."""
        self._keys: dict[int, Key] = {}
        self._leaves: dict[tuple[Streams, Key], StairId] = {}
        residuals = sorted(query.residuals, key=lambda residual: residual.order)
        self.residuals = [(r, frozenset(number[name] for name in r.streams)) for r in residuals]
        """Each with the streams that it reads, in an order that depends on what they say alone."""
        self.names = query.names
        self.static = frozenset(number[name] for name, stream in query.streams.items() if stream.static)

    def shared(self, some: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
        """The key classes that two sets of streams have in common."""
        return self.key(self.classes_of(some) & self.classes_of(others)).classes

    def classes_of(self, streams: Iterable[int]) -> int:
        """The key classes of which a set of streams has columns, as bits."""
        found = 0
        for stream in streams:
            found |= self.masks[stream]
        return found

    def key(self, classes: int) -> Key:
        """The key of some classes, given as bits."""
        known = self._keys.get(classes)
        if known is None:
            places = [i for i in range(classes.bit_length()) if classes >> i & 1]
            known = self._keys[classes] = Key(tuple(places))
        return known

    def stair(self, streams: Streams, key: Key) -> StairId:
        """The name of a STAIR; that of a leaf is made once."""
        if len(streams) > 1:
            return StairId(streams, key)
        known = self._leaves.get((streams, key))
        if known is None:
            known = self._leaves[streams, key] = StairId(streams, key)
        return known

    def connected(self, some: frozenset[str], name: str) -> bool:
        """Whether a predicate that the streams together decide reads the one more stream."""
        number = self.number
        one, ours = number[name], 0
        for stream in some:
            ours |= self.masks[number[stream]]
        if ours & self.masks[one]:
            return True
        streams = {number[stream] for stream in some} if self.residuals else set[int]()
        return any(
            one in reads and reads <= streams | {one} and len(reads) > 1 for _, reads in self.residuals
        )

    def probe_key(self, source: Streams, target: Streams) -> tuple[Key, tuple[Residual, ...]]:
        """How entries of ``source`` find theirs in ``target``: its key, and predicates where there is no equality.

        These read one stream of the target, the same, whose row numbers are the key: the one that most bands bound.
        """
        return self.key_for(source, target, self.classes_of(source) & self.classes_of(target))

    def key_for(self, source: Streams, target: Streams, shared: int) -> tuple[Key, tuple[Residual, ...]]:
        """As `probe_key`, where it is known which key classes they share, as bits."""
        if shared:
            return self.key(shared), ()
        by_row: dict[int, list[Residual]] = {}
        for residual, reads in self.residuals:
            inside = reads & frozenset(target)
            if len(inside) == 1 and reads <= frozenset(source + target) and not reads <= inside:
                by_row.setdefault(min(inside), []).append(residual)
        if not by_row:
            return Key(), ()

        def rank(row: int) -> tuple[int, int, int]:
            banded = sum(bool(residual.bands_for(self.names[row])) for residual in by_row[row])
            return banded, len(by_row[row]), -row

        best = max(by_row, key=rank)
        return Key(row=best), tuple(by_row[best])

    def step(
        self,
        source: StairId | Place,
        target: StairId,
        thetas: tuple[Residual, ...],
        share: tuple[int, int] = (0, WHOLE),
        selector: Selector | None = None,
    ) -> Step:
        """A step with the predicates that become decidable there, which a ``share`` of the entries takes."""
        if not self.residuals:
            return Step(source, target, thetas, share=share, selector=selector)
        ours, theirs = frozenset(source.streams), frozenset(target.streams)
        decided = tuple(
            r
            for r, reads in self.residuals
            if reads <= ours | theirs and not reads <= ours and not reads <= theirs
        )
        left = tuple(r for r in decided if r not in thetas)
        return Step(source, target, thetas, left, share=share, selector=selector)

    def compile(self, plan: Plan) -> RoutingTable:
        """The routing table of a plan."""
        stops = Pipelines(self, plan).stops() if isinstance(plan, Orderings) else self._tree(plan)
        leaves = dict.fromkeys(
            place
            for stop in stops
            for step in stop.steps
            for place in (step.source, step.target)
            if isinstance(place, StairId) and len(place.streams) == 1
        )
        return RoutingTable(tuple(stops), tuple(leaves))

    def _tree(self, root: Join) -> list[Stop]:
        ids: dict[int, StairId | Place] = {}
        thetas: dict[int, tuple[Residual, ...]] = {}
        nodes = list(joins(root))
        for node in nodes:
            left, right = self._numbers(node.left), self._numbers(node.right)
            for side, own, other in ((node.left, left, right), (node.right, right, left)):
                key, thetas[id(side)] = self.probe_key(other, own)
                ids[id(side)] = StairId(own, key)
        ids[id(root)] = RESULTS
        stops = []
        for node in nodes:
            left_id, right_id = ids[id(node.left)], ids[id(node.right)]
            assert isinstance(left_id, StairId) and isinstance(right_id, StairId)
            steps = (
                self.step(left_id, right_id, thetas[id(node.right)]),
                self.step(right_id, left_id, thetas[id(node.left)]),
            )
            stops.append(Stop(ids[id(node)], steps))
        return stops

    def _numbers(self, node: Node) -> Streams:
        return (
            (self.number[node.name],)
            if isinstance(node, Leaf)
            else tuple(sorted(self.number[s] for s in node.streams))
        )
