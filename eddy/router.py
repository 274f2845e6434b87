"""The router: runs batches along the itineraries of the current plan, and replays them to fill holes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eddy.binding import Binder, Halt, Hop, Recipe
from eddy.itinerary import Compiler, StairId
from eddy.leaf import StreamState
from eddy.leaves import Leaves
from eddy.plan import Plan
from eddy.program import compile_program
from eddy.theta import decide
from stairs import Ring, Stair
from stairs.holes import Keys
from stairs.key_kernels import fetch_keys, key_by_row, link, mix_into, read_component_keys, read_keys, verify
from stairs.layout import ROWS
from stairs.probe_kernels import BLOCK, join_for
from stairs.program_kernels import RESUMED, run
from stairs.ring_kernels import append_keys, keep
from stairs.stair import ALL

RESULT_RINGS = 3
"""Rings for results, used in turn by the pushes: a result may read its ring until the next but one."""

AT_ONCE = 4096
"""Matches that a step has room for before their predicates are decided."""

REVIEW = 64
"""Batches between two looks at whether rings have become too large."""


class Router:
    """Owns the STAIRs of the plan; leaves belong to the streams."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        self.compiler = compiler
        self.streams = streams
        self.bounded = bounded
        self.leaves = Leaves(streams)
        self.stairs: dict[StairId, Stair] = {}
        self.halts: list[Halt] = []
        self._program = compile_program([])
        self.results = [Ring(len(streams), hashed=False) for _ in range(RESULT_RINGS)]
        self.composites_built = 0
        self._binder = Binder(compiler, streams, nested, bounded)
        self._fill_join = join_for(0, 0, nested, False)
        self._writers: dict[int, tuple[Halt, StairId]] = {}
        self._spare: dict[int, list[Ring]] = {}
        self._places: list[Ring] = []
        self._batches = 0
        self._cursor = np.zeros(RESUMED + 1, np.int64)
        self._waiting = np.zeros((2, BLOCK + 1), np.int32)
        self.floor = np.array([[s.base.low for s in streams]], np.int64).astype(np.int32)
        """Rows below are dead at every event to come."""
        self.marks = self.floor
        self.newest = np.array([s.base.tail for s in streams], np.int64)

    # -- plans -----------------------------------------------------------------------------------------------------

    def install(self, plan: Plan, fresh: bool) -> tuple[list[Stair], list[Stair]]:
        """Change to a plan: STAIRs it shares with the old one are kept as they are, the others start as holes.

        Returns the STAIRs that are new, and those that are dropped. ``fresh``: there are no rows yet.
        """
        table = self.compiler.compile(plan)
        old = self.stairs  # stays as it is until nothing can fail any more
        carriers = {wanted: self._binder.carrier(wanted) for wanted in table.stairs}
        needed = {*table.leaves, *carriers.values()}
        stairs: dict[StairId, Stair] = {}
        new = []
        for wanted in table.stairs:
            stair = old.get(wanted)
            if stair is None:
                stair = self._make(wanted, carriers[wanted])
                if not fresh:
                    stair.open()
                new.append(stair)
            stairs[wanted] = stair
        for leaf in needed:
            self._binder.leaf(leaf)
        halts = self._binder.bind(table, carriers, stairs, self.results[0])
        self.stairs, self.halts = stairs, halts
        self._program = compile_program(halts)
        for stream in self.streams:
            stream.forget({leaf.key for leaf in needed if leaf.streams == (stream.number,)})
        self._places = [halt.out for halt in self.halts[:-1] if halt.stair is None]
        self._writers = {
            id(halt.stair): (halt, carriers[stop.out])
            for halt, stop in zip(self.halts, table.stops, strict=True)
            if halt.stair is not None and isinstance(stop.out, StairId)
        }
        return new, [stair for wanted, stair in old.items() if wanted not in stairs]

    def _make(self, wanted: StairId, carrier: StairId) -> Stair:
        name = " ".join(self.compiler.names[s] for s in wanted.streams)
        component = None if carrier.key == wanted.key else wanted.streams.index(carrier.streams[0])
        stair = Stair(name, wanted.streams, 1, self._binder.leaf(carrier), component)
        stair.filler = self.fill
        return stair

    # -- a batch ---------------------------------------------------------------------------------------------------

    def begin(
        self, floor: NDArray[np.int32], low_rows: NDArray[np.int64], next_rows: NDArray[np.int64], ring: int
    ) -> None:
        """Begin a batch: what is dead at ``floor`` goes, and holes whose rows died are seen to.

        ``floor`` has the low 32 bits of the low-water rows.
        """
        lows, counts = low_rows.tolist(), next_rows.tolist()
        expired = [
            (stair, self._expired(stair, lows)) for stair in self.stairs.values() if stair.holes is not None
        ]
        self.floor = self.marks = floor.reshape(1, -1)
        self._batches += 1
        review = self._batches % REVIEW == 0
        self.leaves.begin(low_rows, next_rows)
        if review:
            for stream in self.streams:
                stream.review()
        for stair in self.stairs.values():
            stair.begin(floor, lows, counts)
            if review:
                stair.review(floor)
        for place in self._places:
            place.clear()
        self.results[ring].clear()
        if review:
            for scratch in (self.results[ring], *self._places, *itertools.chain(*self._spare.values())):
                scratch.shrink()
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
        """Take the rows that the leaves have just stored through the plan, one stop at a time."""
        self.marks = marks
        program, out = self._program, self.results[ring]
        stop = len(program.table) if results else program.last
        self._cursor[RESUMED] = at = 0
        while at < stop:
            at = run(program.table, at, stop, out.address, marks, self._cursor, self._waiting)
            if at < stop:
                at = self._assist(at, out)

    def _assist(self, at: int, results: Ring) -> int:
        """Do what stopped a program; returns where it goes on."""
        halt, hop = self._program.sources[at]
        out = results if halt is self.halts[-1] else halt.out
        if self._cursor[RESUMED]:
            out.grow()
            return at
        if hop is None:
            assert halt.stair is not None
            halt.stair.insert(*out.delta)
        elif len(hop.source) and hop.source.delta[0] < hop.source.delta[1]:
            self.hop(hop, hop.source, *hop.source.delta, out, True)
        return at + 1

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
        decided = hop.verified or hop.step.residuals
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
        hop = next(hop for hop in halt.hops if carrier.streams[0] in hop.step.source.streams)
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
        scratch = (*self.results, *self._places, *itertools.chain(*self._spare.values()))
        return sum(ring.nbytes for ring in scratch)
