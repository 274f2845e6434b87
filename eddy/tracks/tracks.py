"""The plans of a router: which tracks run, and what they run on.

A plan is changed in one go (`Tracks.install`): STAIRs that both plans have are kept, and the others start as holes. Or
a migration makes tracks, gives them roles, and has them run from then on: `build`, `track`, `bind` and `use`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from eddy.plan.compiler import Compiler, Key, RoutingTable, StairId
from eddy.plan.plan import Plan
from eddy.store.stream import StreamState
from eddy.tracks.binding import Binder, Halt
from eddy.tracks.program import compile_program
from eddy.tracks.role import ORDINARY, Role
from eddy.tracks.track import Track
from stairs import Directory, Ring, Stair
from stairs.holes import Keys

RESULT_RINGS = 3
"""Rings for results: a result may read its ring until the next push but one."""


class Tracks(ABC):
    """Owns the tracks and their STAIRs; leaves belong to the streams."""

    def __init__(
        self, compiler: Compiler, streams: list[StreamState], nested: bool, bounded: list[bool]
    ) -> None:
        self.compiler = compiler
        self.streams = streams
        self._tracks: list[Track] = []
        self.results = [Ring(len(streams), hashed=False) for _ in range(RESULT_RINGS)]
        self.filled_before = 0
        """Holes filled in STAIRs that are gone."""
        self.binder = Binder(compiler, streams, nested, bounded)
        self.writers: dict[Ring, tuple[Halt, StairId]] = {}
        """For each STAIR the halt that writes to it, and the leaf that knows its holes."""
        self.makers: dict[Ring, Halt] = {}
        """The halt that writes to a STAIR, or to a place on the way to one."""
        self._directories = {} if nested else directories(compiler, streams)

    @property
    def tracks(self) -> list[Track]:
        """Those that run, the oldest first; the last one has the current plan."""
        return self._tracks

    @property
    def alone(self) -> bool:
        """Whether one plan runs, which sees all rows and makes all results."""
        return len(self._tracks) == 1 and self._tracks[0].role.ordinary

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
        if self.tracks and self.tracks[-1].role.firsts is None:
            old = {wanted: stair for wanted, stair in self.stairs.items() if not stair.partial}
        stairs, new = self.build(table, old)
        with or_leave(new):
            track = self.track(plan, table, stairs)
            kept = {id(stair) for stair in stairs.values()}
            dropped = [stair for stair in self.every_stair if id(stair) not in kept]
            if not fresh:
                _open(new, dropped)
        self.use([track])
        return new, dropped

    def build(
        self, table: RoutingTable, old: dict[StairId, Stair]
    ) -> tuple[dict[StairId, Stair], list[Stair]]:
        """The STAIRs of a routing table: those of ``old``, or new ones, which are empty and listed apart."""
        stairs: dict[StairId, Stair] = {}
        new = []
        for wanted in table.stairs:
            stair = old.get(wanted)
            if stair is None:
                stair = self.make(wanted, self.binder.carrier(wanted))
                new.append(stair)
            stairs[wanted] = stair
        return stairs, new

    def make(self, wanted: StairId, carrier: StairId) -> Stair:
        """An empty STAIR whose holes, when it gets some, are known by the rows of the leaf ``carrier``."""
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

    def track(
        self, plan: Plan, table: RoutingTable, stairs: dict[StairId, Stair], role: Role = ORDINARY
    ) -> Track:
        """A track that can run; it does so when it is used."""
        carriers = {wanted: self.binder.carrier(wanted) for wanted in table.stairs}
        track = Track(plan, table, stairs, carriers, [], compile_program([]), role)
        self.bind(track)
        return track

    def bind(self, track: Track) -> None:
        """Give the steps of a track their rings, as its STAIRs, its mirrors and its scopes are now."""
        for leaf in (*track.table.leaves, *track.carriers.values()):
            self.binder.leaf(leaf)
        track.halts = self.binder.bind(track.table, track.carriers, track.stairs, self.results[0])
        for halt, stop in zip(track.halts, track.table.stops, strict=True):
            halt.mirror = track.role.mirrors.get(stop.out) if isinstance(stop.out, StairId) else None
            for stair in (halt.stair, halt.mirror):
                if stair is not None and isinstance(stop.out, StairId):
                    self.writers[stair] = (halt, track.carriers[stop.out])
        self.makers.update((halt.out, halt) for halt in track.halts[:-1] if track.stairs)
        track.program = compile_program(track.halts)

    def use(self, tracks: list[Track]) -> None:
        """Run these tracks from now on; leaves and writers that only others needed are forgotten."""
        before = self.every_stair
        self._tracks = tracks
        alive = {id(stair) for stair in self.every_stair}
        self.drop([stair for stair in before if id(stair) not in alive])
        for track in tracks:
            for wanted, stair in track.stairs.items():
                self._house(wanted, stair)
        self.writers = {stair: writer for stair, writer in self.writers.items() if id(stair) in alive}
        alive.update(id(place) for track in tracks for place in track.places)
        self.makers = {ring: halt for ring, halt in self.makers.items() if id(ring) in alive}
        needed = {leaf for track in tracks for leaf in (*track.table.leaves, *track.carriers.values())}
        for stream in self.streams:
            stream.forget({leaf.key for leaf in needed if leaf.streams == (stream.number,)})

    def drop(self, stairs: Sequence[Stair]) -> None:
        """Nobody needs these STAIRs any more, but what was filled in them counts."""
        self.filled_before += sum(stair.keys_filled for stair in stairs)
        for stair in stairs:
            stair.leave()

    @property
    def spare_bytes(self) -> int:
        """Of directories: room that no STAIR uses."""
        return sum(directory.spare for directory in self._directories.values())

    @abstractmethod
    def release(self, rows: bool) -> None:
        """Before another plan takes part: composites that wait do so no longer, nor, if ``rows``, does any row."""

    @abstractmethod
    def fill(self, stair: Stair, keys: Keys) -> None:
        """Fill holes of a STAIR."""


@contextmanager
def or_leave(stairs: list[Stair]) -> Iterator[None]:
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
