"""Threads that help with the shards of a batch, and how they are told that there is one.

A batch takes a few hundred microseconds, and to wake a thread takes some tens. So a helper that has just worked looks
for the next batch for a short time, and only then goes to sleep; and it is called when a push begins, before there is
anything to do. All of its life is one call of a kernel, without the interpreter.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import carray

from eddy.threads.atomic import (
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
from eddy.threads.deal_kernels import deal
from eddy.threads.layout import DEALT, DONE, FRESH, Mailbox, Shard, mailbox_at, shard_of, shard_stream_of
from eddy.threads.shard_kernels import step
from stairs.kernel import kernel, part
from stairs.lowlevel.address import pointer
from stairs.lowlevel.struct import field_at

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

CLOSED = 1 << 40
"""Shards that are taken, and done, before there was any batch: nothing is to be had, and nobody to be waited for."""

FRONT, BACK = 0, 1
"""Ends from which shards are taken: helpers take the first, and who leads the last. So a shard is likely to be in the
cache of who gets it."""


@kernel(nb.void(Mailbox, Shard))
def _deal(mailbox, shard):
    """Let a shard find its own rows of its next portion, which are known."""
    n = mailbox.width
    deal(shard, n, mailbox.parts, mailbox.cuts + 8 * n * shard.portion)
    shard.status = DEALT


@part
def linger(looks):
    """Between two looks, of which this is so many: who has looked often lets others have the processor."""
    if looks % PATIENCE == PATIENCE - 1:
        give_way()
    else:
        pause()


@part
def _await(mailbox, counter, portion):
    """Wait until a portion is "known", or "ready", or the batch is off; returns whether it is not off."""
    looks = np.int64(0)
    while look(mailbox, counter) <= portion and look(mailbox, "off") == 0:
        linger(looks)
        looks += 1
    return look(mailbox, "off") == 0


@kernel(nb.void(Mailbox))
def _await_shards(mailbox):
    """Wait until all shards are done."""
    looks = np.int64(0)
    while look(mailbox, "done") < mailbox.count:
        linger(looks)
        looks += 1


@kernel(nb.boolean(nb.int64, nb.int64), makes_arrays=True)
def go_on(address, c):
    """Let a shard take its next portion in, which is ready; False if it has stopped, and needs more than kernels.

    ``address`` is that of the mailbox, here and below.
    """
    mailbox = mailbox_at(address)
    shard, n = shard_of(mailbox.shards, c), mailbox.width
    if shard.status == FRESH:
        _deal(mailbox, shard)
    marks = carray(pointer(mailbox.marks), (mailbox.events, n), np.int32)
    first = shard.portion * mailbox.portion
    last = min(first + mailbox.portion, mailbox.events) - 1
    step(shard, mailbox.parts, marks, carray(pointer(mailbox.lows), (n,), np.int64), first, last)
    if shard.status != DONE:
        return False
    shard.portion += 1
    if shard.portion < mailbox.portions:
        shard.status = FRESH
    return True


@kernel(nb.void(nb.int64, nb.int64))
def work(address, end):
    """Do shards of the batch until none is left, from the FRONT or from the BACK, each as far as portions are ready."""
    mailbox = mailbox_at(address)
    while fetch_add(mailbox, "taken", 1) < mailbox.count:
        if end == FRONT:
            c = fetch_add(mailbox, "front", 1)
        else:
            c = mailbox.count - 1 - fetch_add(mailbox, "back", 1)
        shard, going = shard_of(mailbox.shards, c), True
        while going and shard.portion < mailbox.portions:
            if not _await(mailbox, "known", shard.portion):
                break
            if shard.status == FRESH:
                _deal(mailbox, shard)
            if not _await(mailbox, "ready", shard.portion):
                break
            going = go_on(address, c)
        fetch_add(mailbox, "done", 1)


@kernel(nb.void(nb.int64))
def hang(address):
    """Make the bell of a mailbox."""
    bell = field_at(mailbox_at(address), "bell")
    make_lock(bell)
    make_bell(bell)


@kernel(nb.void(nb.int64))
def call(address):
    """There is something to do, or soon will be. Who goes to sleep says so first, and then looks again."""
    mailbox = mailbox_at(address)
    bell = field_at(mailbox, "bell")
    fetch_add(mailbox, "batch", 1)
    if look(mailbox, "asleep") != 0:
        lock(bell)
        wake_all(bell)
        unlock(bell)


@kernel(nb.void(nb.int64, nb.int64, nb.int64))
def open_work(address, known, ready):
    """A batch is written down: shards may begin, with so many portions. Helpers are told if it is worth their while."""
    mailbox = mailbox_at(address)
    for c in range(mailbox.count):
        shard = shard_of(mailbox.shards, c)
        shard.status, shard.portion, shard.made, shard.events = FRESH, 0, 0, 0
    mailbox.led = -1
    leave(mailbox, "known", known)
    leave(mailbox, "ready", ready)
    leave(mailbox, "off", 0)
    leave(mailbox, "done", 0)
    leave(mailbox, "front", 0)
    leave(mailbox, "back", 0)
    leave(mailbox, "taken", 0)
    if mailbox.events >= FEW:
        call(address)


@kernel(nb.void(nb.int64))
def call_off(address):
    """The batch is off: who is at work on it ends, with portions that are ready at the most. Waits for them."""
    mailbox = mailbox_at(address)
    leave(mailbox, "off", 1)
    if mailbox.led >= 0:
        mailbox.led = -1
        fetch_add(mailbox, "done", 1)
    work(address, BACK)
    _await_shards(mailbox)


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]))
def conclude(address, told):
    """Wait until all shards are done; returns how many results there are, -1 if some shard needs more.

    ``told`` receives for each shard its events, its results, and the next row of each stream.
    """
    mailbox = mailbox_at(address)
    _await_shards(mailbox)
    made = np.int64(0)
    for c in range(mailbox.count):
        shard = shard_of(mailbox.shards, c)
        told[c, 0], told[c, 1] = shard.events, shard.made
        for s in range(mailbox.width):
            told[c, 2 + s] = shard_stream_of(shard.streams, s).next_row
        made = made + shard.made if made >= 0 and shard.status == DONE else np.int64(-1)
    return made


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]))
def lead(address, told):
    """Take part in a batch all of which is ready, and see it to its end: as `conclude`."""
    work(address, BACK)
    return conclude(address, told)


@kernel(nb.void(Mailbox, nb.int64))
def _sleep(mailbox, seen):
    """Sleep until there is another batch than the last one seen."""
    bell = field_at(mailbox, "bell")
    lock(bell)
    fetch_add(mailbox, "asleep", 1)
    while RINGS and look(mailbox, "batch") == seen and look(mailbox, "stop") == 0:
        wait(bell)
    fetch_add(mailbox, "asleep", -1)
    unlock(bell)


@kernel(nb.void(nb.int64, nb.int64))
def help_out(address, looks):
    """Take part in batches as they come; to stop, call. Where there is no bell, it returns when it would sleep."""
    mailbox = mailbox_at(address)
    left, seen = looks, np.int64(0)
    while look(mailbox, "stop") == 0 and (RINGS or left > 0):
        batch = look(mailbox, "batch")
        if batch != seen:
            seen = batch
            work(address, FRONT)
            left = looks
        elif left > 0:
            linger(left)
            left -= 1
        else:
            _sleep(mailbox, seen)
            left = looks
