"""The steps of a plan, as the cost model counts them: whatever its shape, a plan is what its steps are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from policies.graph import Graph
from policies.optimizer.estimate import EXACT
from policies.optimizer.links import bits_of
from policies.optimizer.plans import Orders, Tree, Visit, nodes, read, singles, streams
from policies.optimizer.words import Table, Words, layout_of

Key = tuple[int, ...]
"""The key classes that two sets of streams share."""


@frozen
class Step:
    """Entries of ``source`` probe ``target``; sets of streams as bits."""

    source: int
    target: int
    drivers: int
    """The streams whose arrivals make these entries."""
    made: int = 1
    """How often it is made, into places of different keys."""
    linked: int = 0
    """In how many of them matches are stored."""


@frozen(eq=False)
class Steps:
    """All steps of a plan, and the sets of which it keeps composites."""

    steps: frozenset[Step]
    kept: frozenset[int]
    graph: Graph
    table: NDArray[np.int64]
    """For each step its source, target, drivers, and how often it is made and linked; the two last only where there are
    too many streams for a set to be a number."""
    sets: NDArray[np.int64]
    """The source, the target, and both, of each step."""
    wide: tuple[Table, Words] | None = None
    """The same where they are rows of words, one after the other, and the drivers of each step, three times."""

    def but(self, other: Steps) -> Steps:
        """Those steps that another plan has not."""
        return all_steps(self.steps - other.steps, self.kept - other.kept, self.graph)


@lru_cache(maxsize=1024)
def steps_of(plan: str, graph: Graph) -> Steps:
    """The steps of a plan for a query."""
    shape = read(plan)
    if isinstance(shape, Mapping):
        walk = _Walk(shape, graph)
        return all_steps(walk.steps(), walk.keys, graph)
    return all_steps(_of_tree(shape, graph), _inner(shape, graph), graph)


def all_steps(made: Iterable[Step], keeping: Iterable[int], graph: Graph) -> Steps:
    """These steps, of a plan that keeps composites of some sets."""
    steps, kept = frozenset(made), frozenset(keeping)
    rows = sorted((s.source, s.target, s.drivers, s.made, s.linked) for s in steps)
    if len(graph.names) > EXACT:
        layout = layout_of(graph)
        sets = layout.words([mask for one, other, *_ in rows for mask in (one, other, one | other)])
        drivers = layout.words([drivers for _, _, drivers, *_ in rows for _ in range(3)])
        table = np.array([row[3:] for row in rows], np.int64).reshape(-1, 2)
        return Steps(steps, kept, graph, table, sets, (layout.table(sets), drivers))
    table = np.array(rows, np.int64).reshape(-1, 5)
    sets = np.stack((table[:, 0], table[:, 1], table[:, 0] | table[:, 1]), axis=1)
    return Steps(steps, kept, graph, table, np.ascontiguousarray(sets))


def _mask(names: frozenset[str] | tuple[str, ...], graph: Graph) -> int:
    bits = bits_of(graph)
    return sum(bits[name] for name in names)


def _of_tree(tree: Tree, graph: Graph) -> Iterator[Step]:
    everything = (1 << len(graph.names)) - 1
    for left, right in nodes(tree):
        one, other = _mask(streams(left), graph), _mask(streams(right), graph)
        linked = int(one | other != everything)
        yield Step(one, other, one, 1, linked)
        yield Step(other, one, other, 1, linked)


def _inner(tree: Tree, graph: Graph) -> Iterator[int]:
    everything = (1 << len(graph.names)) - 1
    for left, right in nodes(tree):
        both = _mask(streams(left) | streams(right), graph)
        if both != everything:
            yield both


class _Walk:
    """Follows orderings as the engine does (`eddy.pipelines`): from a STAIR on all go together, if they go on alike and
    by one of its keys."""

    def __init__(self, orders: Orders, graph: Graph) -> None:
        self.classes = [_mask(tuple(members), graph) for members in graph.classes]
        self.orders = {
            _mask((name,), graph): [_mask(singles(visit), graph) for visit in order]
            for name, order in orders.items()
        }
        visits: list[Visit] = [visit for order in orders.values() for visit in order]
        self.keys: dict[int, set[Key]] = {
            _mask(singles(visit), graph): set() for visit in visits if not isinstance(visit, str)
        }
        for seen, target in self._visits():
            if target in self.keys:
                self.keys[target].add(self._key(seen, target))

    def _visits(self) -> Iterator[tuple[int, int]]:
        for seen, order in self.orders.items():
            for target in order:
                yield seen, target
                seen |= target

    def _key(self, seen: int, target: int) -> Key:
        return tuple(i for i, members in enumerate(self.classes) if members & seen and members & target)

    def steps(self) -> Iterator[Step]:
        rests: dict[int, set[tuple[int, ...]]] = {both: set() for both in self.keys}
        for seen, order in self.orders.items():
            for i, target in enumerate(order):
                seen |= target
                if seen in rests:
                    rests[seen].add(tuple(order[i + 1 :]))
        for drivers, order in self.orders.items():
            seen = drivers
            for i, target in enumerate(order):
                both, last = seen | target, i + 1 == len(order)
                keys = self.keys.get(both, set())
                together = False
                if not last and len(rests.get(both, ())) == 1:
                    going = self._key(both, order[i + 1])
                    together = going in keys or not going
                yield Step(
                    seen, target, drivers, max(1, len(keys) + (not together and bool(keys))), len(keys)
                )
                seen, drivers = both, both if together else drivers
