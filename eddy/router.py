"""The router: runs batches along the itineraries of the current plan, and replays them to fill holes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from eddy.binding import Binder, Halt, Hop, Recipe
from eddy.duty import Duty
from eddy.hybrid import Task, combine, merged
from eddy.itinerary import Compiler, RoutingTable, StairId
from eddy.leaf import StreamState
from eddy.leaves import Leaves
from eddy.plan import Plan
from eddy.program import compile_program
from eddy.theta import decide
from eddy.track import Track
from stairs import Ring, Stair
from stairs.holes import Keys
from stairs.key_kernels import fetch_keys, key_by_row, link, mix_into, read_component_keys, read_keys, verify
from stairs.layout import ROWS
from stairs.probe_kernels import BLOCK, join_for
from stairs.program_kernels import LINK, OPERATION, RESUMED, run
from stairs.ring_kernels import append_keys, expand, keep
from stairs.stair import ALL

RESULT_RINGS = 3
"""Rings for results, used in turn by the pushes: a result may read its ring until the next but one."""

AT_ONCE = 4096
"""Matches that a step has room for before their predicates are decided."""

REVIEW = 64
"""Batches between two looks at whether rings have become too large."""


class Router:
    """Owns the tracks; leaves belong to the streams."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        self.compiler = compiler
        self.streams = streams
        self.bounded = bounded
        self.leaves = Leaves(streams)
        self.tracks: list[Track] = []
        """Oldest first; the last one has the current plan."""
        self.results = [Ring(len(streams), hashed=False) for _ in range(RESULT_RINGS)]
        self.composites_built = 0
        self.filled_before = 0
        self._binder = Binder(compiler, streams, nested, bounded)
        self._fill_join = join_for(0, 0, nested, False)
        self._writers: dict[int, tuple[Halt, StairId]] = {}
        self._spare: dict[int, list[Ring]] = {}
        self._batches = 0
        self._cursor = np.zeros(RESUMED + 1, np.int64)
        self._waiting = np.zeros((2, BLOCK + 1), np.int32)
        self.floor = np.array([[s.base.low for s in streams]], np.int64).astype(np.int32)
        """Rows below are dead at every event to come."""
        self.marks = self.floor
        self.newest = np.array([s.base.tail for s in streams], np.int64)

    @property
    def stairs(self) -> dict[StairId, Stair]:
        """The STAIRs of the current plan."""
        return self.tracks[-1].stairs

    @property
    def every_stair(self) -> list[Stair]:
        """The STAIRs of all tracks."""
        return [stair for track in self.tracks for stair in track.every_stair]

    @property
    def keys_filled(self) -> int:
        """Holes filled so far, also in STAIRs that are gone."""
        return self.filled_before + sum(stair.keys_filled for stair in self.every_stair)

    # -- plans -----------------------------------------------------------------------------------------------------

    def install(self, plan: Plan, fresh: bool) -> tuple[list[Stair], list[Stair]]:
        """Change to a plan: STAIRs it shares with the old one are kept as they are, the others start as holes.

        Returns the STAIRs that are new, and those that are dropped. ``fresh``: there are no rows yet.
        """
        table = self.compiler.compile(plan)
        old = {}  # stays as it is until nothing can fail any more
        if self.tracks and self.tracks[-1].born is None:
            old = {wanted: stair for wanted, stair in self.stairs.items() if not stair.partial}
        stairs, new = self._stairs(table, old, holes=not fresh)
        track = self._track(plan, table, stairs)
        kept = {id(stair) for stair in stairs.values()}
        dropped = [stair for stair in self.every_stair if id(stair) not in kept]
        self._use([track])
        return new, dropped

    def fork(self, plan: Plan, counts: NDArray[np.int64], held: bool) -> None:
        """Start a plan on a track of its own, empty: it sees only rows from ``counts`` on. The former goes on.

        The former track owes from now on what has a row from before. ``held``: results of the new one wait.
        """
        table = self.compiler.compile(plan)
        stairs, _ = self._stairs(table, {}, holes=False)
        track = self._track(plan, table, stairs, born=counts.copy())
        if held:
            track.held = Ring(len(self.streams), hashed=False)
        older = self.tracks[-1]
        duty = Duty([{stream: cut} for stream, cut in enumerate(counts.tolist())])
        last = older.table.stops[-1]
        steps = tuple(evolve(step, duty=duty) for step in last.steps)
        older.table = evolve(older.table, stops=(*older.table.stops[:-1], evolve(last, steps=steps)))
        older.duty = duty
        self._bind(older)
        self._use([*self.tracks, track])

    def split(self, plan: Plan, counts: NDArray[np.int64], sharing: bool) -> bool:
        """Change to a plan whose new STAIRs start empty, while the old plan makes what they lack.

        False if they lack nothing, since both plans have all states: then it is a plain change.
        """
        (older,) = self.tracks
        hybrid = combine(
            self.compiler.compile(older.plan), self.compiler.compile(plan), counts.tolist(), sharing
        )
        if not hybrid.tasks:
            return False
        old = older.stairs if sharing else {evolve(k, former=True): v for k, v in older.stairs.items()}
        stairs, new = self._stairs(hybrid.table, old, holes=False)
        # What only the old plan has will lack what it does not owe, and the new ones lack what was there before.
        former = [
            stair for wanted, stair in stairs.items() if wanted not in self.compiler.compile(plan).stairs
        ]
        for stair in (*new, *former):
            stair.partial = True
        track = self._track(plan, hybrid.table, stairs)
        track.hybrid = hybrid
        self._use([track])
        return True

    def expire(self, lows: list[int]) -> bool:
        """See which rows from before have gone, and drop what is owed for them; whether there was something."""
        changed = False
        for track in self.tracks:
            for duty in track.duties:
                if duty.expire(lows):
                    changed = True
                    self._bind(track)
        while len(self.tracks) > 1 and self.tracks[0].duty is not None and not self.tracks[0].duty.entries:
            self._use(self.tracks[1:])
            self.tracks[0].born = None
            self.tracks[0].held = None
        track = self.tracks[-1]
        if track.hybrid is not None and not any(duty.entries for duty in track.duties):
            self._unite(track)
        return changed

    def _unite(self, track: Track) -> None:
        """The old plan owes nothing any more: what is left is the new one, with all its states."""
        table = self.compiler.compile(track.plan)
        left = {wanted: stair for wanted, stair in track.stairs.items() if wanted not in table.stairs}
        self.filled_before += sum(s.keys_filled for s in (*left.values(), *track.shadows.values()))
        track.stairs = {wanted: track.stairs[wanted] for wanted in table.stairs}
        for stair in track.stairs.values():
            stair.partial = False
        track.table, track.hybrid, track.shadows = table, None, {}
        self._bind(track)
        self._use([track])

    def shadow(self, state: StairId) -> Stair:
        """Begin to complete a state of the new plan: a STAIR that consists of holes, and gets the same entries."""
        track = self.tracks[-1]
        stair = track.shadows[state] = self._make(state, track.carriers[state])
        stair.open()
        self._bind(track)
        return stair

    def merge(self, task: Task, state: StairId, counts: NDArray[np.int64]) -> None:
        """A shadow is complete: it takes the place of the state, and the old plan owes less."""
        track = self.tracks[-1]
        assert track.hybrid is not None
        self.filled_before += track.stairs[state].keys_filled
        track.stairs[state] = track.shadows.pop(state)
        merged(track.hybrid, task, state, counts.tolist())
        self._bind(track)
        if not any(duty.entries for duty in track.duties):
            self._unite(track)

    def _stairs(
        self, table: RoutingTable, old: dict[StairId, Stair], holes: bool
    ) -> tuple[dict[StairId, Stair], list[Stair]]:
        """The STAIRs of a routing table: those of ``old``, or new ones, which are listed apart."""
        stairs: dict[StairId, Stair] = {}
        new = []
        for wanted in table.stairs:
            stair = old.get(wanted)
            if stair is None:
                stair = self._make(wanted, self._binder.carrier(wanted))
                if holes:
                    stair.open()
                new.append(stair)
            stairs[wanted] = stair
        return stairs, new

    def _make(self, wanted: StairId, carrier: StairId) -> Stair:
        name = " ".join(self.compiler.names[s] for s in wanted.streams)
        component = None if carrier.key == wanted.key else wanted.streams.index(carrier.streams[0])
        stair = Stair(name, wanted.streams, 1, self._binder.leaf(carrier), component)
        stair.filler = self.fill
        return stair

    def _track(
        self,
        plan: Plan,
        table: RoutingTable,
        stairs: dict[StairId, Stair],
        born: NDArray[np.int64] | None = None,
    ) -> Track:
        carriers = {wanted: self._binder.carrier(wanted) for wanted in table.stairs}
        track = Track(plan, table, stairs, carriers, [], compile_program([]), born)
        self._bind(track)
        return track

    def _bind(self, track: Track) -> None:
        """Give the steps of a track their rings, as its STAIRs and duties are now."""
        for leaf in (*track.table.leaves, *track.carriers.values()):
            self._binder.leaf(leaf)
        track.halts = self._binder.bind(track.table, track.carriers, track.stairs, self.results[0])
        for halt, stop in zip(track.halts, track.table.stops, strict=True):
            shadow = track.shadows.get(stop.out) if isinstance(stop.out, StairId) else None
            halt.shadow = shadow
            for stair in (halt.stair, shadow):
                if stair is not None and isinstance(stop.out, StairId):
                    self._writers[id(stair)] = (halt, track.carriers[stop.out])
        track.program = compile_program(track.halts)

    def _use(self, tracks: list[Track]) -> None:
        """Run these tracks from now on; leaves and writers that only others needed are forgotten."""
        before = self.every_stair
        self.tracks = tracks
        alive = {id(stair) for stair in self.every_stair}
        self.filled_before += sum(stair.keys_filled for stair in before if id(stair) not in alive)
        self._writers = {key: writer for key, writer in self._writers.items() if key in alive}
        needed = {leaf for track in tracks for leaf in (*track.table.leaves, *track.carriers.values())}
        for stream in self.streams:
            stream.forget({leaf.key for leaf in needed if leaf.streams == (stream.number,)})

    # -- a batch ---------------------------------------------------------------------------------------------------

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Begin a batch: what is dead at ``floor`` goes, and holes whose rows died are seen to.

        ``floor`` has the low 32 bits of the low-water rows.
        """
        lows, counts = low_rows.tolist(), next_rows.tolist()
        expired = [
            (stair, self._expired(stair, lows)) for stair in self.every_stair if stair.holes is not None
        ]
        self.floor = self.marks = floor.reshape(1, -1)
        self._batches += 1
        review = self._batches % REVIEW == 0
        self.leaves.begin(low_rows, next_rows)
        if review:
            for stream in self.streams:
                stream.review()
        scratch = [self.results[ring]]
        for track in self.tracks:
            track_lows, track_floor = (lows, floor) if track.born is None else _raised(track, lows)
            for stair in track.every_stair:
                stair.begin(track_floor, track_lows, counts)
                if review:
                    stair.review(track_floor)
            scratch += track.places if track.held is None else [*track.places, track.held]
        for place in scratch:
            place.clear()
        if review:
            for place in (*scratch, *itertools.chain(*self._spare.values())):
                place.shrink()
        for stair, keys in expired:
            stair.expire(keys)
            stair.close_if_done()

    def _expired(self, stair: Stair, lows: list[int]) -> Keys:
        """Keys of the carrying rows that die now and for which inserts may have been dropped."""
        assert stair.holes is not None and isinstance(stair.carrier, Stair)
        low = lows[int(stair.carrier.streams[0])]
        stop = low if stair.holes.demoted else min(low, stair.holes.created)
        keys = np.empty(max(0, stop - stair.carrier.low), np.int64)
        read_keys(stair.carrier.state, stair.carrier.low, keys)
        return keys

    def run(self, marks: NDArray[np.int32], ring: int, results: bool = True) -> None:
        """Take the rows that the leaves have just stored through the plans, one stop at a time.

        Without ``results`` the last stop is left out, where its results are not held anyway.
        """
        for track in self.tracks:
            out, whole = (self.results[ring], results) if track.held is None else (track.held, True)
            self.marks = track.marks(marks)
            start = out.tail
            self._follow(track, out, whole)
            if len(self.tracks) > 1:
                track.count([len(stream.base) for stream in self.streams], out.tail - start)
        self.marks = marks

    def _follow(self, track: Track, out: Ring, results: bool) -> None:
        program = track.program
        stop = len(program.table) if results else program.last
        self._cursor[RESUMED] = at = 0
        while at < stop:
            at = run(program.table, at, stop, out.address, self.marks, self._cursor, self._waiting)
            if at < stop:
                at = self._assist(track, at, out)

    def _assist(self, track: Track, at: int, results: Ring) -> int:
        """Do what stopped a program; returns where it goes on."""
        halt, hop = track.program.sources[at]
        last = halt is track.halts[-1]
        out = results if last else halt.out
        if self._cursor[RESUMED]:
            out.grow()
            return at
        if hop is not None:
            low, high = hop.source.delta
            if low < high:
                start, duty = out.tail, hop.step.duty
                self.hop(hop, hop.source, low, high, out, True)
                if duty is not None:
                    if isinstance(hop.step.source, StairId) and len(hop.step.source.streams) == 1:
                        (stream,) = hop.step.source.streams
                        duty.rows[stream] = duty.rows.get(stream, 0) + high - low
                    duty.results += (out.tail - start) * last
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

    def finals(self, marks: NDArray[np.int32]) -> Iterator[tuple[Hop, NDArray[np.int32]]]:
        """The hops of the last stops whose results are emitted, each with the marks of its track."""
        for track in self.tracks:
            if track.held is None:
                seen = track.marks(marks)
                for hop in track.halts[-1].hops:
                    duty = hop.step.duty
                    if duty is None or not duty.skips(hop.step.source.streams):
                        yield hop, seen

    def hop(self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, ordered: bool) -> None:
        """Append to ``out`` all matches of the source's entries start..stop."""
        if not hop.plain:
            # Predicates are decided for many matches at once, also where few of them stay.
            out.reserve(AT_ONCE)
        for _ in self.matches(hop, source, start, stop, out, ordered):
            out.grow()

    def matches(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, ordered: bool = True
    ) -> Iterator[None]:
        """The same, but yields whenever ``out`` is full: the caller makes room, or takes what is there."""
        if hop.theta is None:
            yield from self._probe(hop, source, start, stop, out, ordered)
            return
        pairs = self._take(source.components)
        for _ in hop.theta.pairs(source, start, stop, pairs, self.newest):
            yield from self._probe(hop, pairs, pairs.base, pairs.tail, out, ordered)
            pairs.clear()
        self._give(pairs)

    def _probe(
        self, hop: Hop, source: Ring, start: int, stop: int, out: Ring, ordered: bool
    ) -> Iterator[None]:
        target = hop.target
        if target.holes is not None:
            target.promote(self._asked(hop, source, start, stop))
        decided = hop.verified or hop.step.residuals or hop.step.duty is not None
        first = out.tail
        marks, cursor = self.marks if ordered else self.floor, self._cursor
        join = hop.kernel if ordered else self._fill_join
        cursor[0], cursor[1], cursor[2], cursor[3] = start, stop, 0, 0
        done = 0
        while not done:
            done = join(
                source.state, target.state, out.state, hop.place, target.streams, marks, cursor, self._waiting
            )
            if decided:
                self._decide(hop, out, first)
                first = out.tail
            if not done and out.is_full:
                yield

    def _decide(self, hop: Hop, out: Ring, first: int) -> None:
        """Of the matches from ``first`` on only those stay that really are: exact keys, all other predicates."""
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
        cursor[0], cursor[1], cursor[2], cursor[3] = start, stop, 0, 0
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
        halt, carrier = self._writers[id(stair)]
        start = stair.tail
        self._replay(halt, carrier, keys, stair)
        link(stair.state, start, stair.tail, ALL)
        self.composites_built += stair.tail - start

    def _replay(self, halt: Halt, carrier: StairId, keys: Keys, out: Ring) -> None:
        """Append to ``out`` what the halt makes of the carrier's rows with these keys."""
        hop = next(
            hop
            for hop in halt.hops
            if hop.step.duty is None and carrier.streams[0] in hop.step.source.streams
        )
        source_id = hop.step.source
        entries = self._take(hop.source.components)
        below = self._writers.get(id(hop.source))
        source = hop.source
        if below is None:
            self._collect(self._binder.leaf(carrier), keys, entries)
            if source_id.key != carrier.key:
                self.rekey(self._binder.recipe(source_id), entries, entries.base, entries.tail)
        elif (
            isinstance(source, Stair)
            and source_id.key == carrier.key
            and (source.complete or source.component is None)
        ):
            source.promote(keys)
            self._collect(source, keys, entries)
        else:
            self._replay(below[0], carrier, keys, entries)
        start = out.tail
        self.hop(hop, entries, entries.base, entries.tail, out, False)
        self.rekey(halt.recipe, out, start, out.tail)
        self._give(entries)

    def _collect(self, stair: Stair, keys: Keys, out: Ring) -> None:
        """Append the entries of a STAIR that have one of these keys."""
        wanted = self._take(0)
        wanted.reserve(len(keys))
        append_keys(wanted.state, keys)
        place = np.arange(ROWS, ROWS + stair.components)
        self._join(self._fill_join, wanted, wanted.base, wanted.tail, stair, out, place, self.floor)
        self._give(wanted)

    def _take(self, components: int) -> Ring:
        """A ring for entries on their way; give it back."""
        spare = self._spare.setdefault(components, [])
        return spare.pop() if spare else Ring(components, hashed=False)

    def _give(self, ring: Ring) -> None:
        ring.clear()
        self._spare[ring.components].append(ring)

    @property
    def nbytes(self) -> int:
        """Rings for entries on their way; STAIRs count by themselves."""
        scratch = [*self.results, *itertools.chain(*self._spare.values())]
        for track in self.tracks:
            scratch += track.places if track.held is None else [*track.places, track.held]
        return sum(ring.nbytes for ring in scratch)


def _raised(track: Track, lows: list[int]) -> tuple[list[int], NDArray[np.int32]]:
    raised = track.lows(lows)
    return raised, np.array(raised, np.int64).astype(np.int32)
