"""Threads that help with the shards of a batch, and how they are told that there is one.

A batch takes a few hundred microseconds, and to wake a thread can take as long. So a helper that has just worked looks
for the next batch for a short time, in a kernel, and only then goes to sleep until it is called.
"""

from __future__ import annotations

import platform
import threading
import weakref
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

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

BATCH, NEXT, DONE, DEAL, DEALT, STOP, SHARDS = (8 * i for i in range(7))
COUNT, PARTS, PART, DIMENSIONS, DIMENSION, MARKS, EVENTS, WIDTH, BASE, LINES, LENGTH = range(
    SHARDS + 1, SHARDS + 12
)
"""Places in a mailbox, the first of them in a cache line each: how often there was something to do; the next shard, and
how many are done; the next stream to deal out, and how many are; whether to stop; the shards and how many they are;
then where the arrays of the batch are, and how large: its parts, the dimensions of all streams, marks, lows before;
and the streams of all shards, and how long a line of them is."""
MAILBOX = SHARDS + 16
CLOSED = 1 << 40
"""A next shard, or stream, that there is not, and how many are done before there was any: nothing is to be had, and
nobody to be waited for."""


@intrinsic
def _fetch_add(typingctx: Any, address: Any, value: Any) -> Any:
    """Add to a number that other threads use too; returns what it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", at, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _look(typingctx: Any, address: Any) -> Any:
    """A number as other threads have left it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(at, "seq_cst", 8)

    return types.int64(types.int64), codegen


@intrinsic
def _leave(typingctx: Any, address: Any, value: Any) -> Any:
    """Write a number for other threads, after all that was written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store_atomic(args[1], at, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def _pause(typingctx: Any) -> Any:
    """Let the processor know that this is a wait, so that what shares its core gets on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def deal(mailbox):  # type: ignore[no-untyped-def]
    """Deal streams of the batch out until none is left."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while True:
        s = _fetch_add(mailbox + 8 * DEAL, 1)
        n = held[WIDTH]
        if s >= n:
            return
        dimensions = carray(pointer(held[DIMENSIONS]), (n, held[DIMENSION], DIMENSION_FIELDS), np.int64)
        parts = carray(pointer(held[PARTS]), (n, held[PART]), np.int64)
        lines = carray(pointer(held[LINES]), (held[COUNT], n, held[LENGTH]), np.int64)
        deal_stream(held[SHARDS], lines, parts[s], dimensions[s], s)
        _fetch_add(mailbox + 8 * DEALT, 1)


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def work(mailbox):  # type: ignore[no-untyped-def]
    """Do shards of the batch until none is left."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while True:
        c = _fetch_add(mailbox + 8 * NEXT, 1)
        if c >= held[COUNT]:
            return
        m, n = held[EVENTS], held[WIDTH]
        step(
            carray(pointer(held[SHARDS] + 8 * FIELDS * c), (FIELDS,), np.int64),
            carray(pointer(held[PARTS]), (n, held[PART]), np.int64),
            carray(pointer(held[MARKS]), (m, n), np.int32),
            carray(pointer(held[BASE]), (n,), np.int64),
        )
        _fetch_add(mailbox + 8 * DONE, 1)


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def open_deal(mailbox, events):  # type: ignore[no-untyped-def]
    """The parts of a batch are written down, and may be dealt out; helpers are told if it is worth their while."""
    _leave(mailbox + 8 * DEALT, 0)
    _leave(mailbox + 8 * DEAL, 0)
    if events >= FEW:
        _fetch_add(mailbox + 8 * BATCH, 1)


@kernel(nb.void(nb.int64), stamp=STAMP, makes_arrays=True)
def close_deal(mailbox):  # type: ignore[no-untyped-def]
    """Deal out what nobody has, and wait until all is dealt out. Nothing is to be done if nothing was opened."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    deal(mailbox)
    while _look(mailbox + 8 * DEALT) < held[WIDTH]:
        _pause()


@kernel(nb.void(nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def open_work(mailbox, events):  # type: ignore[no-untyped-def]
    """A batch is dealt out, merged and marked: shards may begin."""
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    shards = carray(pointer(held[SHARDS]), (held[COUNT], FIELDS), np.int64)
    for c in range(held[COUNT]):
        shards[c, STATUS] = shards[c, MADE] = FRESH
    _leave(mailbox + 8 * DONE, 0)
    _leave(mailbox + 8 * NEXT, 0)
    if events >= FEW:
        _fetch_add(mailbox + 8 * BATCH, 1)


@kernel(nb.int64(nb.int64, nb.int64[:, ::1]), stamp=STAMP, makes_arrays=True)
def conclude(mailbox, told):  # type: ignore[no-untyped-def]
    """Wait until all shards are done; returns how many results there are, -1 if some shard needs more.

    ``told`` receives for each shard its events, its results, and the next row of each stream.
    """
    held = carray(pointer(mailbox), (MAILBOX,), np.int64)
    while _look(mailbox + 8 * DONE) < held[COUNT]:
        _pause()
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
    work(mailbox)
    return conclude(mailbox, told)


@kernel(nb.int64(nb.int64, nb.int64, nb.int64), stamp=STAMP, makes_arrays=True)
def help_out(mailbox, seen, looks):  # type: ignore[no-untyped-def]
    """Take part in batches as they come; returns the last one seen when there was none for some time."""
    left = looks
    while left > 0:
        batch = _look(mailbox + 8 * BATCH)
        if batch != seen:
            seen = batch
            deal(mailbox)
            work(mailbox)
            left = looks
        _pause()
        left -= 1
    return seen


class Team:
    """The helpers of one engine; they end when it does."""

    def __init__(self, helpers: int) -> None:
        self.mailbox = np.zeros(MAILBOX, np.int64)
        self._address = self.mailbox.ctypes.data
        self.mailbox[[NEXT, DONE, DEAL, DEALT]] = CLOSED
        self._bell = threading.Condition()
        self._asleep = [0]
        for number in range(helpers):
            arguments = (self.mailbox, self._bell, self._asleep)
            threading.Thread(target=_help, args=arguments, name=f"eddy-{number}", daemon=True).start()
        self._end = weakref.finalize(self, _dismiss, self.mailbox, self._bell)

    @property
    def address(self) -> int:
        """By which kernels know it."""
        return self._address

    def announce(self, events: int) -> None:
        """Deal the batch out that the mailbox names; helpers may begin, unless there is too little to do."""
        open_deal(self._address, events)
        self.wake(events)
        close_deal(self._address)
        open_work(self._address, events)

    def wake(self, events: int) -> None:
        """After something was opened: who sleeps is called. Who goes to sleep says so first, and then looks again."""
        if self._asleep[0] and events >= FEW:
            with self._bell:
                self._bell.notify_all()

    def lead(self, told: Any) -> int:
        """Do what they have not, and wait for them; see `lead`."""
        made: int = lead(self._address, told)
        return made


def _help(mailbox: Any, bell: threading.Condition, asleep: list[int]) -> None:
    """A helper's life."""
    address, seen = mailbox.ctypes.data, 0
    while not mailbox[STOP]:
        seen = help_out(address, seen, LOOKS)
        with bell:
            asleep[0] += 1
            while mailbox[BATCH] == seen and not mailbox[STOP]:
                bell.wait()
            asleep[0] -= 1


def _dismiss(mailbox: Any, bell: threading.Condition) -> None:
    with bell:
        mailbox[STOP] = 1
        bell.notify_all()
