"""From a plan to a routing table: for each stream, the steps that its rows take.

A step probes one STAIR with the key of the entries at hand and puts the matches into the next STAIR, or into a
ring that nobody probes, or among the results. Trees and orderings both come down to this, so the router knows
nothing else. Steps that write to one place form a *stop*; a batch runs through the stops in order, each when
all that it reads is up to date.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from eddy.duty import Duty
from eddy.plan import Join, Leaf, Node, Order, Orderings, Plan, Ways, joins
from eddy.query import Query
from eddy.residual import Residual
from stairs.program_kernels import WHOLE

Streams = tuple[int, ...]
"""Stream numbers, ascending: also the order of the components in an entry."""


@frozen(cache_hash=True)
class Key:
    """What a STAIR is keyed by: key classes, or the row number of one stream (theta), or nothing (cross product)."""

    classes: tuple[int, ...] = ()
    row: int | None = None


@frozen(cache_hash=True)
class StairId:
    """A STAIR's identity: a plan change keeps the STAIRs that the new plan has too."""

    streams: Streams
    key: Key
    former: bool = False
    """It belongs to a plan that is being left and is not shared with the new one."""


@frozen(cache_hash=True)
class Place:
    """Where matches go that are not stored: the prefix of a stream's own ordering."""

    path: Streams
    key: Key
    way: int = 0
    """Which of the orderings of its stream, where there are several."""

    @property
    def streams(self) -> Streams:
        return tuple(sorted(self.path))


RESULTS = Place((), Key())
"""Where complete combinations go."""


@frozen(eq=False)
class Step:
    """Probe ``target`` with the entries of ``source``. With ``theta`` the key is each row of stream ``target.key.row``
    that the predicate accepts; without it, and without classes, everything matches."""

    source: StairId | Place
    target: StairId
    theta: Residual | None = None
    residuals: tuple[Residual, ...] = ()
    """Predicates that both sides together decide, evaluated on the matches."""
    duty: Duty | None = None
    """Of the matches only those count that the track still owes."""
    share: tuple[int, int] = (0, WHOLE)
    """The part of the entries of a batch that takes this step, in WHOLE-ths: from, to."""

    @property
    def streams(self) -> Streams:
        return tuple(sorted(self.source.streams + self.target.streams))


@frozen(eq=False)
class Stop:
    """All steps into one place."""

    out: StairId | Place
    steps: tuple[Step, ...]


@frozen(eq=False)
class RoutingTable:
    """The compiled plan."""

    stops: tuple[Stop, ...]
    leaves: tuple[StairId, ...]
    """Leaves that the plan probes or starts from."""

    @property
    def itineraries(self) -> dict[int, tuple[tuple[Step, ...], ...]]:
        """For each stream the ways that its rows take, most often one: the steps of each in order."""
        steps = [(step, stop.out) for stop in self.stops for step in stop.steps]
        after = {step.source: (step, out) for step, out in steps}

        def follow(step: Step, out: StairId | Place) -> tuple[Step, ...]:
            return (step,) if out == RESULTS else (step, *follow(*after[out]))

        starts = [(step, out) for step, out in steps if len(step.source.streams) == 1]
        streams = sorted(step.source.streams[0] for step, _ in starts)
        return {
            s: tuple(follow(*start) for start in starts if start[0].source.streams == (s,)) for s in streams
        }

    @property
    def stairs(self) -> tuple[StairId, ...]:
        """Composite STAIRs, each after those below it."""
        return tuple(stop.out for stop in self.stops if isinstance(stop.out, StairId))


class Compiler:
    """Knows a query's predicates by stream number."""

    def __init__(self, query: Query) -> None:
        number = {name: i for i, name in enumerate(query.names)}
        self.number = number
        self.classes = [frozenset(number[name] for name in c.members) for c in query.key_classes]
        self.residuals = [(r, frozenset(number[name] for name in r.streams)) for r in query.residuals]
        self.names = query.names
        self.static = frozenset(number[name] for name, stream in query.streams.items() if stream.static)

    def shared(self, some: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
        """The key classes that two sets of streams have in common."""
        return tuple(
            i
            for i, members in enumerate(self.classes)
            if not members.isdisjoint(some) and not members.isdisjoint(others)
        )

    def connected(self, some: frozenset[str], name: str) -> bool:
        """Whether a predicate that the streams together decide reads the one more stream."""
        streams, one = {self.number[s] for s in some}, self.number[name]
        if self.shared(tuple(streams), (one,)):
            return True
        return any(
            one in reads and reads <= streams | {one} and len(reads) > 1 for _, reads in self.residuals
        )

    def probe_key(self, source: Streams, target: Streams) -> tuple[Key, Residual | None]:
        """How entries of ``source`` find theirs in ``target``: its key, and a predicate where there is no equality."""
        classes = self.shared(source, target)
        if classes:
            return Key(classes), None
        best: tuple[Key, Residual | None] = (Key(), None)
        for residual, reads in self.residuals:
            inside = reads & frozenset(target)
            if len(inside) == 1 and reads <= frozenset(source + target) and not reads <= inside:
                (row,) = inside
                if residual.range_for(self.names[row]) is not None:
                    return Key(row=row), residual
                best = (Key(row=row), residual)
        return best

    def step(self, source: StairId | Place, target: StairId, theta: Residual | None) -> Step:
        """A step with the predicates that become decidable there."""
        ours, theirs = frozenset(source.streams), frozenset(target.streams)
        decided = tuple(
            r
            for r, reads in self.residuals
            if reads <= ours | theirs and not reads <= ours and not reads <= theirs
        )
        return Step(source, target, theta, tuple(r for r in decided if r is not theta))

    def compile(self, plan: Plan) -> RoutingTable:
        """The routing table of a plan."""
        stops = self._orderings(plan) if isinstance(plan, Orderings) else self._tree(plan)
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
        thetas: dict[int, Residual | None] = {}
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

    def _orderings(self, plan: Orderings) -> list[Stop]:
        stops, last = [], []
        for name in plan.orders:
            for way, (share, order) in enumerate(_shares(plan.ways(name))):
                path: Streams = (self.number[name],)
                targets = [(self.number[other],) for other in order]
                key, theta = self.probe_key(path, targets[0])
                source: StairId | Place = StairId(path, key if key.classes else Key(row=path[0]))
                for i, target in enumerate(targets):
                    step = self.step(source, StairId(target, key), theta)
                    if i == 0:
                        step = evolve(step, share=share)
                    path = path + target
                    if i + 1 == len(targets):
                        last.append(step)
                        break
                    key, theta = self.probe_key(tuple(sorted(path)), targets[i + 1])
                    source = Place(path, key, way)
                    stops.append(Stop(source, (step,)))
        return [*stops, Stop(RESULTS, tuple(last))]


def _shares(ways: Ways) -> list[tuple[tuple[int, int], Order]]:
    """The parts of the rows that take each way: none is left out, and none taken twice."""
    total, ends = sum(weight for weight, _ in ways), [0]
    for weight, _ in ways:
        ends.append(ends[-1] + weight)
    bounds = [WHOLE * end // total for end in ends]
    return [((bounds[i], bounds[i + 1]), order) for i, (_, order) in enumerate(ways)]
