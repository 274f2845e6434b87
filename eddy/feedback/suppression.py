"""Suppression: a join makes no pair of entries while nothing that the pair would meet next has what it needs.

This is for sub-tuples whose components lie on both sides of a join (JIT's Type II). Each side has partners higher up,
but no entry there matches both: what is of no use is the pair, and neither side need wait. A pair is known by its key,
all the attributes that it shares with what it meets next. While nothing has the key the pair is not stored: the key is
*noted*, once for all pairs alike in it. When an entry with the key comes, all pairs with it are *restored*: made of
what is on both sides then, and taken along like what has waited.

While a key is noted the STAIR has no entry under it, and every pair with it is suppressed. So what is restored is all
there is, and nothing is there twice. A key is noted for two turns of the windows at the most after the last pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from eddy.feedback.blacklist import Blacklist, Rows
from eddy.feedback.edge import Edge, Keys, Marks
from eddy.feedback.presence import Recipe
from eddy.tracks.binding import Hop
from eddy.tracks.prober import Prober
from stairs import Ring, Stair
from stairs.feedback.recipe_kernels import read_by
from stairs.feedback.restoring_kernels import chain, choose
from stairs.feedback.suppression_kernels import flag_noted_at
from stairs.feedback.waiting_kernels import append_entries
from stairs.hole_kernels import unlink
from stairs.layout import KEY_HIGH, KEY_LOW, LOW, ROWS, USUAL
from stairs.ring import power_of_two

Longs = NDArray[np.int64]

NO_KEYS: Longs = np.empty(0, np.int64)
"""In place of keys: entries come with those they have."""


@define(eq=False)
class Side:
    """Of what pairs are restored: the entries of one side of the join, and how they meet the other."""

    hop: Hop
    source: Stair
    own: Recipe
    """How its entries get their part of a pair's key."""
    wanted: Recipe
    """How the same part is read from what pairs meet next."""
    verified: list[tuple[int, Stair, int, Stair]]
    """Components of a pair to compare exactly, by their leaves: a mixed key may be that of others."""

    def chosen(self, wanted: Keys, keys: Keys) -> tuple[Rows, Keys]:
        """The entries from before the batch that have one of the ``wanted`` parts: their rows, and the keys by which
        they meet the other side, each mixed with that of ``keys`` which belongs to the part. An entry comes once for
        each key; but only once, and with the key it has, where the other side is not found by a key."""
        keys = keys if self.hop.theta is None else NO_KEYS
        heads, nexts = np.empty(power_of_two(2 * len(wanted)), np.int32), np.empty(len(wanted), np.int32)
        chain(wanted, heads, nexts)
        room, found = -1, self.source.tail - self.source.low
        while found > room:
            room = found
            rows, own = np.empty((room, self.source.components), np.int32), np.empty(room, np.int64)
            tables = self.own, wanted, keys, heads, nexts, rows, own
            found = choose(self.source.state, self.source.leaf, *tables)
        return rows[:found], own[:found]


