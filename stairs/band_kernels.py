"""Loops over bands: between which bounds must a value lie, and does it? No checks: see `sorted_index`.

For every probe and band there are four numbers, ``ranges[probe, band]``: a value outside the first two does not satisfy
the band; one within the last two surely does; of what lies between, float64 cannot tell, and the caller decides. So
rounding costs a second look at the very edge of a band, and never a match.

The values of rows are lines of a ``table`` of rings: line ``lines[k]`` is what band k asks for, row r is in slot
``r & mask`` of it. Bands are tested in the ``order`` given.
"""

from __future__ import annotations

import numpy as np

from stairs.kernel import kernel, part

WHOLE = 2.0**53
"""Below this every whole number is a float64."""
SLACK = 2.0**-46
"""A sum is off by a few parts in 2**53 of its largest term, which stays well below this."""
SAFE = 2.0**61
"""Up to this no sum of two integers leaves int64: beyond it, one that does is NULL, and nothing is sure."""

ENOUGH = 64
"""Rows that are looked at for a probe that wants to know whether there is one at all."""

BAND, UPPER, STRICT, EXACT, FIRST, LAST = range(6)
"""Columns of ``bounds``: which band it ends, on which side; whether the end itself is out; whether float64 is exact for
it; and its terms."""


@part
def limit_range(ranges, probe, bounds, i, total, size):
    """Let bound i, whose sum is ``total`` of terms that are ``size`` together, limit the range of its band."""
    k, upper = bounds[i, BAND], bounds[i, UPPER] != 0
    way = 1.0 if upper else -1.0
    if np.isnan(size):  # compared with NULL, or with NaN
        outer, inner = -way * np.inf, -way * np.inf
    elif size > SAFE:
        outer, inner = total + way * size * SLACK, -way * np.inf
        if np.isnan(outer) or np.isinf(size):
            outer = way * np.inf
    elif bounds[i, EXACT] != 0 and size < WHOLE:
        outer = total if bounds[i, STRICT] == 0 else np.nextafter(total, -way * np.inf)
        inner = outer
    else:
        outer = total + way * size * SLACK
        inner = np.nextafter(total - way * size * SLACK, -way * np.inf)
    if upper:
        ranges[probe, k, 1], ranges[probe, k, 3] = (
            min(ranges[probe, k, 1], outer),
            min(ranges[probe, k, 3], inner),
        )
    else:
        ranges[probe, k, 0], ranges[probe, k, 2] = (
            max(ranges[probe, k, 0], outer),
            max(ranges[probe, k, 2], inner),
        )


@part
def first_at_least(values, place, end, least):
    """The first place from ``place`` to ``end`` whose value is at least this."""
    while place < end:
        middle = (place + end) >> 1
        if values[middle] >= least:
            end = middle
        else:
            place = middle + 1
    return place


@kernel("void(float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[::1], int64[::1], float64[:, :, ::1])")
def find_ranges(values, bounds, constants, signs, terms, ranges):
    """Set ``ranges``. A bound is its constant and ``signs[t] * values[terms[t], probe]`` for each of its terms t.

    A constant may be the sum of several, which have a size: the sum of their magnitudes, ``constants[i, 1]``.
    """
    for probe in range(ranges.shape[0]):
        for k in range(ranges.shape[1]):
            ranges[probe, k, 0], ranges[probe, k, 1] = -np.inf, np.inf
            ranges[probe, k, 2], ranges[probe, k, 3] = -SAFE, SAFE
        for i in range(bounds.shape[0]):
            total, size = constants[i, 0], constants[i, 1]
            for t in range(bounds[i, FIRST], bounds[i, LAST]):
                value = signs[t] * values[terms[t], probe]
                total += value
                size += abs(value)
            limit_range(ranges, probe, bounds, i, total, size)


@part
def verdict(ranges, probe, order, lines, table, slot):
    """2 if the row in this slot surely satisfies all bands, 1 if it may, 0 if it does not."""
    sure = 2
    for i in range(order.shape[0]):
        k = order[i]
        value = table[lines[k], slot]
        if not ranges[probe, k, 0] <= value <= ranges[probe, k, 1]:
            return 0
        if not ranges[probe, k, 2] <= value <= ranges[probe, k, 3]:
            sure = 1
    return sure


@kernel(
    "int64(int64, int64, float64[:, ::1], int64[::1], int64[::1], float64[:, :, ::1], int64[::1], int64[:, ::1])"
)
def scan(low, tail, table, lines, order, ranges, at, pairs):
    """Write (probe, row, verdict) for all rows from ``low`` to ``tail`` that may satisfy all bands.

    It goes on from ``at``, which is (probe, row or -1, 0, pairs looked at), until ``pairs`` is full, and leaves there
    where the next call goes on: at the number of probes when there is nothing left. Returns the number of pairs.
    """
    mask, limit = table.shape[1] - 1, pairs.shape[1]
    probe, row, found = at[0], at[1], 0
    while probe < ranges.shape[0]:
        if row < 0:
            row = low
            at[3] += tail - low
        while row < tail:
            sure = verdict(ranges, probe, order, lines, table, row & mask)
            if sure != 0:
                if found == limit:
                    at[0], at[1] = probe, row
                    return found
                pairs[0, found], pairs[1, found], pairs[2, found] = probe, row, sure
                found += 1
            row += 1
        probe += 1
        row = -1
    at[0], at[1] = probe, -1
    return found


