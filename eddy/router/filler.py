"""Filling holes: the itinerary of the stream that carries a key is replayed, from its rows with that key."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.intake.intake import Part
from eddy.plan.compiler import StairId
from eddy.router.foresight import foresee
from eddy.tracks.binding import Halt, Hop
from eddy.tracks.moment import Moment
from eddy.tracks.prober import Prober, rekey
from eddy.tracks.tracks import Tracks
from stairs import Ring, Stair
from stairs.holes import Keys
from stairs.key_kernels import link
from stairs.stair import ALL


class Filler:
    """Fills the holes of all tracks' STAIRs."""

    def __init__(self, plans: Tracks, prober: Prober, moment: Moment) -> None:
        self._plans, self._prober, self._moment = plans, prober, moment

    def fill(self, stair: Stair, keys: Keys) -> int:
        """Make all composites with these keys, which are holes, and link them; returns how many there are.

        They may have rows of the batch that is being run. None of them is there already, since inserts to a hole are
        dropped.
        """
        halt, carrier = self._plans.writers[stair]
        start = stair.tail
        self._replay(halt, carrier, keys, stair)
        link(stair.state, start, stair.tail, ALL)
        return stair.tail - start

    def foresee(self, parts: Sequence[Part]) -> None:
        """Fill the holes that rows are going to probe, before they are stored."""
        for track in self._plans.tracks:
            if any(stair.holes is not None for stair in track.stairs.values()):
                for stair, keys in foresee(track.halts, parts, self._below):
                    stair.promote(keys)

    def _below(self, stair: Stair) -> Stair | None:
        """The state that is asked for all keys of a STAIR's holes when they are filled, if it has the same key.

        That is the one it is filled from; or, where this is the carrier's leaf, which has a row for each hole, the one
        that these rows probe.
        """
        halt, carrier = self._plans.writers[stair]
        hop = _first_hop(halt, carrier)
        below = hop.step.target if len(hop.step.source.streams) == 1 else hop.step.source
        state = hop.target if below is hop.step.target else hop.source
        same = below.key == carrier.key and len(carrier.key.classes) == 1
        return state if same and isinstance(state, Stair) else None

    def _replay(self, halt: Halt, carrier: StairId, keys: Keys, out: Ring) -> None:
        """Append to ``out`` what the halt makes of the carrier's rows with these keys."""
        prober, binder, marks = self._prober, self._plans.binder, self._moment.filling
        hop = _first_hop(halt, carrier)
        source, source_id = hop.source, hop.step.source
        entries = prober.take(source.components)
        below = self._plans.makers.get(source)
        if below is None:
            prober.collect(binder.leaf(carrier), keys, entries, marks)
            if source_id.key != carrier.key:
                rekey(binder.recipe(source_id), entries, entries.base, entries.tail)
        elif (
            isinstance(source, Stair)
            and source_id.key == carrier.key
            and (source.complete or source.component is None)
        ):
            source.promote(keys)
            prober.collect(source, keys, entries, marks)
        else:
            self._replay(below, carrier, keys, entries)
        start = out.tail
        prober.hop(hop, entries, entries.base, entries.tail, out, marks, filling=True)
        rekey(halt.recipe, out, start, out.tail)
        prober.give(entries)


def _first_hop(halt: Halt, carrier: StairId) -> Hop:
    """The step of a halt to which the carrier's rows lead, and which makes everything."""
    return next(
        hop for hop in halt.hops if hop.step.scope is None and carrier.streams[0] in hop.step.source.drivers
    )
