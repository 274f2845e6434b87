"""Threads that help with the shards of a batch, and how they are told that there is one.

A batch takes a few hundred microseconds, and to wake a thread takes some tens. So a helper that has just worked looks
for the next batch for a short time, and only then goes to sleep; and it is called when a push begins, before there is
anything to do. All of its life is one call of a kernel, without the interpreter.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.shards_atomic import (
    BELLS,
    RINGS,
    fetch_add,
    give_way,
    leave,
    lock,
    look,
    make_bell,
    make_lock,
    pause,
    unlock,
    wait,
    wake_all,
)
from eddy.shards_deal_kernels import deal
from eddy.shards_kernels import step
from eddy.shards_layout import COUNT as EVENTS_HERE
from eddy.shards_layout import DEALT, FIELDS, FRESH, MADE, NEXT_ROW, STAMP, STATUS, STREAMS
from eddy.shards_layout import DIMENSION as DIMENSION_FIELDS
from eddy.shards_layout import DONE as FINISHED
from eddy.shards_layout import PORTION as AT_PORTION
from eddy.shards_layout import WIDTH as LINE
from stairs.address import pointer
from stairs.kernel import kernel, part

FEW = 1024
"""A batch of fewer events is not worth the help."""
LOOKS = 60_000
"""How often a helper looks for work before it goes to sleep: one or two milliseconds, a pause in between.

To wake one that sleeps takes some hundred microseconds, longer than most batches do; and what a caller does with the
results of one push, or Python with a batch that takes the long way, is often over sooner than in that time."""
PATIENCE = 64
"""Looks, some 25 nanoseconds each, before others may have the processor: it may be theirs that is waited for."""
NAP = 0.001
"""Seconds between two such times where there is no bell."""

BATCH, TAKEN, FRONT, BACK, DONE, KNOWN, READY, OFF, STOP, ASLEEP, BELL = (8 * i for i in range(11))
SHARDS = BELL + BELLS // 8
COUNT, PARTS, PART, DIMENSIONS, DIMENSION, MARKS, EVENTS, WIDTH, BASE, LENGTH = range(SHARDS + 1, SHARDS + 11)
PORTIONS, PORTION, CUTS, LED = range(SHARDS + 11, SHARDS + 15)
"""Places in a mailbox, the first of them in a cache line each: how often there was something to do; how many shards
are taken, from the front, and from the back, and how many are done; of how many portions the rows are known, and how
many are ready to be joined; whether the batch is off, whether to stop, how many helpers are asleep, and what they sleep
by; the shards and how many they are; then where the arrays of the batch are, and how large: its parts, the dimensions
of all streams, marks, lows before; how long a line of a shard's streams is; in how many portions the batch is joined,
how many events each has, which rows they begin with, and the shard that who leads is at work on."""
MAILBOX = SHARDS + 16
CLOSED = 1 << 40
"""So many shards are taken, and done, before there was any: nothing is to be had, and nobody to be waited for."""


@kernel(nb.void(nb.int64[::1], nb.int64[::1], nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def _deal(held, shard, parts):  # type: ignore[no-untyped-def]
    """Let a shard find its own rows of its next portion, which are known."""
    n = held[WIDTH]
    deal(
        shard,
        carray(pointer(shard[STREAMS]), (n, held[LENGTH]), np.int64),
        parts,
        carray(pointer(held[DIMENSIONS]), (n, held[DIMENSION], DIMENSION_FIELDS), np.int64),
        carray(pointer(held[CUTS] + 8 * n * shard[AT_PORTION]), (2, n), np.int64),
    )
    shard[STATUS] = DEALT


@part
def linger(looks):  # type: ignore[no-untyped-def]
    """Between two looks, of which this is so many: who has looked often lets others have the processor."""
    if looks % PATIENCE == PATIENCE - 1:
        give_way()
    else:
        pause()


@kernel(nb.void(nb.int64, nb.int64, nb.int64), stamp=STAMP)
def await_portion(mailbox, what, p):  # type: ignore[no-untyped-def]
    """Wait until a portion is KNOWN, or READY, or the batch is off."""
    looks = np.int64(0)
    while look(mailbox + 8 * what) <= p and look(mailbox + 8 * OFF) == 0:
        linger(looks)
        looks += 1


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP)
def await_shards(mailbox, count):  # type: ignore[no-untyped-def]
    """Wait until all shards are done."""
    looks = np.int64(0)
    while look(mailbox + 8 * DONE) < count:
        linger(looks)
        looks += 1


@kernel(nb.boolean(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def go_on(mailbox, c):  # type: ignore[no-untyped-def]
    """Let a shard take its next portion in, which is ready; False if it has stopped, and needs more than kernels."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    shard, n = carray(pointer(held[SHARDS] + 8 * FIELDS * c), (FIELDS,), np.int64), held[WIDTH]
    parts = carray(pointer(held[PARTS]), (n, held[PART]), np.int64)
    if shard[STATUS] == FRESH:
        _deal(held, shard, parts)
    step(
        shard,
        parts,
        carray(pointer(held[MARKS]), (held[EVENTS], n), np.int32),
        carray(pointer(held[BASE]), (n,), np.int64),
        min((shard[AT_PORTION] + 1) * held[PORTION], held[EVENTS]) - 1,
    )
    if shard[STATUS] != FINISHED:
        return False
    shard[AT_PORTION] += 1
    if shard[AT_PORTION] < held[PORTIONS]:
        shard[STATUS] = FRESH
    return True


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def work(mailbox, end):  # type: ignore[no-untyped-def]
    """Do shards of the batch until none is left, from the FRONT or from the BACK, each as far as portions are ready.

    Who leads takes the last ones, and helpers the first: so a shard is likely to be in the cache of who gets it.
    """
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while fetch_add(mailbox + 8 * TAKEN, 1) < held[COUNT]:
        c = fetch_add(mailbox + 8 * end, 1)
        if end == BACK:
            c = held[COUNT] - 1 - c
        shard = carray(pointer(held[SHARDS] + 8 * FIELDS * c), (FIELDS,), np.int64)
        going = True
        while going and shard[AT_PORTION] < held[PORTIONS]:
            p = shard[AT_PORTION]
            await_portion(mailbox, KNOWN, p)
            if look(mailbox + 8 * OFF) != 0:
                break
            if shard[STATUS] == FRESH:
                _deal(held, shard, carray(pointer(held[PARTS]), (held[WIDTH], held[PART]), np.int64))
            await_portion(mailbox, READY, p)
            if look(mailbox + 8 * OFF) != 0:
                break
            going = go_on(mailbox, c)
        fetch_add(mailbox + 8 * DONE, 1)


