"""Which STAIR is meant: streams and keys by name, and those that a plan has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddy.errors import EddyError, PlanError
from eddy.inspect.explain import key_text
from eddy.plan.compiler import Key, StairId
from eddy.query.query import Query
from eddy.router.router import Router

NOTHING = "nothing"
"""The name of the key that a STAIR has where nothing but a cross product asks it."""


def stream_names(streams: str | Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """A set of streams, written "A B" or listed, in the order of the query; EddyError if there is no such stream."""
    if not isinstance(streams, str) and not isinstance(streams, Iterable):
        raise EddyError(f"streams are named in a string such as {' '.join(known[:2])!r}, not {streams!r}")
    if streams in known:
        return (str(streams),)
    words = streams.replace("(", " ").replace(")", " ").split() if isinstance(streams, str) else list(streams)
    for name in words:
        if name not in known:
            raise EddyError(f"there is no stream {name!r}; the streams are {', '.join(known)}")
    if not words:
        raise EddyError(f"no stream is named; the streams are {', '.join(known)}")
    return tuple(name for name in known if name in words)


def key_columns(query: Query, key: Key, streams: Sequence[str]) -> tuple[str, ...]:
    """What a STAIR of these streams is keyed by: a column "A.x" for each part, "row of A", or nothing."""
    if key.row is not None:
        return (f"row of {query.names[key.row]}",)
    found = []
    for c in key.classes:
        members = query.key_classes[c].members
        stream = next(name for name in streams if name in members)
        found.append(f"{stream}.{members[stream]}")
    return tuple(found)


def stair_ids(router: Router) -> tuple[StairId, ...]:
    """The STAIRs of the current plan: those of its streams, then its composite ones, each after those below it."""
    table = router.tracks[-1].table
    leaves = sorted(table.leaves, key=lambda leaf: (leaf.streams, leaf.key.classes))
    return (*leaves, *(wanted for wanted in table.stairs if not wanted.former))


def find_stair(query: Query, router: Router, streams: tuple[int, ...], by: str | None = None) -> StairId:
    """The STAIR of these streams in a router's current plan, which ``by`` tells from others of the same streams.

    PlanError, which names those there are, if it has none, or several.
    """
    every = stair_ids(router)
    found = [wanted for wanted in every if wanted.streams == streams]
    if by is not None:
        found = [wanted for wanted in found if by in _key_names(query, wanted)]
    if len(found) == 1:
        return found[0]
    names = [" ".join(query.names[s] for s in wanted.streams) for wanted in found or every]
    keys = [_key_columns(query, wanted) for wanted in found or every]
    known = "; ".join(f"{name} by {key}" for name, key in zip(names, keys, strict=True))
    what = " ".join(query.names[s] for s in streams) + ("" if by is None else f" by {by}")
    if found:
        raise PlanError(f"the plan has several STAIRs of {what}; say which with by=: {known}")
    raise PlanError(f"the plan {router.plan} has no STAIR of {what}; it has: {known}")


def _key_columns(query: Query, wanted: StairId) -> str:
    """The columns of a STAIR's key, those of its own streams."""
    return ", ".join(key_columns(query, wanted.key, [query.names[s] for s in wanted.streams])) or NOTHING


def _key_names(query: Query, wanted: StairId) -> set[str]:
    """What the key of a STAIR may be called."""
    names = {key_text(query, wanted.key), _key_columns(query, wanted)}
    if len(wanted.key.classes) == 1:
        members = query.key_classes[wanted.key.classes[0]].members
        names |= {*members.values(), *(f"{stream}.{column}" for stream, column in members.items())}
    return names
