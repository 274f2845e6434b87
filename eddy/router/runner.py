"""Running a program: a kernel follows it, and what the kernel cannot do is done here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eddy.tracks.binding import Halt
from eddy.tracks.moment import Marks
from eddy.tracks.prober import Prober
from eddy.tracks.track import Track
from stairs import Ring
from stairs.program_kernels import LINK, MATCHED, OPERATION, RESUMED
from stairs.ring_kernels import expand

Follow = Callable[..., int]
"""A kernel that follows a program: `stairs.program_kernels.run`, or one that can do more instructions."""


class Runner:
    """Takes the entries of a batch along the program of a track."""

    def __init__(self, prober: Prober) -> None:
        self._prober = prober

    def run(self, track: Track, results: Ring, marks: Marks, whole: bool, follow: Follow) -> None:
        """Run the program of a track from its beginning; its results go to the ring ``results``.

        ``marks`` are as the track sees them. If not ``whole``, the last stop, which makes the results, is left out.
        """
        program, prober = track.program, self._prober
        stop = len(program.table) if whole else program.last
        prober.cursor[RESUMED] = at = 0
        while at < stop:
            at = follow(program.table, at, stop, results.address, marks, prober.cursor, prober.waiting)
            if at < stop:
                at = self.assist(track, at, results, marks)

    def assist(self, track: Track, at: int, results: Ring, marks: Marks, ahead: float = 1.0) -> int:
        """Do what stopped the program of a track at instruction ``at``; returns where it goes on.

        ``ahead``: how many times as many results as there are so far are likely to come.
        """
        halt, hop, call = track.program.sources[at]
        last = halt is track.halts[-1]
        out, cursor = results if last else halt.out, self._prober.cursor
        if cursor[RESUMED]:
            out.grow(ahead if last else 1.0)
            return at
        if call is not None:
            return at + call()
        if hop is not None:
            low, high = hop.delta
            if low < high:
                start, scope, tried = out.tail, hop.step.scope, self._prober.tried
                self._prober.hop(hop, hop.arriving, low, high, out, marks)
                made = out.tail - start
                track.program.count(hop, high - low, made, self._prober.tried - tried)
                cursor[MATCHED] += made
                if scope is not None:
                    scope.count(hop.step.source.streams, high - low, made if last else 0)
        elif track.program.table[at, OPERATION] == LINK:
            assert halt.stair is not None
            halt.stair.insert(*out.delta)
        else:
            _copy_to_mirror(halt)
        return at + 1


def _copy_to_mirror(halt: Halt) -> None:
    """Give the mirror of a halt's STAIR the entries of this batch."""
    assert halt.stair is not None and halt.mirror is not None
    start, stop = halt.stair.delta
    if start < stop:
        mirror, first = halt.mirror, halt.mirror.tail
        mirror.reserve(stop - start)
        which = np.arange(stop - start)
        expand(halt.stair.state, start, which, halt.stair.keys(start, stop), mirror.state)
        mirror.insert(first, mirror.tail)