@kernel(nb.void(nb.int64), stamp=STAMP)
def hang(mailbox):  # type: ignore[no-untyped-def]
    """Make the bell of a mailbox."""
    make_lock(mailbox + 8 * BELL)
    make_bell(mailbox + 8 * BELL)


@kernel(nb.void(nb.int64), stamp=STAMP)
def call(mailbox):  # type: ignore[no-untyped-def]
    """There is something to do, or soon will be. Who goes to sleep says so first, and then looks again."""
    fetch_add(mailbox + 8 * BATCH, 1)
    if look(mailbox + 8 * ASLEEP) != 0:
        lock(mailbox + 8 * BELL)
        wake_all(mailbox + 8 * BELL)
        unlock(mailbox + 8 * BELL)


@kernel(nb.void(nb.int64, nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def open_work(mailbox, known, ready):  # type: ignore[no-untyped-def]
    """A batch is written down: shards may begin, with so many portions. Helpers are told if it is worth their while."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    shards = carray(pointer(held[SHARDS]), (held[COUNT], FIELDS), np.int64)
    for c in range(held[COUNT]):
        shards[c, STATUS], shards[c, AT_PORTION], shards[c, MADE], shards[c, EVENTS_HERE] = FRESH, 0, 0, 0
    held[LED] = -1
    leave(mailbox + 8 * KNOWN, known)
    leave(mailbox + 8 * READY, ready)
    leave(mailbox + 8 * OFF, 0)
    leave(mailbox + 8 * DONE, 0)
    leave(mailbox + 8 * FRONT, 0)
    leave(mailbox + 8 * BACK, 0)
    leave(mailbox + 8 * TAKEN, 0)
    if held[EVENTS] >= FEW:
        call(mailbox)


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def call_off(mailbox):  # type: ignore[no-untyped-def]
    """The batch is off: who is at work on it ends, with portions that are ready at the most. Waits for them."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    leave(mailbox + 8 * OFF, 1)
    if held[LED] >= 0:
        held[LED] = -1
        fetch_add(mailbox + 8 * DONE, 1)
    work(mailbox, BACK)
    await_shards(mailbox, held[COUNT])


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def conclude(mailbox, told):  # type: ignore[no-untyped-def]
    """Wait until all shards are done; returns how many results there are, -1 if some shard needs more.

    ``told`` receives for each shard its events, its results, and the next row of each stream.
    """
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    await_shards(mailbox, held[COUNT])
    shards, made = carray(pointer(held[SHARDS]), (held[COUNT], FIELDS), np.int64), np.int64(0)
    for c in range(held[COUNT]):
        told[c, 0], told[c, 1] = shards[c, EVENTS_HERE], shards[c, MADE]
        lines = carray(pointer(shards[c, STREAMS]), (held[WIDTH], shards[c, LINE]), np.int64)
        for s in range(held[WIDTH]):
            told[c, 2 + s] = lines[s, NEXT_ROW]
        made = made + shards[c, MADE] if made >= 0 and shards[c, STATUS] == FINISHED else np.int64(-1)
    return made


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def lead(mailbox, told):  # type: ignore[no-untyped-def]
    """Take part in a batch all of which is ready, and see it to its end: as `conclude`."""
    work(mailbox, BACK)
    return conclude(mailbox, told)


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP)
def sleep(mailbox, seen):  # type: ignore[no-untyped-def]
    """Sleep until there is another batch than the last one seen."""
    lock(mailbox + 8 * BELL)
    fetch_add(mailbox + 8 * ASLEEP, 1)
    while RINGS and look(mailbox + 8 * BATCH) == seen and look(mailbox + 8 * STOP) == 0:
        wait(mailbox + 8 * BELL)
    fetch_add(mailbox + 8 * ASLEEP, -1)
    unlock(mailbox + 8 * BELL)


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def help_out(mailbox, looks):  # type: ignore[no-untyped-def]
    """Take part in batches as they come; to stop, call. Where there is no bell, it returns when it would sleep."""
    left, seen = looks, np.int64(0)
    while look(mailbox + 8 * STOP) == 0 and (RINGS or left > 0):
        batch = look(mailbox + 8 * BATCH)
        if batch != seen:
            seen = batch
            work(mailbox, FRONT)
            left = looks
        elif left > 0:
            linger(left)
            left -= 1
        else:
            sleep(mailbox, seen)
            left = looks
