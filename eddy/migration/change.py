"""A plan change under way: what the engine offers a migration technique, and what it remembers of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.errors import EddyError
from eddy.migration.black_box import BlackBox, history
from eddy.migration.hybrid import Hybrid
from eddy.migration.record import Chronicle
from eddy.migration.surveying import Samples, survey
from eddy.migration.takeover import expire, fork, merge, mirror, split, unfinished
from eddy.plan.compiler import StairId
from eddy.plan.plan import Plan
from eddy.router.executor import PlanExecutor, RunningPlan
from eddy.router.router import Router
from eddy.store.row_numbers import RowNumbers
from eddy.tracks.track import Track
from policies import Migration
from policies.migration.base import State
from policies.migration.survey import Survey
from stairs import Stair
from stairs.transform import demote_all


@define(eq=False)
class Change:
    """From one plan to another; see `policies.migration.Change`."""

    plan: Plan
    chronicle: Chronicle
    _router: PlanExecutor
    _rows: RowNumbers
    _new_box: Callable[[Plan, Sequence[int]], BlackBox]
    """Makes an empty box for a plan, whose streams begin with these rows."""
    _samples: Callable[[], Samples]
    batch: float = 0.0
    """Events of a batch, on average."""
    technique: Migration | None = field(default=None, init=False)
    """Who goes on with it, where that is another than the engine's technique."""
    live: int = field(init=False)
    """Rows that were live when it began."""
    counts: NDArray[np.int64] = field(init=False)
    """The next row of each stream when it began."""
    dropped: list[State] = field(factory=list, init=False)
    """STAIRs that nobody needs any more; their memory is given back with the next batch."""
    boxed: BlackBox | None = field(default=None, init=False)
    adopted: BlackBox | None = field(default=None, init=False)
    """A box that takes over."""
    last: int = field(default=0, init=False)
    asked: tuple[int, int] = field(default=(0, 0), init=False)
    since: tuple[NDArray[np.int64], int] = field(init=False)
    """``counts`` and ``live`` of the oldest change under way."""
    _filled: tuple[int, int] = field(default=(0, 0), init=False)
    """Holes filled, and composites that came of it, in the engine's life until the technique was last called."""
    _created: list[State] = field(factory=list, init=False)
    _track: RunningPlan | None = field(default=None, init=False)
    """What a change that another one has followed still waits for: STAIRs with holes, or the former track."""
    _left: int | None = field(default=None, init=False)
    """Where plans are one track, the number of the plan that this change has left."""
    _mirror: tuple[StairId, Stair] | None = field(default=None, init=False)
    """The state that is being completed: its name, and the STAIR that will take its place."""

    def __attrs_post_init__(self) -> None:
        self.live = int((self._rows.counts - self._rows.lows).sum())
        self.counts = self._rows.counts.copy()
        self.since = (self.counts, self.live)
        self.chronicle.count(self._router)

    # -- choosing --------------------------------------------------------------------------------------------------

    def survey(self) -> Survey | None:
        router = self._router
        if not isinstance(router, Router):
            return None
        compiler, former = router.compiler, router.tracks[-1].table
        if not router.alone:  # the tables of plans that run side by side have steps of their own
            former = compiler.compile(self.chronicle.former)
        tables = former, compiler.compile(self.plan)
        return survey(router, self._rows, *tables, self._samples(), self.batch, self.running)

    def delegate(self, technique: Migration, predicted: Mapping[str, float]) -> None:
        self.technique = technique
        self.chronicle.technique = type(technique).__name__
        self.chronicle.predicted = dict(predicted)

    # -- starting --------------------------------------------------------------------------------------------------

    def demote(self) -> None:
        router = self._router
        if not isinstance(router, Router) or not router.alone:
            return  # what a plan makes beside another cannot be made again from the rows
        kept = set(router.compiler.compile(self.plan).stairs)
        for wanted, stair in reversed(router.stairs.items()):
            if wanted not in kept:
                self.chronicle.demoted += demote_all(stair)

    def shift(self) -> list[State]:
        created, dropped = self._router.install(self.plan, fresh=False)
        self.dropped += dropped
        self._created = [stair for stair in created if stair.holes is not None]
        return self._created

    def fork(self, held: bool) -> None:
        self._track = self._router.tracks[-1]
        if self._role is not None:
            self._fall_back("tracks")  # two plans in one cannot be the older track
            return
        fork(self._joins, self.plan, self._rows.counts, held)

    def split(self, sharing: bool) -> None:
        overlapping = self._role
        if self.running and (overlapping is None or self.boxed is not None or self.incomplete):
            # A plan with holes, or on several tracks, cannot make what another lacks.
            self._fall_back("holes" if self.incomplete else "tracks")
            return
        before = self._router.every_stair
        outcome = split(self._joins, self.plan, self._rows.counts, sharing)
        if outcome == "split":
            self._left = 0 if overlapping is None else overlapping.turn
            kept = {id(stair) for stair in self._router.every_stair}
            self.dropped += [stair for stair in before if id(stair) not in kept]
        elif outcome != "whole":
            self._fall_back(outcome, lazily=overlapping is None)
        elif overlapping is None:
            self.shift()
        else:
            self.finish()

    def _fall_back(self, reason: str, lazily: bool = False) -> None:
        """Do without two plans: what the new one lacks is computed at once, or is holes to begin with."""
        self.chronicle.fallback = reason
        if lazily:
            self.shift()
        else:
            self.finish()

    @property
    def _role(self) -> Hybrid | None:
        """What the plans that run do, where they are one track."""
        track = self._router.tracks[-1]
        return track.role if isinstance(track, Track) and isinstance(track.role, Hybrid) else None

    def box(self, replay: bool) -> BlackBox:
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
        return not self._router.alone or self.boxed is not None

    @property
    def superseded(self) -> bool:
        """Whether nothing of this change is left, now that another has followed."""
        if self._track is not None:
            return all(track is not self._track for track in self._router.tracks)
        if self._left is not None:
            role = self._role
            return role is None or all(s.turn != self._left or not s.entries for s in role.scopes)
        current = {id(stair) for stair in self._router.every_stair}
        return not any(id(stair) in current and stair.holes is not None for stair in self._created)

    @property
    def turned_over(self) -> bool:
        return bool((self._rows.lows >= self.counts).all())

    @property
    def incomplete(self) -> list[State]:
        return [stair for stair in self._router.stairs.values() if stair.holes is not None]

    @property
    def built(self) -> int:
        return self._router.composites_built

    @property
    def age(self) -> float:
        counts, live = self.since
        return float((self._rows.counts - counts).sum()) / max(1, live)

    def expire(self) -> None:
        if isinstance(self._router, Router):
            expire(self._router, self._rows.lows.tolist())

    def promote(self, state: State) -> None:
        before = self._router.composites_built
        state.promote_all()
        self.chronicle.promoted += self._router.composites_built - before

    def compute(self, budget: int) -> None:
        if not isinstance(self._router, Router):
            return
        router, current = self._router, self._mirror
        if current is None or current[0] not in router.tracks[-1].role.mirrors:
            found = unfinished(router)
            if found is None:
                return
            current = self._mirror = (found, mirror(router, found))
        state, stair = current
        stair.settle(budget)
        if stair.holes is None:
            merge(router, state, self._rows.counts)
            self._mirror = None

    def finish(self) -> None:
        self.boxed = None
        _, dropped = self._router.install(self.plan, fresh=False)
        self.dropped += dropped
        for stair in self._router.stairs.values():
            stair.fill()

    @property
    def _joins(self) -> Router:
        """The router, where two plans are to run in it side by side."""
        if not isinstance(self._router, Router):
            raise EddyError(
                "a set difference cannot run on two tracks: use Jisc, MovingState, Gms, Gpt or Ghm"
            )
        return self._router

    def use(self, router: PlanExecutor) -> None:
        """Another router has taken over."""
        self._router = router

    def note(self, events: int, results: int, held: int) -> None:
        """A batch of ``events`` is done: it gave ``results``, and others that are ``held`` back."""
        self.last = events
        keys, composites = self._filled
        self.asked = self._router.keys_filled - keys, self._router.composites_built - composites
        self.chronicle.batch(events, results, held)
        self.chronicle.measure(self._router, self.boxed)

    def note_progress(self) -> None:
        """See what the technique has done; how large all is need not be known more than once a batch."""
        self._filled = self._router.keys_filled, self._router.composites_built
        if self.last == 0 or self._several:
            self.chronicle.measure(self._router, self.boxed)
        else:
            self.chronicle.count(self._router)
