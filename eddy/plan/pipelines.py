"""From orderings to stops: each stream's rows visit the others in an order of their own.

A row's entries are somewhere after each visit. Where they have just made the composites of a STAIR that somebody
visits, they are put there. If all that come there go on alike, by a key under which the STAIR is kept, they go on
from there together, as in a tree. Else each goes on by itself, in places that nobody visits; then the last step is
made twice, into the STAIR and into such a place, and so it is for a STAIR that is visited by several keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.plan.orderings import Order, Orderings, Ways, prefixes, streams_of
from eddy.plan.routes import RESULTS, Key, Place, StairId, Step, Stop, Streams
from eddy.plan.selectors import ByValue, Selector
from stairs.program_kernels import WHOLE

if TYPE_CHECKING:
    from eddy.plan.compiler import Compiler

Out = StairId | Place


class Pipelines:
    """Follows the orderings of one plan."""

    def __init__(self, compiler: Compiler, plan: Orderings) -> None:
        self.compiler = compiler
        self.plan = plan
        self._ids: dict[Streams, list[StairId]] = {}
        """The STAIRs that are visited, by their streams: one for each key."""
        self._alike: dict[Streams, bool] = {}
        """Whether all that come to a STAIR go on to the same visits."""
        self._found: dict[Out, dict[tuple[Out, StairId, tuple[int, int]], Step]] = {}
        """The steps into each place, once each."""

    def stops(self) -> list[Stop]:
        """The stops, each after those that write what it reads."""
        for kept in self.plan.kept:
            rests = {self._rest(name, order, kept) for name in kept for _, order in self.plan.ways(name)}
            self._ids[self._numbers(kept)] = []
            self._alike[self._numbers(kept)] = len(rests) == 1
        if self._ids:
            for name in self.plan.orders:
                for _, order in self.plan.ways(name):
                    self._find_keys(name, order)
        for name in self.plan.orders:
            selector = self.plan.selectors.get(name)
            for way, (share, order) in enumerate(shares(self.plan.ways(name), selector)):
                self._follow(name, order, way, share, selector)
        return self._sorted()

    def _numbers(self, names: frozenset[str] | tuple[str, ...]) -> Streams:
        return tuple(sorted(self.compiler.number[name] for name in names))

    @staticmethod
    def _rest(name: str, order: Order, kept: frozenset[str]) -> Order:
        """What rows of a stream visit after they have come to a STAIR."""
        return order[list(prefixes(name, order)).index(kept) + 1 :]

    def _find_keys(self, name: str, order: Order) -> None:
        """The keys by which a stream's rows visit STAIRs."""
        seen = self._numbers((name,))
        for visit in order:
            target = self._numbers(streams_of(visit))
            if len(target) > 1:
                wanted = StairId(target, self.compiler.probe_key(seen, target)[0])
                if wanted not in self._ids[target]:
                    self._ids[target].append(wanted)
            seen = tuple(sorted(seen + target))

    def _follow(
        self, name: str, order: Order, way: int, share: tuple[int, int], selector: Selector | None
    ) -> None:
        """Add the steps of a stream's rows, or of the part of them that takes this way."""
        compiler, path, whole = self.compiler, self._numbers((name,)), share
        sizes: tuple[int, ...] = (1,)
        number = compiler.number
        targets = [(number[v],) if isinstance(v, str) else self._numbers(v) for v in order]
        masks = [compiler.masks[t[0]] if len(t) == 1 else compiler.classes_of(t) for t in targets]
        seen, classes = path, compiler.masks[path[0]]
        key, thetas = compiler.key_for(seen, targets[0], classes & masks[0])
        source: Out = compiler.stair(path, key if key.classes else Key(row=path[0]))
        for i, target in enumerate(targets):
            step = compiler.step(source, compiler.stair(target, key), thetas, whole, selector)
            both = tuple(sorted(seen + target))
            for wanted in self._ids.get(both, ()):
                self._add(wanted, step)
            path, sizes, whole, selector = path + target, (*sizes, len(target)), (0, WHOLE), None
            if i + 1 == len(targets):
                self._add(RESULTS, step)
                return
            classes |= masks[i]
            key, thetas = compiler.key_for(both, targets[i + 1], classes & masks[i + 1])
            stored = self._stored(both, key)
            if stored is not None:
                path, sizes, way, source = both, (len(both),), 0, stored
            else:
                source = Place(path, key, way, () if len(sizes) == len(path) else sizes)
                self._add(source, step)
            seen = both

    def _stored(self, streams: Streams, key: Key) -> StairId | None:
        """The STAIR from which all that come there go on by this key; without an equality any of them will do."""
        if not self._alike.get(streams):
            return None
        ids = self._ids[streams]
        return next((wanted for wanted in ids if wanted.key == key or not key.classes), None)

    def _add(self, out: Out, step: Step) -> None:
        """A step into a place, which several streams may take that have come together."""
        name = step.source, step.target, step.share
        known = self._found.get(out)
        if known is None:
            self._found[out] = {name: step}
        else:
            known.setdefault(name, step)

    def _sorted(self) -> list[Stop]:
        if not self._ids:  # then steps come after those that write what they read, but for the results
            results = self._found.pop(RESULTS)
            found = [Stop(out, tuple(steps.values())) for out, steps in self._found.items()]
            return [*found, Stop(RESULTS, tuple(results.values()))]
        stops: dict[Out, Stop] = {}

        def visit(out: Out) -> None:
            if out in self._found and out not in stops:
                for step in self._found[out].values():
                    visit(step.target)
                    visit(step.source)
                stops[out] = Stop(out, tuple(self._found[out].values()))

        for out in self._found:
            if out != RESULTS:
                visit(out)
        visit(RESULTS)
        return list(stops.values())


def shares(ways: Ways, selector: Selector | None = None) -> list[tuple[tuple[int, int], Order]]:
    """The parts of the rows that take each way: none is left out, and none taken twice. By value the rows that are
    named nowhere have the number 0, and the others that of their way, from 1 on."""
    if isinstance(selector, ByValue):
        numbers = [*range(1, len(ways)), 0]
        return [((own, own + 1), order) for own, (_, order) in zip(numbers, ways, strict=True)]
    total, ends = sum(weight for weight, _ in ways), [0]
    for weight, _ in ways:
        ends.append(ends[-1] + weight)
    bounds = [WHOLE * end // total for end in ends]
    return [((bounds[i], bounds[i + 1]), order) for i, (_, order) in enumerate(ways)]
