"""What a routing policy is shown of an engine. Taking a view scans nothing: sampling is done when it is asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from eddy.errors import EddyError
from eddy.plan.compiler import Key, Place, StairId
from eddy.query.query import Query
from eddy.query.windows import Rows
from eddy.statistics import StepStatistics
from eddy.steering.fan_outs import describe_steps
from eddy.steering.groups import GroupSampler
from eddy.steering.sampled import Distinct, Sampling
from eddy.steering.sampling import joined_pairs
from eddy.tracks.program import Program
from policies.graph import Graph
from policies.optimizer.measure import seconds_by_step
from policies.optimizer.model import CostModel
from policies.view import Fan, Glance, StairView, StepView, View
from stairs import Ring

if TYPE_CHECKING:
    from eddy.state import EngineState

Label = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The streams of entries that probe, those of the STAIR that they probe, and those that drive them if not all do."""


def graph_of(query: Query, joins: str) -> Graph:
    """The join graph of a query; how its predicates are worded or in which order does not matter."""
    residuals = sorted(query.residuals, key=lambda residual: residual.order)
    indexed = [
        i
        for i, residual in enumerate(residuals)
        if joins == "hash" and any(residual.bands_for(name) for name in residual.streams)
    ]
    return Graph(
        query.names,
        tuple(frozenset(c.members) for c in query.key_classes),
        tuple(residual.streams for residual in residuals),
        frozenset(name for name, stream in query.streams.items() if stream.static),
        frozenset(indexed),
    )


