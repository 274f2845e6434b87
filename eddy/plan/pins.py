"""Sub-plans that the user wants kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import field, frozen

from eddy.errors import PlanError
from eddy.plan.orderings import Orderings
from eddy.plan.plan import Join, Leaf, Node, Plan, joins, parse_part


@frozen
class Pin:
    """A sub-plan. What counts is which streams meet, not which of them is written first."""

    text: str
    tree: Join = field(eq=False)

    @property
    def nodes(self) -> frozenset[frozenset[str]]:
        """The sets of streams that it joins."""
        return frozenset(join.streams for join in joins(self.tree))

    def kept(self, plan: Plan) -> bool:
        """Whether a plan has it."""
        return self.nodes <= (plan.kept if isinstance(plan, Orderings) else {j.streams for j in joins(plan)})


def parse_pin(text: str, names: Sequence[str], others: Iterable[Pin]) -> Pin:
    """Read a pin; PlanError if it makes no sense, or no tree could have it together with the others."""
    pin = Pin(text, parse_part(text, names))
    for other in others:
        for one in pin.nodes:
            for two in other.nodes:
                if one & two and not one <= two and not two <= one:
                    both = ", ".join(name for name in names if name in one & two)
                    raise PlanError(
                        f"{text!r} cannot be pinned beside {other.text!r}: no tree has both, since each joins {both} "
                        f"with something else first. Call unpin({other.text!r}) before"
                    )
    return pin


def check_pins(plan: Plan, pins: Iterable[Pin]) -> None:
    """Refuse a plan that breaks a pin."""
    for pin in pins:
        if not pin.kept(plan):
            raise PlanError(
                f"plan {str(plan)!r} breaks the pin {pin.text!r}, which the user wants kept: "
                f"call unpin({pin.text!r}) first, or name a plan in which it is a part"
            )


def with_pins(plan: Join, pins: Sequence[Pin]) -> Join:
    """The tree with every pinned sub-plan in the place of the first of its streams."""
    tops = [pin for pin in pins if not any(pin.tree.streams < other.tree.streams for other in pins)]
    unit = {name: pin.tree for pin in tops for name in pin.tree.streams}
    placed: set[frozenset[str]] = set()

    def graft(node: Node) -> Node | None:
        if isinstance(node, Leaf):
            tree = unit.get(node.name)
            if tree is None:
                return node
            if tree.streams in placed:
                return None
            placed.add(tree.streams)
            return tree
        left, right = graft(node.left), graft(node.right)
        return Join(left, right) if left is not None and right is not None else left or right

    grafted = graft(plan)
    assert isinstance(grafted, Join)
    return grafted
