"""A user's view of a STAIR: what it holds, and its entries promoted and demoted by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from eddy.engine.doors import alone, asked, check_ready
from eddy.errors import EddyError, StateError
from eddy.inspect.entries import Entries, each_once
from eddy.inspect.stair import HeldStair, Scene
from eddy.inspect.stair_keys import WantedKeys, read_keys
from eddy.inspect.stair_names import NOTHING, find_stair, key_columns, stream_names
from eddy.intake.travel import ROW
from eddy.plan.compiler import StairId
from stairs import Stair
from stairs.holes import Keys

if TYPE_CHECKING:
    from eddy.state import EngineState


class _EveryKey:
    """In place of keys. (None is a key that nothing equals.)"""

    def __repr__(self) -> str:
        return "every key"


ALL: Any = _EveryKey()


class StairView:
    """The STAIR of some streams in the current plan of an engine, whichever plan that is when it is asked.

    Whatever is promoted or demoted, and whenever: results of the query never change. A *key* is a value of the column
    that the STAIR is keyed by (`key`), a tuple of values where there are several, or a row number where there is no
    equality; lists and arrays are several keys. Rows that feedback has put by are in no STAIR until they are resumed.
    """

    def __init__(self, state: EngineState, streams: str | Iterable[str], by: str | None = None) -> None:
        self._state = state
        self._by = by
        self.streams = stream_names(streams, state.query.names)
        self._numbers = tuple(state.query.names.index(name) for name in self.streams)
        if not state.executor.routers:
            raise EddyError("a set difference has no STAIRs: read its statistics()")
        self._current()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    @asked
    def key(self) -> tuple[str, ...]:
        """The columns it is keyed by, such as ("A.x",); ("row of A",) where there is no equality; () without a key."""
        return key_columns(self._state.query, self._current().key, self.streams)

    @property
    @asked
    def complete(self) -> bool:
        """Whether it has no hole, and lacks nothing that another plan makes."""
        return all(
            held.stair.complete or not (held.stair.partial or held.hole_count) for held, _ in self._held()
        )

    @property
    @asked
    def holes(self) -> int:
        """How many keys of live rows are holes; with threads, counted in every shard that has such a row."""
        return sum(held.hole_count for held, _ in self._held())

    @asked
    def __len__(self) -> int:
        """How many live entries it stores."""
        return len(self._rows(HeldStair.stored, self._numbers))

    @asked
    def stored(self, key: Any = ALL) -> Entries:
        """The live entries that are stored, all of them or those with a key: a hole has none, and stays one."""
        check_ready(self._state, "ask")
        wanted = self._read(key)
        rows = self._rows(lambda held: held.stored() if wanted is None else held.found(wanted), self._numbers)
        return self._entries(rows, self._numbers)

    # -- the operations of a STAIR ---------------------------------------------------------------------------------

    def insert(self, *rows: Any) -> NoReturn:
        """Refused. Rows come in by `Eddy.push`, which inserts each into the STAIRs of its stream, and what it completes
        into the composite ones, unless the key is a hole: then the insert is dropped, and comes with the fill."""
        raise EddyError(
            "rows come in by push() alone, which inserts them, and what they complete, into all STAIRs of the plan: an "
            "entry put in by hand would be made of rows that never arrived"
        )

    @alone
    def probe(self, key: Any = ALL) -> Entries:
        """The live entries with a key, or with any: as for a row that probes the STAIR, holes are filled first."""
        wanted = self._read(key)
        self._begin("probe")

        def found(held: HeldStair) -> Keys:
            if held.carrier is not None:
                held.promote(None if wanted is None else held.hole_keys(wanted))
            return held.stored() if wanted is None else held.found(wanted)

        return self._changed(found)

    @alone
    def promote(
        self, keys: Any = ALL, to: str | Iterable[str] | None = None, budget: int | None = None
    ) -> Entries:
        """Join now what would be joined when somebody asks for it; returns the entries that have come of it.

        Without ``to`` the holes of this STAIR are filled: those of the keys, or all; with a ``budget`` no more than so
        many, those of the newest rows first. With ``to``, a set of more streams, the entries with these keys become
        entries of that STAIR, and of those on the way to it.
        """
        if budget is not None and (to is not None or keys is not ALL):
            raise EddyError("a budget is for the holes of one STAIR: give neither keys nor to with it")
        if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 0):
            raise EddyError(f"a budget is a number of holes, not {budget!r}")
        wanted, goal = self._read(keys), None if to is None else self._above(to)
        self._begin("promote")
        stairs = [held.stair for held, _ in self._held()]
        filled = partial(_filled_since, stairs, sum(stair.keys_filled for stair in stairs))

        def promoted(held: HeldStair) -> Keys:
            if goal is not None:
                return held.promote_to(wanted, goal)
            if held.carrier is None:
                return np.empty((0, 1), np.int64)
            left = None if budget is None else budget - filled()
            return held.promote(None if wanted is None else held.hole_keys(wanted), left)

        return self._changed(promoted, self._numbers if goal is None else goal.streams)

    @alone
    def demote(self, keys: Any = ALL, to: str | Iterable[str] | None = None) -> Entries:
        """Take the entries with these keys, or all, apart; returns those that were.

        The keys are holes from now on, until somebody probes or promotes them. What is left of the entries are their
        parts in the STAIRs below: ``demote(...).part("A")``. With ``to``, some of this STAIR's streams, entries of the
        STAIRs between these streams and this one go too, as far as they are parts of those that went.
        """
        if len(self.streams) == 1:
            raise EddyError(
                f"the STAIR of stream {self.streams[0]} cannot be demoted: its rows are what holes are filled from"
            )
        wanted, kept = self._read(keys), None if to is None else self._below(to)
        self._begin("demote")

        def demoted(held: HeldStair) -> Keys:
            chosen = None if wanted is None else held.hole_keys(wanted)
            return held.demote(chosen) if kept is None else held.demote_to(chosen, kept)

        return self._changed(demoted)

    def __repr__(self) -> str:
        holes = self.holes
        state = "complete" if self.complete else f"{holes:,} hole{'' if holes == 1 else 's'}"
        by = ", ".join(self.key) or NOTHING
        return f"<STAIR {' '.join(self.streams)} by {by}: {len(self):,} live, {state}>"

    # -- finding it ------------------------------------------------------------------------------------------------

    def _current(self) -> StairId:
        """Which STAIR of the current plan it is."""
        return self._found(self._numbers, self._by)

    def _found(self, streams: tuple[int, ...], by: str | None = None) -> StairId:
        """Which STAIR of the current plan these streams have."""
        router, *others = self._state.executor.routers
        if any(other.plan != router.plan for other in others):
            raise StateError(
                "the shards change to another plan one after the other, and some have done so: ask for STAIRs when the "
                "plan change is over, or call settle(), which ends it now"
            )
        return find_stair(self._state.query, router, streams, by)

    def _above(self, streams: str | Iterable[str]) -> StairId:
        """The STAIR of these streams, which must be more than this one's."""
        names = self._state.query.names
        others = stream_names(streams, names)
        if not set(self.streams) < set(others):
            raise EddyError(
                f"promote takes entries to more streams: to= must have all of {' '.join(self.streams)}, and others, "
                f"not {' '.join(others)}"
            )
        return self._found(tuple(names.index(name) for name in others))

    def _below(self, streams: str | Iterable[str]) -> frozenset[int]:
        """The numbers of these streams, which must be some of this STAIR's."""
        names = self._state.query.names
        others = stream_names(streams, names)
        if not set(others) < set(self.streams):
            raise EddyError(
                f"demote strips entries of streams: to= must have some of {' '.join(self.streams)}, not all, and no "
                f"others, not {' '.join(others)}"
            )
        return frozenset(names.index(name) for name in others)

    def _read(self, keys: Any) -> WantedKeys | None:
        """The keys that were given; None: all."""
        if keys is ALL:
            return None
        state = self._state
        wanted = self._current()
        columns = key_columns(state.query, wanted.key, self.streams)
        return read_keys(state.query, state.pool, wanted.key, columns, keys)

    # -- in every router -------------------------------------------------------------------------------------------

    def _begin(self, what: str) -> None:
        """Before anything is changed: refuse what cannot be done now."""
        state = self._state
        check_ready(state, what)
        if not all(router.alone for router in state.executor.routers):
            raise StateError(
                "two plans run side by side until the plan change is over, and neither has everything: "
                f"{what} then, or call settle(), which ends it now"
            )
        self._settle_shards()

    def _settle_shards(self) -> None:
        """Have every shard know of the last batch, where kernels alone have done that."""
        executor = self._state.executor
        if executor.shards:
            from eddy.threads.crew import Crew  # loaded already where there are shards

            assert isinstance(executor, Crew)
            executor.write_back()

    def _held(self) -> Iterator[tuple[HeldStair, Any]]:
        """The STAIR in every router, and the shard that it is in, if it is in one."""
        state = self._state
        lows, shards, wanted = state.row_numbers.lows, state.executor.shards, self._current()
        for place, router in enumerate(state.executor.routers):
            shard, own, newest = None, lows, state.row_numbers.counts
            if shards:
                shard = shards[place]
                own, newest = shard.lows(lows), shard.state.row_numbers.counts

            def named(stream: int, rows: Keys, shard: Any = shard) -> Keys:
                whole = rows if shard is None else shard.numbers(stream, rows)
                return self._outside(whole.reshape(-1, 1), (stream,))[:, 0]

            scene = Scene(router, router.tracks[-1].role.lows(own), newest, named)
            yield HeldStair(scene, wanted), shard

    def _changed(
        self, change: Callable[[HeldStair], Keys], streams: tuple[int, ...] | None = None
    ) -> Entries:
        """What a change in every router returns, gathered; the engine is not to be trusted where it fails half-way."""
        streams = self._numbers if streams is None else streams
        try:
            rows = self._rows(change, streams)
        except BaseException as error:
            self._state.broken = error
            raise
        return self._entries(rows, streams)

    def _rows(self, read: Callable[[HeldStair], Keys], streams: tuple[int, ...]) -> Keys:
        """The rows of entries of all routers, by the numbers of the engine, each once, in their order."""
        parts = []
        for held, shard in self._held():
            rows = read(held)
            if shard is not None:
                columns = [shard.numbers(s, np.ascontiguousarray(rows[:, i])) for i, s in enumerate(streams)]
                rows = np.stack(columns, axis=1)
            parts.append(rows)
        rows = np.concatenate(parts)
        return rows[each_once(rows)]

    def _entries(self, rows: Keys, streams: tuple[int, ...]) -> Entries:
        """Entries with these rows, by the numbers of the engine."""
        state = self._state
        names = tuple(state.query.names[s] for s in streams)
        values = {}
        for place, name in enumerate(names):
            own = np.ascontiguousarray(rows[:, place])
            kept = state.streams[streams[place]].payload.columns
            columns = [column for column in kept if column != ROW]
            for column, found in zip(columns, state.fetch(name, columns, own), strict=True):
                values[f"{name}.{column}"] = kept[column], found
        return Entries(names, self._outside(rows, streams), values)

    def _outside(self, rows: Keys, streams: tuple[int, ...]) -> NDArray[np.int64]:
        """What rows are called outside."""
        state = self._state
        if state.output.number is None:
            return rows
        whole = np.tile(state.row_numbers.lows, (len(rows), 1))
        whole[:, streams] = rows
        return state.output.number(whole)[:, streams]


def _filled_since(stairs: Sequence[Stair], before: int) -> int:
    """Holes of these STAIRs that were filled since there had been so many."""
    return sum(stair.keys_filled for stair in stairs) - before
