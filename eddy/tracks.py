"""The plans of a router: which tracks run, and how one takes over from another.

A change keeps the STAIRs that both plans have. The others start as holes (`install`); or empty, on a track that sees
only new rows (`fork`); or empty, while the old plan makes what they lack (`split`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from eddy.binding import Binder, Halt
from eddy.duty import Duty
from eddy.hybrid import Task, combine, merged
from eddy.itinerary import Compiler, Key, RoutingTable, StairId
from eddy.leaf import StreamState
from eddy.orderings import Orderings
from eddy.plan import Plan
from eddy.program import compile_program
from eddy.track import Track
from stairs import Directory, Ring, Stair
from stairs.holes import Keys

RESULT_RINGS = 3
"""Rings for results, used in turn by the pushes: a result may read its ring until the next but one."""


class Tracks(ABC):
    """Owns the tracks and their STAIRs; leaves belong to the streams."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        self.compiler = compiler
        self.streams = streams
        self.bounded = bounded
        self.tracks: list[Track] = []
        """Oldest first; the last one has the current plan."""
        self.results = [Ring(len(streams), hashed=False) for _ in range(RESULT_RINGS)]
        self.filled_before = 0
        """Holes filled in STAIRs that are gone."""
        self.binder = Binder(compiler, streams, nested, bounded)
        self._writers: dict[Ring, tuple[Halt, StairId]] = {}
        """For each STAIR the halt that writes to it, and the leaf that knows its holes."""
        self._makers: dict[Ring, Halt] = {}
        """The halt that writes to a STAIR, or to a place on the way to one."""
        self._directories = {} if nested else directories(compiler, streams)

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

    def install(self, plan: Plan, fresh: bool) -> tuple[list[Stair], list[Stair]]:
        """Change to a plan: STAIRs it shares with the old one are kept as they are, the others start as holes.

        Returns the STAIRs that are new, and those that are dropped. ``fresh``: there are no rows yet.
        """
        self.release(rows=False)
        table = self.compiler.compile(plan)
        old = {}  # stays as it is until nothing can fail any more
        if self.tracks and self.tracks[-1].born is None:
            old = {wanted: stair for wanted, stair in self.stairs.items() if not stair.partial}
        stairs, new = self._stairs(table, old)
        with _or_leave(new):
            track = self._track(plan, table, stairs)
            kept = {id(stair) for stair in stairs.values()}
            dropped = [stair for stair in self.every_stair if id(stair) not in kept]
            if not fresh:
                _open(new, dropped)
        self._use([track])
        return new, dropped

    def fork(self, plan: Plan, counts: NDArray[np.int64], held: bool) -> None:
        """Start a plan on a track of its own, empty: it sees only rows from ``counts`` on. The former goes on.

        The former track owes from now on what has a row from before. ``held``: results of the new one wait.
        """
        self.release(rows=True)
        table = self.compiler.compile(plan)
        stairs, new = self._stairs(table, {})
        with _or_leave(new):
            for stair in new:
                stair.partial = True
            track = self._track(plan, table, stairs, born=counts.copy())
            if held:
                track.held = Ring(len(self.streams), hashed=False)
            older = self.tracks[-1]
            duty = Duty([{stream: cut} for stream, cut in enumerate(counts.tolist())])
            last = older.table.stops[-1]
            steps = tuple(evolve(step, duty=duty) for step in last.steps)
            table = evolve(older.table, stops=(*older.table.stops[:-1], evolve(last, steps=steps)))
            owing = evolve(older, table=table, duty=duty)
            self._bind(owing)  # from here on nothing can fail
        older.table, older.duty, older.halts, older.program = table, duty, owing.halts, owing.program
        self._use([*self.tracks, track])

    def split(self, plan: Plan, counts: NDArray[np.int64], sharing: bool) -> bool:
        """Change to a plan whose new STAIRs start empty, while the old plan makes what they lack.

        False if they lack nothing, since both plans have all states, or if the new one is no tree: then it is a plain
        change.
        """
        self.release(rows=True)
        (older,) = self.tracks
        table = self.compiler.compile(plan)
        if isinstance(
            plan, Orderings
        ):  # its rows need not come through a STAIR that lacks something, so who makes
            return False  # a result is not a matter of the result alone
        hybrid = combine(self.compiler.compile(older.plan), table, counts.tolist(), sharing)
        if not hybrid.tasks:
            return False
        old = older.stairs if sharing else {evolve(k, former=True): v for k, v in older.stairs.items()}
        stairs, new = self._stairs(hybrid.table, old)
        # What only the old plan has will lack what it does not owe, and the new ones lack what was there before.
        wanted = set(table.stairs)
        former = [stair for name, stair in stairs.items() if name not in wanted]
        with _or_leave(new):
            track = self._track(plan, hybrid.table, stairs)
        for stair in (*new, *former):
            stair.partial = True
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
            self.tracks[0].born = self.tracks[0].held = None
            for stair in self.tracks[0].stairs.values():
                stair.partial = False
        track = self.tracks[-1]
        for task in () if track.hybrid is None else track.hybrid.tasks:
            if not task.duty.entries:  # what its states lack is dead
                for state in task.missing:
                    track.stairs[state].partial = False
        if track.hybrid is not None and not any(duty.entries for duty in track.duties):
            self._unite(track)
        return changed

    def _unite(self, track: Track) -> None:
        """The old plan owes nothing any more: what is left is the new one, with all its states."""
        table = self.compiler.compile(track.plan)
        left = {wanted: stair for wanted, stair in track.stairs.items() if wanted not in table.stairs}
        gone = [*left.values(), *track.shadows.values()]
        self.filled_before += sum(stair.keys_filled for stair in gone)
        for stair in gone:
            stair.leave()
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
        track.stairs[state].leave()
        track.stairs[state] = track.shadows.pop(state)
        merged(track.hybrid, task, state, counts.tolist())
        self._bind(track)
        if not any(duty.entries for duty in track.duties):
            self._unite(track)

    def _stairs(
        self, table: RoutingTable, old: dict[StairId, Stair]
    ) -> tuple[dict[StairId, Stair], list[Stair]]:
        """The STAIRs of a routing table: those of ``old``, or new ones, which are listed apart."""
        stairs: dict[StairId, Stair] = {}
        new = []
        for wanted in table.stairs:
            stair = old.get(wanted)
            if stair is None:
                stair = self._make(wanted, self.binder.carrier(wanted))
                new.append(stair)
            stairs[wanted] = stair
        return stairs, new

    def _make(self, wanted: StairId, carrier: StairId) -> Stair:
        name = " ".join(self.compiler.names[s] for s in wanted.streams)
        component = None if carrier.key == wanted.key else wanted.streams.index(carrier.streams[0])
        stair = Stair(name, wanted.streams, 1, self.binder.leaf(carrier), component)
        stair.filler = self.fill
        self._house(wanted, stair)
        return stair

    def _house(self, wanted: StairId, stair: Stair) -> None:
        """Let an empty STAIR have its heads in the directory of its key class."""
        directory = self._directories.get(wanted.key)
        if directory is None or stair.low != stair.tail:
            return
        if stair.home is None:
            directory.join(stair)
        else:
            directory.settle(stair)

    def _track(
        self,
        plan: Plan,
        table: RoutingTable,
        stairs: dict[StairId, Stair],
        born: NDArray[np.int64] | None = None,
    ) -> Track:
        carriers = {wanted: self.binder.carrier(wanted) for wanted in table.stairs}
        track = Track(plan, table, stairs, carriers, [], compile_program([]), born)
        self._bind(track)
        return track

    def _bind(self, track: Track) -> None:
        """Give the steps of a track their rings, as its STAIRs and duties are now."""
        for leaf in (*track.table.leaves, *track.carriers.values()):
            self.binder.leaf(leaf)
        track.halts = self.binder.bind(track.table, track.carriers, track.stairs, self.results[0])
        for halt, stop in zip(track.halts, track.table.stops, strict=True):
            shadow = track.shadows.get(stop.out) if isinstance(stop.out, StairId) else None
            halt.shadow = shadow
            for stair in (halt.stair, shadow):
                if stair is not None and isinstance(stop.out, StairId):
                    self._writers[stair] = (halt, track.carriers[stop.out])
        self._makers.update((halt.out, halt) for halt in track.halts[:-1] if track.stairs)
        track.program = compile_program(track.halts)

    def _use(self, tracks: list[Track]) -> None:
        """Run these tracks from now on; leaves and writers that only others needed are forgotten."""
        before = self.every_stair
        self.tracks = tracks
        alive = {id(stair) for stair in self.every_stair}
        gone = [stair for stair in before if id(stair) not in alive]
        self.filled_before += sum(stair.keys_filled for stair in gone)
        for stair in gone:
            stair.leave()
        for track in tracks:
            for wanted, stair in track.stairs.items():
                self._house(wanted, stair)
        self._writers = {stair: writer for stair, writer in self._writers.items() if id(stair) in alive}
        alive.update(id(place) for track in tracks for place in track.places)
        self._makers = {ring: halt for ring, halt in self._makers.items() if id(ring) in alive}
        needed = {leaf for track in tracks for leaf in (*track.table.leaves, *track.carriers.values())}
        for stream in self.streams:
            stream.forget({leaf.key for leaf in needed if leaf.streams == (stream.number,)})

    @abstractmethod
    def release(self, rows: bool) -> None:
        """Before another plan takes part: composites that wait do so no longer, nor, if ``rows``, does any row."""

    @abstractmethod
    def fill(self, stair: Stair, keys: Keys) -> None:
        """Fill holes of a STAIR."""


