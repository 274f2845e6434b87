"""A STAIR of a plan in one router: what it holds, and its entries promoted and demoted between sets of streams.

Promote and demote are those of the STAIR paper (Deshpande and Hellerstein, "Lifting the burden of history from adaptive
query processing", 2004). Here they are done by key, not by entry: a demoted key is a hole. What is left of its
composites are their parts in the STAIRs below, which have them anyway, in one copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from eddy.inspect.stair_keys import WantedKeys, mixed
from eddy.inspect.stair_names import stair_ids
from eddy.plan.compiler import StairId
from eddy.router.router import Router
from stairs import Stair
from stairs.holes import Keys
from stairs.layout import KEY_HIGH, ROWS
from stairs.transform import carried_keys, demote_all, entries_with, promote_some

FEW = 64
"""Keys up to which entries are looked up one by one; more are found by going through all entries once."""


@frozen(eq=False)
class Scene:
    """A router between two batches: which rows are live, as it counts them, and what they are called outside."""

    router: Router
    lows: NDArray[np.int64]
    """The first live row of each stream."""
    newest: NDArray[np.int64]
    """The next row of each stream."""
    named: Callable[[int, Keys], Keys]
    """The numbers outside of rows of a stream."""

    def rows_named(self, stream: int, numbers: Keys) -> Keys:
        """The live rows of a stream that have these numbers outside, as far as there are such."""
        rows = np.arange(self.lows[stream], self.newest[stream])
        return rows[np.isin(self.named(stream, rows), numbers)]


@frozen(eq=False)
class HeldStair:
    """A STAIR of a router's current plan. Rows are those that the router counts."""

    scene: Scene
    wanted: StairId
    stair: Stair = field(init=False)
    carrier: StairId | None = field(init=False)
    """The leaf that knows its holes; None: it is a leaf, and has none."""

    @property
    def router(self) -> Router:
        return self.scene.router

    def __attrs_post_init__(self) -> None:
        track, wanted = self.router.tracks[-1], self.wanted
        leaf = len(wanted.streams) == 1
        stair = self.router.binder.leaf(wanted) if leaf else track.stairs[wanted]
        object.__setattr__(self, "stair", stair)
        object.__setattr__(self, "carrier", None if leaf else track.carriers[wanted])

    # -- what it holds ---------------------------------------------------------------------------------------------

    def rows(self, entries: Keys) -> Keys:
        """The rows of the live ones of these entries, [entries, streams of the STAIR]."""
        stair, streams = self.stair, list(self.wanted.streams)
        if stair.leaf:
            rows = entries.reshape(-1, 1)
        else:
            records = stair.state[0][entries & (stair.capacity - 1), ROWS : ROWS + len(streams)]
            newest = self.scene.newest[streams]
            rows = newest - (newest.astype(np.int32) - records).view(np.uint32).astype(np.int64)
        return rows[(rows >= self.scene.lows[streams]).all(axis=1)]

    def every_entry(self) -> Keys:
        """All entries that can be found."""
        low, tail = self.stair.low, self.stair.tail
        return np.arange(low, tail)[self.stair.linked(low, tail)]

    def stored(self) -> Keys:
        """The rows of all live entries."""
        return self.rows(self.every_entry())

    def found(self, wanted: WantedKeys) -> Keys:
        """The rows of the live entries that have one of these keys."""
        key = self.wanted.key
        own = np.unique(self.row_keys(wanted) if wanted.rows is not None else wanted.under(key))
        if len(own) > FEW:
            rows = self.found_by(own)
        else:
            parts = [self.rows(entries_with(self.stair, k)) for k in own.tolist()]
            rows = np.concatenate([np.empty((0, len(self.wanted.streams)), np.int64), *parts])
        if len(key.classes) > 1:  # several columns are mixed into one key: two of these may give the same
            same = [np.isin(self.class_keys(c, rows), wanted.by_class[c]) for c in key.classes]
            rows = rows[np.logical_and.reduce(same)]
        return rows

    def found_by(self, own: Keys) -> Keys:
        """The rows of the live entries that have one of these keys, by going through all."""
        return self.rows(self._having(self.stair.keys(self.stair.low, self.stair.tail), own))

    def class_keys(self, c: int, rows: Keys) -> Keys:
        """The keys that entries with these rows have in a key class, of which the STAIR has a column."""
        members = self.router.compiler.classes[c]
        place = next(i for i, s in enumerate(self.wanted.streams) if s in members)
        return self.router.streams[self.wanted.streams[place]].keys_of(c, rows[:, place])

    def row_keys(self, wanted: WantedKeys) -> Keys:
        """Rows of the stream whose rows are the key, as keys."""
        assert wanted.rows is not None and self.wanted.key.row is not None
        return self.scene.rows_named(self.wanted.key.row, wanted.rows) & 0xFFFFFFFF

    def _having(self, known: Keys, keys: Keys) -> Keys:
        """The entries that have one of these keys, where ``known`` are those of all entries, in chains or not."""
        entries = self.every_entry()
        return entries[np.isin(known[entries - self.stair.low], keys)]

    def under(self, keys: Keys) -> Keys:
        """The rows of the live entries whose holes, if they were such, would be known by these keys."""
        return self.rows(self._having(self.stair.hole_keys(self.stair.low, self.stair.tail), keys))

    def hole_keys(self, wanted: WantedKeys) -> Keys:
        """The keys by which these are known as holes."""
        assert self.carrier is not None
        own = self.row_keys(wanted) if wanted.rows is not None else wanted.under(self.carrier.key)
        return np.unique(own)

    def carried(self, rows: Keys, streams: Sequence[int]) -> Keys:
        """The keys by which holes are known, of entries with these rows of ``streams``: the carrier's is among them."""
        assert self.carrier is not None
        stream, leaf = self.carrier.streams[0], self.router.binder.leaf(self.carrier)
        at = rows[:, list(streams).index(stream)] & (leaf.capacity - 1)
        return np.unique(leaf.state[0][at, : KEY_HIGH + 1].view(np.int64)[:, 0])

    @property
    def hole_count(self) -> int:
        """How many keys of live rows are holes."""
        holes = self.stair.holes
        if holes is None or self.carrier is None:
            return 0
        low = max(int(self.scene.lows[self.carrier.streams[0]]), holes.leaf.low)
        return holes.count(np.unique(carried_keys(self.stair, low)))

    # -- demoting --------------------------------------------------------------------------------------------------

    def demote(self, keys: Keys | None) -> Keys:
        """Make keys holes, None: all of them; the rows of the live composites that went."""
        rows = self.stored() if keys is None else self.under(keys)
        if keys is None:
            demote_all(self.stair)
        else:
            self.stair.demote(keys)
        return rows

    def demote_to(self, keys: Keys | None, kept: frozenset[int]) -> Keys:
        """Demote keys, and in the STAIRs between this one and the streams that are kept all that was made of them.

        ``kept`` has some of this STAIR's streams. Returns the rows of the live composites that went from this one.
        """
        rows = self.demote(keys)
        for other in self._between(kept, frozenset(self.wanted.streams)):
            if other.wanted != self.wanted and len(rows):
                other.demote(other.carried(rows, self.wanted.streams))
        return rows

    def _between(self, low: frozenset[int], high: frozenset[int]) -> Iterator[HeldStair]:
        """The STAIRs of the plan that have more than the streams of ``low``, and none but those of ``high``; the
        smallest first."""
        for wanted in sorted(stair_ids(self.router), key=lambda wanted: len(wanted.streams)):
            if low < set(wanted.streams) <= high and len(wanted.streams) > 1:
                yield HeldStair(self.scene, wanted)

    # -- promoting -------------------------------------------------------------------------------------------------

    def promote(self, keys: Keys | None, budget: int | None = None) -> Keys:
        """Fill holes, those of the keys or all, no more than ``budget`` of them; the rows of what has come of it."""
        stair, start = self.stair, self.stair.tail
        if budget is not None:
            promote_some(stair, budget)
        elif keys is None:
            stair.fill()
        else:
            stair.promote(keys)
            stair.close_if_done()
        made = np.arange(start, stair.tail)
        return self.rows(made[stair.linked(start, stair.tail)])

    def promote_to(self, wanted: WantedKeys | None, goal: StairId) -> Keys:
        """Join the entries with these keys, None: all of them, up to the STAIR ``goal``, which has more streams.

        In every STAIR on the way the keys are filled that composites with these entries have. Returns the rows of what
        has come of it in the last one.
        """
        if self.carrier is not None:
            self.promote(None if wanted is None else self.hole_keys(wanted))
        here, rows = self, self.stored() if wanted is None else self.found(wanted)
        came = np.empty((0, len(goal.streams)), np.int64)
        for above in self._between(frozenset(self.wanted.streams), frozenset(goal.streams)):
            if above.wanted.streams == goal.streams and above.wanted != goal:
                continue
            keys = above.keys_with(here, rows)
            came = above.promote(keys)
            here, rows = above, above.stored() if keys is None else above.under(keys)
        return came

    def keys_with(self, below: HeldStair, rows: Keys) -> Keys | None:
        """The keys of this STAIR's holes that composites with these rows of a STAIR below may have; None: any."""
        assert self.carrier is not None
        streams, key = below.wanted.streams, self.carrier.key
        if self.carrier.streams[0] in streams:
            return self.carried(rows, streams)
        masks, classes = self.router.compiler.classes_of(streams), key.classes
        if classes and all(masks >> c & 1 for c in classes):  # equal columns: the key is in the rows at hand
            return np.unique(mixed([below.class_keys(c, rows) for c in classes]))
        for partner in self._partners(below.wanted):
            own = np.unique(mixed([below.class_keys(c, rows) for c in partner.wanted.key.classes]))
            if partner.carrier is not None and partner.carrier.key == partner.wanted.key:
                partner.promote(own)
            elif partner.carrier is not None:
                partner.promote(None)
            found = partner.found_by(own)
            return self.carried(found, partner.wanted.streams)
        return None

    def _partners(self, source: StairId) -> Iterator[HeldStair]:
        """The STAIR that entries of ``source`` probe to become entries of this one, if they do so by equal columns and
        it has the stream that carries this STAIR's holes."""
        assert self.carrier is not None
        for stop in self.router.tracks[-1].table.stops:
            for step in stop.steps if stop.out == self.wanted else ():
                target = step.target
                if step.source == source and target.key.classes and self.carrier.streams[0] in target.streams:
                    yield HeldStair(self.scene, target)
