"""JIT as it is printed (sections III and IV): MNS buffers, blacklists, and resumption by time.

Sub-tuples of one component, and the empty one, are detected by `Identify_MNS` and suspended (Type I). Those of several
components are left alone, as the paper allows.
"""

from __future__ import annotations

from attrs import define, field, frozen

from eddy.plan.plan import Join
from eddy.printed.tree import Composite, Operator, Row, joined, matches, single, tree


@frozen
class Mns:
    """A sub-tuple that nothing matches: a row, by the values that the consumer compares; no row: the empty one."""

    row: Row | None
    keys: tuple[tuple[int, int], ...] = ()
    """Key class and value."""

    def is_in(self, composite: Composite) -> bool:
        """Whether a composite has a row of the same stream with the same values."""
        if self.row is None:
            return True
        return any(
            row.stream == self.row.stream and all(row.keys[key] == value for key, value in self.keys)
            for row in composite.rows
        )


@define(eq=False)
class Side:
    """One input of a join."""

    producer: Operator
    """Where it comes from: a join, or a stream, which takes no feedback."""
    state: list[Composite] = field(factory=list)
    buffer: list[Mns] = field(factory=list)
    """What was found in this input that nothing in the other one matches (NB)."""
    blacklist: dict[Mns, list[tuple[Composite, int]]] = field(factory=dict)
    """For each MNS that was suspended, composites with the event at which they were put there."""


class PrintedJit:
    """Runs a tree of joins with feedback as printed."""

    def __init__(self, plan: Join, number: dict[str, int], classes: dict[int, frozenset[int]]) -> None:
        self._root = tree(plan, number)
        self._members = classes
        """Which streams have each key class."""
        self._sides = {
            operator: Side(operator) for operator in self._root.below() if operator is not self._root
        }
        self._leaves = {min(o.streams): o for o in self._root.below() if not o.inputs}
        self._halted: dict[Operator, int] = {}
        """Joins that were suspended for the empty tuple, and since which event."""
        self._current: dict[Operator, list[Composite]] = {operator: [] for operator in self._sides}
        """What each operator has brought that is being joined."""
        self._results: list[Composite] = []
        self._now = 0

    def arrive(self, row: Row) -> list[Composite]:
        """Results that a row brings."""
        self._results, self._now = [], row.event
        self._process(self._leaves[row.stream], single(row))
        return self._results

    def expire(self, row: Row) -> None:
        """A row leaves its window, and with it every MNS that it was found in."""
        for side in self._sides.values():
            side.state = [composite for composite in side.state if not composite.has(row)]
            side.buffer = [mns for mns in side.buffer if mns.row is not row]
            for mns, held in side.blacklist.items():
                side.blacklist[mns] = [entry for entry in held if not entry[0].has(row)]

    def work(self) -> None:
        """Nothing is done between pushes."""

    def _process(self, source: Operator, t: Composite) -> None:
        """Process_Input: ``t`` comes from an operator to the join above it."""
        if source.parent is None:
            self._results.append(t)
            return
        side, other = self._sides[source], self._sides[source.opposite]
        if source.parent in self._halted:
            side.state.append(t)
            return
        for mns, held in side.blacklist.items():
            if mns.is_in(t):
                held.append((t, self._now))
                return
        matched = [mns for mns in other.buffer if mns.row is None or matches(dict(mns.keys), t.keys)]
        other.buffer = [mns for mns in other.buffer if mns not in matched]
        resumed = [found for mns in matched for found in self._resume(other.producer, mns)]
        found, suspended = False, False
        self._current[source].append(t)
        for partner in [*other.state]:
            if matches(t.keys, partner.keys):
                found = True
                self._process(source.parent, joined(t, partner, self._now))
                suspended = any(entry[0] is t for held in side.blacklist.values() for entry in held)
                if suspended:  # it was cut short
                    break
        self._current[source].pop()
        if not found:
            for mns in self._identify(source, t):
                if source.inputs and mns not in side.buffer:
                    side.buffer.append(mns)
                    self._suspend(source, mns)
        if not suspended:
            side.state.append(t)
        for partner in resumed:
            if matches(t.keys, partner.keys):
                self._process(source.parent, joined(t, partner, self._now))
        other.state += resumed

    def _identify(self, source: Operator, t: Composite) -> list[Mns]:
        """Identify_MNS, of which only nodes up to the first level are asked for; those alive are minimal."""
        opposite = source.opposite
        state = self._sides[opposite].state
        if not state:
            return [Mns(None)]
        found = []
        for row in t.rows:
            keys = {key: value for key, value in row.keys.items() if self._members[key] & opposite.streams}
            if keys and not any(matches(keys, partner.keys) for partner in state):
                found.append(Mns(row, tuple(keys.items())))
        return found

    def _suspend(self, producer: Operator, mns: Mns) -> None:
        """Suspend_Production at a join, and further up the stream of data."""
        if not producer.inputs:
            return
        if mns.row is None:
            self._halted.setdefault(producer, self._now)
            return
        for child in producer.inputs:
            if mns.row.stream in child.streams:
                self._suspend(child, mns)
                side = self._sides[child]
                held = side.blacklist.setdefault(mns, [])
                held += [(composite, self._now) for composite in side.state if mns.is_in(composite)]
                side.state = [composite for composite in side.state if not mns.is_in(composite)]
                held += [(t, self._now) for t in self._current[child] if mns.is_in(t)]

    def _resume(self, producer: Operator, mns: Mns) -> list[Composite]:
        """Resume_Production: what a join makes of the partners that came after the suspension."""
        if not producer.inputs:
            return []
        left, right = (self._sides[child] for child in producer.inputs)
        if mns.row is None:
            since = self._halted.pop(producer, None)
            pairs = [] if since is None else [(a, b) for a in left.state for b in right.state]
            late = [(a, b) for a, b in pairs if max(a.made, b.made) >= (since or 0)]
            return [joined(a, b, self._now) for a, b in late if matches(a.keys, b.keys)]
        found = []
        for side, other in ((left, right), (right, left)):
            if mns.row.stream in side.producer.streams:
                back = [(composite, -1) for composite in self._resume(side.producer, mns)]
                for composite, since in side.blacklist.pop(mns, []) + back:
                    found += [
                        joined(composite, partner, self._now)
                        for partner in other.state
                        if partner.made > since and matches(composite.keys, partner.keys)
                    ]
                    side.state.append(composite)
        return found
