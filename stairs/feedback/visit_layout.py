"""The tables of feedback: what visits know of the nodes of a plan, of their edges, and of their own work.

A *unit* is a node whose entries may wait, an *edge* leads from it to what they wait for, a *step* is one of those by
which what comes back is taken along, and the *work* is what a visit has at hand. Rings are given by the addresses of
their meta, arrays by their own.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG

WAKE, RETAKE, JUDGE, RETURN, TAKE, LINK, REVIVE, CARRY, RESTORE, SUPPRESS = range(1, 11)
"""Instructions: an ASK of a program whose KIND is one of these, with a unit as SOURCE and an edge or a step as TARGET.

WAKE an edge: what waits for entries of this batch is taken out. RETAKE what was woken at all edges of a unit, JUDGE it
at each, and RETURN with what nothing is missing for. TAKE what the batch brings, JUDGE it, and LINK it: rows can be
found from now on, composites that wait are taken out. REVIVE what was woken, and CARRY it from STAIR to STAIR.
SUPPRESS what the batch would put into a STAIR under keys that nothing has; RESTORE what was suppressed under the keys
of what has come.
"""

UNIT = np.dtype(
    [
        ("components", LONG),  # components of an entry
        ("stream", LONG),  # of rows: their stream
        ("leaves", LONG),  # of rows, address: the leaves of the stream
        ("leaf_count", LONG),  # leaves; 0: these are composites
        ("events", LONG),  # of rows, handle: the events of those that the batch brings
        (
            "kept",
            LONG,
        ),  # of rows, handle: their flags, 1 for a row that no filter has ruled out; 0: all are kept
        ("count", LONG),  # of rows: those that the batch brings
        ("stair", LONG),  # of composites: where they are stored
        ("woken", LONG),  # address: the entries that were woken
        ("woken_room", LONG),  # entries for which there is room
        ("woken_count", LONG),  # entries that were woken
        ("entries", LONG),  # of rows: a ring for those on their way; 0: they go nowhere; or BY_THE_CALLER
        ("source", LONG),  # of rows: the leaf that has the keys for that ring
        ("arrived", LONG),  # entries so far that came
        ("suspended", LONG),  # those that began to wait
        ("resumed", LONG),  # those of them that came back
        ("spent", LONG),  # nanoseconds in this batch
        ("edges", LONG),  # address: the addresses of its edges
        ("edge_count", LONG),
        ("made", LONG),  # of composites: how many were stored so far
        ("weight", LONG),  # of composites: what one takes, in millionths of what an event takes
    ]
)
"""A node of a plan whose entries may wait."""

BY_THE_CALLER = -1
"""In place of the ring for rows on their way: they go more ways than one, which kernels do not know."""

EDGE = np.dtype(
    [
        # What is waited for.
        ("by", LONG),  # how to look for it: one of the ways below
        ("awake", LONG),  # 1 if anything is judged
        ("sure", LONG),  # 1 if what is not found is not there
        ("ring", LONG),  # the ring to look in
        ("ring_streams", LONG),  # address: the streams of its components
        ("opposite", LONG),  # address: the unit of its rows; 0: it has composites
        ("wanted", LONG),  # address: the recipe of what is wanted, of RECIPE lines
        ("wanted_count", LONG),
        (
            "own",
            LONG,
        ),  # address: the recipe of the same key of the ring's entries; empty: it is the key they have
        ("own_count", LONG),
        # Who waits.
        ("blacklist", LONG),  # the ring of the entries that wait
        ("waiting_streams", LONG),  # address: the streams of their components
        # What was counted, since the edge was last reviewed but for the last two.
        ("judged", LONG),  # entries that were judged
        ("failed", LONG),  # those of them that were suspended
        ("returned", LONG),  # entries that came back
        ("looked", LONG),  # keys that were looked up for that
        ("nanoseconds", LONG),  # what all this took
        ("suspended", LONG),  # entries so far that began to wait here
        ("resumed", LONG),  # those of them that were woken
        # What is kept beside the ring.
        ("seen", LONG),  # the next entry of the ring to be entered there
        ("limit", LONG),  # the entry at which it must be made anew; of a suppression: see there
        ("witness", LONG),  # an entry that was live; -1: none is known
        ("size", LONG),  # numbers in each array of the directory, or words of the sieve
        ("heads", LONG),  # address, of a directory: the newest entry of each bucket
        ("nexts", LONG),  # address: for each slot of the ring the next older entry of its bucket
        ("tags", LONG),  # address: for each slot 32 bits of the part of its key
        ("words", LONG),  # address, of a sieve: its words
        (
            "closed",
            LONG,
        ),  # address, of a sieve: for each stream the first row that is in none of its older entries
        # A pair of streams, as in `pair_kernels`.
        ("one", LONG),  # address: the leaves of the one stream under the attributes that it carries
        ("one_count", LONG),
        ("other", LONG),  # address: those of the other
        ("other_count", LONG),
        ("links", LONG),  # address: the leaves of both under the attributes in which they match
        ("link_count", LONG),
        ("pair", LONG),  # address: the numbers of both streams
        ("pair_wanted", LONG),  # address, and so are the next three: room to work in
        ("pair_ones", LONG),
        ("pair_others", LONG),
        ("pair_walk", LONG),
    ]
)
"""From a unit to what its entries wait for."""

WHOLE, PAIRED, PARTED, FILTERED, ANYTHING, BANDED = range(6)
"""How to look: by the whole key in a ring's own chains; for a pair of rows in their leaves; by a part of the key in a
directory, or in a sieve alone; for anything at all; by bands, which is left to the caller."""

STEP = np.dtype(
    [
        ("plain", LONG),  # 1 if it is nothing but a join by keys
        ("nested", LONG),  # 1 if by nested loops
        ("out", LONG),  # the ring that is written to
        ("target", LONG),  # the ring that is probed
        ("places", LONG),  # address: for each component of an entry of `out` the place that it is taken from
        ("streams", LONG),  # address: the streams of these components
        ("recipe", LONG),  # address: how the entries get their keys, of RECIPE lines
        ("recipe_count", LONG),
        ("verified", LONG),  # address: what must be alike, of VERIFIED lines, where a key is a mix of several
        ("verified_count", LONG),
        ("suppression", LONG),  # address: the edge by which its matches are suppressed; 0: they are not
    ]
)
"""A join by which what comes back is taken to the next STAIR."""

WORK = np.dtype(
    [
        # Entries at hand.
        ("rows", LONG),  # address: their rows
        ("moments", LONG),  # address: the events at which they are judged
        ("entered", LONG),  # entries at hand
        ("brought", LONG),  # those of them to be judged
        ("left", LONG),  # those that lack nothing so far
        ("lacked", LONG),  # those that were just found to lack something; -1: not yet looked for
        # Room for entries at hand; each of these but the first is the address of an array.
        ("space", LONG),  # entries for which there is room
        ("flags", LONG),
        ("copies", LONG),  # a copy of their rows
        ("zeros", LONG),  # in place of moments
        ("wishes", LONG),  # the keys of what they want
        # Room for keys that are looked up together.
        ("keys", LONG),  # address
        ("key_count", LONG),
        # What comes back.
        ("past", LONG),  # address: the marks by which it is joined
        ("carried", LONG),  # the ring that has it on its way
        ("start", LONG),  # the first entry there
        ("stop", LONG),  # the one after the last
        ("first", LONG),  # where a step began to write
        ("resumed", LONG),  # 1 if that step is to be resumed; 2 if only its matches are to be seen to
        ("cursor", LONG),  # address: how far its join is
        ("complete", LONG),  # 1 if no STAIR has holes
        (
            "restored",
            LONG,
        ),  # entries that have come under keys that were noted; -1: there is no room to list them
        ("short", LONG),  # address: the edge that had no room to suppress in the middle of a join; 0: none
        ("suppressions", LONG),  # address: STAIRs into which joins are suppressed, each with edge and unit
        ("suppression_count", LONG),
    ]
)
"""What a visit has at hand."""

RECIPE = np.dtype(
    [
        ("component", LONG),  # the component that carries an attribute
        ("leaf", LONG),  # its leaf under that attribute
    ]
)
"""A line of a recipe: see `recipe_kernels`."""

VERIFIED = np.dtype(
    [
        ("one", LONG),  # a component
        ("one_leaf", LONG),  # its leaf under an attribute
        ("other", LONG),  # another component that carries the attribute
        ("other_leaf", LONG),  # its leaf
    ]
)
"""Two components that must have the same key in these leaves."""

TOLD = np.dtype(
    [
        ("spent", LONG),  # nanoseconds
        ("made", LONG),  # composites that were stored, in millionths of events by their weights
    ]
)
"""What is told at the end of a batch, of all units."""

LACKING, MARKED = 2, 3
"""Flags of an entry for which something is missing; and at which edge, the first or a later one."""

FEW = 32
"""What waits is judged again, instead of looking for what has come, where that is FEW times as much."""

Unit, Edge, Step, Work, Told = map(struct.kind, (UNIT, EDGE, STEP, WORK, TOLD))
unit_at, edge_at, step_at, work_at, told_at = map(struct.at, (UNIT, EDGE, STEP, WORK, TOLD))
Recipe, Verified = (nb.types.Array(struct.kind(line), 1, "C") for line in (RECIPE, VERIFIED))
