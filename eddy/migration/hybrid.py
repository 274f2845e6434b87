"""Several plans in one routing table: the newest, and of the older ones what it cannot make yet.

Every state that a new plan shares with the one before it is kept, leaves at the least. Its other states start empty:
they lack the composites that were complete before the change, and whatever is built on these. What a state lacks is a
disjunction of entries (`eddy.plan.scope`), HybMig's characteristics (section 3.2).

Steps of one plan into a state are a *group*. Where a state that was kept, or the results, has groups of several plans,
it is the top of a *task* (section 3.1), and each group makes what all later ones lack: its scope is the intersection of
what these lack. So whatever number of changes overlap, each composite is made once: by the newest plan that can. Below
a top, states that only older plans have get what the groups that read them may still need.

Why this is exact. (1) A state that is not whole has steps of one plan only, and never gets what it lacks: a later plan
shares it only if it makes it by the same steps, from the same states; otherwise that plan has one of its own, and the
older is renamed. (2) A state of older plans is left with the union of what its readers need. That only shrinks from
change to change, so it has all of it from before, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from attrs import evolve, field, frozen

from eddy.plan.compiler import RESULTS, Place, RoutingTable, StairId, Step, Stop
from eddy.plan.scope import Entry, Scope, both, meet, union
from eddy.tracks.role import Role

Out = StairId | Place

MOST_ENTRIES = 32
"""Of a scope: with more of them, it takes longer to tell who makes a composite than to make the states anew."""


@frozen(eq=False)
class Group:
    """The steps of one plan into a state, or to the results."""

    steps: tuple[Step, ...]
    plan: str
    turn: int
    scope: Scope | None = None
    """What it makes while later plans make the rest; None: it is of the current plan, and makes whatever it can."""

    @property
    def pairs(self) -> set[tuple[Out, Out]]:
        """What the steps join."""
        return {(step.source, step.target) for step in self.steps}

    @property
    def children(self) -> tuple[Out, ...]:
        """What it reads: the two sides of a join, or the sources and leaves of orderings."""
        return tuple(dict.fromkeys(side for step in self.steps for side in (step.source, step.target)))


Groups = dict[Out, tuple[Group, ...]]
"""For each state, and the results, the groups that make it, the oldest plan's first; states after those below them."""


@frozen(eq=False)
class Hybrid(Role):
    """The role of a track that is several plans in one."""

    groups: Groups = field(factory=dict)
    lacking: dict[StairId, list[Entry]] = field(factory=dict)
    """What the states that are not whole lack beside what the states below them lack."""

    @property
    def turn(self) -> int:
        """The number of the current plan."""
        return self.groups[RESULTS][-1].turn

    @property
    def table(self) -> RoutingTable:
        """All plans as one."""
        stops = tuple(
            Stop(out, tuple(evolve(step, scope=group.scope) for group in groups for step in group.steps))
            for out, groups in self.groups.items()
        )
        sides = (side for groups in self.groups.values() for group in groups for side in group.children)
        return RoutingTable(stops, tuple(dict.fromkeys(side for side in sides if _is_leaf(side))))

    def is_current(self, out: Out) -> bool:
        """Whether the current plan has a state."""
        return self.groups[out][-1].scope is None

    @property
    def unfinished(self) -> StairId | None:
        """The lowest state of the current plan that lacks something."""
        return next(
            (state for state in self.groups if state in self.lacking and self.is_current(state)), None
        )

    def lacks(self) -> dict[Out, list[Entry]]:
        """What each state lacks, with what it lacks because the states below it do."""
        found: dict[Out, list[Entry]] = {}
        for out, (first, *_) in self.groups.items():
            own = self.lacking.get(out) if isinstance(out, StairId) else None
            found[out] = [] if own is None else union([*own, *_lack(first, found)])
        return found

    def rescope(self) -> list[StairId]:
        """Bring the scopes up to date with what states lack; returns those of the current plan that are whole now."""
        lacks = self.lacks()
        needed: dict[Out, list[Entry]] = {}
        for out, groups in reversed(self.groups.items()):
            duty = None if self.is_current(out) else union(needed.get(out, []))
            for group in reversed(groups):
                if group.scope is not None and duty is not None:
                    group.scope.entries = duty
                    for child in group.children:
                        needed.setdefault(child, []).extend(duty)
                lack = _lack(group, lacks)
                duty = lack if duty is None else meet(duty, lack)
        whole = [state for state in self.lacking if not lacks[state]]
        for state in whole:
            del self.lacking[state]
        return [state for state in whole if self.is_current(state)]

    def expire(self, lows: Sequence[int]) -> list[StairId] | None:
        """Forget what no composite of rows from ``lows`` on can meet; None if there was nothing, or as `rescope`."""
        changed = False
        for state, entries in self.lacking.items():
            scope = Scope(entries)
            if scope.expire(lows):
                self.lacking[state], changed = scope.entries, True
        return self.rescope() if changed else None

    def complete(self, state: StairId, cuts: Sequence[int]) -> list[StairId]:
        """Background computation has completed a state, the lowest; ``cuts`` are the next rows. Returns as `rescope`.

        Rows of a sibling's streams that came before have met the state while it lacked something, so what was made of
        these lacks it still; later ones find everything. (The cuts are what the printed rule leaves out.) This holds
        for each plan that reads the state.
        """
        gone = self.lacking.pop(state, [])
        for out, (group, *_) in self.groups.items():
            if out in self.lacking and isinstance(out, StairId) and state in group.children:
                seen = {s: cuts[s] for child in group.children if child != state for s in child.streams}
                self.lacking[out] += [both(entry, seen) for entry in gone]
        return self.rescope()