@kernel(
    "int64(float64[::1], int64[::1], int64[::1], int64, float64[:, ::1], int64[::1], int64[::1], float64[:, :, ::1],"
    " int64[::1], int64[:, ::1])"
)
def find_within(values, rows, runs, low, table, lines, order, ranges, at, pairs):
    """Do as `scan` does with the rows of sorted runs: only rows in the range of the first band are looked at.

    Runs are those of `sorted_kernels`, by the value that band ``order[0]`` asks for. ``at`` is (probe, run, position in
    the run or -1, pairs looked at); rows below ``low`` are skipped.
    """
    mask, limit, first = table.shape[1] - 1, pairs.shape[1], order[0]
    probe, run, place, found = at[0], at[1], at[2], 0
    while probe < ranges.shape[0]:
        least, most = ranges[probe, first, 0], ranges[probe, first, 1]
        while run < runs.shape[0] - 1 and least <= most:
            end = runs[run + 1]
            if place < 0:
                place = first_at_least(values, runs[run], end, least)
            while place < end and values[place] <= most:
                row = rows[place]
                if row >= low:
                    sure = verdict(ranges, probe, order, lines, table, row & mask)
                    if sure != 0:
                        if found == limit:
                            at[0], at[1], at[2] = probe, run, place
                            return found
                        pairs[0, found], pairs[1, found], pairs[2, found] = probe, row, sure
                        found += 1
                    at[3] += 1
                place += 1
            run += 1
            place = -1
        probe += 1
        run, place = 0, -1
    at[0], at[1], at[2] = probe, 0, -1
    return found


@kernel(
    "void(float64[::1], int64[::1], int64[::1], int64, float64[:, ::1], int64[::1], int64[::1], float64[:, :, ::1],"
    " uint8[::1])"
)
def find_some(values, rows, runs, low, table, lines, order, ranges, found):
    """Set ``found[probe]`` to 1 if a row from ``low`` on may satisfy all bands, else to 0; also to 1 where more than
    ENOUGH rows lie in the range of the first band. All else is as in `find_within`."""
    mask, first = table.shape[1] - 1, order[0]
    for probe in range(ranges.shape[0]):
        least, most = ranges[probe, first, 0], ranges[probe, first, 1]
        run, steps, there = 0, 0, False
        while run < runs.shape[0] - 1 and least <= most and not there:
            end = runs[run + 1]
            place = first_at_least(values, runs[run], end, least)
            while place < end and values[place] <= most and not there:
                if rows[place] >= low:
                    there = verdict(ranges, probe, order, lines, table, rows[place] & mask) != 0
                steps += 1
                there |= steps > ENOUGH
                place += 1
            run += 1
        found[probe] = there


@kernel("void(int64, int64, int64, float64[:, ::1], int64[::1], float64[:, :, ::1], int64[::1])")
def sample(tried, low, live, table, lines, ranges, passed):
    """Of ``tried`` pairs of a probe and a row, spread over all of both, count for each band those that may satisfy it.

    The counts are added to ``passed``. ``live`` rows from ``low`` on.
    """
    mask, probes = table.shape[1] - 1, ranges.shape[0]
    scatter = np.uint64(0x9E3779B97F4A7C15)
    state = np.uint64(low + live)
    for _ in range(tried):
        state += scatter
        mixed = (state ^ (state >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        row = low + np.int64((mixed >> np.uint64(32)) % np.uint64(live))
        probe = np.int64((mixed & np.uint64(0xFFFFFFFF)) % np.uint64(probes))
        for k in range(ranges.shape[1]):
            value = table[lines[k], row & mask]
            if ranges[probe, k, 0] <= value <= ranges[probe, k, 1]:
                passed[k] += 1


@kernel("void(int64[::1], float64[:, ::1], int64[::1], float64[:, :, ::1], uint8[::1])")
def decide(rows, table, lines, ranges, verdicts):
    """For each probe and the one row that belongs to it: 2 if that surely satisfies all bands, 1 if it may, else 0."""
    mask = table.shape[1] - 1
    for i in range(rows.shape[0]):
        sure = 2
        for k in range(ranges.shape[1]):
            value = table[lines[k], rows[i] & mask]
            if not ranges[i, k, 0] <= value <= ranges[i, k, 1]:
                sure = 0
                break
            if not ranges[i, k, 2] <= value <= ranges[i, k, 3]:
                sure = 1
        verdicts[i] = sure
