"""A plan change under way: what the engine offers a migration technique, and what it remembers of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.box import Box, history
from eddy.errors import EddyError
from eddy.hybrid import Task
from eddy.itinerary import StairId
from eddy.lowwater import LowWater
from eddy.plan import Plan
from eddy.router import Router
from eddy.statistics import MigrationStatistics, TrackStatistics
from eddy.track import Track
from stairs import Stair


@define(eq=False)
class Change:
    """From one plan to another; see `policies.migration.Change`."""

    plan: Plan
    former: Plan
    technique: str
    event: int
    """Events before it."""
    _router: Router
    _lowwater: LowWater
    _new_box: Callable[[Plan, Sequence[int]], Box]
    """Makes an empty box for a plan, whose streams begin with these rows."""
    live: int = field(init=False)
    """Rows that were live when it began."""
    counts: NDArray[np.int64] = field(init=False)
    """The next row of each stream when it began."""
    dropped: list[Stair] = field(factory=list, init=False)
    """STAIRs that nobody needs any more; their memory is given back with the next batch."""
    seconds: float = field(default=0.0, init=False)
    """Time spent in the calls of the technique."""
    ended: int | None = field(default=None, init=False)
    held: int = field(default=0, init=False)
    peak: int = field(default=0, init=False)
    gap: int = field(default=0, init=False)
    _silent: int = field(default=0, init=False)
    _built: list[int] = field(factory=lambda: [0, 0], init=False)
    _filled: list[int] = field(factory=lambda: [0, 0], init=False)
    """Composites built and keys filled in the engine's life: when it began, and now."""
    boxed: Box | None = field(default=None, init=False)
    adopted: Box | None = field(default=None, init=False)
    """A box that takes over."""
    last: int = field(default=0, init=False)
    oldest: Change | None = field(default=None, init=False, repr=False)
    """The oldest change under way; None: this one."""
    _created: list[Stair] = field(factory=list, init=False)
    _track: Track | None = field(default=None, init=False)
    """What a change that another one has followed still waits for: STAIRs with holes, or the former track."""
    _shadow: tuple[Task, StairId, Stair] | None = field(default=None, init=False)
    _tracks: tuple[TrackStatistics, ...] = field(default=(), init=False)

    def __attrs_post_init__(self) -> None:
        self.live = int((self._lowwater.counts - self._lowwater.lows).sum())
        self.counts = self._lowwater.counts.copy()
        self._built = [self._router.composites_built] * 2
        self._filled = [self._router.keys_filled] * 2

    # -- starting --------------------------------------------------------------------------------------------------

    def shift(self) -> list[Stair]:
        created, dropped = self._router.install(self.plan, fresh=False)
        self.dropped += dropped
        self._created = [stair for stair in created if stair.holes is not None]
        return self._created

    def fork(self, held: bool) -> None:
        self._track = self._router.tracks[-1]
        if self._track.hybrid is not None:  # two plans in one cannot be the older track
            self.finish()
            return
        self._router.fork(self.plan, self._lowwater.counts, held)

    def split(self, sharing: bool) -> None:
        if self.running:  # what goes on is not whole, so it cannot make what the new plan lacks
            self.finish()
            return
        before = self._router.every_stair
        if self._router.split(self.plan, self._lowwater.counts, sharing):
            kept = {id(stair) for stair in self._router.every_stair}
            self.dropped += [stair for stair in before if id(stair) not in kept]
        else:
            self.shift()

    def box(self, replay: bool) -> Box:
        lows = self._lowwater.lows.copy()
        self.boxed = self._new_box(self.plan, (lows if replay else self._lowwater.counts).tolist())
        for batch in history(self._router.streams, lows) if replay else ():
            self.boxed.feed(batch)
        return self.boxed

    def swap(self) -> None:
        if self.boxed is None:
            raise EddyError("there is no black box to swap in: call box() first")
        self.boxed.drain()
        if (self._lowwater.lows >= self.boxed.firsts).all():
            self.boxed, self.adopted = None, self.boxed
        else:  # it lacks rows that are still live
            self.finish()

    # -- going on --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        tracks = self._router.tracks
        several = len(tracks) > 1 or tracks[0].hybrid is not None or self.boxed is not None
        return several or bool(self.incomplete)

    @property
    def superseded(self) -> bool:
        """Whether nothing of this change is left, now that another has followed."""
        if self._track is not None:
            return all(track is not self._track for track in self._router.tracks)
        current = {id(stair) for stair in self._router.every_stair}
        return not any(id(stair) in current and stair.holes is not None for stair in self._created)

    @property
    def turned_over(self) -> bool:
        return bool((self._lowwater.lows >= self.counts).all())

    @property
    def incomplete(self) -> list[Stair]:
        return [stair for stair in self._router.stairs.values() if stair.holes is not None]

    @property
    def age(self) -> float:
        first = self if self.oldest is None else self.oldest
        return float((self._lowwater.counts - first.counts).sum()) / max(1, first.live)

    def expire(self) -> None:
        self.look()
        self._router.expire(self._lowwater.lows.tolist())

    def compute(self, budget: int) -> None:
        hybrid = self._router.tracks[-1].hybrid
        if hybrid is None:
            return
        if self._shadow is None or self._shadow[1] not in self._router.tracks[-1].shadows:
            task, state = next(
                (task, state)
                for task in hybrid.tasks
                for state in task.missing
                if self._router.stairs[state].partial
            )
            self._shadow = (task, state, self._router.shadow(state))
        task, state, stair = self._shadow
        stair.settle(budget)
        if stair.holes is None:
            self._router.merge(task, state, self._lowwater.counts)
            self._shadow = None

    def finish(self) -> None:
        self.look()
        self.boxed = None
        _, dropped = self._router.install(self.plan, fresh=False)
        self.dropped += dropped
        for stair in self._router.stairs.values():
            stair.fill()

    def use(self, router: Router) -> None:
        """Another router has taken over."""
        self._router = router

    # -- what it was like --------------------------------------------------------------------------------------------

    def note(self, events: int, results: int, held: int) -> None:
        """A batch is done: so many events gave so many results, and others that are held back."""
        self.last = events
        self._silent = 0 if results else self._silent + events
        self.gap = max(self.gap, self._silent)
        self.held += held
        self.look()

    def look(self) -> None:
        """See how far it is."""
        router, names = self._router, self._router.compiler.names
        boxed = 0 if self.boxed is None else self.boxed.nbytes
        self.peak = max(self.peak, boxed + sum(stair.nbytes for stair in router.every_stair))
        self._built[1], self._filled[1] = router.composites_built, router.keys_filled
        tracks = router.tracks
        if len(tracks) > 1:
            self._tracks = tuple(
                TrackStatistics(
                    str(track.plan),
                    {name: track.rows.get(s, 0) for s, name in enumerate(names)},
                    track.emitted,
                    sum(len(duty.entries) for duty in track.duties),
                )
                for track in tracks
            )
        elif self.boxed is not None:
            self._tracks = (TrackStatistics(str(self.plan), {}, 0, self.boxed.behind),)
        elif tracks[0].hybrid is not None:
            duties = tracks[0].duties
            rows = {name: sum(duty.rows.get(s, 0) for duty in duties) for s, name in enumerate(names)}
            results, entries = sum(d.results for d in duties), sum(len(d.entries) for d in duties)
            self._tracks = (TrackStatistics(str(self.former), rows, results, entries),)

    def statistics(self) -> MigrationStatistics:
        return MigrationStatistics(
            technique=self.technique,
            former=str(self.former),
            plan=str(self.plan),
            begun=self.event,
            ended=self.ended,
            seconds=self.seconds,
            keys_filled=self._filled[1] - self._filled[0],
            composites_built=self._built[1] - self._built[0],
            results_held=self.held,
            longest_gap=self.gap,
            peak_bytes=self.peak,
            tracks=self._tracks,
        )
