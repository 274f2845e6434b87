"""The express lane of several shards: a batch is dealt out by one call, and done with another."""

from __future__ import annotations

from pathlib import Path

import numba as nb

from eddy import express_kernels, shards_kernels
from eddy.express_kernels import BEFORE, GIVEN, PLACES, ROWS, STREAMS, WIDTH, copy, count, longs_at, table_at
from eddy.shards_kernels import PART_CLASSES, PART_EVENTS, PART_FIRST, PART_KEPT, PART_KEYS, PART_ROWS
from eddy.shards_team import lead
from stairs.address import data_of
from stairs.kernel import fingerprint, kernel

_OWN, _ = fingerprint((Path(__file__), Path(__file__).with_name("shards_team.py")))
STAMP = (_OWN + express_kernels.STAMP[0] + shards_kernels.STAMP[0], 0)


@kernel(nb.boolean(nb.int64[::1], nb.int64[:, ::1], nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def deal(box, parts, keys):  # type: ignore[no-untyped-def]
    """Count the batch that was admitted, and write down its parts for the shards; False if windows need room.

    ``keys`` has for each stream the columns that are its keys, in the order of its classes.
    """
    if not count(box):
        return False
    n, place = box[WIDTH], box[PLACES]
    streams = table_at(box[STREAMS], n, express_kernels.CAPACITY + 1)
    given = longs_at(box[GIVEN], box[express_kernels.COLUMN_COUNT])
    counts = longs_at(box[BEFORE] + 8 * n, n)
    for s in range(n):
        rows = streams[s, ROWS]
        parts[s, PART_ROWS], parts[s, PART_EVENTS], parts[s, PART_KEPT] = rows, place, 0
        parts[s, PART_FIRST] = counts[s]
        for k in range(parts[s, PART_CLASSES] if rows > 0 else 0):
            parts[s, PART_KEYS + k] = data_of(given[keys[s, k]])
        place += 4 * rows
    return True


@kernel(nb.int64(nb.int64[::1], nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def finish(box, mailbox, told):  # type: ignore[no-untyped-def]
    """Keep what results show, while helpers are at work already; then take part, as `shards_team.lead` does."""
    copy(box)
    return lead(mailbox, told)
