"""The router: runs batches along the itineraries of the current plan, and replays them to fill holes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy.binding import Halt, Hop, Recipe
from eddy.foresight import foresee
from eddy.intake import Part
from eddy.itinerary import Compiler, StairId
from eddy.leaf import StreamState
from eddy.leaves import REVIEW, Leaves
from eddy.program import Program
from eddy.theta import decide
from eddy.track import Track
from eddy.tracks import RESULT_RINGS, Tracks
from policies import Feedback
from stairs import Ring, Stair
from stairs.begin_kernels import SCRATCH, begin_rings
from stairs.holes import Keys
from stairs.key_kernels import fetch_keys, key_by_row, link, mix_into, read_component_keys, read_keys, verify
from stairs.layout import ROWS
from stairs.probe_kernels import BLOCK, LINKING, join_for
from stairs.program_kernels import LINK, MATCHED, OPERATION, RESUMED, run
from stairs.ring_kernels import append_keys, expand, keep
from stairs.stair import ALL

if TYPE_CHECKING:
    from eddy.suspension import Suspension

Marks = NDArray[np.int32]

AT_ONCE = 4096
"""Matches that a step has room for before their predicates are decided."""

MATCHES = 4
"""No more than so many for each entry: where few come, few match."""


class Router(Tracks):
    """Runs batches along the tracks."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        super().__init__(compiler, streams, nested, bounded)
        self.leaves = Leaves(streams)
        self.composites_built = 0
        """Composites that filled holes."""
        self.composites_made = 0
        """Composites that the current plan put into STAIRs that began empty, while another plan was running."""
        self.counting = False
        """Whether it runs apart, so that all of its STAIRs began empty."""
        self._fill_join = join_for(0, 0, nested, False)
        self._spare: dict[int, list[Ring]] = {}
        self._batches = 0
        self._tables: list[tuple[NDArray[np.int64], ...] | None] = [None] * RESULT_RINGS
        self._cursor = np.zeros(MATCHED + 1, np.int64)
        self._waiting = np.zeros((2, BLOCK + 1), np.int32)
        self.floor = np.array([[s.base.low for s in streams]], np.int64).astype(np.int32)
        """Rows below are dead at every event to come."""
        self.marks = self.floor
        self._batch: NDArray[np.int32] | None = None
        """Marks of the batch that is being run, or was last."""
        self._stacked: NDArray[np.int32] | None = None
        self.newest = np.array([s.base.tail for s in streams], np.int64)
        self.suspension: Suspension | None = None
        """What feedback has put by."""

    @property
    def matches_made(self) -> int:
        """Matches of all steps so far."""
        return self._cursor.item(MATCHED)

    def attend(self, policy: Feedback, former: Suspension | None = None) -> None:
        """Let rows wait as the policy says; ``former`` did so in the place of this router."""
        self.suspension = None
        if policy.watches:
            from eddy.suspension import Suspension  # its kernels are compiled only where they are needed

            self.suspension = Suspension(policy, self, former=former)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program of the current plan; under feedback it may have two, with other hops between the same rings."""
        current = self.tracks[-1].program
        known = None if self.suspension is None else self.suspension.programs
        return known if known is not None and current in known else (current,)

    def store(self, parts: Sequence[Part]) -> None:
        """Store the rows of a batch."""
        self.leaves.append(parts, () if self.suspension is None else self.suspension.hold(parts))

    def release(self, rows: bool) -> None:
        if self.suspension is not None:
            self.suspension.release(rows)

    # -- a batch ---------------------------------------------------------------------------------------------------

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Begin a batch: what is dead at ``floor`` goes, and holes whose rows died are seen to.

        ``floor`` has the low 32 bits of the low-water rows.
        """
        if self.suspension is not None:
            self.suspension.prepare()
        expired = [
            (stair, self._expired(stair, low_rows))
            for track in self.tracks
            for stair in track.every_stair
            if stair.holes is not None
        ]
        self.floor = self.marks = floor.reshape(1, -1)
        self._batch = self._stacked = None
        self._batches += 1
        leaves = self._beginning(ring)
        for number, track in enumerate(self.tracks):
            table, before = leaves if number == 0 else (track.rings, 0)
            lows = track.lows(low_rows)
            low = floor if lows is low_rows else lows.astype(np.int32)
            at = begin_rings(table, 0, lows, next_rows, low)
            while at < len(table):
                track.every_stair[at - before].make_room(low)
                at = begin_rings(table, at + 1, lows, next_rows, low)
        self.leaves.begun(low_rows)
        if self.suspension is not None:
            self.suspension.begin(low_rows, next_rows)
        if self._batches % REVIEW == 0:
            self._review(low_rows, ring)
        for stair, keys in expired:
            stair.expire(keys)
            stair.close_if_done()

    def _beginning(self, ring: int) -> tuple[NDArray[np.int64], int]:
        """The result ring, the leaves and the rings of the first track in one table; and where those begin."""
        leaves, rings = self.leaves.rings, self.tracks[0].rings
        known = self._tables[ring]
        if known is None or known[0] is not leaves or known[1] is not rings:
            results = [[SCRATCH, self.results[ring].address, 0]]
            known = self._tables[ring] = leaves, rings, np.concatenate((results, leaves, rings))
        return known[2], len(leaves) + 1

    def _review(self, low_rows: NDArray[np.int64], ring: int) -> None:
        """Now and then: give memory back."""
        for track in self.tracks:
            floor = track.lows(low_rows).astype(np.int32)
            for stair in track.every_stair:
                stair.review(floor)
            for place in track.scratch:
                place.shrink()
        if self.suspension is not None:
            self.suspension.review()
        for place in (self.results[ring], *itertools.chain(*self._spare.values())):
            place.shrink()

    def _expired(self, stair: Stair, lows: NDArray[np.int64]) -> Keys:
        """Keys of the carrying rows that die now and for which inserts may have been dropped."""
        assert stair.holes is not None and isinstance(stair.carrier, Stair)
        low = int(lows[stair.carrier.stream_list[0]])
        stop = low if stair.holes.demoted else min(low, stair.holes.created)
        keys = np.empty(max(0, stop - stair.carrier.low), np.int64)
        read_keys(stair.carrier.state, stair.carrier.low, keys)
        return keys

    def foresee(self, parts: Sequence[Part]) -> None:
        """Fill the holes that rows are going to probe, before they are stored."""
        for track in self.tracks:
            if any(stair.holes is not None for stair in track.stairs.values()):
                for stair, keys in foresee(track.halts, parts, self._below):
                    stair.promote(keys)

    def _below(self, stair: Stair) -> Stair | None:
        """The state that is asked for all keys of a STAIR's holes when they are filled, if it has the same key.

        That is the one it is filled from; or, where this is the carrier's leaf, which has a row for each hole, the one
        that these rows probe.
        """
        halt, carrier = self._writers[stair]
        hop = self._filling_hop(halt, carrier)
        below = hop.step.target if len(hop.step.source.streams) == 1 else hop.step.source
        state = hop.target if below is hop.step.target else hop.source
        same = below.key == carrier.key and len(carrier.key.classes) == 1
        return state if same and isinstance(state, Stair) else None

    def run(self, marks: NDArray[np.int32], ring: int, results: bool = True) -> None:
        """Take the rows that the leaves have just stored through the plans, one stop at a time.

        Without ``results`` the last stop is left out, where its results are not held anyway.
        """
        self._batch, self._stacked = marks, None
        for track in self.tracks:
            out, whole = (self.results[ring], results) if track.held is None else (track.held, True)
            self.marks = track.marks(marks)
            start = out.tail
            self._follow(track, out, whole)
            if len(self.tracks) > 1:
                track.count([len(stream.base) for stream in self.streams], out.tail - start)
        if self.counting or len(self.tracks) > 1 or self.tracks[0].hybrid is not None:
            self.composites_made += self.tracks[-1].made()
        self.marks = marks
        if self.suspension is not None:
            self.suspension.done(len(marks))

    @property
    def reviews_next(self) -> bool:
        """Whether the next batch gives memory back."""
        return (self._batches + 1) % REVIEW == 0 or self.leaves.reviews_next

    def taken(
        self, floor: NDArray[np.int32], marks: NDArray[np.int32], counts: NDArray[np.int64], portions: int
    ) -> None:
        """Kernels have done a batch, from `begin` to `run`, in so many portions.

        ``floor`` was before it, ``counts`` are after it.
        """
        self.floor, self.newest = floor.reshape(1, -1), counts
        self.marks = self._batch = marks
        self._stacked = None
        self._batches += 1
        self.leaves.batches += 1
        if self.suspension is not None:
            self.suspension.passed(portions)

    @property
    def at_ease(self) -> bool:
        """Whether the next batch has nothing to do with feedback."""
        return self.suspension is None or self.suspension.asleep

    def _follow(self, track: Track, out: Ring, results: bool) -> None:
        program = track.program
        stop = len(program.table) if results else program.last
        self._cursor[RESUMED] = at = 0
        follow = run if self.suspension is None else self.suspension.follow
        while at < stop:
            at = follow(program.table, at, stop, out.address, self.marks, self._cursor, self._waiting)
            if at < stop:
                at = self._assist(track, at, out)

    def _assist(self, track: Track, at: int, results: Ring) -> int:
        """Do what stopped a program; returns where it goes on."""
        halt, hop, call = track.program.sources[at]
        last = halt is track.halts[-1]
        out = results if last else halt.out
        if self._cursor[RESUMED]:
            out.grow()
            return at
        if call is not None:
            return at + call()
        if hop is not None:
            low, high = hop.delta
            if low < high:
                start, duty = out.tail, hop.step.duty
                self.hop(hop, hop.source, low, high, out)
                track.program.count(hop, high - low, out.tail - start)
                self._cursor[MATCHED] += out.tail - start
                if duty is not None:
                    duty.count(hop.step.source.streams, high - low, (out.tail - start) * last)
        elif track.program.table[at, OPERATION] == LINK:
            assert halt.stair is not None
            halt.stair.insert(*out.delta)
        else:
            self._mirror(halt)
        return at + 1

    @staticmethod
    def _mirror(halt: Halt) -> None:
        """Give a shadow the entries of this batch."""
        assert halt.stair is not None and halt.shadow is not None
        start, stop = halt.stair.delta
        if start < stop:
            shadow, first = halt.shadow, halt.shadow.tail
            shadow.reserve(stop - start)
            which = np.arange(stop - start)
            expand(halt.stair.state, start, which, halt.stair.keys(start, stop), shadow.state)
            shadow.insert(first, shadow.tail)

    def finals(self, marks: NDArray[np.int32]) -> Iterator[tuple[Track, Hop, NDArray[np.int32]]]:
        """The hops of the last stops whose results are emitted, each with its track and the marks of that."""
        for track in self.tracks:
            if track.held is None:
                seen = track.marks(marks)
                for hop in track.halts[-1].hops:
                    duty = hop.step.duty
                    if duty is None or not duty.skips(hop.step.source.streams):
                        yield track, hop, seen

    def hop(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, filling: Marks | None = None
    ) -> None:
        """Append to ``out`` all matches of the source's entries start..stop.

        They are arriving; or, with marks for ``filling``, every pair counts that is live at its latest event by these.
        """
        if hop.verified or hop.step.residuals:
            # Predicates are decided for many matches at once, also where few of them stay.
            out.reserve(min(AT_ONCE, MATCHES * (stop - start)))
        for _ in self.matches(hop, source, start, stop, out, filling):
            out.grow()

    def matches(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, filling: Marks | None = None
    ) -> Iterator[None]:
        """The same, but yields whenever ``out`` is full: the caller makes room, or takes what is there."""
        if hop.theta is None:
            yield from self._probe(hop, source, start, stop, out, filling)
            return
        pairs = self.take(source.components)
        for _ in hop.theta.pairs(source, start, stop, pairs, self.newest):
            yield from self._probe(hop, pairs, pairs.base, pairs.tail, out, filling)
            pairs.clear()
        self.give(pairs)

    def _probe(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, filling: Marks | None
    ) -> Iterator[None]:
        target = hop.target
        if target.holes is not None:
            keys = self._asked(hop, source, start, stop)
            if filling is None:  # a row that is not kept asks for nothing
                keys = keys[source.state[2][start - source.base : stop - source.base] >= 0]
            target.promote(keys)
        decided = hop.verified or hop.step.residuals or hop.step.duty is not None
        first = out.tail
        cursor = self._cursor
        join, marks, streams = hop.kernel, self.marks, target.streams
        if filling is not None:
            join, marks, streams = self._fill_join, filling, hop.streams
        cursor[0], cursor[1], cursor[2], cursor[3], cursor[LINKING] = start, stop, 0, 0, 0
        done = 0
        while not done:
            done = join(
                source.state, target.state, out.state, hop.place, streams, marks, cursor, self._waiting
            )
            if decided:
                self._decide(hop, out, first)
            if not done and out.is_full:
                yield
            first = out.tail  # whoever took what was there may have emptied it

    def _decide(self, hop: Hop, out: Ring, first: int) -> None:
        """Of the matches from ``first`` on only those stay that really are: exact keys, all other predicates."""
        if out.tail == first:
            return
        if hop.step.duty is not None:
            keep(out.state, first, hop.step.duty.fulfilled(out, first, hop.step.streams))
        if hop.verified:
            kept = np.ones(out.tail - first, np.uint8)
            for one, leaf, other, other_leaf in hop.verified:
                verify(out.state, first, one, leaf.state, other, other_leaf.state, kept)
            keep(out.state, first, kept)
        if hop.step.residuals:
            keep(
                out.state,
                first,
                decide(hop.step.residuals, hop.step.streams, self.streams, out, first, self.newest),
            )

    def _join(
        self,
        kernel: Any,
        source: Ring,
        start: int,
        stop: int,
        target: Stair,
        out: Ring,
        place: NDArray[np.int64],
        marks: NDArray[np.int32],
    ) -> None:
        """A probe and nothing else, with room made as it is needed."""
        cursor, waiting = self._cursor, self._waiting
        cursor[0], cursor[1], cursor[2], cursor[3], cursor[LINKING] = start, stop, 0, 0, 0
        while not kernel(
            source.state, target.state, out.state, place, target.streams, marks, cursor, waiting
        ):
            out.grow()

    def _asked(self, hop: Hop, source: Ring, start: int, stop: int) -> Keys:
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

    @staticmethod
    def rekey(recipe: Recipe, ring: Ring, start: int, stop: int) -> None:
        """Give entries the key under which they are stored, and probe, next."""
        if recipe is None:
            return
        if isinstance(recipe, int):
            key_by_row(ring.state, start, stop, recipe)
            return
        for i, (component, leaf) in enumerate(recipe):
            fetch_keys(ring.state, start, stop, component, leaf.state, i)

    # -- holes -----------------------------------------------------------------------------------------------------

    def fill(self, stair: Stair, keys: Keys) -> None:
        """Fill holes: replay the itinerary of the stream that carries the key, from its rows with these keys.

        All composites with these keys are made, from rows of this batch too, and linked. None of them is there
        already, since inserts to a hole are dropped.
        """
        halt, carrier = self._writers[stair]
        start = stair.tail
        self._replay(halt, carrier, keys, stair)
        link(stair.state, start, stair.tail, ALL)
        self.composites_built += stair.tail - start

    def filling_marks(self) -> NDArray[np.int32]:
        """The low-water rows before the batch and at each of its events; between batches this serves as well."""
        if self._stacked is None:
            self._stacked = self.floor if self._batch is None else np.vstack((self.floor, self._batch))
        return self._stacked

    def _replay(self, halt: Halt, carrier: StairId, keys: Keys, out: Ring) -> None:
        """Append to ``out`` what the halt makes of the carrier's rows with these keys."""
        hop = self._filling_hop(halt, carrier)
        source_id = hop.step.source
        entries = self.take(hop.source.components)
        below = self._makers.get(hop.source)
        source = hop.source
        if below is None:
            self._collect(self.binder.leaf(carrier), keys, entries)
            if source_id.key != carrier.key:
                self.rekey(self.binder.recipe(source_id), entries, entries.base, entries.tail)
        elif (
            isinstance(source, Stair)
            and source_id.key == carrier.key
            and (source.complete or source.component is None)
        ):
            source.promote(keys)
            self._collect(source, keys, entries)
        else:
            self._replay(below, carrier, keys, entries)
        start = out.tail
        self.hop(hop, entries, entries.base, entries.tail, out, self.filling_marks())
        self.rekey(halt.recipe, out, start, out.tail)
        self.give(entries)

    @staticmethod
    def _filling_hop(halt: Halt, carrier: StairId) -> Hop:
        """The step of a halt to which the carrier's rows lead."""
        return next(
            hop
            for hop in halt.hops
            if hop.step.duty is None and carrier.streams[0] in hop.step.source.drivers
        )

    def _collect(self, stair: Stair, keys: Keys, out: Ring) -> None:
        """Append the entries of a STAIR that have one of these keys."""
        wanted = self.take(0)
        wanted.reserve(len(keys))
        append_keys(wanted.state, keys)
        place = np.arange(ROWS, ROWS + stair.components)
        marks = self.filling_marks()
        self._join(self._fill_join, wanted, wanted.base, wanted.tail, stair, out, place, marks)
        self.give(wanted)

    def take(self, components: int) -> Ring:
        """A ring for entries on their way; give it back."""
        spare = self._spare.setdefault(components, [])
        return spare.pop() if spare else Ring(components, hashed=False)

    def give(self, ring: Ring) -> None:
        ring.clear()
        self._spare[ring.components].append(ring)

    @property
    def nbytes(self) -> int:
        """Rings for entries on their way; STAIRs count by themselves."""
        scratch = [*self.results, *itertools.chain(*self._spare.values())]
        for track in self.tracks:
            scratch += track.scratch
        spare = sum(directory.spare for directory in self._directories.values())
        return sum(ring.nbytes for ring in scratch) + spare
