"""The router: runs batches along the itineraries of the plans, and has what they need done around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.intake.batch import Batch
from eddy.intake.intake import Part
from eddy.plan.compiler import Compiler
from eddy.router.beginning import Beginning
from eddy.router.chunks import chunks
from eddy.router.executor import Executor, Made, PlanExecutor
from eddy.router.filler import Filler
from eddy.router.pace import Pace
from eddy.router.reading import reading, reading_events
from eddy.router.runner import Runner
from eddy.router.sequence import KernelSequence, can_run_in_kernels
from eddy.store.leaves import Leaves
from eddy.store.stream import StreamState
from eddy.tracks.moment import Marks, present
from eddy.tracks.prober import Prober
from eddy.tracks.program import Program
from eddy.tracks.tracks import Tracks
from policies import Feedback
from stairs import Stair
from stairs.holes import Keys
from stairs.layout import USUAL
from stairs.probe_kernels import MISSED, STEPS
from stairs.program_kernels import MATCHED, run

if TYPE_CHECKING:
    from eddy.feedback.suspension import Suspension


class Router(Tracks, PlanExecutor):
    """Runs batches along the tracks, each as its role says.

    A batch is begun (`Beginning`), stored, and taken along the programs of the tracks (`Runner`), which take steps
    (`Prober`) and fill holes (`Filler`).
    """

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        super().__init__(compiler, streams, nested, bounded)
        self.leaves = Leaves(streams)
        self.moment = present(streams)
        self.prober = Prober(nested, self.moment)
        self.runner = Runner(self.prober)
        self.beginning = Beginning(self, self.leaves, self.prober)
        self._filler = Filler(self, self.prober, self.moment)
        self._whole = True
        """Whether no STAIR had holes when the batch began: until it is over none gets some."""
        self._kernels: KernelSequence | None = None
        self._pace = Pace()
        self._portion = 0
        """Events that kernels have taken in together in the last batch; 0: Python took it in."""
        self._usual: dict[int, int] = {}
        """What was usual in such a portion, for each STAIR by its address, before Python took in a batch."""

    @property
    def matches_made(self) -> int:
        return self.prober.cursor.item(MATCHED)

    @property
    def probed(self) -> int:
        return self.prober.cursor.item(STEPS)

    @property
    def routers(self) -> tuple[Router, ...]:
        return (self,)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program of the current plan; under feedback it may have two, with other hops between the same rings."""
        current = self.tracks[-1].program
        known = None if self.suspension is None else self.suspension.programs
        return known if known is not None and current in known else (current,)

    @property
    def nbytes(self) -> int:
        scratch = [*self.results, *self.prober.spare]
        for track in self.tracks:
            scratch += track.scratch
        return sum(ring.nbytes for ring in scratch) + self.spare_bytes

    def succeed(self, former: Executor) -> None:
        """Take the place of another router: all that is counted goes on from where that one had come.

        What this one made while it ran apart is not the work of the plan in use: steps count from now on.
        """
        self.filled_before, self.composites_built = former.keys_filled, former.composites_built
        self.prober.cursor[MATCHED], self.prober.cursor[STEPS] = former.matches_made, former.probed
        for router in former.routers:
            for mine, theirs in zip(self.streams, router.streams, strict=True):
                mine.looked_at = theirs.looked_at
        self.counting = False
        for track in self.tracks:
            track.program.begin_counting()

    def attend(self, policy: Feedback, former: Suspension | None = None) -> None:
        self.suspension = None
        if policy.watches:
            from eddy.feedback.suspension import (
                Suspension,  # its kernels are compiled only where they are needed
            )

            self.suspension = Suspension(policy, self, former=former)

    def release(self, rows: bool) -> None:
        if self.suspension is not None:
            self.suspension.release(rows)

    def fill(self, stair: Stair, keys: Keys) -> None:
        self.composites_built += self._filler.fill(stair, keys)

    # -- a batch ---------------------------------------------------------------------------------------------------

    @property
    def kernels(self) -> KernelSequence | None:
        """The sequence of a batch in kernels; None: not as things are now."""
        known = self._kernels
        if known is not None and known.fits() and known.whole:
            return known
        if not can_run_in_kernels(self):
            return None
        self._kernels = KernelSequence(self) if known is None else KernelSequence(self, known.portion)
        return self._kernels

    def _next_in_kernels(self, results: bool) -> KernelSequence | None:
        """The sequence in kernels, if the next batch takes that: not where its results are drawn later, where memory is
        given back, or where what it makes is counted apart."""
        return None if not results or self.reviews_next or self.counting else self.kernels

    def take_in(self, batch: Batch, ring: int, results: bool = True) -> None:
        kernels = self._next_in_kernels(results) if batch.parts else None
        if kernels is None:
            self._expect(len(batch.marks))
            super().take_in(batch, ring, results)
        else:
            kernels.take_in(batch, ring)

    def _expect(self, events: int) -> None:
        """Python takes in a batch of as many ``events``. Kernels have cut theirs into portions, so that STAIRs expect
        less of one; and where they have to grow in the middle of a batch they do so for long."""
        if events > self._portion > 0:
            for stair in self.every_stair:
                usual = self._usual[stair.address] = int(stair.meta[USUAL])
                stair.meta[USUAL] = usual * events // self._portion
        self._portion = 0

    def _expect_portions(self, events: int) -> None:
        """Kernels have taken in a batch, of as many ``events`` and in portions."""
        self._portion = 0 if self._kernels is None else min(self._kernels.portion, events)
        if self._usual:
            for stair in self.every_stair:
                stair.meta[USUAL] = self._usual.get(stair.address, stair.meta[USUAL])
            self._usual.clear()

    def longest(self, events: int, results: bool = True) -> int:
        return events if self._next_in_kernels(results) is not None else min(events, self._pace.events)

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Begin a batch: what is dead at ``floor`` goes, and holes whose rows died are seen to."""
        suspension, beginning = self.suspension, self.beginning
        if suspension is not None:
            suspension.prepare()
        expiring = beginning.expiring(low_rows)
        self._whole = not expiring
        self.moment.begin(floor)
        beginning.begin(floor, low_rows, next_rows, ring)
        if suspension is not None:
            suspension.begin(low_rows, next_rows)
        if beginning.reviewing:
            beginning.review(low_rows, ring)
            if suspension is not None:
                suspension.review()
        for stair, keys in expiring:
            stair.expire(keys)
            stair.close_if_done()

    def foresee(self, parts: Sequence[Part]) -> None:
        """Fill the holes that rows are going to probe, before they are stored."""
        if not self._whole:
            self._filler.foresee(parts)

    def store(self, parts: Sequence[Part]) -> None:
        self.leaves.append(parts, () if self.suspension is None else self.suspension.hold(parts))

    def run(self, marks: Marks, ring: int, results: bool = True) -> None:
        """Take the rows that the leaves have just stored through the plans, one stop at a time.

        Without ``results`` the last stop is left out, except where results wait in an outbox anyway.
        """
        self.moment.run(marks)
        missed, tested = self.prober.cursor.item(MISSED), self._tested()
        tracks, alone, suspension = self.tracks, self.alone, self.suspension
        follow = run if suspension is None else suspension.follow
        if alone:
            self.runner.run(tracks[0], self.results[ring], marks, results, follow)
        for track in () if alone else tracks:
            role = track.role
            out, whole = (self.results[ring], results) if role.outbox is None else (role.outbox, True)
            start = out.tail
            self.runner.run(track, out, role.marks(marks), whole, follow)
            if len(tracks) > 1:
                track.count([len(stream.base) for stream in self.streams], out.tail - start)
        if self.counting or not alone:
            self.composites_made += tracks[-1].made()
        if suspension is not None:
            suspension.done(len(marks))
        self._pace.note(len(marks), self.prober.cursor.item(MISSED) - missed, self._tested() - tested)

    def _tested(self) -> int:
        """Rows that theta predicates have tested so far."""
        return sum(stream.looked_at for stream in self.streams)

    # -- what it has made ------------------------------------------------------------------------------------------

    def made(self, ring: int) -> Made:
        return reading(self.results[ring], self.moment)

    def signed(self, ring: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return reading_events(self.results[ring], self.moment)

    def drawn(self, max_rows: int, ring: int) -> Iterator[Made]:
        return map(partial(reading, moment=self.moment), chunks(self, max_rows, ring))

    # -- kernels in its place --------------------------------------------------------------------------------------

    @property
    def at_ease(self) -> bool:
        """Whether the next batch has nothing to do with feedback."""
        return self.suspension is None or self.suspension.asleep

    @property
    def reviews_next(self) -> bool:
        return self.beginning.reviews_next

    def taken(self, floor: Marks, marks: Marks, counts: NDArray[np.int64], portions: int) -> None:
        """Kernels have done a batch, from `begin` to `run`, in this many ``portions``.

        ``floor``, in one line, was before it, ``counts`` are the next rows after it.
        """
        self.moment.ran(floor, marks, counts)
        self._expect_portions(len(marks))
        self.beginning.batches += 1
        self.leaves.batches += 1
        if self.suspension is not None:
            self.suspension.passed(portions)
