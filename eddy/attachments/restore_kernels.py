"""The tables of a stage after a restart: rows and composites that are known, brought in again."""

from __future__ import annotations

from numba import int64, uint8, void

from eddy.attachments.layout import (
    ENTRIES,
    HELD,
    LIVE,
    NODES,
    NONE,
    ROW_HELD,
    ROW_LIVE,
    ROW_NEXT,
    ROWS,
)
from eddy.attachments.table_kernels import join_node, next_entry, node_of, remember, take_entry
from stairs.kernel import kernel


@kernel(void(ROWS, NODES, int64[::1], int64[:, ::1], uint8[::1], int64))
def bring_rows(rows, nodes, numbers, keys, valid, low):
    """The rows that are held come again, by their keys; those from ``low`` on are live."""
    mask = rows.nodes.shape[0] - 1
    for row in range(numbers[ROW_HELD], numbers[ROW_NEXT]):
        i, slot, node = row - numbers[ROW_HELD], row & mask, int64(NONE)
        if valid[i]:
            node = node_of(keys, i, nodes, numbers)
            rows.before[slot] = nodes.newest[node]
            nodes.newest[node] = row
            nodes.links[node, HELD] += 1
            if row >= low:
                nodes.links[node, LIVE] += 1
        rows.nodes[slot] = node
    numbers[ROW_LIVE] = low


@kernel(void(ENTRIES, NODES, int64[::1], int64[:, ::1], uint8[::1], uint8[::1]))
def bring_entries(entries, nodes, numbers, keys, valid, settled):
    """Composites come again, whose rows stand in the first entries; those that are settled look for no partner."""
    for i in range(keys.shape[0]):
        entry = next_entry(numbers)
        take_entry(entry, entries, numbers)
        if valid[i] and not settled[i]:
            join_node(entry, node_of(keys, i, nodes, numbers), entries, nodes)
        remember(entry, entries)
