"""Loops over sorted runs. No checks: see `sorted_index`.

Runs lie one behind the other in `values` and `rows`, the oldest first, each ascending by value. Run k is in
`runs[0, k]:runs[0, k + 1]`, and `runs[1, k]` is its newest row.
"""

from __future__ import annotations

import numpy as np

from stairs.kernel import kernel


@kernel(
    "int64(float64[::1], int64[::1], int64[:, ::1], int64, int64, float64[::1], int64[::1])",
    makes_arrays=True,
)
def add_run(values, rows, runs, count, low, new_values, new_rows):
    """Append a sorted run, then merge from the end until every run is over twice its successor.

    Returns the number of runs, `count` before. Rows below `low` are dropped from what is merged.
    """
    bounds, newest = runs[0], runs[1]
    end = bounds[count]
    newest[count] = new_rows[0]
    for i in range(new_values.shape[0]):
        values[end + i] = new_values[i]
        rows[end + i] = new_rows[i]
        newest[count] = max(newest[count], new_rows[i])
    count += 1
    bounds[count] = end + new_values.shape[0]
    while count > 1:
        start, middle, end = bounds[count - 2], bounds[count - 1], bounds[count]
        if middle - start > 2 * (end - middle):
            break
        upper_values = np.empty(end - middle, np.float64)
        upper_rows = np.empty(end - middle, np.int64)
        b = 0
        for i in range(middle, end):
            if rows[i] >= low:
                upper_values[b] = values[i]
                upper_rows[b] = rows[i]
                b += 1
        a = start
        for i in range(start, middle):
            if rows[i] >= low:
                values[a] = values[i]
                rows[a] = rows[i]
                a += 1
        # From the top down: what is overwritten has been copied, so only the upper run needs room.
        to = a + b
        count -= 1
        bounds[count] = to
        newest[count - 1] = max(newest[count - 1], newest[count])
        while b > 0:
            to -= 1
            if a > start and values[a - 1] > upper_values[b - 1]:
                a -= 1
                values[to] = values[a]
                rows[to] = rows[a]
            else:
                b -= 1
                values[to] = upper_values[b]
                rows[to] = upper_rows[b]
    return count


@kernel(
    "int64(float64[::1], int64[::1], int64[::1], int64, float64[::1], float64[::1], int64[::1],"
    " int64[:, ::1])",
    makes_arrays=True,
)
def find(values, rows, bounds, low, lower, upper, at, pairs):
    """Write the pairs (probe, row) with lower <= value <= upper from `at` on, until `pairs` is full.

    `at` is (probe, run, position in the run or -1) and is left where the next call goes on, at the number
    of probes when there is nothing left. Returns the number of pairs. Rows below `low` are skipped.
    """
    limit = pairs.shape[1]
    probe, run, place = at[0], at[1], at[2]
    found = 0
    while probe < lower.shape[0]:
        most = upper[probe]
        while run < bounds.shape[0] - 1:
            end = bounds[run + 1]
            if place < 0:
                place = bounds[run]
                last = end
                least = lower[probe]
                while place < last:
                    middle = (place + last) >> 1
                    if values[middle] >= least:
                        last = middle
                    else:
                        place = middle + 1
                if not least <= most:  # also where one of them is NaN
                    place = end
            while place < end and values[place] <= most:
                if rows[place] >= low:
                    if found == limit:
                        at[0], at[1], at[2] = probe, run, place
                        return found
                    pairs[0, found] = probe
                    pairs[1, found] = rows[place]
                    found += 1
                place += 1
            run += 1
            place = -1
        probe += 1
        run = 0
    at[0], at[1], at[2] = probe, 0, -1
    return found