class Watch:
    """Remembers what had been counted when somebody last looked."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self.graph = graph_of(state.query, state.options.joins)
        windows = {name: stream.window for name, stream in state.query.streams.items()}
        self._lengths = {name: window.n for name, window in windows.items() if isinstance(window, Rows)}
        self.joins = bool(state.executor.routers)
        """Whether there are steps and STAIRs to look at; of a set difference there are none."""
        self._distinct = {
            (name, c.index): (state.query.names.index(name), c.index)
            for c in state.query.key_classes
            for name in (c.members if self.joins else ())
        }
        self._arrived = state.lowwater.counts.copy()
        self._joined = joined_pairs(state.factory.compiler) if self.joins else {}
        self._seconds, self._batches = 0.0, 0
        self.matched = 0
        """Matches that had been made by then."""
        self._counted: WeakKeyDictionary[Program, NDArray[np.int64]] = WeakKeyDictionary()
        self._labels: WeakKeyDictionary[Program, list[tuple[Label | None, float]]] = WeakKeyDictionary()

    @property
    def matches(self) -> int:
        """Matches that were made since the last look."""
        return self._state.executor.matches_made - self.matched if self.joins else 0

    def glance(self) -> Glance:
        """What there was since the last look."""
        state = self._state
        arrivals = tuple((state.lowwater.counts - self._arrived).tolist())
        seconds, batches = state.seconds - self._seconds, state.batches - self._batches
        return Glance(sum(arrivals), arrivals, self.matches, seconds, batches)

    def take_view(self, pinned: tuple[str, ...]) -> View:
        """A view; the next one tells what comes after."""
        view = self.view(pinned)
        self.forget()
        return view

    def forget(self) -> None:
        """Whatever was counted so far has been seen."""
        state = self._state
        self._arrived = state.lowwater.counts.copy()
        self._seconds, self._batches = state.seconds, state.batches
        for program in state.executor.programs:
            self._counted[program] = program.tally
        self.matched = state.executor.matches_made

    def view(self, pinned: tuple[str, ...]) -> View:
        """A view, and nobody will know."""
        state = self._state
        names, lowwater = state.query.names, state.lowwater
        lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
        sample, distinct, steps, stairs, pairs, content = self._parts()
        arrivals = (lowwater.counts - self._arrived).tolist()
        batches = state.batches - self._batches
        return View(
            graph=self.graph,
            plan=str(state.plan),
            events=state.events,
            arrivals=dict(zip(names, arrivals, strict=True)),
            live={name: counts[i] - lows[i] for i, name in enumerate(names)},
            distinct=distinct,
            steps=steps,
            stairs=stairs,
            sample=sample,
            seconds=state.seconds - self._seconds,
            joins=state.options.joins,
            pinned=pinned,
            migration=type(state.options.migration).__name__,
            beside=float(state.options.migration.beside),
            at_once=float(state.options.migration.at_once),
            batch=sum(arrivals) / batches if batches else float(state.options.batch_size),
            lengths=self._lengths,
            pairs=pairs,
            content=content,
        )

    def _parts(self) -> tuple[Any, ...]:
        """What there is of a join only: sampling, distinct values, steps and STAIRs."""
        state = self._state
        if not self.joins:
            return _no_sample, {}, (), (), _no_pairs, None
        sampling = Sampling(state.access, lambda: (state.events, state.migrations), self._sampler)
        distinct = Distinct(self._distinct, sampling.distinct)
        return sampling.sample, distinct, self._steps(), self._stairs(), sampling.pairs, sampling

    def _sampler(self) -> GroupSampler:
        return sampler_of(self._state, self._joined)

    def tell(self) -> list[str]:
        """What the steps of the plan have found since it runs, beside what sampling says now."""
        if not self.joins:
            return []
        return list(describe_steps(self._steps(since=False), self.graph, self._sampler().sample))

    def steps(self) -> tuple[StepStatistics, ...]:
        """The steps of the plan since it runs."""
        if not self.joins:
            return ()
        view = evolve(self.view(()), steps=self._steps(since=False))
        times = seconds_by_step(view, CostModel())
        return tuple(
            StepStatistics(step.source, step.target, step.probes, step.matches, seconds)
            for step, seconds in zip(view.steps, times, strict=True)
        )

    def _steps(self, since: bool = True) -> tuple[StepView, ...]:
        """The steps of the plan that runs, since it was bound to its STAIRs or since the last look."""
        found: dict[Label, tuple[int, int, int, float]] = {}
        for program in self._state.executor.programs:
            counts = program.counts(self._counted.get(program) if since else None)
            steps: dict[Label, tuple[int, int, int, float]] = {}
            for (step, share), (p, m, t) in zip(self._labels_of(program), counts.tolist(), strict=True):
                if step is not None:
                    # Where rows of a stream take several ways, these may have a step in common.
                    known = steps.get(step, (0, 0, 0, 0.0))
                    steps[step] = known[0] + p, known[1] + m, known[2] + t, known[3] + share
            for step, (p, m, t, share) in steps.items():
                known = found.get(step, (0, 0, 0, share))  # two programs have the same steps and take turns
                found[step] = known[0] + p, known[1] + m, known[2] + t, share
        return tuple(
            StepView(*step[:2], probes, matches, drivers=step[2], share=share, tried=tried)
            for step, (probes, matches, tried, share) in found.items()
        )

    def _labels_of(self, program: Program) -> list[tuple[Label | None, float]]:
        """What probes what, for each hop of a program, and which part of its drivers' rows does so; None where it
        belongs to a plan that is being left."""
        known = self._labels.get(program)
        if known is not None:
            return known
        known = []
        parts: dict[Ring, float] = {}
        for halt, hop, _ in program.sources:
            if hop is not None:
                step = hop.step
                share = parts.get(hop.source, 1.0) * step.part
                if halt.stair is None:
                    parts[halt.out] = share
                path, drivers = _path(step.source)
                label = self._named(path), self._named(step.target.streams), self._named(drivers)
                known.append((label if step.scope is None else None, share))
        self._labels[program] = known
        return known

    def _named(self, streams: tuple[int, ...]) -> tuple[str, ...]:
        return tuple([self.graph.names[s] for s in streams])

    def _stairs(self) -> tuple[StairView, ...]:
        names, track = self._state.query.names, self._state.executor.routers[0].tracks[-1]
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


def _no_pairs(wanted: Collection[tuple[str, str]] | None = None) -> dict[tuple[str, str], Fan]:
    return {}


def _no_sample(start: str, path: tuple[str, ...]) -> tuple[float, ...]:
    raise EddyError("a set difference has no fan-outs to sample: its plans are orders of subtraction")


def sampler_of(state: EngineState, joined: dict[tuple[int, int], Key] | None = None) -> GroupSampler:
    """A sampler of an engine's rows as they are; ``joined``, where it is known: the pairs that an equality connects."""
    part = state
    if part.executor.shards:  # one of them has a fair part of the rows
        part = part.executor.shards[0].state
    (router,) = part.executor.routers
    return GroupSampler(
        router.compiler,
        router.streams,
        part.row_numbers.lows,
        part.row_numbers.counts,
        (int(state.options.seed) & 0xFFFFFFFFFFFFFFFF, state.events),
        state.options.joins == "nested",
        state.row_numbers.shares(),
        joined,
    )
