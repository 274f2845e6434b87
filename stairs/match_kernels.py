"""A candidate of a probe: whether it is live, and the composite that it makes with the source's entry.

These are pieces of `probe_kernels`. Places are flat indices into records. ``own`` and ``other`` are the numbers of
components that a probe is made for, 0 where it is made for any: they are constants of each kernel, so only one of the
branches on them is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stairs.chains import following
from stairs.hashing import bucket_of
from stairs.kernel import part
from stairs.layout import NEXT, ROWS
from stairs.lowlevel.flat import get, put
from stairs.lowlevel.lanes import any_below, consecutive, copy_all


class Shape(NamedTuple):
    """How the components of a match are tested and written. What a loop stores might be where this was read from, for
    all that the compiler knows: so it is read once, before the loop."""

    sources: int
    """Components of an entry of the source."""
    targets: int
    """Components of an entry of the target."""
    stream: tuple[int, int, int]
    """The streams of the target's first components; the last one again where there are fewer."""
    place: tuple[int, int, int, int]
    """Where the first components of the composite go, those of the source before those of the target."""
    after: int
    """Where the target's first component goes."""
    streams_follow: bool
    """Whether the target's streams, at least four, follow each other: they are tested many at a time."""
    sources_follow: bool
    """Whether the places of the source's components do, at least four: they are copied many at a time."""
    targets_follow: bool
    """The same of the target's."""


@part
def shape_of(place, streams, sources, targets, own, other):
    """The shape of the composites of so many components."""
    last = sources + targets - 1
    return Shape(
        sources,
        targets,
        (streams[0], streams[min(1, targets - 1)], streams[min(2, targets - 1)]),
        (place[0], place[min(1, last)], place[min(2, last)], place[min(3, last)]),
        place[sources],
        other == 0 and targets >= 4 and consecutive(streams, 0, targets),
        own == 0 and sources >= 4 and consecutive(place, 0, sources),
        other == 0 and targets >= 4 and consecutive(place, sources, sources + targets),
    )


@part
def behind(trec, t, marks, moment, floor, streams, shape, other):
    """Negative if some component of the candidate at ``t`` is dead by the marks at ``moment``.

    ``floor`` is the mark of its first component.
    """
    if other == 0 and shape.streams_follow:
        return -any_below(trec, t + ROWS, marks, moment + shape.stream[0], shape.targets)
    found = np.int32(get(trec, t + ROWS) - floor)
    if other >= 2:
        found |= np.int32(get(trec, t + ROWS + 1) - get(marks, moment + shape.stream[1]))
    if other >= 3:
        found |= np.int32(get(trec, t + ROWS + 2) - get(marks, moment + shape.stream[2]))
    if other == 0:
        for j in range(1, shape.targets):
            found |= np.int32(get(trec, t + ROWS + j) - get(marks, moment + streams[j]))
    return found


@part
def source_behind(srec, s, marks, moment, streams, shape):
    """Negative if some component of the source's entry at ``s`` is dead by the marks at ``moment``."""
    found = np.int32(0)
    for j in range(shape.sources):
        found |= np.int32(get(srec, s + ROWS + j) - get(marks, moment + streams[shape.targets + j]))
    return found


@part
def write_link(orec, o, oheads, key, shift, low, tail, linking, match):
    """Write the link of the composite at ``o``, whose id is ``tail``: if it is a match, the chain of its key begins
    with it now. Without ``linking`` it is in no chain."""
    if linking:
        head = bucket_of(key, shift)
        newest = get(oheads, head)
        put(orec, o + NEXT, following(newest, low))
        put(oheads, head, np.int32(tail) if match else newest)
    else:
        put(orec, o + NEXT, np.int32(tail))


@part
def write_rows(orec, o, srec, s, trec, t, place, shape, own, other):
    """Write the components of the composite at ``o``: those of the entries at ``s`` and ``t``."""
    if own > 0:
        put(orec, o + shape.place[0], get(srec, s + ROWS))
        if own >= 2:
            put(orec, o + shape.place[1], get(srec, s + ROWS + 1))
        if own >= 3:
            put(orec, o + shape.place[2], get(srec, s + ROWS + 2))
    elif shape.sources_follow:
        copy_all(orec, o + shape.place[0], srec, s + ROWS, shape.sources)
    else:
        for j in range(shape.sources):
            put(orec, o + place[j], get(srec, s + ROWS + j))
    if other > 0:
        put(orec, o + shape.after, get(trec, t + ROWS))
        if other >= 2:  # then `own` is 1
            put(orec, o + shape.place[2], get(trec, t + ROWS + 1))
        if other >= 3:
            put(orec, o + shape.place[3], get(trec, t + ROWS + 2))
    elif shape.targets_follow:
        copy_all(orec, o + shape.after, trec, t + ROWS, shape.targets)
    else:
        for j in range(shape.targets):
            put(orec, o + place[shape.sources + j], get(trec, t + ROWS + j))
