"""Counting what the shards of an engine hold, as if they were one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve

from eddy.statistics import EdgeStatistics, FeedbackStatistics, StairStatistics, Statistics


def together(parts: Sequence[Statistics]) -> tuple[tuple[StairStatistics, ...], FeedbackStatistics | None]:
    """STAIRs and feedback of all shards, those of one name as one: the first of it in each, the second, and so on.

    Keys of different classes may have the same text, such as "y=x" for A.y = B.x and for C.y = D.x.
    """
    stairs: dict[tuple[str, int], list[StairStatistics]] = {}
    for part in parts:
        seen: Counter[str] = Counter()
        for stair in part.stairs:
            stairs.setdefault((stair.name, seen[stair.name]), []).append(stair)
            seen[stair.name] += 1
    feedback = [part.feedback for part in parts if part.feedback is not None]
    return tuple(map(_stair, stairs.values())), _feedback(feedback) if feedback else None


def _stair(parts: list[StairStatistics]) -> StairStatistics:
    return evolve(
        parts[0],
        live=sum(part.live for part in parts),
        bytes=sum(part.bytes for part in parts),
        complete=all(part.complete for part in parts),
        fraction=sum(part.fraction for part in parts) / len(parts),
        keys_filled=sum(part.keys_filled for part in parts),
        holes=sum(part.holes for part in parts),
    )


_SUMS = (
    "suspended",
    "resumed",
    "dropped",
    "waiting",
    "composites_suspended",
    "composites_resumed",
    "pairs_suppressed",
    "pairs_restored",
    "keys_noted",
    "composites_avoided",
    "bytes",
    "bytes_saved",
    "seconds",
)


def _feedback(parts: list[FeedbackStatistics]) -> FeedbackStatistics:
    edges: dict[tuple[str, str, str], list[EdgeStatistics]] = {}
    for part in parts:
        for edge in part.edges:
            edges.setdefault((edge.name, edge.opposite, edge.key), []).append(edge)
    return evolve(
        parts[0],
        **{name: sum(getattr(part, name) for part in parts) for name in _SUMS},
        edges=tuple(map(_edge, edges.values())),
    )


def _edge(parts: list[EdgeStatistics]) -> EdgeStatistics:
    return evolve(
        parts[0],
        waiting=sum(part.waiting for part in parts),
        suspended=sum(part.suspended for part in parts),
        resumed=sum(part.resumed for part in parts),
        resting=all(part.resting for part in parts),
    )
