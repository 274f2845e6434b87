"""Threads that help with the shards of a batch, and how they are told that there is one.

A batch takes a few hundred microseconds, and to wake a thread takes some tens. So a helper that has just worked looks
for the next batch for a short time, and only then goes to sleep; and it is called when a push begins, before there is
anything to do. All of its life is one call of a kernel, without the interpreter.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

import numba as nb
import numpy as np
from numba import carray

from eddy.shards_atomic import (
    BELLS,
    RINGS,
    fetch_add,
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
from eddy.shards_deal_kernels import deal_stream
from eddy.shards_kernels import step
from eddy.shards_layout import COUNT as EVENTS_HERE
from eddy.shards_layout import DIMENSION as DIMENSION_FIELDS
from eddy.shards_layout import DONE as FINISHED
from eddy.shards_layout import FIELDS, FRESH, MADE, NEXT_ROW, STAMP, STATUS, STREAMS
from eddy.shards_layout import WIDTH as LINE
from stairs.address import pointer
from stairs.kernel import kernel

FEW = 1024
"""A batch of fewer events is not worth the help."""
LOOKS = 10_000
"""How often a helper looks for work before it goes to sleep: some hundred microseconds, a pause in between."""
NAP = 0.001
"""Seconds between two such times where there is no bell."""

BATCH, TAKEN, FRONT, BACK, DONE, DEAL, DEALT, STOP, ASLEEP, BELL = (8 * i for i in range(10))
SHARDS = BELL + BELLS // 8
COUNT, PARTS, PART, DIMENSIONS, DIMENSION, MARKS, EVENTS, WIDTH, BASE, LINES, LENGTH = range(
    SHARDS + 1, SHARDS + 12
)
"""Places in a mailbox, the first of them in a cache line each: how often there was something to do; how many shards
are taken, from the front, and from the back, and how many are done; the next stream to deal out, and how many are;
whether to stop, how many helpers are asleep, and what they sleep by; the shards and how many they are; then where the
arrays of the batch are, and how large: its parts, the dimensions of all streams, marks, lows before; and the streams
of all shards, and how long a line of them is."""
MAILBOX = SHARDS + 16
CLOSED = 1 << 40
"""So many shards are taken, and done, and streams, before there was any: nothing is to be had, and nobody to be waited
for."""


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def deal(mailbox):  # type: ignore[no-untyped-def]
    """Deal streams of the batch out until none is left."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while True:
        s = fetch_add(mailbox + 8 * DEAL, 1)
        n = held[WIDTH]
        if s >= n:
            return
        dimensions = carray(pointer(held[DIMENSIONS]), (n, held[DIMENSION], DIMENSION_FIELDS), np.int64)
        parts = carray(pointer(held[PARTS]), (n, held[PART]), np.int64)
        lines = carray(pointer(held[LINES]), (held[COUNT], n, held[LENGTH]), np.int64)
        deal_stream(held[SHARDS], lines, parts[s], dimensions[s], s)
        fetch_add(mailbox + 8 * DEALT, 1)


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def work(mailbox, end):  # type: ignore[no-untyped-def]
    """Do shards of the batch until none is left, from the FRONT or from the BACK.

    Who leads takes the last ones, and helpers the first: so a shard is likely to be in the cache of who gets it.
    """
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while fetch_add(mailbox + 8 * TAKEN, 1) < held[COUNT]:
        c = fetch_add(mailbox + 8 * end, 1)
        if end == BACK:
            c = held[COUNT] - 1 - c
        m, n = held[EVENTS], held[WIDTH]
        step(
            carray(pointer(held[SHARDS] + 8 * FIELDS * c), (FIELDS,), np.int64),
            carray(pointer(held[PARTS]), (n, held[PART]), np.int64),
            carray(pointer(held[MARKS]), (m, n), np.int32),
            carray(pointer(held[BASE]), (n,), np.int64),
        )
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


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def open_deal(mailbox, events):  # type: ignore[no-untyped-def]
    """The parts of a batch are written down, and may be dealt out; helpers are told if it is worth their while."""
    leave(mailbox + 8 * DEALT, 0)
    leave(mailbox + 8 * DEAL, 0)
    if events >= FEW:
        call(mailbox)


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def close_deal(mailbox):  # type: ignore[no-untyped-def]
    """Deal out what nobody has, and wait until all is dealt out. Nothing is to be done if nothing was opened."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    deal(mailbox)
    while look(mailbox + 8 * DEALT) < held[WIDTH]:
        pause()


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def open_work(mailbox, events):  # type: ignore[no-untyped-def]
    """A batch is dealt out, merged and marked: shards may begin."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    shards = carray(pointer(held[SHARDS]), (held[COUNT], FIELDS), np.int64)
    for c in range(held[COUNT]):
        shards[c, STATUS] = shards[c, MADE] = FRESH
    leave(mailbox + 8 * DONE, 0)
    leave(mailbox + 8 * FRONT, 0)
    leave(mailbox + 8 * BACK, 0)
    leave(mailbox + 8 * TAKEN, 0)
    if events >= FEW:
        call(mailbox)


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def conclude(mailbox, told):  # type: ignore[no-untyped-def]
    """Wait until all shards are done; returns how many results there are, -1 if some shard needs more.

    ``told`` receives for each shard its events, its results, and the next row of each stream.
    """
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while look(mailbox + 8 * DONE) < held[COUNT]:
        pause()
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
    """Take part in what was begun, and see it to its end: as `conclude`."""
    close_deal(mailbox)
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
            deal(mailbox)
            work(mailbox, FRONT)
            left = looks
        elif left > 0:
            pause()
            left -= 1
        else:
            sleep(mailbox, seen)
            left = looks


