"""How one plan takes over from another while both run: tracks are made, and given their roles.

Either the new plan starts empty on a track of its own, which sees only new rows (`fork`, Parallel Track). Or it starts
with what it shares with the old one, in one track with it, while the old one makes what its other states lack (`split`,
HybMig), and these may be completed one by one (`mirror`, `merge`). Both end when no live composite needs the old plan.
Both may be begun again before that, any number of times.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from eddy.migration.hybrid import Hybrid, alone, succeed
from eddy.plan.compiler import StairId
from eddy.plan.orderings import Orderings
from eddy.plan.plan import Plan
from eddy.plan.scope import Scope
from eddy.tracks.role import ORDINARY, Role
from eddy.tracks.track import Track
from eddy.tracks.tracks import Tracks, or_leave
from stairs import Ring, Stair

Split = Literal["split", "whole", "orderings", "entries"]
"""What has come of `split`: done; or nothing was changed, since the new plan lacks no state, since it is one of
orderings, or since scopes would have too many entries."""


def fork(router: Tracks, plan: Plan, counts: NDArray[np.int64], held: bool) -> None:
    """Start a plan on a track of its own, empty: it sees only rows from ``counts`` on. The former goes on.

    The former track makes from now on what has a row from before. ``held``: results of the new one wait.
    """
    router.release(rows=True)
    table = router.compiler.compile(plan)
    stairs, new = router.build(table, {})
    with or_leave(new):
        for stair in new:
            stair.partial = True
        outbox = Ring(len(router.streams), hashed=False) if held else None
        track = router.track(plan, table, stairs, Role(firsts=counts.copy(), outbox=outbox))
        older = router.tracks[-1]
        scope = Scope([{stream: cut} for stream, cut in enumerate(counts.tolist())])
        *others, last = older.table.stops
        table = evolve(
            older.table,
            stops=(*others, evolve(last, steps=tuple(evolve(step, scope=scope) for step in last.steps))),
        )
        copy = evolve(older, table=table, role=evolve(older.role, scopes=(scope,)))
        router.bind(copy)  # from here on nothing can fail
    older.table, older.role, older.halts, older.program = copy.table, copy.role, copy.halts, copy.program
    router.use([*router.tracks, track])


def split(router: Tracks, plan: Plan, counts: NDArray[np.int64], sharing: bool) -> Split:
    """Change to a plan whose new STAIRs start empty, while the old plan, or all plans that run, make what they lack.

    ``counts`` are the next rows; without ``sharing`` the plans share only leaves. The router has one track, without
    holes.
    """
    router.release(rows=True)
    (older,) = router.tracks
    table = router.compiler.compile(plan)
    if isinstance(plan, Orderings):
        # Its rows need not come through a STAIR that lacks something, so who makes a result is not a matter of the
        # result alone.
        found_whole = {wanted for wanted, stair in older.stairs.items() if not stair.partial}
        return "whole" if found_whole.issuperset(table.stairs) else "orderings"
    running = older.role
    if not isinstance(running, Hybrid):
        running = alone(router.compiler.compile(older.plan), str(older.plan))
    found = succeed(running, table, str(plan), counts.tolist(), sharing)
    if found is None:
        return "entries"
    if not found[0].scopes:
        return "whole"
    hybrid, names = found
    stairs, new = router.build(hybrid.table, {names.get(k, k): stair for k, stair in older.stairs.items()})
    with or_leave(new):
        track = router.track(plan, hybrid.table, stairs, hybrid)
    # What only older plans have will lack what is in no scope, and the new ones lack what was there before.
    for wanted, stair in stairs.items():
        stair.partial = wanted in hybrid.lacking or not hybrid.is_current(wanted)
    router.use([track])
    return "split"


def expire(router: Tracks, lows: list[int]) -> None:
    """Stop what goes on only for rows below ``lows``, the low-water rows: they have left their windows."""
    track = router.tracks[-1]
    if isinstance(track.role, Hybrid):  # it is the only one
        whole = track.role.expire(lows)
        if whole is not None:
            _settle(router, track, whole)
        return
    for track in router.tracks:
        for scope in track.role.scopes:
            if scope.expire(lows):
                router.bind(track)
    while len(router.tracks) > 1 and router.tracks[0].role.fulfilled:
        router.use(router.tracks[1:])
        oldest = router.tracks[0]
        oldest.role = evolve(oldest.role, firsts=None, outbox=None)
        for stair in oldest.stairs.values():
            stair.partial = False


def _settle(router: Tracks, track: Track, whole: list[StairId]) -> None:
    """Scopes have shrunk, and these states lack nothing any more: run what is left."""
    for state in whole:
        track.stairs[state].partial = False
    router.bind(track)
    _unite_if_fulfilled(router, track)


def _unite_if_fulfilled(router: Tracks, track: Track) -> None:
    """If the old plan has nothing to make any more, what is left is the new one, with all its states."""
    if not track.role.fulfilled:
        return
    table = router.compiler.compile(track.plan)
    left = [stair for wanted, stair in track.stairs.items() if wanted not in table.stairs]
    router.drop([*left, *track.role.mirrors.values()])
    track.stairs = {wanted: track.stairs[wanted] for wanted in table.stairs}
    for stair in track.stairs.values():
        stair.partial = False
    track.table, track.role = table, ORDINARY
    router.bind(track)
    router.use([track])


def unfinished(router: Tracks) -> StairId | None:
    """The lowest state of the new plan that lacks something; None where a track is one plan."""
    role = router.tracks[-1].role
    return role.unfinished if isinstance(role, Hybrid) else None


def mirror(router: Tracks, state: StairId) -> Stair:
    """Begin to complete a state of the new plan: a STAIR that consists of holes, and gets the same entries.

    One that was begun for a plan before goes on.
    """
    track = router.tracks[-1]
    if state in track.role.mirrors:
        return track.role.mirrors[state]
    stair = router.make(state, track.carriers[state])
    with or_leave([stair]):
        stair.open()
    track.role = evolve(track.role, mirrors={**track.role.mirrors, state: stair})
    router.bind(track)
    return stair


def merge(router: Tracks, state: StairId, counts: NDArray[np.int64]) -> None:
    """The mirror of a state is complete: it takes the place of the state, and older plans have less to make.

    ``counts`` are the next rows.
    """
    track = router.tracks[-1]
    assert isinstance(track.role, Hybrid)
    mirrors = dict(track.role.mirrors)
    router.drop([track.stairs[state]])
    track.stairs[state] = mirrors.pop(state)
    track.role = evolve(track.role, mirrors=mirrors)
    _settle(router, track, track.role.complete(state, counts.tolist()))
