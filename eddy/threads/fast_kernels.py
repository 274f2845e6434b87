"""The fast path of several shards: a batch is begun with one call, and done with another.

Between the two, helpers are at work, and Python does what there is to note about the batch.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from eddy.fast.kernels import copy, count, measure, merge
from eddy.fast.layout import COUNTING, CRAMPED, CROWDED, REFUSED, Push, push_at, stream_of
from eddy.intake.lowwater_kernels import FIELDS, LOW, NEXT
from eddy.threads import team_kernels
from eddy.threads.atomic import fetch_add, leave, look
from eddy.threads.layout import Mailbox, batch_part_of, mailbox_at, set_long, shard_of, shard_stream_of
from eddy.threads.team_kernels import call_off, conclude, open_work
from stairs.kernel import kernel
from stairs.lowlevel.address import data_of
from stairs.sequence_kernels import longs_at, table_at

AHEAD = 3
"""Portions that are counted, at least, before who leads joins the first of them: helpers may be faster."""

_table, _lines = nb.int64[:, ::1], nb.int64[:, :, ::1]


@kernel(nb.boolean(Push, Mailbox, _table), makes_arrays=True)
def _describe(push, mailbox, keys):
    """Write down the parts of a batch that was measured; False if shards have no room for the ranks of its rows.

    ``keys`` has for each stream the columns that are its keys, in the order of its classes.
    """
    place, windows = push.places, table_at(push.windows, FIELDS, push.width)
    given = longs_at(push.given, push.column_count)
    for s in range(push.width):
        rows, first = stream_of(push.streams, s).rows, windows[NEXT, s]
        for c in range(mailbox.count):
            slots = shard_stream_of(shard_of(mailbox.shards, c).streams, s).rank_slots
            if slots != 0 and first + rows + 1 - windows[LOW, s] > slots:
                return False
        own = batch_part_of(mailbox.parts, s)
        own.rows, own.first_row, own.events, own.kept = rows, first, place, 0
        for k in range(own.class_count if rows > 0 else 0):
            set_long(own.keys, k, data_of(given[keys[s, k]]))
        place += 4 * rows
    return True


@kernel(nb.void(Mailbox, _lines, _table))
def _turn(mailbox, kept, lows):
    """A push begins: rows that no result can name any more are forgotten, as `Crew._turn` does."""
    last = kept.shape[0] - 1
    for c in range(lows.shape[0]):
        for s in range(lows.shape[1]):
            for i in range(last):
                kept[i, c, s] = kept[i + 1, c, s]
            kept[last, c, s] = lows[c, s]
            stream = shard_stream_of(shard_of(mailbox.shards, c).streams, s)
            stream.first_kept = max(stream.first_kept, kept[0, c, s])


@kernel(nb.boolean(Push, Mailbox), makes_arrays=True)
def _count(push, mailbox):
    """Count the next portion, which shards may then join; False if windows need room first."""
    if not count(push):
        return False
    n, p = push.width, look(mailbox, "ready")
    for s in range(n):
        stream = stream_of(push.streams, s)
        set_long(mailbox.cuts, (p + 1) * n + s, stream.behind + stream.here)
    push.start += push.portion
    push.stage = COUNTING
    leave(mailbox, "known", p + 1)
    leave(mailbox, "ready", p + 1)
    return True


@kernel(nb.int64(nb.int64, nb.int64), makes_arrays=True)
def go_on(push_address, mailbox_address):
    """Count the first portion of a batch that was merged; returns the batch's events, or CRAMPED."""
    push = push_at(push_address)
    return push.events if _count(push, mailbox_at(mailbox_address)) else CRAMPED


@kernel(nb.int64(nb.int64, nb.int64, nb.int64, _table, _lines, _table), makes_arrays=True)
def begin(push_address, kind, mailbox_address, keys, kept, lows):
    """Check, merge and count a batch, or its first portion, with which shards then begin.

    Returns its events, or what it is instead. ``keys`` as in `_describe`, ``kept`` and ``lows`` as in `_turn`. The rows
    of a batch of one portion are known before it is merged: so helpers deal it out in the meantime.
    """
    push, mailbox = push_at(push_address), mailbox_at(mailbox_address)
    total = measure(push, kind)
    if total < 0:
        return total
    if not _describe(push, mailbox, keys):
        return CROWDED
    mailbox.portions = (total + push.portion - 1) // push.portion
    mailbox.portion, mailbox.events = push.portion, total
    mailbox.marks, mailbox.lows = push.marks, push.begun
    for s in range(push.width):
        set_long(mailbox.cuts, s, 0)
        set_long(mailbox.cuts, push.width + s, stream_of(push.streams, s).rows)
    open_work(mailbox_address, np.int64(mailbox.portions == 1), 0)
    if not merge(push, total):
        call_off(mailbox_address)
        return REFUSED
    _turn(mailbox, kept, lows)
    return go_on(push_address, mailbox_address)


@kernel(nb.boolean(Push, nb.int64), makes_arrays=True)
def _lead(push, mailbox_address):
    """Do shards that no helper has taken, and count portions before anybody waits for them; False as `_count`."""
    mailbox = mailbox_at(mailbox_address)
    while mailbox.led >= 0 or fetch_add(mailbox, "taken", 1) < mailbox.count:
        if mailbox.led < 0:
            mailbox.led = mailbox.count - 1 - fetch_add(mailbox, "back", 1)
        shard, going = shard_of(mailbox.shards, mailbox.led), True
        while going and shard.portion < mailbox.portions:
            while look(mailbox, "ready") < min(shard.portion + AHEAD, mailbox.portions):
                if not _count(push, mailbox):
                    return False
            going = team_kernels.go_on(mailbox_address, mailbox.led)
        mailbox.led = -1
        fetch_add(mailbox, "done", 1)
    while look(mailbox, "ready") < mailbox.portions:
        if not _count(push, mailbox):
            return False
    return True


@kernel(nb.int64(nb.int64, nb.int64, nb.int64[:, ::1]), makes_arrays=True)
def finish(push_address, mailbox_address, told):
    """Do what helpers have not begun; keep what results show, while they end; and as `team_kernels.conclude`.

    CRAMPED if windows need room first: then call it again.
    """
    push = push_at(push_address)
    if not _lead(push, mailbox_address):
        return CRAMPED
    copy(push)
    return conclude(mailbox_address, told)
