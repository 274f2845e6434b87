"""The tables of the fast path: what its kernels are told of an engine and of a push."""

from __future__ import annotations

import numpy as np

from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

PUSH = np.dtype(
    [
        # How far the push is.
        ("stage", LONG),  # one of the stages below
        ("start", LONG),  # the first event of the portion
        ("first", LONG),  # the first event of the segment
        ("end", LONG),  # the event after its last one
        # What it is.
        ("events", LONG),  # events in all
        ("most", LONG),  # events for which there is room
        ("portion", LONG),  # events of a portion, at the most
        ("now", LONG),  # the time of the last event before it
        ("given", LONG),  # address: the handle of each column, 0 for one that is not given
        ("parts", LONG),  # address: a TIMED_PART (`intake.merge`) for each stream that has rows in it
        ("part_count", LONG),  # such streams
        # The engine.
        ("width", LONG),  # streams
        ("timed", LONG),  # 1 if a window ends by time
        ("streams", LONG),  # address: a STREAM for each
        ("columns", LONG),  # address: a COLUMN for each, stream by stream
        ("column_count", LONG),
        # Events and windows; each of these is the address of an array.
        ("order", LONG),  # for each event its stream, 32 bits
        ("places", LONG),  # for each row, stream by stream, its event, 32 bits
        ("times", LONG),  # for each event its time, if a window ends by time
        ("windows", LONG),  # the table of `lowwater_kernels`
        ("window_times", LONG),  # the rings of times of its windows
        ("window_slots", LONG),  # how many numbers these are, all together
        ("marks", LONG),  # [events, streams]: low-water rows, 32 bits
        ("ends", LONG),  # [2, streams]: the marks before the portion and after it
        ("before", LONG),  # [2, streams]: low-water rows and next rows before the portion
        ("begun", LONG),  # the same before the segment
        ("floor", LONG),  # [streams]: low-water rows before the segment, 32 bits
        # The plan.
        (
            "sequence",
            LONG,
        ),  # address: the SEQUENCE (`stairs.sequence`) that takes portions in; 0 if shards do
        ("key_columns", LONG),  # address: for each of its leaves, the number of the column that is its key
    ]
)
"""All that the kernels need for a push."""

STREAM = np.dtype(
    [
        ("rows", LONG),  # rows in the push
        ("behind", LONG),  # those in the portions before this one
        ("here", LONG),  # those in this portion
        ("first_column", LONG),  # the number of its first column
        ("column_count", LONG),
        ("time", LONG),  # which of its columns is its time; -1: none
        ("capacity", LONG),  # slots of its payload
    ]
)
"""A stream of the engine."""

COLUMN = np.dtype(
    [
        ("dtype", LONG),  # the handle of the dtype that its arrays must have
        ("ring", LONG),  # address: its values in the payload; 0 if they are not kept
        ("size", LONG),  # bytes of a value
    ]
)
"""A column of a stream."""

REFUSED, CRAMPED, CROWDED = -1, -2, -3
"""What a batch may be instead of begun: it must take the long way; windows need room, and then it can go on; or it has
more events than there is room for. Nothing has changed but for the second."""

COUNTING, TIMING, TAKING, DONE = range(4)
"""Stages."""

Push = struct.kind(PUSH)
push_at = struct.at(PUSH)
stream_of, column_of = struct.line_of(STREAM), struct.line_of(COLUMN)
