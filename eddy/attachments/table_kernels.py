"""Entries and nodes of a stage: how its kernels find, link and free them.

Whole batches are looked up at once, before anything happens in them: what is far from the processor is asked for some
lines before it is needed. So no entry and no node is freed within a batch.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int8, int64, uint8, void

from eddy.attachments.layout import (
    AFTER,
    BEFORE,
    ENTRIES,
    ENTRY_FREE,
    ENTRY_NEXT,
    FIRST_ENTRY,
    FREE,
    KEY,
    NEWEST,
    NEXT_NODE,
    NODE,
    NODE_FREE,
    NODE_NEXT,
    NODES,
    NODES_FREE,
    NONE,
    ROW_HELD,
    SAME_HASH,
)
from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part
from stairs.lowlevel.prefetch import prefetch

SOON = 8
"""How many lines before it is needed something is asked for."""


@part
def bucket_of(words, i, start, stop, heads):
    """Where the chain of a line of words begins."""
    h = unfed(stop - start)
    for w in range(start, stop):
        h = feed(h, words[i, w])
    return int64(mixed(h) & np.uint64(heads.shape[0] - 1))


@part
def _alike(words, i, others, j, start):
    """Whether a line is the same as another from ``start`` on."""
    for w in range(words.shape[1]):
        if words[i, w] != others[j, start + w]:
            return False
    return True


# -- nodes -------------------------------------------------------------------------------------------------------------


@part
def _made(keys, i, bucket, nodes, numbers):
    """A node for a key."""
    node = numbers[NODE_FREE]
    if node >= 0:
        numbers[NODE_FREE] = nodes.lines[node, NEXT_NODE]
        numbers[NODES_FREE] -= 1
    else:
        node = numbers[NODE_NEXT]
        numbers[NODE_NEXT] += 1
    for w in range(keys.shape[1]):
        nodes.lines[node, KEY + w] = keys[i, w]
    nodes.lines[node, NEXT_NODE] = nodes.heads[bucket]
    nodes.lines[node, FIRST_ENTRY] = nodes.lines[node, NEWEST] = NONE
    nodes.heads[bucket] = node
    return node


@kernel(void(int64[:, ::1], uint8[::1], boolean, NODES, int64[::1], int64[::1]))
def resolve(keys, valid, makes, nodes, numbers, found):
    """The nodes of keys, if they can match; ``makes``: where there is none it is made."""
    n, width = keys.shape[0], keys.shape[1]
    for i in range(n + 2 * SOON):
        if i < n:
            bucket = bucket_of(keys, i, 0, width, nodes.heads)
            found[i] = bucket
            prefetch(nodes.heads, bucket)
        j = i - SOON
        if 0 <= j < n:
            prefetch(nodes.lines, int64(nodes.heads[found[j]]))
        j -= SOON
        if j >= 0:
            bucket, node = found[j], int64(NONE)
            if valid[j]:
                node = int64(nodes.heads[bucket])
                while node >= 0 and not _alike(keys, j, nodes.lines, node, KEY):
                    node = nodes.lines[node, NEXT_NODE]
                if node < 0 and makes:
                    node = _made(keys, j, bucket, nodes, numbers)
            found[j] = node


@kernel(void(NODES, int64, int64[::1]))
def sweep(nodes, words, numbers):
    """Free all nodes that nobody needs, and find the others by their keys again, with heads that are new."""
    for bucket in range(nodes.heads.shape[0]):
        nodes.heads[bucket] = NONE
    numbers[NODE_FREE], numbers[NODES_FREE] = NONE, 0
    for node in range(numbers[NODE_NEXT]):
        if nodes.lines[node, FIRST_ENTRY] < 0 and nodes.lines[node, NEWEST] < numbers[ROW_HELD]:
            nodes.lines[node, FIRST_ENTRY] = nodes.lines[node, NEWEST] = NONE
            nodes.lines[node, NEXT_NODE] = numbers[NODE_FREE]
            numbers[NODE_FREE] = node
            numbers[NODES_FREE] += 1
        else:
            bucket = bucket_of(nodes.lines, node, KEY, KEY + words, nodes.heads)
            nodes.lines[node, NEXT_NODE] = nodes.heads[bucket]
            nodes.heads[bucket] = node


@part
def join_node(entry, node, entries, nodes):
    """The entry is the newest of the node's."""
    first = nodes.lines[node, FIRST_ENTRY]
    entries.lines[entry, NODE] = node
    entries.lines[entry, AFTER] = first
    entries.lines[entry, BEFORE] = NONE
    if first >= 0:
        entries.lines[first, BEFORE] = entry
    nodes.lines[node, FIRST_ENTRY] = entry


