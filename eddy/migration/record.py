"""What is remembered of a plan change: how long it took, what it cost, and what ran side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import define, field

from eddy.migration.black_box import BlackBox
from eddy.plan.plan import Plan
from eddy.plan.scope import Scope
from eddy.router.executor import PlanExecutor
from eddy.statistics import MigrationStatistics, TrackStatistics
from eddy.tracks.track import Track


@define(eq=False)
class Chronicle:
    """One plan change."""

    technique: str
    former: Plan
    plan: Plan
    begun: int
    """Events before it."""
    predicted: dict[str, float] = field(factory=dict, init=False)
    """Seconds that it was to take under each technique, where one was chosen."""
    ended: int | None = field(default=None, init=False)
    seconds: float = field(default=0.0, init=False)
    """Time spent in the calls of the technique."""
    fallback: str | None = field(default=None, init=False)
    """Why the plans could not run side by side."""
    demoted: int = field(default=0, init=False)
    """Composites that the technique has taken apart."""
    promoted: int = field(default=0, init=False)
    """Composites that it has put together entry by entry."""
    _held: int = field(default=0, init=False)
    _peak: int = field(default=0, init=False)
    _gap: int = field(default=0, init=False)
    _silent: int = field(default=0, init=False)
    _before: tuple[int, int] | None = field(default=None, init=False)
    """Keys filled and composites made in the engine's life when it began."""
    _now: tuple[int, int] = field(default=(0, 0), init=False)
    _boxed: int = field(default=0, init=False)
    """Composites that were made in a black box."""
    _evaluated: tuple[int, int] | None = field(default=None, init=False)
    """Predicates evaluated in the engine's life when it began, and so far."""
    _boxed_evaluated: int = field(default=0, init=False)
    _begun_at: float = field(factory=time.time, init=False)
    _ended_at: float | None = field(default=None, init=False)
    _output_at: float = field(factory=time.perf_counter, init=False)
    _pause: float = field(default=0.0, init=False)
    _tracks: tuple[TrackStatistics, ...] = field(default=(), init=False)

    def batch(self, events: int, results: int, held: int) -> None:
        """A batch of ``events`` is done: it gave ``results``, and others that are ``held`` back."""
        self._silent = 0 if results else self._silent + events
        self._gap = max(self._gap, self._silent)
        self._held += held
        self._wait(results > 0)

    def _wait(self, over: bool) -> None:
        """See how long there was no output."""
        now = time.perf_counter()
        self._pause = max(self._pause, now - self._output_at)
        if over:
            self._output_at = now

    def end(self, events: int) -> None:
        """It is over, after ``events`` events of the engine."""
        self.ended, self._ended_at = events, time.time()
        self._wait(True)

    def count(self, router: PlanExecutor) -> None:
        """See what was filled; the first time, what had been filled before."""
        self._now = (router.keys_filled, router.composites_built + router.composites_made)
        if self._before is None:
            self._before = self._now
        self.count_evaluations(router)

    def count_evaluations(self, router: PlanExecutor) -> None:
        """See how often predicates were evaluated; the first time, how often they had been before."""
        so_far = _evaluations(router)
        self._evaluated = (so_far if self._evaluated is None else self._evaluated[0]), so_far

    def measure(self, router: PlanExecutor, box: BlackBox | None) -> None:
        """See how large it all is, and what runs side by side."""
        self.count(router)
        if box is not None:
            self._boxed, self._boxed_evaluated = box.router.composites_made, _evaluations(box.router)
        size = sum(stair.nbytes for stair in router.every_stair)
        self._peak = max(self._peak, size if box is None else size + box.nbytes)
        names = router.compiler.names
        tracks = [track for track in router.tracks if isinstance(track, Track)]
        if len(tracks) > 1:
            self._tracks = tuple(
                TrackStatistics(
                    str(track.plan),
                    {name: track.rows.get(s, 0) for s, name in enumerate(names)},
                    track.emitted,
                    sum(len(scope.entries) for scope in track.role.scopes),
                )
                for track in tracks
            )
        elif box is not None:
            self._tracks = (TrackStatistics(str(self.plan), {}, 0, box.behind),)
        elif tracks and tracks[0].role.scopes:
            plans: dict[int, list[Scope]] = {}
            for scope in tracks[0].role.scopes:
                plans.setdefault(scope.turn, []).append(scope)
            self._tracks = tuple(_older_plan(plans[turn], names) for turn in sorted(plans))

    def statistics(self) -> MigrationStatistics:
        filled, built = self._before or self._now
        before, so_far = self._evaluated or (0, 0)
        return MigrationStatistics(
            technique=self.technique,
            former=str(self.former),
            plan=str(self.plan),
            begun=self.begun,
            ended=self.ended,
            begun_at=self._begun_at,
            ended_at=self._ended_at,
            seconds=self.seconds,
            keys_filled=self._now[0] - filled,
            composites_built=self._now[1] - built + self._boxed,
            results_held=self._held,
            longest_gap=self._gap,
            longest_pause=self._pause,
            peak_bytes=self._peak,
            tracks=self._tracks,
            entries_demoted=self.demoted,
            entries_promoted=self.promoted,
            predicted=self.predicted,
            evaluations=so_far - before + self._boxed_evaluated,
            fallback=self.fallback,
        )


def _evaluations(router: PlanExecutor) -> int:
    """As `Statistics.evaluations`."""
    return router.probed + sum(stream.looked_at for part in router.routers for stream in part.streams)


def _older_plan(scopes: list[Scope], names: Sequence[str]) -> TrackStatistics:
    """A plan that goes on within these scopes, in one track with newer ones."""
    rows = {name: sum(scope.rows.get(s, 0) for scope in scopes) for s, name in enumerate(names)}
    results, entries = sum(s.results for s in scopes), sum(len(s.entries) for s in scopes)
    return TrackStatistics(scopes[0].plan, rows, results, entries)
