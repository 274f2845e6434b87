"""Taking a step: the entries of a ring probe a STAIR, and what matches goes to another ring."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from eddy.tracks.binding import Hop, Recipe
from eddy.tracks.moment import Marks, Moment
from stairs import Ring, Stair
from stairs.holes import Keys
from stairs.key_kernels import fetch_keys, key_by_row, mix_into, read_component_keys, read_keys, verify
from stairs.layout import ROWS
from stairs.probe_kernels import BLOCK, LINKING, join_for
from stairs.program_kernels import RUN_CURSOR
from stairs.ring_kernels import append_keys, keep

AT_ONCE = 4096
"""Matches that a step has room for before their predicates are decided."""

MATCHES = 4
"""As many of them for each entry, at the most: where few entries come, few match."""


class Prober:
    """Takes steps outside of a program, where they are more than a probe or meet a hole; and has rings to spare."""

    def __init__(self, nested: bool, moment: Moment) -> None:
        self._moment = moment
        self._fill_join = join_for(0, 0, nested, False)
        self._spare: dict[int, list[Ring]] = {}
        self.cursor = np.zeros(RUN_CURSOR, np.int64)
        """Where the kernel stands that probes, and how many matches there were: programs use it too."""
        self.waiting = np.zeros((2, BLOCK + 1), np.int32)
        """Room for the entries that a kernel has in hand."""
        self.tried = 0
        """Pairs, found outside of programs, that were held to predicates, or could have been."""

    def hop(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, marks: Marks, filling: bool = False
    ) -> None:
        """Append to ``out`` all matches of the source's entries start..stop, with room made as it is needed.

        They are arriving: a match is older than the entry's latest event, and live at it by ``marks``. When
        ``filling``, every pair counts that is live at its latest event; marks then begin with those before the batch.
        """
        if hop.verified or hop.decision is not None:
            # Predicates are decided for many matches at once, also where few of them stay.
            out.reserve(min(AT_ONCE, MATCHES * (stop - start)))
        for _ in self.matches(hop, source, start, stop, out, marks, filling):
            out.grow()

    def matches(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, marks: Marks, filling: bool = False
    ) -> Iterator[None]:
        """Do as `hop` does, but yield whenever ``out`` is full: the caller makes room, or takes what is there."""
        if hop.theta is None:
            yield from self._probe(hop, source, start, stop, out, marks, filling)
            return
        pairs, looked_at = self.take(source.components), hop.theta.looked_at
        for _ in hop.theta.pairs(source, start, stop, pairs, self._moment.newest):
            yield from self._probe(hop, pairs, pairs.base, pairs.tail, out, marks, filling)
            pairs.clear()
        self.tried += hop.theta.looked_at - looked_at
        self.give(pairs)

    def _probe(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, marks: Marks, filling: bool
    ) -> Iterator[None]:
        target = hop.target
        if target.holes is not None:
            keys = _asked(hop, source, start, stop)
            if not filling:  # a row that is not kept asks for nothing
                keys = keys[source.state[2][start - source.base : stop - source.base] >= 0]
            target.promote(keys)
        decided = hop.verified or hop.decision is not None or hop.step.scope is not None
        first = out.tail
        cursor, waiting = self.cursor, self.waiting
        join, streams = (self._fill_join, hop.streams) if filling else (hop.kernel, target.streams)
        cursor[0], cursor[1], cursor[2], cursor[3], cursor[LINKING] = start, stop, 0, 0, 0
        done = 0
        while not done:
            done = join(source.state, target.state, out.state, hop.place, streams, marks, cursor, waiting)
            self.tried += out.tail - first
            if decided:
                self._decide(hop, out, first)
            if not done and out.is_full:
                yield
            first = out.tail  # whoever took what was there may have emptied it

    def _decide(self, hop: Hop, out: Ring, first: int) -> None:
        """Of the matches from ``first`` on only those stay that really are: in scope, exact keys, all predicates."""
        if out.tail == first:
            return
        step = hop.step
        if step.scope is not None:
            keep(out.state, first, step.scope.admitted(out, first, step.streams))
        if hop.verified:
            kept = np.ones(out.tail - first, np.uint8)
            for one, leaf, other, other_leaf in hop.verified:
                verify(out.state, first, one, leaf.state, other, other_leaf.state, kept)
            keep(out.state, first, kept)
        if hop.decision is not None:
            keep(out.state, first, hop.decision.kept(step.streams, out, first, self._moment.newest))

    def collect(self, stair: Stair, keys: Keys, out: Ring, marks: Marks) -> None:
        """Append to ``out`` the entries of a STAIR that have one of these keys, and are live by ``marks``."""
        wanted = self.take(0)
        wanted.reserve(len(keys))
        append_keys(wanted.state, keys)
        place = np.arange(ROWS, ROWS + stair.components)
        cursor, waiting = self.cursor, self.waiting
        cursor[0], cursor[1], cursor[2], cursor[3], cursor[LINKING] = wanted.base, wanted.tail, 0, 0, 0
        while not self._fill_join(
            wanted.state, stair.state, out.state, place, stair.streams, marks, cursor, waiting
        ):
            out.grow()
        self.give(wanted)

    def take(self, components: int) -> Ring:
        """An empty ring for entries on their way, of so many ``components``; give it back."""
        spare = self._spare.setdefault(components, [])
        return spare.pop() if spare else Ring(components, hashed=False)

    def give(self, ring: Ring) -> None:
        """Take a ring back."""
        ring.clear()
        self._spare[ring.components].append(ring)

    @property
    def spare(self) -> Iterator[Ring]:
        """The rings that were given back."""
        return itertools.chain(*self._spare.values())


def _asked(hop: Hop, source: Ring, start: int, stop: int) -> Keys:
    """The keys by which the target knows its holes, of the entries that probe it."""
    keys = np.empty(stop - start, np.int64)
    if hop.asked is None:
        read_keys(source.state, start, keys)
        return keys
    for i, (component, leaf) in enumerate(hop.asked):
        part = keys if i == 0 else np.empty(stop - start, np.int64)
        read_component_keys(source.state, start, component, leaf.state, part)
        if i > 0:
            mix_into(keys, part)
    return keys


def rekey(recipe: Recipe, ring: Ring, start: int, stop: int) -> None:
    """Give entries start..stop of a ring the key under which they are stored, and probe, next."""
    if recipe is None:
        return
    if isinstance(recipe, int):
        key_by_row(ring.state, start, stop, recipe)
        return
    for i, (component, leaf) in enumerate(recipe):
        fetch_keys(ring.state, start, stop, component, leaf.state, i)