@part
def leave_node(entry, entries, nodes):
    """The entry is nobody's partner any more."""
    node = entries.lines[entry, NODE]
    if node < 0:
        return
    before, after = entries.lines[entry, BEFORE], entries.lines[entry, AFTER]
    if before >= 0:
        entries.lines[before, AFTER] = after
    else:
        nodes.lines[node, FIRST_ENTRY] = after
    if after >= 0:
        entries.lines[after, BEFORE] = before
    entries.lines[entry, NODE] = NONE


# -- entries of composites that end in any order -------------------------------------------------------------------


@part
def remember(entry, entries):
    """The entry can be found by its rows."""
    bucket = bucket_of(entries.rows, entry, 0, entries.rows.shape[1], entries.heads)
    entries.lines[entry, SAME_HASH] = entries.heads[bucket]
    entries.heads[bucket] = entry


@part
def take_entry(numbers, entries):
    """A place that was free."""
    entry = numbers[ENTRY_FREE]
    if entry >= 0:
        numbers[ENTRY_FREE] = entries.lines[entry, AFTER]
    else:
        entry = numbers[ENTRY_NEXT]
        numbers[ENTRY_NEXT] += 1
    return entry


@part
def _forget(rows, i, bucket, entries):
    """Find the entry of these rows, and let nobody find it again."""
    entry, last = int64(entries.heads[bucket]), int64(NONE)
    while entry >= 0 and not _alike(rows, i, entries.rows, entry, 0):
        entry, last = entries.lines[entry, SAME_HASH], entry
    if entry >= 0:
        if last < 0:
            entries.heads[bucket] = entries.lines[entry, SAME_HASH]
        else:
            entries.lines[last, SAME_HASH] = entries.lines[entry, SAME_HASH]
    return entry


@part
def _remembered(rows, i, bucket, numbers, entries):
    """An entry of these rows that can be found by them."""
    entry = take_entry(numbers, entries)
    for c in range(rows.shape[1]):
        entries.rows[entry, c] = rows[i, c]
    entries.lines[entry, NODE] = NONE
    entries.lines[entry, SAME_HASH] = entries.heads[bucket]
    entries.heads[bucket] = entry
    return entry


@kernel(void(int64[:, ::1], int8[::1], ENTRIES, int64[::1], int64[::1]))
def identify(rows, signs, entries, numbers, found):
    """The entries of composites that come, are past, or die, in the order in which that happens; -1: there is none."""
    n, width = rows.shape[0], rows.shape[1]
    for i in range(n + 3 * SOON):
        if i < n:
            bucket = bucket_of(rows, i, 0, width, entries.heads)
            found[i] = bucket
            prefetch(entries.heads, bucket)
        j = i - SOON
        if 0 <= j < n and signs[j] < 0:
            prefetch(entries.rows, int64(entries.heads[found[j]]))
            prefetch(entries.lines, int64(entries.heads[found[j]]))
        j -= 2 * SOON
        if j >= 0:
            if signs[j] < 0:
                found[j] = _forget(rows, j, found[j], entries)
            elif signs[j] > 0:
                found[j] = _remembered(rows, j, found[j], numbers, entries)
            else:  # nobody asks for it again
                found[j] = take_entry(numbers, entries)


@kernel(void(int8[::1], int64[::1], ENTRIES, int64[::1]))
def free_entries(signs, which, entries, numbers):
    """Give the places of those that have died, or are past, to others."""
    for i in range(signs.shape[0]):
        entry = which[i]
        if signs[i] <= 0 and entry >= 0:
            entries.lines[entry, NODE] = FREE
            entries.lines[entry, AFTER] = numbers[ENTRY_FREE]
            numbers[ENTRY_FREE] = entry


@kernel(void(ENTRIES, int64))
def index_entries(entries, stop):
    """Find the entries before ``stop`` by their rows, with heads that are new."""
    for entry in range(stop):
        if entries.lines[entry, NODE] > FREE:
            remember(entry, entries)


# -- entries that have moved -----------------------------------------------------------------------------------------


@kernel(void(ENTRIES, NODES, int64[::1], int64[::1]))
def moved(entries, nodes, which, places):
    """These entries have moved: what was at a place is where ``places`` says, and so are those that it is linked to."""
    for i in range(which.shape[0]):
        entry = which[i]
        node = entries.lines[entry, NODE]
        if node < 0:
            continue  # it is linked to nothing
        for side in (BEFORE, AFTER):
            if entries.lines[entry, side] >= 0:
                entries.lines[entry, side] = places[entries.lines[entry, side]]
        if entries.lines[entry, BEFORE] < 0:
            nodes.lines[node, FIRST_ENTRY] = entry
