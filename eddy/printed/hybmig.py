"""HybMig with background state computation as it is printed (sections 3.2 and 3.4), for right-deep new plans."""

from __future__ import annotations

from eddy.errors import PlanError
from eddy.plan.plan import Join, Leaf
from eddy.printed.tree import Composite, Operator, Row, drop, joined, matches, single, tree


class PrintedHybMig:
    """Runs a tree of joins, and changes it to a right-deep one: ``A (B (C D))``.

    The new plan begins with empty states; the old one makes the results whose rows of the two lowest streams are both
    old. Each state that is computed in the background is merged, and from then on the old plan makes only results whose
    rows of one more stream are old, too. A row of that stream which came before the merge has met the state as it was:
    what it lacked then, nobody makes.
    """

    def __init__(self, plan: Join, number: dict[str, int], background: bool) -> None:
        self._number, self._background = number, background
        self._new = tree(plan, number)
        self._old: Operator | None = None
        self._start = 0
        """The event before which the plan was changed."""
        self._duty: list[Operator] = []
        """Joins of the new plan whose states lack old composites, lowest first."""

    def migrate(self, plan: Join, event: int) -> None:
        node = plan
        while isinstance(node.right, Join):
            if not isinstance(node.left, Leaf):
                break
            node = node.right
        if not isinstance(node.left, Leaf) or not isinstance(node.right, Leaf):
            raise PlanError("HybMig as printed changes to right-deep plans here, such as A (B (C D))")
        if self._old is not None:
            raise PlanError(
                "HybMig as printed has no rule for a change during a change: push until it is over"
            )
        self._old, self._new, self._start = self._new, tree(plan, self._number), event
        states = {operator.streams: operator.state for operator in self._old.below() if not operator.inputs}
        for operator in self._new.below():
            if not operator.inputs:
                operator.state = [*states[operator.streams]]
        self._duty = [o for o in self._new.below() if o.inputs and o.parent is not None]

    def arrive(self, row: Row) -> list[Composite]:
        """Results that a row brings: those of the old plan come first (section 3.3)."""
        found = []
        if self._old is not None and row.stream not in self._duty[0].streams:
            found = self._run(self._old, row, self._duty[0].streams)
        return found + self._run(self._new, row, frozenset())

    def expire(self, row: Row) -> None:
        for root in (self._new, self._old):
            for operator in () if root is None else root.below():
                drop(operator, row)
        self._end_if_over()

    def work(self) -> None:
        """Compute one state in the background, if that is asked for."""
        if self._old is None or not self._background:
            return
        operator = self._duty.pop(0)
        operator.state += [
            joined(one, other, self._start)
            for one, other in operator.pairs({})
            if one.all_before(self._start, operator.streams)
            and other.all_before(self._start, operator.streams)
        ]
        self._end_if_over()

    def _end_if_over(self) -> None:
        """The old plan goes when no state is left to compute, or no old row that it could serve."""
        if self._old is None:
            return
        if self._duty:
            streams = self._duty[0].streams
            leaves = [o for o in self._new.below() if not o.inputs and o.streams <= streams]
            if all(any(c.made < self._start for c in leaf.state) for leaf in leaves):
                return
        self._old, self._duty = None, []

    def _run(self, root: Operator, row: Row, duty: frozenset[int]) -> list[Composite]:
        """Results of a tree, of which the rows of the streams ``duty`` are old."""
        operator = next(o for o in root.below() if o.streams == {row.stream})
        delta = [single(row)]
        operator.state += delta
        while operator.parent is not None:
            delta = [
                joined(one, other, row.event)
                for one in delta
                for other in operator.opposite.state
                if matches(one.keys, other.keys) and other.all_before(self._start, duty)
            ]
            operator = operator.parent
            if operator.parent is not None:
                operator.state += delta
        return delta
