"""Filling ahead: the holes that a batch is going to probe, known before its rows are stored.

Where every step fills the holes that it meets, each of them goes down through the states below for its own keys: under
a left-deep plan of n joins that is up to n * n / 2 fills a batch, most of them of a few keys. But what an arriving row
will probe with is its own key. So all keys are collected from the top of the plan to its bottom, each state handing on
those that are holes to the states that it is filled from, and filled from the bottom to the top: once a state.

The same holes are filled as without it. Those that composites probe, and keys of several attributes, are left to the
steps that meet them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eddy.intake.intake import Part
from eddy.tracks.binding import Halt, Hop
from stairs import Stair
from stairs.holes import Keys

Source = Callable[[Stair], "Stair | None"]
"""The state that is asked for the same keys when a STAIR's holes are filled, if there is one."""


def foresee(halts: Sequence[Halt], parts: Sequence[Part], source: Source) -> list[tuple[Stair, Keys]]:
    """STAIRs and the keys to promote in them, in this order, before the rows of ``parts`` are stored."""
    asked: dict[Stair, list[Keys]] = {}
    by_stream = {part.stream: part for part in parts}
    for halt in reversed(halts):  # a state comes after all that probe it
        for hop in halt.hops:
            if hop.target.holes is not None:
                keys = _probing(hop, by_stream)
                if keys is not None:
                    asked.setdefault(hop.target, []).append(keys)
        stair = halt.stair
        if stair is None or stair.holes is None or stair not in asked:
            continue
        keys = np.concatenate(asked[stair])
        holes = keys[stair.holes.filled_of(keys) == 0]
        asked[stair] = [holes]
        below = source(stair)
        if below is not None and below.holes is not None and below.component is None:
            asked.setdefault(below, []).append(holes)
    return [
        (h.stair, np.concatenate(asked[h.stair])) for h in halts if h.stair is not None and h.stair in asked
    ]


def _probing(hop: Hop, parts: dict[int, Part]) -> Keys | None:
    """The keys by which arriving rows will ask for the target's holes; None if they are not rows, or ask otherwise."""
    of = hop.step.source
    if len(of.streams) != 1 or len(of.key.classes) != 1 or hop.asked is not None or hop.theta is not None:
        return None
    if hop.target.component is not None or hop.step.scope is not None:
        return None
    part = parts.get(of.streams[0])
    if part is None:
        return None
    keys = part.keys[of.key.classes[0]]
    return keys if part.kept is None else keys[part.kept != 0]
