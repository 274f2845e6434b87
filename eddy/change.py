"""A plan change under way: what the engine offers a migration technique, and what it remembers of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.box import Box, history
from eddy.chronicle import Chronicle
from eddy.errors import EddyError
from eddy.hybrid import Task
from eddy.itinerary import StairId
from eddy.numbers import Numbers
from eddy.plan import Plan
from eddy.router import Router
from eddy.track import Track
from stairs import Stair


@define(eq=False)
class Change:
    """From one plan to another; see `policies.migration.Change`."""

    plan: Plan
    chronicle: Chronicle
    _router: Router
    _rows: Numbers
    _new_box: Callable[[Plan, Sequence[int]], Box]
    """Makes an empty box for a plan, whose streams begin with these rows."""
    batch: float = 0.0
    """Events of a batch, on average."""
    live: int = field(init=False)
    """Rows that were live when it began."""
    counts: NDArray[np.int64] = field(init=False)
    """The next row of each stream when it began."""
    dropped: list[Stair] = field(factory=list, init=False)
    """STAIRs that nobody needs any more; their memory is given back with the next batch."""
    boxed: Box | None = field(default=None, init=False)
    adopted: Box | None = field(default=None, init=False)
    """A box that takes over."""
    last: int = field(default=0, init=False)
    since: tuple[NDArray[np.int64], int] = field(init=False)
    """``counts`` and ``live`` of the oldest change under way."""
    _created: list[Stair] = field(factory=list, init=False)
    _track: Track | None = field(default=None, init=False)
    """What a change that another one has followed still waits for: STAIRs with holes, or the former track."""
    _shadow: tuple[Task, StairId, Stair] | None = field(default=None, init=False)
    """The state that is being completed: its task, its name, and the STAIR that will take its place."""

    def __attrs_post_init__(self) -> None:
        self.live = int((self._rows.counts - self._rows.lows).sum())
        self.counts = self._rows.counts.copy()
        self.since = (self.counts, self.live)
        self.chronicle.count(self._router)

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
        self._router.fork(self.plan, self._rows.counts, held)

    def split(self, sharing: bool) -> None:
        if self.running:  # what goes on is not whole, so it cannot make what the new plan lacks
            self.finish()
            return
        before = self._router.every_stair
        if self._router.split(self.plan, self._rows.counts, sharing):
            kept = {id(stair) for stair in self._router.every_stair}
            self.dropped += [stair for stair in before if id(stair) not in kept]
        else:
            self.shift()

    def box(self, replay: bool) -> Box:
        lows = self._rows.lows.copy()
        self.boxed = self._new_box(self.plan, (lows if replay else self._rows.counts).tolist())
        for batch in history(self._router.streams, lows) if replay else ():
            self.boxed.feed(batch)
        return self.boxed

    def swap(self) -> None:
        if self.boxed is None:
            raise EddyError("there is no black box to swap in: call box() first")
        self.boxed.drain()
        self.chronicle.measure(self._router, self.boxed)
        if (self._rows.lows >= self.boxed.firsts).all():
            self.boxed, self.adopted = None, self.boxed
        else:  # it lacks rows that are still live
            self.finish()

    # -- going on --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self._several or bool(self.incomplete)

    @property
    def _several(self) -> bool:
        """Whether two plans are running."""
        tracks = self._router.tracks
        return len(tracks) > 1 or tracks[0].hybrid is not None or self.boxed is not None

    @property
    def superseded(self) -> bool:
        """Whether nothing of this change is left, now that another has followed."""
        if self._track is not None:
            return all(track is not self._track for track in self._router.tracks)
        current = {id(stair) for stair in self._router.every_stair}
        return not any(id(stair) in current and stair.holes is not None for stair in self._created)

    @property
    def turned_over(self) -> bool:
        return bool((self._rows.lows >= self.counts).all())

    @property
    def incomplete(self) -> list[Stair]:
        return [stair for stair in self._router.stairs.values() if stair.holes is not None]

    @property
    def age(self) -> float:
        counts, live = self.since
        return float((self._rows.counts - counts).sum()) / max(1, live)

    def expire(self) -> None:
        self._router.expire(self._rows.lows.tolist())

    def compute(self, budget: int) -> None:
        hybrid = self._router.tracks[-1].hybrid
        if hybrid is None:
            return
        if self._shadow is None or self._shadow[1] not in self._router.tracks[-1].shadows:
            missing = [(task, state) for task in hybrid.tasks for state in task.missing]
            task, state = next((t, s) for t, s in missing if self._router.stairs[s].partial)
            self._shadow = (task, state, self._router.shadow(state))
        task, state, stair = self._shadow
        stair.settle(budget)
        if stair.holes is None:
            self._router.merge(task, state, self._rows.counts)
            self._shadow = None

    def finish(self) -> None:
        self.boxed = None
        _, dropped = self._router.install(self.plan, fresh=False)
        self.dropped += dropped
        for stair in self._router.stairs.values():
            stair.fill()

    def use(self, router: Router) -> None:
        """Another router has taken over."""
        self._router = router

    def note(self, events: int, results: int, held: int) -> None:
        """A batch is done: so many events gave so many results, and others that are held back."""
        self.last = events
        self.chronicle.batch(events, results, held)
        self.chronicle.measure(self._router, self.boxed)

    def look(self) -> None:
        """See what the technique has done; how large all is need not be known more than once a batch."""
        if self.last == 0 or self._several:
            self.chronicle.measure(self._router, self.boxed)
        else:
            self.chronicle.count(self._router)
