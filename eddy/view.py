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
from eddy.sampling import Distinct, Sampler
from eddy.windows import Rows
from policies.graph import Graph
from policies.routing.view import StairView, StepView, View

if TYPE_CHECKING:
    from eddy.engine import Eddy

Label = tuple[tuple[str, ...], tuple[str, ...]]
"""The streams of entries that probe, and those of the STAIR that they probe."""


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
        self._seconds, self._batches = 0.0, 0
        self._matched = 0
        self._counted: WeakKeyDictionary[Program, NDArray[np.int64]] = WeakKeyDictionary()
        self._labels: WeakKeyDictionary[Program, list[Label | None]] = WeakKeyDictionary()

    @property
    def matches(self) -> int:
        """Matches that were made since the last look."""
        return 0 if self._engine.query.minus else self._engine._router.matches_made - self._matched

    def look(self, pinned: tuple[str, ...]) -> View:
        """A view; the next one tells what comes after."""
        view = self.peek(pinned)
        engine = self._engine
        self._arrived = engine._lowwater.counts.copy()
        self._seconds, self._batches = engine._seconds, engine._batches
        if not engine.query.minus:
            for program in engine._router.programs:
                self._counted[program] = program.counts
            self._matched = engine._router.matches_made
        return view

    def peek(self, pinned: tuple[str, ...]) -> View:
        """A view, and nobody will know."""
        engine = self._engine
        names, lowwater = engine.query.names, engine._lowwater
        lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
        sample, distinct, steps, stairs = self._parts()
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
        )

    def _parts(self) -> tuple[Any, ...]:
        """What there is of a join only: sampling, distinct values, steps and STAIRs."""
        engine = self._engine
        if engine.query.minus:
            return _no_sample, {}, (), ()
        sampler = self._sampler()
        return sampler.sample, Distinct(self._distinct, sampler.distinct), self._steps(), self._stairs()

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
        )

    def tell(self) -> list[str]:
        """What the steps of the plan have found since it runs, beside what sampling says now."""
        if self._engine.query.minus:
            return []
        return list(describe_steps(self._steps(since=False), self.graph, self._sampler().sample))

    def _steps(self, since: bool = True) -> tuple[StepView, ...]:
        """The steps of the plan that runs, since it was bound to its STAIRs or since the last look."""
        found: dict[Label, tuple[int, int]] = {}
        for program in self._engine._router.programs:
            counts = program.counts
            if since and (before := self._counted.get(program)) is not None:
                counts -= before
            for step, (probes, matches) in zip(self._labels_of(program), counts.tolist(), strict=True):
                if step is not None:
                    # Where rows of a stream take several ways, these may have a step in common.
                    known = found.get(step, (0, 0))
                    found[step] = known[0] + probes, known[1] + matches
        return tuple(StepView(*step, *count) for step, count in found.items())

    def _labels_of(self, program: Program) -> list[Label | None]:
        """What probes what, for each hop of a program; None where it belongs to a plan that is being left."""
        known = self._labels.get(program)
        if known is None:
            names = self._engine.query.names
            known = self._labels[program] = [
                (tuple(names[s] for s in _path(step.source)), tuple(names[s] for s in step.target.streams))
                if step.duty is None
                else None
                for step in (hop.step for hop in program.hops)
            ]
        return known

    def _stairs(self) -> tuple[StairView, ...]:
        names, track = self._engine.query.names, self._engine._router.tracks[-1]
        return tuple(
            StairView(
                tuple(names[s] for s in wanted.streams), stair.tail - stair.low, stair.nbytes, stair.complete
            )
            for wanted, stair in track.stairs.items()
            if not wanted.former
        )


def _path(source: StairId | Place) -> tuple[int, ...]:
    return source.path if isinstance(source, Place) else source.streams


def _no_sample(start: str, path: tuple[str, ...]) -> tuple[float, ...]:
    raise EddyError("a set difference has no fan-outs to sample: its plans are orders of subtraction")
