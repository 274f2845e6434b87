"""What visits know of the nodes and edges of a plan: rows of numbers, which kernels find by their addresses.

A *unit* is a node whose entries may wait, an *edge* leads from it to what they wait for, a *step* is one of those by
which what comes back is taken along. The *desk* is where a visit has what it works on. Rings are given by the addresses
of their meta, arrays by their own.
"""

from __future__ import annotations

WAKE, RETAKE, JUDGE, RETURN, TAKE, SETTLE, REVIVE, CARRY = range(1, 9)
"""Instructions: an ASK of a program whose KIND is one of these, with a unit as SOURCE and an edge or a step as TARGET.

WAKE an edge: what waits for entries of this batch is taken out. RETAKE what was woken at all edges of a unit, JUDGE it
at each, and RETURN with what nothing is missing for. TAKE what the batch brings, JUDGE it, and SETTLE: rows can be
found from now on, composites that wait are taken out. REVIVE what was woken, and CARRY it from STAIR to STAIR.
"""

# A unit.
COMPONENTS, STREAM, LEAVES_AT, LEAVES = 0, 1, 2, 3
"""How many components an entry has; of rows: the stream, its leaves, and how many (0: these are composites)."""
EVENTS_OF, KEPT_OF, COUNT = 4, 5, 6
"""Of rows: handles of the events and of the flags of those that the batch brings, and how many."""
STAIR = 7
"""Of composites: where they are stored."""
WOKEN_AT, WOKEN_ROOM, WOKEN = 8, 9, 10
"""What was woken: where, for how many there is room, and how many there are."""
ENTRIES, SOURCE = 11, 12
"""Of rows: a ring for those on their way (0: they go nowhere), and the leaf that has the keys for it."""
BY_THE_CALLER = -1
"""In place of that ring: they go more ways than one, which kernels do not know."""
ARRIVED, SUSPENDED, RESUMED, SPENT = 13, 14, 15, 16
"""Entries so far that came, began to wait, and came back; and nanoseconds in this batch."""
EDGES_AT, EDGES = 17, 18
"""The addresses of its edges, and how many there are."""
MADE, WEIGHT = 19, 20
"""Of composites: how many were stored so far, and what one takes, in millionths of what an event takes."""
UNIT = 21

SPENT_IN_ALL, MADE_IN_ALL = range(2)
"""What is told at the end of a batch: nanoseconds, and millionths of events."""

# An edge.
BY, AWAKE, SURE = 0, 1, 2
"""How to look for what is waited for; whether anything is judged, and whether what is not found is not there."""
WANTED_IN, STREAMS_AT, OPPOSITE = 3, 4, 5
"""The ring to look in, its streams, and the unit of its rows (0: it has composites)."""
WANTED_AT, WANTED, OWN_AT, OWN = 6, 7, 8, 9
"""The recipes of what is wanted, and of entries of that ring: where, and how many lines."""
BLACKLIST, WAITERS_AT = 10, 11
"""Where entries wait, and their streams."""
JUDGED, FAILED, RETURNED, LOOKED, EVER_SUSPENDED, EVER_RESUMED = 12, 13, 14, 15, 16, 17
"""What was counted."""
NANOSECONDS = 18
"""What it took since somebody looked."""
SEEN, LIMIT, CLOSED_AT = 19, 20, 34
"""Of what is kept beside the ring: the next entry to be entered, and the one at which it must be made anew; of a sieve:
for each stream of the ring the first row that is in none of its older entries."""
WITNESS = 21
"""An entry that was live; -1: none is known."""
FIRST_AT, SECOND_AT, THIRD_AT, WORDS_AT, SIZE = 22, 23, 24, 22, 25
"""A directory: its three arrays and their size. A sieve: its words, and how many."""
ONE_AT, ONE, OTHER_AT, OTHER, LINKS_AT, LINKS, PAIR_AT = 26, 27, 28, 29, 30, 31, 32
"""Leaves of a pair of streams, as in `pair_kernels`, and those streams."""
PLACES_AT = 33
"""Room to work in: the addresses of four arrays."""
EDGE = 35

WHOLE, PAIRED, PARTED, FILTERED, ANYTHING = range(5)
"""How to look: by the whole key in a ring's own chains; for a pair of rows in their leaves; by a part of the key in a
directory, or in a sieve alone; for anything at all."""

# A step.
PLAIN, NESTED, INTO, TARGET, PLACE_AT, BOTH_AT, RECIPE_AT, RECIPE, VERIFIED_AT, VERIFIED = range(10)
"""Whether it is nothing but a join by keys, and by nested loops; rings; places and streams; how entries get their keys,
and which components must be alike in which leaves, where a key is a mix of several."""
STEP = 10

# The desk.
ROWS_AT, MOMENTS_AT, ENTERED, BROUGHT, LEFT, LACKED = 0, 1, 2, 19, 3, 4
"""Entries at hand, the events at which they are judged, how many there are; those to be judged, and those that lack
nothing so far; those that were just found to lack something (-1: not yet looked)."""
SPACE, FLAGS_AT, COPIES_AT, ZEROS_AT = 5, 6, 7, 8
"""Room for so many entries: flags, a copy of their rows, and zeros in place of moments."""
PAST_AT, CARRIED, START, STOP, FIRST, RESUMED_AT = 9, 10, 11, 12, 13, 14
"""Marks for what comes back; the ring that has it on its way, from where to where; where a step began to write, and
whether it is to be resumed."""
COMPLETE = 15
"""Whether no STAIR has holes."""
KEYS_AT, KEYS, WISHES_AT = 16, 17, 18
"""Room for keys that are looked up together, how many; and for those of the entries at hand."""
CURSOR = 20
"""Of a join, to the end: see `probe_kernels`; nothing is linked on the way."""
DESK = 27

LACKING, MARKED = 2, 3
"""Flags of an entry for which something is missing; and at which edge, the first or a later one."""

FEW = 32
"""What waits is judged again, instead of looking for what has come, where that is so many times as much."""
