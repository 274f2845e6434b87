"""Two plans in one routing table: the new one, and of the old one what the new one cannot make yet.

Every state that both plans have is shared, leaves at the least. The new plan's other states start empty, so they lack
the composites that were complete before the change, and whatever is built on these. Between two shared states lies a
*task* (HybMig, section 3.1): the part of each plan that leads from the shared states below it to the one on top. For
every task the old plan goes on with a scope: the pairs of shared states that the new plan joins first, both old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from eddy.plan.compiler import RESULTS, Place, RoutingTable, StairId, Step, Stop, Streams
from eddy.plan.scope import Scope
from eddy.tracks.role import Role

Out = StairId | Place


@frozen(eq=False)
class Task:
    """A shared state that the plans reach in different ways, what the old plan makes of it, and the states between."""

    top: Out
    scope: Scope
    missing: tuple[StairId, ...]
    """States of the new plan that start empty, each after those below it."""


@frozen(eq=False)
class Hybrid(Role):
    """The role of a track that is two plans in one: of the results the old plan makes those in the tasks' scopes."""

    stops: tuple[Stop, ...] = ()
    """Those of both plans, in an order in which they can run."""
    tasks: tuple[Task, ...] = ()

    @property
    def table(self) -> RoutingTable:
        leaves = dict.fromkeys(
            side
            for stop in self.stops
            for step in stop.steps
            for side in (step.source, step.target)
            if isinstance(side, StairId) and len(side.streams) == 1
        )
        return RoutingTable(self.stops, tuple(leaves))


def combine(old: RoutingTable, new: RoutingTable, cuts: Sequence[int], sharing: bool) -> Hybrid:
    """Both plans as one; ``cuts`` are the next rows of all streams. Without ``sharing`` only leaves are shared."""
    if not sharing:
        old = _apart(old)
    before = {stop.out: stop for stop in old.stops}
    after = {stop.out: stop for stop in new.stops}
    stops, tasks = [], []
    for stop in new.stops:
        former = before.get(stop.out)
        if former is None or _steps(former) == _steps(stop):
            stops.append(stop)
            continue
        missing, entries = _below(stop, after, before)
        scope = Scope([{s: cuts[s] for s in entry} for entry in entries])
        if entries:
            tasks.append(Task(stop.out, scope, missing))
            stops += [evolve(s, steps=limited(s.steps, scope)) for s in _former(former, before, after)]
            stop = evolve(stop, steps=(*limited(former.steps, scope), *stop.steps))
        stops.append(stop)
    return Hybrid(scopes=tuple(task.scope for task in tasks), stops=tuple(stops), tasks=tuple(tasks))


def _apart(table: RoutingTable) -> RoutingTable:
    """The plan of ``table`` with composites of its own."""

    def own(place: Out) -> Out:
        return evolve(place, former=True) if isinstance(place, StairId) and len(place.streams) > 1 else place

    def step(s: Step) -> Step:
        target = own(s.target)
        assert isinstance(target, StairId)
        return evolve(s, source=own(s.source), target=target)

    stops = tuple(Stop(own(stop.out), tuple(step(s) for s in stop.steps)) for stop in table.stops)
    return RoutingTable(stops, table.leaves)


def _steps(stop: Stop) -> set[tuple[Out, Out]]:
    return {(step.source, step.target) for step in stop.steps}


def limited(steps: Iterable[Step], scope: Scope) -> tuple[Step, ...]:
    """These steps, making only what is in a scope."""
    return tuple(evolve(step, scope=scope) for step in steps)


def _children(stop: Stop) -> tuple[Out, ...]:
    """What a stop reads; the two sides of a join, or the sources and leaves of orderings."""
    return tuple(dict.fromkeys(side for step in stop.steps for side in (step.source, step.target)))


def _below(
    top: Stop, after: Mapping[Out, Stop], before: Mapping[Out, Stop]
) -> tuple[tuple[StairId, ...], list[Streams]]:
    """The new plan's own states below a shared one, lowest first, and the streams of those made of shared states."""
    missing: list[StairId] = []
    entries: list[Streams] = []

    def visit(stop: Stop) -> None:
        own = [c for c in _children(stop) if isinstance(c, StairId) and c in after and c not in before]
        for child in own:
            visit(after[child])
            missing.append(child)
        if not own and stop is not top and isinstance(stop.out, StairId):
            entries.append(stop.out.streams)

    visit(top)
    return tuple(missing), entries


def _former(top: Stop, before: Mapping[Out, Stop], after: Mapping[Out, Stop]) -> list[Stop]:
    """The old plan's stops below a shared state that the new plan has not, lowest first."""
    found: dict[Out, Stop] = {}

    def visit(stop: Stop) -> None:
        for child in _children(stop):
            if child in before and child not in after and child not in found and child != RESULTS:
                visit(before[child])
                found[child] = before[child]

    visit(top)
    return list(found.values())


def narrow(hybrid: Hybrid, task: Task, state: StairId, cuts: Sequence[int]) -> None:
    """Background computation has completed a state: a scope shrinks (with the cut-offs that make this exact).

    Rows of the sibling's streams that came before ``cuts``, the next rows, have met the state while it was not
    complete, so the old plan goes on for them; later ones it need not see.
    """
    parent = next(
        stop
        for stop in hybrid.stops
        if any(step.scope is None and state in (step.source, step.target) for step in stop.steps)
    )
    inside = frozenset(state.streams)
    kept: list[Mapping[int, int]] = []
    for entry in task.scope.entries:
        if not inside >= set(entry):
            kept.append(entry)
        elif parent.out != task.top:
            siblings = [s for child in _children_of_new(parent) if child != state for s in child.streams]
            kept.append({**entry, **{s: cuts[s] for s in siblings}})
    task.scope.entries = kept


def _children_of_new(stop: Stop) -> tuple[Out, ...]:
    return _children(Stop(stop.out, tuple(step for step in stop.steps if step.scope is None)))
