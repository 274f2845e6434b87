"""The table behind `sequence_kernels`: a block of events that was prepared, and the rings that it goes through."""

from __future__ import annotations

import numpy as np

from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

SEQUENCE = np.dtype(
    [
        # How far it is.
        ("stage", LONG),  # one of the stages below
        ("at", LONG),  # how far that stage is: the next ring that begins, leaf or instruction
        ("fresh", LONG),  # 1 until the ring for results has begun: with the first portion of a batch
        ("start", LONG),  # the first event that is in no portion yet
        ("length", LONG),  # events of this portion
        ("missed", LONG),  # what the cursor had counted as MISSED before the portion
        # The events.
        ("stop", LONG),  # the event after the last one of the block
        ("portion", LONG),  # events that are taken in together, at the most; kept from batch to batch
        ("width", LONG),  # streams
        ("sources", LONG),  # address: a SOURCE for each
        ("marks", LONG),  # address: [events of the batch, streams], low-water rows, 32 bits
        ("events", LONG),  # events of the batch
        ("lows", LONG),  # address: low-water rows before the portion
        ("counts", LONG),  # address: next rows before the portion
        ("floor", LONG),  # address: `lows` in 32 bits
        # The rings.
        (
            "beginning",
            LONG,
        ),  # address: the table of rings that begin (`begin_kernels`), that of results first
        ("beginning_count", LONG),
        ("leaves", LONG),  # address: a LEAF for each
        ("leaf_count", LONG),
        ("program", LONG),  # address: the instructions (`program_kernels`)
        ("program_length", LONG),
        ("results", LONG),  # address: the meta of the ring for results
        ("cursor", LONG),  # address: how far a run is
        ("waiting", LONG),  # address: [2, waiting_slots], room that a probe works in
        ("waiting_slots", LONG),
    ]
)
"""All that kernels need to take a block of events in. Whoever prepares one sets ``stage`` to CUTTING, and for each
source how many rows are ``taken``, and are ``here``, to 0."""

SOURCE = np.dtype(
    [
        ("rows", LONG),  # rows in the block
        ("taken", LONG),  # those in the portions before this one
        ("here", LONG),  # those in this portion
        ("events", LONG),  # address: the event of each, by its place in the batch, ascending, 32 bits
        ("kept", LONG),  # address: 0 for each that is only counted, a byte; or 0: all can be found
    ]
)
"""The rows of a stream in a block."""

LEAF = np.dtype(
    [
        ("ring", LONG),  # address: the meta of the STAIR
        ("stream", LONG),  # the number of its stream
        ("keys", LONG),  # address: the key of each of the stream's rows in the block
    ]
)
"""A leaf of a stream."""

CUTTING, BEGINNING, STORING, RUNNING, DONE = range(5)
"""Stages."""

LONGEST, SHORTEST, FIRST = 4096, 8, 64
"""Events of a portion: at the most, at the least, and to begin with. What the longest reads and writes still stays in
the processor's own cache, so that longer ones would gain nothing."""

Sequence = struct.kind(SEQUENCE)
sequence_at = struct.at(SEQUENCE)
source_of, leaf_of = struct.line_of(SOURCE), struct.line_of(LEAF)