class Team:
    """The helpers of one engine; they end when it does."""

    def __init__(self, helpers: int) -> None:
        self.mailbox = np.zeros(MAILBOX, np.int64)
        self._address = self.mailbox.ctypes.data
        self.mailbox[[TAKEN, DONE, DEAL, DEALT]] = CLOSED
        hang(self._address)
        self._helpers, self._missing = helpers, False
        self._hire()
        self._end = weakref.finalize(self, _dismiss, self.mailbox)

    def _hire(self) -> None:
        self._missing = False
        for number in range(self._helpers):
            arguments = (self.mailbox,)
            threading.Thread(target=_help, args=arguments, name=f"eddy-{number}", daemon=True).start()

    def forked(self) -> None:
        """The helpers are in another process: there are new ones here when there is something to do.

        They may have had the lock of the bell, so that is a new one too. The batch that they had last is done.
        """
        self._missing = True
        self.mailbox[ASLEEP] = 0
        hang(self._address)

    @property
    def address(self) -> int:
        """By which kernels know it."""
        return self._address

    def rouse(self) -> None:
        """Have them awake when there is something to do: to wake takes longer than to find out what that is."""
        if self._missing:
            self._hire()
        if self.mailbox[ASLEEP]:
            call(self._address)

    def announce(self, events: int) -> None:
        """Deal the batch out that the mailbox names; helpers may begin, unless there is too little to do."""
        if self._missing and events >= FEW:
            self._hire()
        open_deal(self._address, events)
        close_deal(self._address)
        open_work(self._address, events)

    def lead(self, told: Any) -> int:
        """Do what they have not, and wait for them; see `lead`."""
        made: int = lead(self._address, told)
        return made


def _help(mailbox: Any) -> None:
    """A helper's life."""
    while not mailbox[STOP]:
        help_out(mailbox.ctypes.data, LOOKS)
        if not RINGS:
            time.sleep(NAP)


def _dismiss(mailbox: Any) -> None:
    mailbox[STOP] = 1
    call(mailbox.ctypes.data)