@contextmanager
def _or_leave(stairs: list[Stair]) -> Iterator[None]:
    """Where a change fails, nobody needs the STAIRs that were made for it."""
    try:
        yield
    except BaseException:
        for stair in stairs:
            stair.leave()
        raise


def directories(compiler: Compiler, streams: list[StreamState]) -> dict[Key, Directory]:
    """By key class, where the bucket heads may be of its leaves, and of the STAIRs that are looked up by it.

    A plan has no more of these than its joins on the class have sides: with m members, m - 1 joins. If all streams are
    members, m of those sides are leaves.
    """
    found = {}
    for c, members in enumerate(compiler.classes):
        m, key = len(members), Key((c,))
        found[key] = Directory(m - 2 if m == len(streams) else 2 * m - 2)
        for stream in members:
            found[key].join(streams[stream].stairs[key])
    return found


def _open(new: list[Stair], dropped: list[Stair]) -> None:
    """Make new STAIRs consist of holes; they take the arrays of dropped ones where these will do.

    Those that need memory come first: where there is none, nothing was taken yet.
    """
    free = list(dropped)
    heirs = []
    for stair in new:
        former = next((other for other in free if stair.may_inherit(other)), None)
        if former is None:
            stair.open()
        else:
            free.remove(former)
            heirs.append((stair, former, stair.heirloom(former), stair.prospect()))
    for stair, former, arrays, holes in heirs:
        stair.inherit(former, *arrays)
        stair.fill_later(holes)
