"""What a routing policy is shown of an engine. Taking a view scans nothing: sampling is done when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from eddy.crews import is_crew
from eddy.errors import EddyError
from eddy.fan_outs import describe_steps
from eddy.itinerary import Place, StairId
from eddy.program import Program
from eddy.query import Query
from eddy.sampling import Distinct, Sampler, joined_pairs
from eddy.windows import Rows
from policies.graph import Graph
from policies.routing.view import Glance, StairView, StepView, View
from stairs import Ring
from stairs.program_kernels import WHOLE

if TYPE_CHECKING:
    from eddy.engine import Eddy

Label = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The streams of entries that probe, those of the STAIR that they probe, and those that drive them if not all do."""


def graph_of(query: Query, joins: str) -> Graph:
    """The join graph of a query."""
    indexed = [
        i
        for i, residual in enumerate(query.residuals)
        if joins == "hash" and any(residual.range_for(name) is not None for name in residual.streams)
    ]
    return Graph(
        query.names,
        tuple(frozenset(c.members) for c in query.key_classes),
        tuple(residual.streams for residual in query.residuals),
        frozenset(name for name, stream in query.streams.items() if stream.static),
        frozenset(indexed),
    )


class Watch:
    """Remembers what had been counted when somebody last looked."""

    def __init__(self, engine: Eddy) -> None:
        self._engine = engine
        self.graph = graph_of(engine.query, engine.joins)
        windows = {name: stream.window for name, stream in engine.query.streams.items()}
        self._lengths = {name: window.n for name, window in windows.items() if isinstance(window, Rows)}
        self._distinct = {
            (name, c.index): (engine.query.names.index(name), c.index)
            for c in engine.query.key_classes
            for name in (c.members if not engine.query.minus else ())
        }
        self._arrived = engine._lowwater.counts.copy()
        self._joined = [] if engine.query.minus else joined_pairs(engine._workshop.compiler)
        self.joins = not engine.query.minus
        self._seconds, self._batches = 0.0, 0
        self.matched = 0
        """Matches that had been made by then."""
        self._counted: WeakKeyDictionary[Program, NDArray[np.int64]] = WeakKeyDictionary()
        self._labels: WeakKeyDictionary[Program, list[tuple[Label | None, float]]] = WeakKeyDictionary()

    @property
    def matches(self) -> int:
        """Matches that were made since the last look."""
        return self._engine._router.matches_made - self.matched if self.joins else 0

    def glance(self) -> Glance:
        """What there was since the last look."""
        arrivals = tuple((self._engine._lowwater.counts - self._arrived).tolist())
        return Glance(sum(arrivals), arrivals, self.matches)

    def look(self, pinned: tuple[str, ...]) -> View:
        """A view; the next one tells what comes after."""
        view = self.peek(pinned)
        self.forget()
        return view

    def forget(self) -> None:
        """Whatever was counted so far has been seen."""
        engine = self._engine
        self._arrived = engine._lowwater.counts.copy()
        self._seconds, self._batches = engine._seconds, engine._batches
        if not engine.query.minus:
            for program in engine._router.programs:
                self._counted[program] = program.tally
            self.matched = engine._router.matches_made

    def peek(self, pinned: tuple[str, ...]) -> View:
        """A view, and nobody will know."""
        engine = self._engine
        names, lowwater = engine.query.names, engine._lowwater
        lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
        sample, distinct, steps, stairs, pairs = self._parts()
        arrivals = (lowwater.counts - self._arrived).tolist()
        batches = engine._batches - self._batches
        return View(
            graph=self.graph,
            plan=engine.plan,
            events=engine._events,
            arrivals=dict(zip(names, arrivals, strict=True)),
            live={name: counts[i] - lows[i] for i, name in enumerate(names)},
            distinct=distinct,
            steps=steps,
            stairs=stairs,
            sample=sample,
            seconds=engine._seconds - self._seconds,
            joins=engine.joins,
            pinned=pinned,
            migration=type(engine.migration).__name__,
            batch=sum(arrivals) / batches if batches else float(engine.batch_size),
            lengths=self._lengths,
            pairs=pairs,
        )

    def _parts(self) -> tuple[Any, ...]:
        """What there is of a join only: sampling, distinct values, steps and STAIRs."""
        engine = self._engine
        if engine.query.minus:
            return _no_sample, {}, (), (), dict
        sampler = self._sampler()
        distinct = Distinct(self._distinct, sampler.distinct)
        return sampler.sample, distinct, self._steps(), self._stairs(), sampler.pairs

    def _sampler(self) -> Sampler:
        engine, held = self._engine, self._engine
        if is_crew(held._router):  # one shard has a fair part of the rows
            held = held._router.shards[0].engine
        return Sampler(
            held._router.compiler,
            held._streams,
            held._numbers.lows,
            held._numbers.counts,
            (int(engine.seed) & 0xFFFFFFFFFFFFFFFF, engine._events),
            engine.joins == "nested",
            engine._numbers.shares(),
            self._joined,
        )

    def tell(self) -> list[str]:
        """What the steps of the plan have found since it runs, beside what sampling says now."""
        if self._engine.query.minus:
            return []
        return list(describe_steps(self._steps(since=False), self.graph, self._sampler().sample))

    def _steps(self, since: bool = True) -> tuple[StepView, ...]:
        """The steps of the plan that runs, since it was bound to its STAIRs or since the last look."""
        found: dict[Label, tuple[int, int, float]] = {}
        for program in self._engine._router.programs:
            counts = program.counts(self._counted.get(program) if since else None)
            steps: dict[Label, tuple[int, int, float]] = {}
            for (step, share), counted in zip(self._labels_of(program), counts.tolist(), strict=True):
                if step is not None:
                    # Where rows of a stream take several ways, these may have a step in common.
                    known = steps.get(step, (0, 0, 0.0))
                    steps[step] = known[0] + counted[0], known[1] + counted[1], known[2] + share
            for step, (probes, matches, share) in steps.items():
                known = found.get(step, (0, 0, share))  # two programs have the same steps and take turns
                found[step] = known[0] + probes, known[1] + matches, share
        return tuple(
            StepView(*step[:2], *count[:2], drivers=step[2], share=count[2]) for step, count in found.items()
        )

    def _labels_of(self, program: Program) -> list[tuple[Label | None, float]]:
        """What probes what, for each hop of a program, and which part of its drivers' rows does so; None where it
        belongs to a plan that is being left."""
        known = self._labels.get(program)
        if known is None:
            known = self._labels[program] = []
            parts: dict[Ring, float] = {}
            for halt, hop, _ in program.sources:
                if hop is not None:
                    step, (start, stop) = hop.step, hop.step.share
                    share = parts.get(hop.source, 1.0) * (stop - start) / WHOLE
                    if halt.stair is None:
                        parts[halt.out] = share
                    path, drivers = _path(step.source)
                    label = self._named(path), self._named(step.target.streams), self._named(drivers)
                    known.append((label if step.duty is None else None, share))
        return known

    def _named(self, streams: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self._engine.query.names[s] for s in streams)

    def _stairs(self) -> tuple[StairView, ...]:
        names, track = self._engine.query.names, self._engine._router.tracks[-1]
        return tuple(
            StairView(
                tuple(names[s] for s in wanted.streams), stair.tail - stair.low, stair.nbytes, stair.complete
            )
            for wanted, stair in track.stairs.items()
            if not wanted.former
        )


def _path(source: StairId | Place) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The streams of entries, in the order in which they came together, and those with which they began."""
    return (source.path, source.drivers) if isinstance(source, Place) else (source.streams, ())


def _no_sample(start: str, path: tuple[str, ...]) -> tuple[float, ...]:
    raise EddyError("a set difference has no fan-outs to sample: its plans are orders of subtraction")