def alone(table: RoutingTable, plan: str) -> Hybrid:
    """A plan that has all its states."""
    return Hybrid(groups={stop.out: (Group(stop.steps, plan, 0),) for stop in table.stops})


def succeed(
    old: Hybrid, table: RoutingTable, plan: str, cuts: Sequence[int], sharing: bool
) -> tuple[Hybrid, dict[StairId, StairId]] | None:
    """Let another plan follow those of ``old``, which stays as it is; ``cuts`` are the next rows of all streams.

    Without ``sharing`` only leaves are shared. Returns what has come of it, and states of older plans that have other
    names in it. None if it would be too involved: older plans would have too many cases to tell apart.
    """
    kept = _kept(old, table) if sharing else set[Out]()
    turn = old.turn + 1
    names = {out: evolve(out, former=turn) for out in table.stairs if out in old.groups and out not in kept}
    groups = dict(_renamed(old, names))
    lacking = {names.get(state, state): [*entries] for state, entries in old.lacking.items()}
    for stop in table.stops:
        group = Group(stop.steps, plan, turn)
        earlier = groups.get(stop.out, ())
        if earlier and earlier[-1].pairs == group.pairs:
            earlier = earlier[:-1]
        elif isinstance(stop.out, StairId) and stop.out not in kept:
            lacking[stop.out] = [{s: cuts[s] for s in stop.out.streams}]
        groups[stop.out] = (*earlier, group)
    hybrid = Hybrid(groups=_with_scopes(groups, turn), lacking=lacking)
    hybrid.rescope()
    left = {
        out: tuple(g for g in made if g.scope is None or g.scope.entries)
        for out, made in hybrid.groups.items()
    }
    left = {out: made for out, made in left.items() if made}
    scopes = {id(g.scope): g.scope for made in left.values() for g in made if g.scope is not None}
    if any(len(scope.entries) > MOST_ENTRIES for scope in scopes.values()):
        return None
    mirrors = {state: mirror for state, mirror in old.mirrors.items() if state in kept}
    lacking = {state: entries for state, entries in hybrid.lacking.items() if state in left}
    return Hybrid(scopes=tuple(scopes.values()), mirrors=mirrors, groups=left, lacking=lacking), names


def _kept(old: Hybrid, table: RoutingTable) -> set[Out]:
    """The states that a plan shares with the current one: those that are whole, and others that it makes alike."""
    kept: set[Out] = set()
    for stop in table.stops:
        out = stop.out
        if isinstance(out, StairId) and out in old.groups and old.is_current(out):
            group = Group(stop.steps, "", 0)
            alike = group.pairs == old.groups[out][-1].pairs
            if out not in old.lacking or (alike and all(_is_leaf(c) or c in kept for c in group.children)):
                kept.add(out)
    return kept


def _renamed(old: Hybrid, names: Mapping[StairId, StairId]) -> Iterator[tuple[Out, tuple[Group, ...]]]:
    """The groups of plans that are left, where some states have other names."""

    def named(out: Out) -> Out:
        return names.get(out, out) if isinstance(out, StairId) else out

    def step(s: Step) -> Step:
        target = named(s.target)
        assert isinstance(target, StairId)
        return evolve(s, source=named(s.source), target=target)

    for out, groups in old.groups.items():
        yield named(out), tuple(evolve(g, steps=tuple(step(s) for s in g.steps)) for g in groups)


def _with_scopes(groups: Groups, turn: int) -> Groups:
    """The groups in an order in which they can run, with scopes for those of plans before the one of this ``turn``.

    The entries are not known yet. A state that only one group reads, of the same plan, has the scope of that.
    """
    order = sorted(groups, key=lambda out: (out == RESULTS, len(out.streams)))
    readers: dict[Out, dict[int, Scope]] = {}
    found: dict[Out, tuple[Group, ...]] = {}
    for out in reversed(order):
        made: list[Group] = []
        by = list(readers.get(out, {}).values())
        for group in reversed(groups[out]):
            scope = None
            if group.turn < turn:
                alike = not made and len(by) == 1 and by[0].turn == group.turn
                scope = by[0] if alike else _scope_of(group, counting=bool(made))
                for child in group.children:
                    readers.setdefault(child, {})[id(scope)] = scope
            made.insert(0, evolve(group, scope=scope))
        found[out] = tuple(made)
    return {out: found[out] for out in order}


def _scope_of(group: Group, counting: bool) -> Scope:
    """A scope for a group of a plan that has been left; ``counting`` goes on where the group had one."""
    scope = Scope([], group.plan, group.turn)
    if counting and group.scope is not None:
        scope.rows, scope.results = dict(group.scope.rows), group.scope.results
    return scope


def _lack(group: Group, lacks: Mapping[Out, list[Entry]]) -> list[Entry]:
    """What a group cannot make, since states that it reads lack it."""
    return union(entry for child in group.children for entry in lacks.get(child, ()))


def _is_leaf(out: Out) -> TypeGuard[StairId]:
    return isinstance(out, StairId) and len(out.streams) == 1
