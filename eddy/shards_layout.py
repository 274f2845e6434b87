"""The tables of shards: lines of numbers, most of them addresses, so that any thread can do the work of any shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

import stairs
from stairs.kernel import fingerprint

_HERE = Path(__file__).parent
STAMP = fingerprint(
    [*Path(stairs.__file__).parent.glob("*.py"), *_HERE.glob("lowwater_*.py"), *_HERE.glob("shards_*.py")]
)

COUNT, STATUS, AT, PORTION, MARKS, LOWWATER, FLAGS, LOWS, COUNTS, FLOOR = range(10)
BEGIN, LINES, PROGRAM, STOP, RESULTS, CURSOR, WAITING, JOBS, LEAVES, STREAMS = range(10, 20)
MADE, WIDTH, BLOCK, BOUNDS, BEFORE_PUSH = range(20, 25)
FIELDS = 32
"""A shard: how many events it got, how far it is, and with which portion; where are: its marks, by the events of the
whole batch, its low-water table, room for flags, for its lows, counts and floor, the rings that begin and their number,
its program and its length, the ring for results, what a run needs, the leaves to append to and their number, its
streams; then its results, the widths of two tables, which part of every dimension is its own, and where its lows are as
they were before the batch."""

ROWS, EVENTS, NUMBERS, HELD, NEXT_ROW, FIRST_KEPT, CAPACITY, RANKS, RANK_SLOTS, SENT, KEYS = range(11)
"""A stream of a shard: rows it got of a portion, where their events and numbers are, the ring of the numbers, its next
row, the first that is kept, its slots; a ring of ranks - for each row of the whole stream, how many rows of the shard
come before it - and its slots, or 0 where the window never ends; rows it got so far; then where the keys are, by
class."""

FRESH, DEALT, UNTOUCHED, CRAMPED, BEGINNING, RUNNING, DONE = range(7)
"""How far a shard is with a portion. It may be left alone, if kernels cannot do the batch at all, or stop: because the
portion needs more room than it has, in a STAIR that begins, or in a ring that is written to."""

PART_ROWS, PART_EVENTS, PART_KEPT, PART_FIRST, PART_DIMENSIONS, PART_CLASSES = range(6)
PART_KEYS = 6
"""A stream in a batch: its rows, where their events are, and flags of those that count, or 0; the number of its first
row; how many dimensions and classes it has; where its keys are."""

DIMENSION = 3
"""A dimension of a stream: which of the stream's keys, or -1 for the row number; its salt; its number in all."""


def _reading(width: int) -> Any:
    number = ir.IntType(width)

    @intrinsic
    def read(typingctx: Any, address: Any, index: Any) -> Any:
        """The number at a place of an array, given by its address."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(builder.inttoptr(args[0], number.as_pointer()), [args[1]])
            found = builder.load(at, align=width // 8)
            return found if width == 64 else builder.zext(found, ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return read


def _writing(width: int) -> Any:
    number = ir.IntType(width)

    @intrinsic
    def write(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        """Put a number at a place of an array, given by its address."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(builder.inttoptr(args[0], number.as_pointer()), [args[1]])
            builder.store(args[2] if width == 64 else builder.trunc(args[2], number), at, align=width // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return write


long_at, int_at, byte_at = _reading(64), _reading(32), _reading(8)
set_long, set_int, set_byte = _writing(64), _writing(32), _writing(8)
