"""The tables of a stage after a restart: rows and composites that are known, brought in again."""

from __future__ import annotations

from numba import int64, uint8, void

from eddy.attachments.layout import (
    ENTRIES,
    NEWEST,
    NODE,
    NODES,
    NONE,
    ROW_BEFORE,
    ROW_HELD,
    ROW_LIVE,
    ROW_NEXT,
    ROW_NODE,
    ROWS,
)
from eddy.attachments.table_kernels import join_node
from stairs.kernel import kernel


@kernel(void(ROWS, NODES, int64[::1], int64[::1], int64))
def bring_rows(rows, nodes, numbers, found, low):
    """The rows that are held come again, at their nodes; those from ``low`` on are live."""
    mask = rows.links.shape[0] - 1
    for row in range(numbers[ROW_HELD], numbers[ROW_NEXT]):
        node, slot = found[row - numbers[ROW_HELD]], row & mask
        rows.links[slot, ROW_NODE] = node
        if node >= 0:
            rows.links[slot, ROW_BEFORE] = nodes.lines[node, NEWEST]
            nodes.lines[node, NEWEST] = row
    numbers[ROW_LIVE] = low


@kernel(void(ENTRIES, NODES, int64[::1], int64[::1], uint8[::1]))
def bring_entries(entries, nodes, which, found, settled):
    """Composites come again, at their nodes; those that are settled look for no partner."""
    for i in range(which.shape[0]):
        entry = which[i]
        entries.lines[entry, NODE] = NONE
        if found[i] >= 0 and not settled[i]:
            join_node(entry, found[i], entries, nodes)
