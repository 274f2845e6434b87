"""Orders of streams, and plans made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from policies.graph import Graph
from policies.view import View

Order = tuple[str, ...]


def followers(graph: Graph, reached: Iterable[str], rest: Sequence[str]) -> list[str]:
    """The streams that may come next: those that a predicate links to what is there, or all if there are none."""
    reached = tuple(reached)
    return [name for name in rest if graph.linked(reached, (name,))] or list(rest)


def order_by(graph: Graph, first: str, pick: Callable[[Order, list[str]], str]) -> Order:
    """All streams from ``first`` on; ``pick`` takes one of those that may come next."""
    order: Order = (first,)
    rest = [name for name in graph.names if name != first]
    while rest:
        name = pick(order, followers(graph, order, rest))
        rest.remove(name)
        order = (*order, name)
    return order


def as_orderings(ways: Mapping[str, Mapping[Order, int]], seed: int | None = None) -> str:
    """The plan in which the rows of each stream visit the others in these orders, in proportion to the weights: by
    ranges of a batch, or, with a ``seed``, each row as it is drawn."""
    drawn = "" if seed is None else f" drawn {seed}" if seed else " drawn"
    return " | ".join(
        f"{name}{f' {weight}{drawn}' if len(orders) > 1 else ''}: {' '.join(order)}"
        for name, orders in ways.items()
        for order, weight in orders.items()
    )


def as_left_deep(order: Sequence[str], pinned: Sequence[str] = ()) -> str | None:
    """The left-deep tree of an order, in which a pinned sub-plan stands where the first of its streams does.

    None if the pins leave no choice.
    """
    streams = {text: frozenset(re.findall(r"[^\s()]+", text)) for text in pinned}
    largest = [text for text in pinned if not any(streams[text] < other for other in streams.values())]
    unit = {name: f"({text})" for text in largest for name in streams[text]}
    parts = list(dict.fromkeys(unit.get(name, name) for name in order))
    if len(parts) == 1:
        return None
    tree = parts[0]
    for part in parts[1:-1]:
        tree = f"({tree} {part})"
    return f"{tree} {parts[-1]}"


def orders_of(view: View) -> dict[str, Order]:
    """The order of each stream under the plan in use; empty if it keeps composites, or a stream takes several ways."""
    found = [part.partition(":") for part in view.plan.split("|")] if ":" in view.plan else []
    if any(len(head.split()) > 1 or "(" in tail for head, _, tail in found):
        return {}
    return {head.strip(): tuple(tail.split()) for head, _, tail in found}
