"""Orderings: for each stream, what its rows visit and in which order.

A visit is to a stream, or to a STAIR of composites, which is written by its streams in parentheses. Plans of streams
alone keep no composites; a tree keeps those of every inner node; between them every composite is kept or not by
itself, which is *adaptive caching* (Babu et al., ICDE 2005). `((A B) C) D` without the composites of A, B and C is
``A: B C D | B: A C D | C: (A B) D | D: C (A B)``.

What fills a STAIR are the itineraries of its own streams. So these must come through it: whatever a row of A visits
first, at some point it must have seen exactly B if somebody visits (A B). This is the prefix condition of that paper,
and all that there is to check: it also keeps out STAIRs that overlap, since no row could come through both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from eddy.errors import PlanError
from eddy.plan.selectors import ByValue, Selector

Visit = str | tuple[str, ...]
"""A stream, or the streams of a STAIR in the order of declaration."""
Order = tuple[Visit, ...]
Ways = tuple[tuple[int, Order], ...]
"""Orders, each with a weight."""


@frozen
class Orderings:
    """For each stream, the others in the order in which its rows visit them."""

    orders: Mapping[str, Order] = field(hash=False)
    """The order, or the first one where there are several."""
    several: Mapping[str, Ways] = field(factory=dict, hash=False)
    """Streams whose rows take several ways, in proportion to the weights."""
    selectors: Mapping[str, Selector] = field(factory=dict, hash=False)
    """Of some of these, which rows take which way; else it is ranges of a batch."""

    def ways(self, name: str) -> Ways:
        """The orders of a stream."""
        return self.several.get(name, ((1, self.orders[name]),))

    @property
    def kept(self) -> frozenset[frozenset[str]]:
        """The STAIRs that somebody visits, by their streams."""
        visits = (visit for name in self.orders for _, order in self.ways(name) for visit in order)
        return frozenset(frozenset(visit) for visit in visits if not isinstance(visit, str))

    def heads(self, name: str) -> list[str]:
        """What is written before the colon of each way of a stream."""
        weights = [weight for weight, _ in self.ways(name)]
        if name in self.selectors:
            return self.selectors[name].heads(name, weights)
        return [f"{name} {weight}" for weight in weights] if name in self.several else [name]

    def __str__(self) -> str:
        return " | ".join(
            f"{head}: {' '.join(map(show_visit, order))}"
            for name in self.orders
            for head, (_, order) in zip(self.heads(name), self.ways(name), strict=True)
        )


def orderings(ways: Mapping[str, Ways], selectors: Mapping[str, Selector] | None = None) -> Orderings:
    """A plan in which the rows of each stream take these ways. Ways of the same order are one."""
    found, kept = {}, {}
    for name, some in ways.items():
        selector = (selectors or {}).get(name)
        found[name], selector = (
            _by_value(some, selector) if isinstance(selector, ByValue) else (_weighted(some), selector)
        )
        if selector is not None and len(found[name]) > 1:
            kept[name] = selector
    several = {name: some for name, some in found.items() if len(some) > 1}
    return Orderings({name: some[0][1] for name, some in found.items()}, several, kept)


def _weighted(ways: Ways) -> Ways:
    found: dict[Order, int] = {}
    for weight, order in ways:
        found[order] = found.get(order, 0) + weight
    return tuple((weight, order) for order, weight in found.items())


def _by_value(ways: Ways, selector: ByValue) -> tuple[Ways, ByValue]:
    """What goes the way of all others needs not be told from them."""
    rest, found = ways[-1][1], dict[Order, tuple[int, ...]]()
    for (_, order), values in zip(ways[:-1], selector.values, strict=True):
        if order != rest:
            found[order] = tuple(sorted((*found.get(order, ()), *values)))
    return tuple((1, order) for order in (*found, rest)), ByValue(selector.column, tuple(found.values()))


def show_visit(visit: Visit) -> str:
    return visit if isinstance(visit, str) else f"({' '.join(visit)})"


def streams_of(visit: Visit) -> tuple[str, ...]:
    return (visit,) if isinstance(visit, str) else visit


def prefixes(name: str, order: Order) -> Iterator[frozenset[str]]:
    """What a row has seen after each visit, its own stream included."""
    seen = frozenset((name,))
    for visit in order:
        seen |= frozenset(streams_of(visit))
        yield seen


def check_prefixes(plan: Orderings, text: str) -> None:
    """Refuse a plan that visits a STAIR which the orderings of its streams do not make."""
    for name in plan.orders:
        for _, order in plan.ways(name):
            for visit in order:
                if not isinstance(visit, str):
                    _check_made(plan, visit, name, text)


def _check_made(plan: Orderings, stair: tuple[str, ...], visitor: str, text: str) -> None:
    for name in stair:
        for _, order in plan.ways(name):
            if frozenset(stair) not in prefixes(name, order):
                rest = " ".join(other for other in stair if other != name)
                raise PlanError(
                    f"in plan {text!r}, {visitor} visits {show_visit(stair)}, to which rows of {name} do not "
                    f"come: the ordering of {name} must begin with {rest}, in any order, as in '{name}: {rest} ...'"
                )
