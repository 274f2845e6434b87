"""What can be told of a plan change before it begins: see `policies.migration.Survey`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from eddy.plan.compiler import Compiler, Place, RoutingTable, StairId
from eddy.router.router import Router
from eddy.store.row_numbers import RowNumbers
from policies.migration.survey import JoinStep, Streams, Survey

DEEPEST = 24
"""Steps of a path that are sampled."""


class Samples(Protocol):
    """Samples live rows: see `eddy.steering.sampling.Sampler`."""

    def sample(self, start: str, path: Sequence[str]) -> tuple[float, ...]:
        """The mean number of matches of the rows of a stream after each step of a path through others."""


def survey(
    router: Router,
    rows: RowNumbers,
    former: RoutingTable,
    plan: RoutingTable,
    samples: Samples,
    batch: float,
    running: bool,
) -> Survey:
    """Both plans, what the new one lacks, and how large all is. Only what is not counted is sampled."""
    live, counts = (rows.counts - rows.lows).tolist(), rows.counts.tolist()
    total = max(1, sum(counts))
    whole = _whole(router)
    missing = [
        frozenset(stop.out.streams)
        for stop in plan.stops
        if isinstance(stop.out, StairId) and stop.out not in whole
    ]
    steps = tuple(_steps(former)), tuple(_steps(plan))
    found = {frozenset(stair.streams): float(size) for stair, size in whole.items()}
    if missing:
        found = _sampled(router, live, steps, found, samples)
    return Survey(
        tuple(map(float, live)),
        tuple(count / total for count in counts),
        *steps,
        tuple(missing),
        found,
        max(1.0, batch),
        router.binder.nested,
        running,
    )


def _whole(router: Router) -> dict[StairId, int]:
    """The states that a new plan would find whole, with what is live in them."""
    track = router.tracks[-1]
    if track.role.firsts is not None:
        return {}
    return {
        wanted: stair.tail - stair.low
        for wanted, stair in track.stairs.items()
        if not stair.partial and stair.holes is None
    }


def _steps(table: RoutingTable) -> Iterator[JoinStep]:
    for stop in table.stops:
        for step in stop.steps:
            source = frozenset(step.source.path if isinstance(step.source, Place) else step.source.streams)
            drivers = frozenset(step.source.drivers) if isinstance(step.source, Place) else source
            kept = isinstance(stop.out, StairId)
            yield JoinStep(source, frozenset(step.target.streams), drivers or source, kept)


def _sampled(
    router: Router,
    live: Sequence[int],
    steps: Iterable[Sequence[JoinStep]],
    counted: dict[Streams, float],
    samples: Samples,
) -> dict[Streams, float]:
    """Live composites of all sets that the steps make, but for that of all streams."""
    names, found = router.compiler.names, dict(counted)

    for side in steps:
        wanted = {step.source | step.target for step in side}
        wanted = {both for both in wanted if 1 < len(both) < len(names)}
        for both in sorted(wanted, key=len, reverse=True):
            if both not in found:
                path = _path(both, wanted, router.compiler)[:DEEPEST]
                start, *others = (names[s] for s in path)
                for i, each in enumerate(samples.sample(start, others), 2):
                    found.setdefault(frozenset(path[:i]), live[path[0]] * each)
    return found


def _path(both: Streams, wanted: Iterable[Streams], compiler: Compiler) -> list[int]:
    """The streams of a set in an order in which as many as can be of the sets within it are the first of them, and
    each is linked to those before it where that can be."""
    parts, rest = list[Streams](), both
    for other in sorted(wanted, key=len, reverse=True):
        if other < rest:
            parts.append(rest - other)
            rest = other
    path, seen = list[int](), 0

    def linked(stream: int) -> bool:
        if not path or seen & compiler.classes_of((stream,)):
            return True
        return bool(compiler.probe_key(tuple(sorted(path)), (stream,))[1])

    for part in (rest, *reversed(parts)):
        left = sorted(part)
        while left:
            path.append(next((s for s in left if linked(s)), left[0]))
            left.remove(path[-1])
            seen |= compiler.classes_of((path[-1],))
    return path
