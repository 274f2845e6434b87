"""Entries and nodes of a stage: pieces for its kernels, which find, link and free them."""

from __future__ import annotations

import numpy as np
from numba import int64, void

from eddy.attachments.layout import (
    AFTER,
    BEFORE,
    ENTRIES,
    ENTRY_FREE,
    ENTRY_NEXT,
    FIRST_ENTRY,
    HELD,
    LIVE,
    NEXT_NODE,
    NODE,
    NODE_FREE,
    NODE_NEXT,
    NODES,
    NONE,
    ROW_HELD,
    ROWS,
    SAME_HASH,
)
from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part


@part
def bucket_of(words, i, heads):
    """Where the chain of a line of words begins."""
    h = unfed(words.shape[1])
    for w in range(words.shape[1]):
        h = feed(h, words[i, w])
    return int64(mixed(h) & np.uint64(heads.shape[0] - 1))


@part
def alike(words, i, others, j):
    """Whether two lines are the same."""
    for w in range(words.shape[1]):
        if words[i, w] != others[j, w]:
            return False
    return True


@part
def node_of(keys, i, nodes, numbers):
    """The node of a key, made now if there is none."""
    bucket = bucket_of(keys, i, nodes.heads)
    node = int64(nodes.heads[bucket])
    while node >= 0 and not alike(keys, i, nodes.keys, node):
        node = nodes.links[node, NEXT_NODE]
    if node >= 0:
        return node
    node = numbers[NODE_FREE]
    if node >= 0:
        numbers[NODE_FREE] = nodes.links[node, NEXT_NODE]
    else:
        node = numbers[NODE_NEXT]
        numbers[NODE_NEXT] += 1
    for w in range(keys.shape[1]):
        nodes.keys[node, w] = keys[i, w]
    nodes.links[node, NEXT_NODE] = nodes.heads[bucket]
    nodes.links[node, FIRST_ENTRY] = NONE
    nodes.links[node, LIVE] = nodes.links[node, HELD] = 0
    nodes.newest[node] = NONE
    nodes.heads[bucket] = node
    return node


@part
def drop_if_empty(node, nodes, numbers):
    """Free a node that nobody needs."""
    if nodes.links[node, FIRST_ENTRY] >= 0 or nodes.links[node, HELD] > 0:
        return
    bucket = bucket_of(nodes.keys, node, nodes.heads)
    other = int64(nodes.heads[bucket])
    if other == node:
        nodes.heads[bucket] = nodes.links[node, NEXT_NODE]
    else:
        while nodes.links[other, NEXT_NODE] != node:
            other = nodes.links[other, NEXT_NODE]
        nodes.links[other, NEXT_NODE] = nodes.links[node, NEXT_NODE]
    nodes.links[node, NEXT_NODE] = numbers[NODE_FREE]
    numbers[NODE_FREE] = node


@part
def next_entry(numbers):
    """A free place, which is still free."""
    return numbers[ENTRY_FREE] if numbers[ENTRY_FREE] >= 0 else numbers[ENTRY_NEXT]


@part
def take_entry(entry, entries, numbers):
    """Take the next free place."""
    if numbers[ENTRY_FREE] >= 0:
        numbers[ENTRY_FREE] = entries.links[entry, AFTER]
    else:
        numbers[ENTRY_NEXT] += 1
    entries.links[entry, NODE] = NONE
    entries.links[entry, BEFORE] = entries.links[entry, AFTER] = NONE


@part
def free_entry(entry, entries, numbers):
    """Give its place to another."""
    entries.links[entry, NODE] = -2
    entries.links[entry, AFTER] = numbers[ENTRY_FREE]
    numbers[ENTRY_FREE] = entry


@part
def join_node(entry, node, entries, nodes):
    """The entry is the newest of the node's."""
    first = nodes.links[node, FIRST_ENTRY]
    entries.links[entry, NODE] = node
    entries.links[entry, AFTER] = first
    entries.links[entry, BEFORE] = NONE
    if first >= 0:
        entries.links[first, BEFORE] = entry
    nodes.links[node, FIRST_ENTRY] = entry


@part
def leave_node(entry, entries, nodes, numbers):
    """The entry is nobody's partner any more."""
    node = int64(entries.links[entry, NODE])
    if node < 0:
        return
    before, after = entries.links[entry, BEFORE], entries.links[entry, AFTER]
    if before >= 0:
        entries.links[before, AFTER] = after
    else:
        nodes.links[node, FIRST_ENTRY] = after
    if after >= 0:
        entries.links[after, BEFORE] = before
    entries.links[entry, NODE] = NONE
    drop_if_empty(node, nodes, numbers)


@part
def remember(entry, entries):
    """The entry can be found by its rows."""
    bucket = bucket_of(entries.rows, entry, entries.heads)
    entries.links[entry, SAME_HASH] = entries.heads[bucket]
    entries.heads[bucket] = entry


@part
def forget(rows, i, entries):
    """Find the entry of these rows, and let nobody find it again."""
    bucket = bucket_of(rows, i, entries.heads)
    entry, last = int64(entries.heads[bucket]), int64(NONE)
    while entry >= 0 and not alike(rows, i, entries.rows, entry):
        entry, last = int64(entries.links[entry, SAME_HASH]), entry
    if entry >= 0:
        if last < 0:
            entries.heads[bucket] = entries.links[entry, SAME_HASH]
        else:
            entries.links[last, SAME_HASH] = entries.links[entry, SAME_HASH]
    return entry


@kernel(void(ENTRIES, int64))
def index_entries(entries, stop):
    """Find the entries before ``stop`` by their rows, with heads that are new. Free places have no node: -2."""
    for entry in range(stop):
        if entries.links[entry, NODE] > -2:
            remember(entry, entries)


@kernel(void(NODES, int64))
def index_nodes(nodes, stop):
    """Find the nodes before ``stop`` by their keys, with heads that are new."""
    for node in range(stop):
        if nodes.links[node, HELD] > 0 or nodes.links[node, FIRST_ENTRY] >= 0:
            bucket = bucket_of(nodes.keys, node, nodes.heads)
            nodes.links[node, NEXT_NODE] = nodes.heads[bucket]
            nodes.heads[bucket] = node


@kernel(void(ROWS, NODES, int64[::1], int64))
def retire(rows, nodes, numbers, floor):
    """Rows before ``floor`` are held no longer."""
    mask = rows.nodes.shape[0] - 1
    for row in range(numbers[ROW_HELD], floor):
        node = int64(rows.nodes[row & mask])
        if node >= 0:
            nodes.links[node, HELD] -= 1
            drop_if_empty(node, nodes, numbers)
    numbers[ROW_HELD] = max(floor, numbers[ROW_HELD])
