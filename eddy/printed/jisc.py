"""JISC as it is printed (section 4): marks of fresh tuples, counters, and completion that starts at complete states."""

from __future__ import annotations

from eddy.errors import PolicyError
from eddy.plan.plan import Join
from eddy.printed.tree import Composite, Operator, Row, drop, joined, single, tree


class PrintedJisc:
    """Runs a tree of joins over one key, and changes it by Procedures 1 to 3.

    Procedure 2, for trees that are not left-deep, calls itself with what it was called with: it is read as completing
    both inputs first. Whether a tuple is fresh is seen in its own stream's state (section 4.4), or, with ``by_any``,
    in the states of all streams (Definition 2): the paper has both.
    """

    def __init__(self, plan: Join, number: dict[str, int], classes: int, by_any: bool) -> None:
        if classes != 1:
            raise PolicyError(
                "JISC as printed has one join attribute for all streams: give the query one key"
            )
        self._number, self._by_any = number, by_any
        self._root = tree(plan, number)
        self._changed = 0
        """The event before which the plan was last changed."""
        self._counters: dict[Operator, int] = {}
        self._leaves = self._of_streams()

    def migrate(self, plan: Join, event: int) -> None:
        """Change the plan: states of the old one that the new one has are kept, the others are incomplete."""
        known = {operator.streams: operator for operator in self._root.below()}
        self._root, self._changed, self._counters = tree(plan, self._number), event, {}
        for operator in self._root.below():
            former = known.get(operator.streams)
            if former is not None:
                operator.state, operator.complete = former.state, former.complete
            elif operator is not self._root:
                operator.complete = False
        for operator in self._root.below():
            if not operator.complete:
                self._count(operator)
        self._leaves = self._of_streams()

    def arrive(self, row: Row) -> list[Composite]:
        """Results that a row brings."""
        operator, fresh = self._leaves[row.stream], self._is_fresh(row)
        delta = [single(row)]
        operator.state += delta
        while operator.parent is not None and delta:
            opposite = operator.opposite
            if not self._contains(opposite, row) and fresh and not opposite.complete:
                self._complete(opposite, row)
            partners = [other for other in opposite.state if other.keys == row.keys]
            delta = [joined(one, other, row.event) for one in delta for other in partners]
            operator = operator.parent
            if operator.parent is not None:
                operator.state += delta
        return delta if operator.parent is None else []

    def expire(self, row: Row) -> None:
        """A row leaves its window; section 4.4 lets its removal pass an incomplete state only if it is fresh."""
        operator: Operator | None = self._leaves[row.stream]
        fresh = self._is_fresh(row)
        while operator is not None:
            if not drop(operator, row) and not (fresh and not operator.complete):
                return
            operator = operator.parent

    def work(self) -> None:
        """Nothing is done between pushes."""

    def _of_streams(self) -> dict[int, Operator]:
        return {min(o.streams): o for o in self._root.below() if not o.inputs}

    def _is_fresh(self, row: Row) -> bool:
        """Whether its own stream, or any, has no other row of its key that arrived since the change."""
        leaves = self._leaves.values() if self._by_any else (self._leaves[row.stream],)
        return not any(
            other.keys == row.keys and other.made >= self._changed and not other.has(row)
            for leaf in leaves
            for other in leaf.state
        )

    @staticmethod
    def _contains(operator: Operator, row: Row) -> bool:
        return any(composite.keys == row.keys for composite in operator.state)

    def _count(self, operator: Operator) -> None:
        """The counter of an incomplete state (section 4.3); none where both inputs are incomplete."""
        counts = [len({tuple(c.keys.values()) for c in o.state}) for o in operator.inputs if o.complete]
        if counts:
            self._counters[operator] = min(counts)
            self._found_complete(operator)

    def _complete(self, probed: Operator, row: Row) -> None:
        """Complete a state for the key of a row: by Procedure 3 where it is left-deep, else from both inputs up."""
        left = all(not operator.inputs or not operator.inputs[1].inputs for operator in probed.below())
        if not left:
            self._complete_inputs(probed, row)
            return
        start = probed
        while not start.complete:
            start = start.inputs[0]
        while start is not probed:
            assert start.parent is not None
            start = start.parent
            if not self._add(start, row):
                return

    def _complete_inputs(self, operator: Operator, row: Row) -> None:
        if not operator.complete:
            for child in operator.inputs:
                self._complete_inputs(child, row)
            self._add(operator, row)

    def _add(self, operator: Operator, row: Row) -> bool:
        """Add all joins of a key, whatever of them is there already; whether both inputs have the key."""
        has = [self._contains(child, row) for child in operator.inputs]
        if all(has):
            operator.state += [joined(one, other, row.event) for one, other in operator.pairs(row.keys)]
        if any(has) and operator in self._counters:
            self._counters[operator] -= 1
            self._found_complete(operator)
        return all(has)

    def _found_complete(self, operator: Operator) -> None:
        """A counter at zero makes a state complete; and a parent without a counter, if both its inputs are."""
        if self._counters.get(operator, 0) > 0:
            return
        operator.complete = True
        parent = operator.parent
        if parent is not None and not parent.complete and parent not in self._counters:
            if all(child.complete for child in parent.inputs):
                self._found_complete(parent)
