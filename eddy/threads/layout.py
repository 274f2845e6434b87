"""The tables of shards: structs most of whose fields are addresses, so that any thread can do the work of any shard."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from eddy.threads.atomic import BELLS
from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

SHARD = np.dtype(
    [
        # How far it is.
        ("status", LONG),  # one of those below
        ("portion", LONG),  # the number of the portion that it is at, or that comes next
        ("events", LONG),  # events that it got of the batch so far
        ("made", LONG),  # its results of the batch
        # Its rows; each of these is the address of an array.
        ("streams", LONG),  # a SHARD_STREAM for each stream
        (
            "bounds",
            LONG,
        ),  # for each dimension, the first hash that is its own and the first that no longer is
        ("flags", LONG),  # room for a byte for each row of a portion, and some more
        # Its windows; each of these is the address of an array.
        ("windows", LONG),  # its table of `lowwater_kernels`
        ("marks", LONG),  # [events of the whole batch, streams]: its low-water rows, 32 bits
        ("floor", LONG),  # its low-water rows before the portion, 32 bits
        ("before_push", LONG),  # its low-water rows before the push
        # Its plan.
        ("sequence", LONG),  # address: the SEQUENCE (`stairs.sequence`) that takes its rows in
        ("beginning", LONG),  # what that reads for this ring for results
        ("results", LONG),
    ]
)
"""A shard."""

SHARD_STREAM = np.dtype(
    [
        # The rows that it got of a portion.
        ("rows", LONG),  # how many
        ("events", LONG),  # address: the event of each in the whole batch, 32 bits
        ("numbers", LONG),  # address: the number of each in the whole stream
        ("keys", LONG),  # address: for each key class of the stream, the address of their keys
        # The rows that it has.
        ("next_row", LONG),  # its next row
        ("first_kept", LONG),  # the first that is kept
        ("held", LONG),  # address: the ring of the numbers that rows have in the whole stream
        ("capacity", LONG),  # slots of that ring
        ("sent", LONG),  # rows that it got since somebody asked
        # For each live row of the whole stream, how many rows of the shard come before it.
        ("ranks", LONG),  # address: a ring of these, 32 bits; 0 if the window never ends
        ("rank_slots", LONG),  # slots of that ring; 0 if there is none
    ]
)
"""A stream of a shard. Rows have numbers of the shard's own, and numbers in the whole of their stream."""

FRESH, DEALT, UNTOUCHED, CRAMPED, TAKING, DONE = range(6)
"""How far a shard is with a portion. It may be left alone, if kernels cannot do the batch at all, or stop: because the
portion needs more room than it has, or where its sequence does."""

BATCH_PART = np.dtype(
    [
        ("rows", LONG),  # how many
        ("first_row", LONG),  # the number of the first of them
        ("events", LONG),  # address: the event of each, 32 bits
        ("kept", LONG),  # address: 1 for each that can match, a byte; 0 if all can
        ("keys", LONG),  # address: for each key class of the stream, the address of their keys
        ("class_count", LONG),  # key classes of the stream
        ("dimensions", LONG),  # address: a DIMENSION for each that covers the stream
        ("dimension_count", LONG),
    ]
)
"""A stream's rows in a batch, as all shards see them."""

DIMENSION = np.dtype(
    [
        ("key", LONG),  # which of the stream's keys is hashed; -1: the row number
        ("salt", LONG),  # what the hash is salted with
        ("number", LONG),  # its number among all dimensions
    ]
)
"""A dimension of the grid of shards, for one stream."""

_OWN_LINE = (
    "batch",  # how often there was something to do
    "taken",  # shards that were taken
    "front",  # those that were taken from the front
    "back",  # those that were taken from the back
    "done",  # shards that are done
    "known",  # portions of which the rows are known
    "ready",  # portions that can be joined
    "off",  # 1 if the batch is off
    "stop",  # 1 if helpers are to end
    "asleep",  # helpers that are asleep
)
"""What several threads write, or wait for: each has a cache line to itself, and is used by way of `atomic` alone."""
_BELL = "bell"
"""What helpers sleep by: see `atomic`."""
_PLAIN = (
    # The shards.
    "shards",  # address: a SHARD for each
    "count",  # how many they are
    "width",  # streams
    "led",  # the shard that who leads is at work on; -1: none
    # The batch.
    "parts",  # address: a BATCH_PART for each stream
    "events",  # events of the batch
    "marks",  # address: [events, streams], low-water rows, 32 bits
    "lows",  # address: the low-water rows before it
    "portions",  # portions in which it is joined
    "portion",  # events of a portion, at the most
    "cuts",  # address: [portions + 1, streams], the row of the batch that each portion begins with
)
"""What is written before a batch is opened, and only read while it is."""

_LINE = 64
MAILBOX = np.dtype(
    {
        "names": [*_OWN_LINE, _BELL, *_PLAIN],
        "formats": [LONG] * len(_OWN_LINE) + [(LONG, BELLS // 8)] + [LONG] * len(_PLAIN),
        "offsets": [_LINE * i for i in range(len(_OWN_LINE) + 1)]
        + [_LINE * len(_OWN_LINE) + BELLS + 8 * i for i in range(len(_PLAIN))],
    }
)
"""What the threads of an engine tell each other."""

GATHERED = np.dtype(
    [
        ("made", LONG),  # its results
        ("start", LONG),  # the id of the first of them
        ("records", LONG),  # address: the records of its ring for results
        ("mask", LONG),  # the mask of its slots
        ("events", LONG),  # address: the event of each result, 32 bits
        (
            "places",
            LONG,
        ),  # address: for each of its events the place in the whole batch, 32 bits; 0 if that is it
        ("streams", LONG),  # address: a GATHERED_STREAM for each stream
    ]
)
"""The results of a shard, to be gathered with those of all."""

GATHERED_STREAM = np.dtype(
    [
        ("next_row", LONG),  # the shard's next row
        ("numbers", LONG),  # address: a ring of the numbers that rows have in the whole stream
        ("mask", LONG),  # the mask of its slots
    ]
)
"""A stream of such a shard."""

Shard, Mailbox = struct.kind(SHARD), struct.kind(MAILBOX)
BatchPart, ShardStream = struct.kind(BATCH_PART), struct.kind(SHARD_STREAM)
mailbox_at = struct.at(MAILBOX)
shard_of, shard_stream_of = struct.line_of(SHARD), struct.line_of(SHARD_STREAM)
batch_part_of, dimension_of = struct.line_of(BATCH_PART), struct.line_of(DIMENSION)
gathered_of, gathered_stream_of = struct.line_of(GATHERED), struct.line_of(GATHERED_STREAM)


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