@define(eq=False)
class Suppression(Edge):
    """Pairs that a join makes are not stored while nothing that they meet next has their key. The blacklist has the
    keys that are noted, as entries without components."""

    pairs: ClassVar[bool] = True
    sides: Sequence[Side] = field(kw_only=True)
    stair: Stair = field(kw_only=True)
    """Where pairs are stored that are not suppressed."""
    counted: int = field(default=0, init=False)
    """Pairs that were suppressed when a batch last was over."""
    _closed: Longs | None = field(default=None, init=False)
    """For each stream of a pair the first row that is in none of those suppressed under the older keys."""

    @property
    def noted(self) -> int:
        """Keys under which pairs are suppressed, some of them twice."""
        return self.blacklist.waiting

    @property
    def keys(self) -> int:
        """These keys, each counted once."""
        noted = self.blacklist
        linked = noted.linked(noted.low, noted.tail)
        return len(np.unique(noted.keys(noted.low, noted.tail)[linked]))

    def prepare(self, whole: bool) -> None:
        """Pairs are judged unless it rests. While some STAIR has holes nothing is: to fill one would make them."""
        self.record.sure, self.record.awake = whole, whole and self.resting == 0

    def rest(self, batches: int) -> None:
        """Suppress no more pairs for as many ``batches``: the STAIR must have room for them when the next begins."""
        if batches:
            self.stair.meta[USUAL] += self.failed // max(1, self.batches)
        super().rest(batches)

    def begin(self, lows: Longs, counts: Longs) -> None:
        """A batch begins: keys are forgotten under which only pairs were suppressed that are dead by now."""
        streams, noted = self.stair.streams, self.blacklist
        if self._closed is None or bool((lows[streams] >= self._closed).any()):
            noted.meta[LOW] = max(noted.low, int(self.record.limit))
            noted.waiting = min(noted.waiting, noted.tail - noted.low)
            self.record.limit, self._closed = noted.tail, counts[streams]

    def not_noted(self, rows: Rows) -> Rows:
        """Those of these pairs whose keys are not noted."""
        flags = np.empty(len(rows), np.uint8)
        flag_noted_at(self.address, keys_of(self.presence.wanted, rows), flags)
        return rows[flags.view(np.bool_)]

    def restorable(self, ids: Longs, prober: Prober, past: Marks) -> tuple[Keys, Rows]:
        """The keys of these entries of what pairs meet next, and all pairs from before the batch that have one of them.

        ``past``: by these marks nothing that has come with the batch is live.
        """
        opposite, (one, other) = self.presence.stair, self.sides
        keys, theirs = own_keys(opposite, ids), rows_of(opposite, ids)
        rows, own = one.chosen(keys_of(one.wanted, theirs), keys)
        entries, out, hop = prober.take(one.source.components), prober.take(len(self.streams)), one.hop
        entries.reserve(len(rows))
        append_entries(entries.state, rows, own)
        if hop.theta is None:
            # Both sides are joined by their keys and that of the pair at once: nothing is made that is not wanted.
            rows, own = other.chosen(keys_of(other.wanted, theirs), keys)
            target = Stair(other.source.name, other.source.stream_list, 1, composite=True)
            target.reserve(len(rows))
            append_entries(target.state, rows, own)
            target.insert(target.base, target.tail)
            hop = evolve(hop, target=target, verified=one.verified)
        prober.hop(hop, entries, entries.base, entries.tail, out, past, filling=True)
        made = rows_of(out, np.arange(out.base, out.tail))
        made = made[np.isin(keys_of(self.presence.wanted, made), keys)]
        prober.give(entries)
        prober.give(out)
        self.resumed += len(made)
        self.returned += len(made)
        return keys, made

    def take_out(self, waiting: Blacklist, keys: Keys) -> int:
        """Take pairs with these keys out of a blacklist, since they are made anew; how many."""
        low, tail = waiting.low, waiting.tail
        rows = rows_of(waiting, np.arange(low, tail))
        found = waiting.linked(low, tail) & np.isin(keys_of(self.presence.wanted, rows), keys)
        unlink(waiting.state, low, found.astype(np.uint8))
        taken = int(np.count_nonzero(found))
        waiting.waiting -= taken
        return taken

    def dissolve(self) -> None:
        """Between batches: where pairs are suppressed, every key of the STAIR becomes a hole, as in a new one."""
        self.record.awake = 0
        if self.noted:
            self.blacklist.wake_all(np.empty(0, np.int32))
            self.stair.reopen()


def own_keys(ring: Ring, ids: Longs) -> Keys:
    """The keys that these entries of a ring have there."""
    halves = ring.state[0][ids & (ring.capacity - 1), KEY_LOW : KEY_HIGH + 1]
    keys: Keys = np.ascontiguousarray(halves).view(np.int64)[:, 0]
    return keys


def rows_of(ring: Ring, ids: Longs) -> Rows:
    """The rows of these entries."""
    return np.ascontiguousarray(ring.state[0][ids & (ring.capacity - 1), ROWS:])


def keys_of(recipe: Recipe, rows: Rows) -> Keys:
    """The keys of entries of these rows."""
    keys = np.empty(len(rows), np.int64)
    read_by(recipe, rows, keys)
    return keys
