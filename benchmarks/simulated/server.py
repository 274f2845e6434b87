"""One server with a queue: what comes is served in its order, and takes the time that its work costs.

Served are arrivals and, once, a change of the plan, which waits for its turn like any arrival: so what came before it
goes through the old plan (Moving State's first step). In idle time a technique that says so works on the change; an
arrival interrupts that.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from benchmarks.simulated.feed import MS, Feed
from benchmarks.simulated.subjects import Look, Subject

Floats = npt.NDArray[np.float64]


@frozen
class Costs:
    """Milliseconds for each piece of work (Zhu et al., Table 1)."""

    join: float
    """Tj, to evaluate the predicate for a pair of tuples."""
    insert: float = 0.0
    """Ts, to put a tuple into a state, or into the output."""

    def of(self, before: Look, after: Look) -> float:
        """What it takes from one look to the other."""
        return self.join * (after.evaluations - before.evaluations) + self.insert * (after.made - before.made)


@frozen
class Job:
    """What the server did at a stretch."""

    kind: Literal["row", "change", "idle"]
    due: float
    """When it came."""
    began: float
    ended: float
    evaluations: float
    results: int
    tuples: int
    """Composites in states, afterwards."""


@define(eq=False)
class Run:
    """All that a server did. Times are in milliseconds from the first that counts."""

    jobs: list[Job] = field(factory=list)
    requested: float | None = None
    """When the change came."""
    began: float | None = None
    """When its turn came."""
    ended: float | None = None
    """When the migration was over."""
    results: list[int] = field(factory=list)
    """Of each row."""
    before: int = 0
    """Composites in states at the beginning."""

    @property
    def migration(self) -> float:
        """How long the migration took, from its turn on."""
        if self.began is None or self.ended is None:
            raise ValueError("no migration has come to an end in this run")
        return self.ended - self.began

    @property
    def evaluations(self) -> float:
        return sum(job.evaluations for job in self.jobs)

    @property
    def finished(self) -> float:
        """When the last was done."""
        return max(job.ended for job in self.jobs)

    @property
    def peak(self) -> int:
        """The most composites in states."""
        return max(self.before, max(job.tuples for job in self.jobs))

    def output(self, bins: Floats) -> Floats:
        """Results between the bounds of the bins, by when they were given."""
        given = np.array([job.ended for job in self.jobs])
        found, _ = np.histogram(given, bins, weights=[job.results for job in self.jobs])
        return found

    def evaluated(self, bins: Floats) -> Floats:
        """Predicates evaluated between the bounds: those of a job are spread over its time."""
        began, ended = (np.array([getattr(job, name) for job in self.jobs]) for name in ("began", "ended"))
        counts = np.array([job.evaluations for job in self.jobs])
        took = np.maximum(ended - began, 1e-9)
        upto = [(counts * np.clip((t - began) / took, 0, 1)).sum() for t in bins]
        return np.diff(upto)

    def held(self, bins: Floats) -> npt.NDArray[np.int64]:
        """Composites in states at the end of each bin."""
        ended = np.array([job.ended for job in self.jobs])
        tuples = np.array([self.before, *(job.tuples for job in self.jobs)])
        found: npt.NDArray[np.int64] = tuples[np.searchsorted(ended, bins[1:], "right")]
        return found

    def waiting(self, bins: Floats) -> npt.NDArray[np.int64]:
        """Rows in the queue at the end of each bin."""
        rows = [job for job in self.jobs if job.kind == "row"]
        due, began = (np.sort([getattr(job, name) for job in rows]) for name in ("due", "began"))
        at = bins[1:]
        found: npt.NDArray[np.int64] = np.searchsorted(due, at, "right") - np.searchsorted(began, at, "right")
        return found

    @property
    def delay(self) -> float:
        """The longest that a row waited which brought results, until they were given; results that a technique holds
        back count from the row that releases them."""
        return max(
            (job.ended - job.due for job in self.jobs if job.results and job.kind == "row"), default=0.0
        )


@define(eq=False)
class Server:
    """Serves a subject."""

    subject: Subject
    costs: Costs
    idles: bool = False
    """Whether the subject is told of idle time, by a push without rows, while it is migrating."""
    run: Run = field(factory=Run, init=False)
    _free: float = field(default=-np.inf, init=False)
    """When it is done with what it has begun."""
    _look: Look = field(init=False)
    _owed: float = field(default=0.0, init=False)
    """Time that idle work, which is done, has still to take; arrivals come before."""
    _owed_evaluations: float = field(default=0.0, init=False)

    def serve(
        self,
        feed: Feed,
        start: int = 0,
        end: int | None = None,
        change: tuple[float, str] | None = None,
    ) -> Run:
        """Serve rows of the feed, one at a time, and, at a time of the feed's clock, a change to a plan."""
        self._look = self.subject.look()
        self.run.before = self._look.tuples
        end = len(feed) if end is None else end
        due = feed.times[start:end] / MS
        turn = end if change is None else start + int(np.searchsorted(due, change[0]))
        for i in range(start, end):
            if change is not None and i == turn:
                self._change(*change)
            self._idle(float(due[i - start]))
            self._row(float(due[i - start]), feed, i)
        if change is not None and turn == end:
            self._change(*change)
        self._idle(np.inf)
        return self.run

    def _row(self, due: float, feed: Feed, i: int) -> None:
        results = self.subject.push(feed.batch(i, i + 1))
        self.run.results.append(results)
        self._done("row", due, results)

    def _change(self, due: float, plan: str) -> None:
        self._idle(due)
        self.run.requested, self.run.began = due, max(self._free, due)
        self.subject.migrate(plan)
        self._look = evolve(self._look, migrating=True)
        self._done("change", due, 0)

    def _done(self, kind: Literal["row", "change"], due: float, results: int) -> None:
        look = self.subject.look()
        began = max(self._free, due)
        self._free = began + self.costs.of(self._look, look)
        counted = look.evaluations - self._look.evaluations
        self.run.jobs.append(Job(kind, due, began, self._free, counted, results, look.tuples))
        if self._look.migrating and not look.migrating:
            self.run.ended, self._owed = self._free, 0.0  # idle work that is left is of no use any more
        self._look = look

    def _idle(self, until: float) -> None:
        """Let idle work take the time until then, as far as there is any."""
        while self._free < until:
            if not self._owed:
                if not (self.idles and self._look.migrating):
                    return
                before = self._look
                self.subject.push({})
                self._look = self.subject.look()
                self._owed = self.costs.of(before, self._look)
                self._owed_evaluations = self._look.evaluations - before.evaluations
                if not self._owed and self._look.migrating:
                    return  # there is nothing to do at present
            self._spend(until)

    def _spend(self, until: float) -> None:
        """Idle work takes its time, or what there is of it until then."""
        began, took = self._free, min(self._owed, until - self._free)
        counted = self._owed_evaluations * (took / self._owed if took < self._owed else 1.0)
        self._free += took
        self._owed, self._owed_evaluations = self._owed - took, self._owed_evaluations - counted
        self.run.jobs.append(Job("idle", began, began, self._free, counted, 0, self._look.tuples))
        if not self._owed and not self._look.migrating:
            self.run.ended = self._free
