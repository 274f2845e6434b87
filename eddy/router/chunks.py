"""Results in parts of bounded size, still in the order of their latest events.

The last stop of a plan is not run for a whole batch then, but for as many events at a time as give no more than
``max_rows`` results. One event can have more than that; all its results come from one step, which is stopped when
the ring is full and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eddy.tracks.binding import Hop
from eddy.tracks.moment import Marks
from eddy.tracks.track import Track
from stairs import Ring
from stairs.ring_kernels import expand

if TYPE_CHECKING:
    from eddy.router.router import Router

AT_ONCE = 1 << 17
"""Results that are built at a time at the most, however many rows the caller would take."""


def chunks(router: Router, max_rows: int, ring: int) -> Iterator[Ring]:
    """Run the last stop; yields the result ring whenever it has results to hand out, ``max_rows`` at the most."""
    marks = router.marks
    finals = [final for final in _finals(router.tracks, marks) if final[1].delta[0] != final[1].delta[1]]
    sources = [_by_event(hop) for _, hop, _ in finals]
    events = [source.state[2][: len(source)] for source in sources]
    out = router.results[ring]
    out.limit(min(max_rows, AT_ONCE))
    count, at, width = marks.shape[0], 0, 64
    while at < count:
        stop = min(at + width, count)
        out.clear()
        fits, made = True, []
        for (track, hop, seen), source, mine in zip(finals, sources, events, strict=True):
            low, high = (source.base + np.searchsorted(mine, (at, stop))).tolist()
            start, results, tried = out.tail, 0, router.prober.tried
            for _ in router.prober.matches(hop, source, low, high, out, seen) if low < high else ():
                if stop - at > 1:
                    fits = False
                    break
                results += out.tail - start
                yield out
                out.clear()
                start = out.tail
            if not fits:
                break
            tried = router.prober.tried - tried
            made.append((track, hop, high - low, results + out.tail - start, tried))
        if not fits:
            width = (stop - at) // 2
            continue
        for track, hop, arrivals, results, tried in made:
            track.emitted += results
            track.program.count(hop, arrivals, results, tried)
            if hop.step.scope is not None:
                hop.step.scope.count(hop.step.source.streams, arrivals, results)
        if len(out):
            yield out
        at, width = stop, 2 * (stop - at)


def _finals(tracks: Sequence[Track], marks: Marks) -> Iterator[tuple[Track, Hop, Marks]]:
    """The last hops whose results are given at once, each with its track and the marks as that sees them."""
    for track in tracks:
        if track.role.outbox is None:
            seen = track.role.marks(marks)
            for hop in track.halts[-1].hops:
                scope = hop.step.scope
                if scope is None or not scope.excludes(hop.step.source.streams):
                    yield track, hop, seen


def _by_event(hop: Hop) -> Ring:
    """The entries that probe, in the order of their latest events."""
    source, (start, stop) = hop.arriving, hop.delta
    base = source.base
    events = source.state[2][start - base : stop - base]
    order = np.argsort(events, kind="stable")
    keys = source.keys(start, stop)[order]
    sorted_ = Ring(source.components, hashed=False)
    sorted_.reserve(stop - start)
    expand(source.state, start, order, keys, sorted_.state)
    return sorted_
