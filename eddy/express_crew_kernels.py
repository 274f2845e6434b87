"""The express lane of several shards: a batch is begun with one call, and done with another.

Between the two, helpers are at work, and Python does what there is to note about the batch.
"""

from __future__ import annotations

from pathlib import Path

import numba as nb
import numpy as np

from eddy import express_kernels, shards_layout, shards_team_kernels
from eddy.express_kernels import (
    BEGUN,
    BEHIND,
    COUNTING,
    CRAMPED,
    CROWDED,
    EVENTS,
    GIVEN,
    HERE,
    PLACES,
    PORTION,
    REFUSED,
    ROWS,
    STAGE,
    START,
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
from eddy.shards_atomic import fetch_add, leave, look
from eddy.shards_layout import (
    FIELDS,
    FIRST_KEPT,
    PART_CLASSES,
    PART_EVENTS,
    PART_FIRST,
    PART_KEPT,
    PART_KEYS,
    PART_ROWS,
    RANK_SLOTS,
)
from eddy.shards_layout import PORTION as AT_PORTION
from eddy.shards_team_kernels import (
    BACK,
    COUNT,
    CUTS,
    DONE,
    KNOWN,
    LED,
    MAILBOX,
    PORTIONS,
    READY,
    SHARDS,
    TAKEN,
    call_off,
    conclude,
    open_work,
)
from stairs.address import data_of
from stairs.kernel import fingerprint, kernel

_OWN, _ = fingerprint((Path(__file__),))
STAMP = (_OWN + express_kernels.STAMP[0] + shards_layout.STAMP[0], 0)

AHEAD = 3
"""So many portions are counted at least before who leads joins the first of them: helpers may be faster."""

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
            lines[c, s, FIRST_KEPT] = max(lines[c, s, FIRST_KEPT], kept[0, c, s])


@kernel(nb.boolean(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def _count(box, mailbox):  # type: ignore[no-untyped-def]
    """Count the next portion, which shards may then join; False if windows need room first."""
    if not count(box):
        return False
    held, n, p = longs_at(mailbox, MAILBOX), box[WIDTH], look(mailbox + 8 * READY)
    streams, cuts = table_at(box[STREAMS], n, STREAM), table_at(held[CUTS], p + 2, n)
    for s in range(n):
        cuts[p + 1, s] = streams[s, BEHIND] + streams[s, HERE]
    box[START] += box[PORTION]
    box[STAGE] = COUNTING
    leave(mailbox + 8 * KNOWN, p + 1)
    leave(mailbox + 8 * READY, p + 1)
    return True


@kernel(nb.int64(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def go_on(box, mailbox):  # type: ignore[no-untyped-def]
    """Count the first portion of a batch that was merged; returns the batch's events, or CRAMPED."""
    return box[EVENTS] if _count(box, mailbox) else CRAMPED


@kernel(
    nb.int64(nb.int64[::1], nb.int64, nb.int64, _table, _table, _lines, _lines, _table),
    stamp=STAMP,
    makes_arrays=True,
)
def begin(box, kind, mailbox, parts, keys, lines, kept, lows):  # type: ignore[no-untyped-def]
    """Check, merge and count a batch, or its first portion, with which shards then begin.

    Returns its events, or what it is instead. ``lines`` are the streams of all shards, ``kept`` and ``lows`` as in
    `_turn`. The rows of a batch of one portion are known before it is merged: so helpers deal it out in the meantime.
    """
    total = measure(box, kind)
    if total < 0:
        return total
    if not _describe(box, parts, keys, lines):
        return CROWDED
    held = longs_at(mailbox, MAILBOX)
    held[PORTIONS] = (total + box[PORTION] - 1) // box[PORTION]
    held[shards_team_kernels.PORTION], held[shards_team_kernels.EVENTS] = box[PORTION], total
    held[shards_team_kernels.MARKS], held[shards_team_kernels.BASE] = box[express_kernels.MARKS], box[BEGUN]
    streams, cuts = table_at(box[STREAMS], box[WIDTH], STREAM), table_at(held[CUTS], 2, box[WIDTH])
    for s in range(box[WIDTH]):
        cuts[0, s], cuts[1, s] = 0, streams[s, ROWS]
    open_work(mailbox, np.int64(held[PORTIONS] == 1), 0)
    if not merge(box, total):
        call_off(mailbox)
        return REFUSED
    _turn(lines, kept, lows)
    return go_on(box, mailbox)


@kernel(nb.boolean(nb.int64[::1], nb.int64), stamp=STAMP, makes_arrays=True)
def _lead(box, mailbox):  # type: ignore[no-untyped-def]
    """Do shards that no helper has taken, and count portions before anybody waits for them; False as `_count`."""
    held = longs_at(mailbox, MAILBOX)
    while held[LED] >= 0 or fetch_add(mailbox + 8 * TAKEN, 1) < held[COUNT]:
        if held[LED] < 0:
            held[LED] = held[COUNT] - 1 - fetch_add(mailbox + 8 * BACK, 1)
        shard, going = longs_at(held[SHARDS] + 8 * FIELDS * held[LED], FIELDS), True
        while going and shard[AT_PORTION] < held[PORTIONS]:
            while look(mailbox + 8 * READY) < min(shard[AT_PORTION] + AHEAD, held[PORTIONS]):
                if not _count(box, mailbox):
                    return False
            going = shards_team_kernels.go_on(mailbox, held[LED])
        held[LED] = -1
        fetch_add(mailbox + 8 * DONE, 1)
    while look(mailbox + 8 * READY) < held[PORTIONS]:
        if not _count(box, mailbox):
            return False
    return True


@kernel(nb.int64(nb.int64[::1], nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def finish(box, mailbox, told):  # type: ignore[no-untyped-def]
    """Do what helpers have not begun; keep what results show, while they end; and as `shards_team_kernels.conclude`.

    CRAMPED if windows need room first: then call it again.
    """
    if not _lead(box, mailbox):
        return CRAMPED
    copy(box)
    return conclude(mailbox, told)
