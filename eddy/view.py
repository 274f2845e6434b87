"""What a routing policy is shown of an engine. Taking a view scans nothing: sampling is done when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from eddy.errors import EddyError
from eddy.fan_outs import describe_steps
from eddy.itinerary import Place, StairId
from eddy.program import Program
from eddy.query import Query
from eddy.sampling import Distinct, Sampler
from eddy.windows import Rows
from policies.optimizer.graph import Graph
from policies.routing.view import StairView, StepView, View

if TYPE_CHECKING:
    from eddy.engine import Eddy


def graph_of(query: Query) -> Graph:
    """The join graph of a query."""
    return Graph(
        query.names,
        tuple(frozenset(c.members) for c in query.key_classes),
        tuple(residual.streams for residual in query.residuals),
        frozenset(name for name, stream in query.streams.items() if stream.static),
        frozenset(
            i
            for i, residual in enumerate(query.residuals)
            if any(residual.range_for(name) is not None for name in residual.streams)
        ),
    )


class Watch:
    """Remembers what had been counted when somebody last looked."""

    def __init__(self, engine: Eddy) -> None:
        self._engine = engine
        self.graph = graph_of(engine.query)
        self._distinct = {
            (name, c.index): (engine.query.names.index(name), c.index)
            for c in engine.query.key_classes
            for name in (c.members if not engine.query.minus else ())
        }
        self._lengths = {
            name: stream.window.n
            for name, stream in engine.query.streams.items()
            if isinstance(stream.window, Rows)
        }
        self._arrived = engine._lowwater.counts.copy()
        self._seconds = 0.0
        self._begun = 0, 0
        """Events and batches so far."""
        self._counted: WeakKeyDictionary[Program, NDArray[np.int64]] = WeakKeyDictionary()

    @property
    def matches(self) -> int:
        """Matches that the plan has made since the last look, or since it runs."""
        if self._engine.query.minus:
            return 0
        program = self._engine._router.tracks[-1].program
        before = self._counted.get(program)
        return program.matches - (0 if before is None else int(before[:, 1].sum()))

    def look(self, pinned: tuple[str, ...]) -> View:
        """A view; the next one tells what comes after."""
        view = self.peek(pinned)
        engine = self._engine
        self._arrived, self._seconds = engine._lowwater.counts.copy(), engine._seconds
        if not engine.query.minus:
            self._begun = engine._events, engine._router.batches
            program = engine._router.tracks[-1].program
            self._counted[program] = program.counts
        return view

    def peek(self, pinned: tuple[str, ...]) -> View:
        """A view, and nobody will know."""
        engine = self._engine
        names, lowwater = engine.query.names, engine._lowwater
        lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
        sample, distinct, steps, stairs = self._parts()
        return View(
            graph=self.graph,
            plan=engine.plan,
            events=engine._events,
            arrivals=dict(zip(names, (lowwater.counts - self._arrived).tolist(), strict=True)),
            live={name: counts[i] - lows[i] for i, name in enumerate(names)},
            distinct=distinct,
            steps=steps,
            stairs=stairs,
            sample=sample,
            seconds=engine._seconds - self._seconds,
            joins=engine.joins,
            pinned=pinned,
            migration=type(engine.migration).__name__,
            batch=self._batch(),
            lengths=self._lengths,
        )

    def _batch(self) -> float:
        """Events of a batch since the last look; of one as large as may be if there was none."""
        engine = self._engine
        batches = 0 if engine.query.minus else engine._router.batches - self._begun[1]
        return (engine._events - self._begun[0]) / batches if batches else float(engine.batch_size)

    def _parts(self) -> tuple[Any, ...]:
        """What there is of a join only: sampling, distinct values, steps and STAIRs."""
        engine = self._engine
        if engine.query.minus:
            return _no_sample, {}, (), ()
        sampler = self._sampler()
        return sampler.sample, Distinct(self._distinct, sampler.distinct), self._steps(), self._stairs()

    def _sampler(self) -> Sampler:
        engine = self._engine
        return Sampler(
            engine._router.compiler,
            engine._streams,
            engine._lowwater.lows,
            engine._lowwater.counts,
            (int(engine.seed) & 0xFFFFFFFFFFFFFFFF, engine._events),
            engine.joins == "nested",
        )

    def tell(self) -> list[str]:
        """What the steps of the plan have found since it runs, beside what sampling says now."""
        if self._engine.query.minus:
            return []
        return list(describe_steps(self._steps(since=False), self.graph, self._sampler().sample))

    def _steps(self, since: bool = True) -> tuple[StepView, ...]:
        """The steps of the plan that runs, since it was bound to its STAIRs or since the last look."""
        program = self._engine._router.tracks[-1].program
        counts = program.counts
        if since and (before := self._counted.get(program)) is not None:
            counts -= before
        names = self._engine.query.names
        return tuple(
            StepView(
                tuple(names[s] for s in _path(hop.step.source)),
                tuple(names[s] for s in hop.step.target.streams),
                probes,
                matches,
            )
            for hop, (probes, matches) in zip(program.hops, counts.tolist(), strict=True)
            if hop.step.duty is None  # else it belongs to a plan that is being left
        )

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
