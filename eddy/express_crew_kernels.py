"""The express lane of several shards: a batch is begun with one call, and done with another.

Between the two, helpers are at work, and Python does what there is to note about the batch.
"""

from __future__ import annotations

from pathlib import Path

import numba as nb

from eddy import express_kernels, shards_layout, shards_team
from eddy.express_kernels import (
    BEFORE,
    CRAMPED,
    CROWDED,
    GIVEN,
    PLACES,
    REFUSED,
    ROWS,
    STREAM,
    STREAMS,
    WIDTH,
    WINDOWS,
    copy,
    count,
    longs_at,
    measure,
    merge,
    table_at,
)
from eddy.lowwater_kernels import LOW, NEXT
from eddy.shards_layout import (
    FIRST_KEPT,
    PART_CLASSES,
    PART_EVENTS,
    PART_FIRST,
    PART_KEPT,
    PART_KEYS,
    PART_ROWS,
    RANK_SLOTS,
)
from eddy.shards_team import (
    BACK,
    MAILBOX,
    close_deal,
    conclude,
    open_deal,
    open_work,
    work,
)
from stairs.address import data_of
from stairs.kernel import fingerprint, kernel

_OWN, _ = fingerprint((Path(__file__),))
STAMP = (_OWN + express_kernels.STAMP[0] + shards_layout.STAMP[0], 0)

_table, _lines = nb.int64[:, ::1], nb.int64[:, :, ::1]


@kernel(nb.boolean(nb.int64[::1], _table, _table, _lines), stamp=STAMP, makes_arrays=True)
def _describe(box, parts, keys, lines):  # type: ignore[no-untyped-def]
    """Write down the parts of a batch that was measured; False if shards have no room for the ranks of its rows.

    ``keys`` has for each stream the columns that are its keys, in the order of its classes.
    """
    n, place = box[WIDTH], box[PLACES]
    streams, windows = table_at(box[STREAMS], n, STREAM), table_at(box[WINDOWS], 8, n)
    given = longs_at(box[GIVEN], box[express_kernels.COLUMN_COUNT])
    for s in range(n):
        rows, first = streams[s, ROWS], windows[NEXT, s]
        for c in range(lines.shape[0]):
            slots = lines[c, s, RANK_SLOTS]
            if slots != 0 and first + rows + 1 - windows[LOW, s] > slots:
                return False
        parts[s, PART_ROWS], parts[s, PART_EVENTS], parts[s, PART_KEPT] = rows, place, 0
        parts[s, PART_FIRST] = first
        for k in range(parts[s, PART_CLASSES] if rows > 0 else 0):
            parts[s, PART_KEYS + k] = data_of(given[keys[s, k]])
        place += 4 * rows
    return True


@kernel(nb.void(_lines, _lines, _table), stamp=STAMP)
def _turn(lines, kept, lows):  # type: ignore[no-untyped-def]
    """A push begins: rows that no result can name any more are forgotten, as `Crew._turn` does."""
    last = kept.shape[0] - 1
    for c in range(lows.shape[0]):
        for s in range(lows.shape[1]):
            for i in range(last):
                kept[i, c, s] = kept[i + 1, c, s]
            kept[last, c, s] = lows[c, s]
            lines[c, s, FIRST_KEPT] = kept[0, c, s]


@kernel(nb.int64(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def go_on(box, mailbox):  # type: ignore[no-untyped-def]
    """Count a batch that was merged, and let shards begin; returns its events, or CRAMPED."""
    if not count(box):
        return CRAMPED
    close_deal(mailbox)
    held, total = longs_at(mailbox, MAILBOX), box[express_kernels.EVENTS]
    held[shards_team.MARKS], held[shards_team.EVENTS] = box[express_kernels.MARKS], total
    held[shards_team.BASE] = box[BEFORE]
    open_work(mailbox, total)
    return total


@kernel(
    nb.int64(nb.int64[::1], nb.int64, nb.int64, _table, _table, _lines, _lines, _table),
    stamp=STAMP,
    makes_arrays=True,
)
def begin(box, kind, mailbox, parts, keys, lines, kept, lows):  # type: ignore[no-untyped-def]
    """Check, merge and count a batch, while helpers deal it out; then let shards begin.

    Returns its events, or what it is instead. ``lines`` are the streams of all shards, ``kept`` and ``lows`` as in
    `_turn`.
    """
    total = measure(box, kind)
    if total == CROWDED:
        return CROWDED
    if total < 0 or not _describe(box, parts, keys, lines):
        return REFUSED
    open_deal(mailbox, total)
    if not merge(box, total):
        close_deal(mailbox)
        return REFUSED
    _turn(lines, kept, lows)
    return go_on(box, mailbox)


@kernel(nb.int64(nb.int64[::1], nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def finish(box, mailbox, told):  # type: ignore[no-untyped-def]
    """Do what helpers have not begun; keep what results show, while they end; and as `shards_team.conclude`."""
    work(mailbox, BACK)
    copy(box)
    return conclude(mailbox, told)
