"""Content-based routing: rows with some values of a key take one way, and all others another.

After Bizarro, Babu, DeWitt and Widom, *Content-Based Routing: Different Plans for Different Data* (VLDB 2005). There
operators learn from profiled tuples which attribute tells most about their selectivities (by information gain), and
tuples are routed by its classes. Here the attribute is a key by which the stream is joined, and the classes are two:
the values whose rows have most of the matches in some other stream, by a sample of rows, and all others. Each class is
given the order that a sample of its rows finds the cheapest, one step after the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import SAMPLED
from policies.optimizer.model import CostModel
from policies.optimizer.plans import flat, read
from policies.optimizer.portions import Pieces
from policies.optimizer.search import cost_of, search, seconds
from policies.optimizer.steps import all_steps, steps_of
from policies.routing.orders import Order, followers
from policies.view import Content, View

STREAMS = 5
"""Streams up to which it is considered: every pair of them may have to be sampled."""
MATCHES = 2.0
"""Matches of a row, on average, from which on it may matter which rows have them."""
MOST = 0.9
"""The part of the rows that may have the values: for fewer others it is not worth while."""

LOOKS, SPLITS = 6, 2
"""Steps of rows of which that is seen; and how many sets of values are tried then."""
LOOK = 8e-5
"""Seconds in which it is seen whether some values have most of the matches."""

Values = tuple[str, str, tuple[int, ...]]
"""A stream, one of its key columns, and some values of it."""

_WAYS = re.compile(r"(\S+) (\S+) in \(([-\d, ]+)\)")


@frozen
class Split:
    """Of a stream ``name``, the rows with some ``values`` of a ``column`` go by ``hot``, and all others by ``rest``."""

    name: str
    column: str
    values: tuple[int, ...]
    hot: Order
    rest: Order

    def __str__(self) -> str:
        values = ", ".join(map(str, self.values))
        return f"{self.name} {self.column} in ({values}): {' '.join(self.hot)} | {self.name}: {' '.join(self.rest)}"


def splits_in(plan: str) -> dict[str, Split]:
    """The streams that a plan splits into two by value; others, and those with composites, are left out."""
    if " in (" not in plan:
        return {}
    parts = [part.strip().partition(":") for part in plan.split("|")]
    orders = {head: tuple(tail.split()) for head, _, tail in parts if "(" not in tail}
    found: dict[str, Split | None] = {}
    for head, _, tail in parts:
        match = _WAYS.fullmatch(head)
        if match is not None:
            name, column, inside = match.groups()
            rest, again = orders.get(name), name in found
            values = tuple(map(int, inside.split(",")))
            whole = rest is not None and "(" not in tail and not again
            found[name] = Split(name, column, values, tuple(tail.split()), rest or ()) if whole else None
    return {name: split for name, split in found.items() if split is not None}


def cost_with(plan: str, view: View, believed: Estimate, model: CostModel) -> Pieces[float]:
    """Seconds an event that a plan takes, with what its splits save by a sample of rows."""
    total = cost_of(plan, believed, model)
    for split in splits_in(plan).values():
        if view.content is not None:
            together, apart = yield from _weigh(split, split.rest, view.content, view, model)
            if together > 0.0:
                total -= driven(plan, split.name, believed, model) * (1.0 - min(1.0, apart / together))
    return max(total, 0.0)


def driven(plan: str, name: str, believed: Estimate, model: CostModel) -> float:
    """Seconds an event of those steps of a plan that rows of a stream take, and what comes of them alone."""
    steps, own = steps_of(plan, believed.graph), believed.mask((name,))
    mine = [step for step in steps.steps if step.drivers == own]
    return seconds(all_steps(mine, (), believed.graph), believed, model.array(believed))


def splitting(
    plan: str, view: View, believed: Estimate, model: CostModel, shape: str, gain: float
) -> Pieces[str | None]:
    """A plan of orderings in which one stream is split, where that takes less than any one order for all its rows, by
    a share of ``gain``; None if there is none. It goes by ``plan``, where that is one of orderings alone."""
    if not 2 < len(view.graph.names) <= STREAMS or shape not in ("any", "orderings"):
        return None
    if view.content is None or view.pinned or view.joins != "hash":
        return None
    heavy = yield from _heavy(view.content, view, believed)
    if not heavy:
        return None
    orders = read(plan)
    if not isinstance(orders, Mapping) or not flat(orders):
        plan, _ = yield from search(believed, model, "orderings")
        orders = read(plan)
    assert isinstance(orders, Mapping)
    best, saved = None, 0.0
    for name, column, values in heavy:
        own = tuple(map(str, orders[name]))
        split, less = yield from _split(view.content, view, (name, column, values), own, model)
        less *= driven(plan, name, believed, model)
        if less > saved and split is not None:
            best, saved = split, less
    wanted = gain * (0.0 if best is None else driven(plan, best.name, believed, model))
    if best is None or saved <= wanted:
        return None
    parts = {name: f"{name}: {' '.join(map(str, order))}" for name, order in orders.items()}
    return " | ".join({**parts, best.name: str(best)}.values())


def _heavy(content: Content, view: View, believed: Estimate) -> Pieces[list[Values]]:
    """Values of streams whose rows have most of the matches somewhere, where there are many, and where rows can go
    elsewhere first: of those few steps that find most in an event."""
    ranked = []
    for name in view.graph.names:
        targets = followers(view.graph, (name,), [other for other in view.graph.names if other != name])
        for target in targets if len(targets) > 1 else ():
            matches = believed.known.get(frozenset((name, target)), 0.0) / max(view.live[name], 1)
            if matches >= MATCHES and believed.rates[name] > 0.0:
                ranked.append((believed.rates[name] * matches, name, target))
    found: list[Values] = []
    for _, name, target in sorted(ranked, key=lambda each: -each[0])[:LOOKS]:
        told = content.heavy(name, target)
        yield LOOK
        if told is not None and (name, *told) not in found:
            found.append((name, *told))
    return found[:SPLITS]


def _split(
    content: Content, view: View, values: Values, own: Order, model: CostModel
) -> Pieces[tuple[Split | None, float]]:
    """The best split by some values, and what part it saves of what rows take by the best single order: that which
    they have, or one of the two."""
    if not 0.0 < content.share(*values) <= MOST:
        return None, 0.0
    first = yield from _next(content, view, values, True, ())
    if first == (yield from _next(content, view, values, False, ())):
        return None, 0.0  # most is saved, or not, by where rows go first
    hot = yield from _order(content, view, values, True)
    rest = yield from _order(content, view, values, False)
    split, single, apart = Split(*values, hot, rest), math.inf, math.inf
    for order in (own, hot, rest):
        together, apart = yield from _weigh(split, order, content, view, model)
        single = min(single, together)
    return split, 1.0 - apart / single if single > 0.0 else 0.0


def _order(content: Content, view: View, values: Values, inside: bool) -> Pieces[Order]:
    """The order of a class of rows: each time to the stream that lets the fewest matches pass."""
    path: Order = ()
    while len(path) + 1 < len(view.graph.names):
        path = (*path, (yield from _next(content, view, values, inside, path)))
    return path


def _next(content: Content, view: View, values: Values, inside: bool, path: Order) -> Pieces[str]:
    """The stream that lets the fewest matches pass of a class of rows that have come along a path."""
    seen, means = (values[0], *path), {}
    for other in followers(view.graph, seen, [name for name in view.graph.names if name not in seen]):
        means[other] = content.sample_group(*values, inside, (*path, other))[-1]
        yield SAMPLED
    return min(means, key=lambda other: means[other])


def _weigh(
    split: Split, order: Order, content: Content, view: View, model: CostModel
) -> Pieces[tuple[float, float]]:
    """Seconds that a row takes, on average, where all rows go by one ``order``; and where they are split, which
    itself takes to look at each row twice."""
    given = split.name, split.column, split.values
    share, together, apart = content.share(*given), 0.0, 2 * (model.probe + model.match)
    for inside, part, own in ((True, share, split.hot), (False, 1.0 - share, split.rest)):
        if part > 0.0:
            together += part * _row_seconds(order, content.sample_group(*given, inside, order), view, model)
            apart += part * _row_seconds(own, content.sample_group(*given, inside, own), view, model)
            yield SAMPLED
    return together, apart


def _row_seconds(order: Order, means: Sequence[float], view: View, model: CostModel) -> float:
    """Seconds that a row takes which visits streams in an order and has so many matches after each."""
    total, entries = 0.0, 1.0
    for width, (target, mean) in enumerate(zip(order, means, strict=True), 2):
        total += entries * (model.probe + model.reaching(view.live[target], 1))
        total += mean * (model.match + model.byte * (12 + 4 * width))
        entries = mean
    return total
