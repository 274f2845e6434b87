"""Joining: from the entries of one ring into the chains, or over the whole, of another.

Both kernels append each match straight into the ring above, with the source's key. They stop when that ring is
full and are called again with the same cursor: ``cursor`` holds the next source id, the end of the source range,
the id within the chain and whether that id is set.

``ordered`` is 1 for arriving entries: a match must be older than the source's latest event and live at it, so that
each pair is found once, from its later side. With 0 (filling a hole) every pair counts that is live at ``marks[0]``.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from stairs.layout import (
    BASE,
    KERNEL,
    KEY_HIGH,
    KEY_LOW,
    LONGS,
    LOW,
    NEXT,
    RECORDS,
    ROWS,
    SHIFT,
    STATE,
    TAIL,
)
from stairs.prefetch import prefetch

SHORT = 6
"""Streams of a composite that is cheaper to write in vain than to branch over."""

BLOCK = 32
"""Source entries whose first candidates are asked for at once."""

PROBE = nb.int64(STATE, STATE, STATE, LONGS, LONGS, RECORDS, nb.int64, LONGS)


@nb.njit(nb.int64(nb.int32, nb.int32, nb.int64), inline="always", **KERNEL)
def bucket(low, high, shift):
    """Fibonacci hashing of the 64-bit key: the top bits of a product."""
    key = (np.uint64(np.uint32(high)) << np.uint64(32)) | np.uint64(np.uint32(low))
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


@nb.njit(nb.boolean(LONGS, nb.int64), inline="always", **KERNEL)
def in_line(place, sources):
    """Whether the source's components stand at the front of the composite, in order: then they are copied in one go."""
    for j in range(sources):
        if place[j] != ROWS + j:
            return False
    return True


@nb.njit(PROBE, **KERNEL)
def probe(source, target, out, place, streams, marks, ordered, cursor):
    """Follow the chain of each source entry's key; 1 when done, 0 when ``out`` is full.

    Whether a candidate matches cannot be predicted, so there is no branch on it: short composites are written in any
    case, and the tail moves on if it was a match.
    """
    srec, _, sevents, smeta = source
    trec, theads, tevents, tmeta = target
    orec, _, oevents, ometa = out
    smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
    sources, targets = srec.shape[1] - ROWS, trec.shape[1] - ROWS
    tlow, tbase, shift = np.int32(tmeta[LOW]), np.int32(tmeta[BASE]), tmeta[SHIFT]
    sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
    end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
    straight, short = in_line(place, sources), sources + targets <= SHORT
    unordered = ordered == 0
    floor = np.empty(targets, np.int32)
    ahead = np.empty(BLOCK, np.int32)
    i, stop, known, first = cursor[0], cursor[1], cursor[0], cursor[0]
    while i < stop:
        if i == known:
            first, known = i, min(i + BLOCK, stop)
            for j in range(first, known):
                s = np.uint64(j & smask)
                ahead[np.uint64(j - first)] = theads[np.uint64(bucket(srec[s, KEY_LOW], srec[s, KEY_HIGH], shift))]
            for j in range(known - first):
                prefetch(trec, np.int64(ahead[j] & tmask))
        s, event = np.uint64(i & smask), sevents[np.uint64(i - sbase)]
        low, high = srec[s, KEY_LOW], srec[s, KEY_HIGH]
        moment = np.uint64(event * ordered)
        for j in range(targets):
            floor[j] = marks[moment, np.uint64(streams[j])]
        # The ids of a leaf are its rows: there the first dead row ends the chain.
        limit = floor[0] if targets == 1 and np.int32(floor[0] - tlow) > 0 else tlow
        found = ahead[np.uint64(i - first)]
        if cursor[3] == 1:
            found, cursor[3] = np.int32(cursor[2]), 0
        while np.int32(found - limit) >= 0:
            if tail == end:
                cursor[0], cursor[2], cursor[3] = i, found, 1
                ometa[TAIL] = tail
                return 0
            t = np.uint64(found & tmask)
            age = np.int32(found - tbase)
            theirs = tevents[np.uint64(max(age, 0))]
            theirs = theirs if age >= 0 else np.int32(-1)
            behind = np.int32(trec[t, ROWS] - floor[0])
            for j in range(1, targets):
                behind |= np.int32(trec[t, ROWS + j] - floor[j])
            same = (trec[t, KEY_LOW] == low) & (trec[t, KEY_HIGH] == high)
            match = same & (behind >= 0) & ((theirs < event) | unordered)
            found = trec[t, NEXT]
            if short or match:
                o = np.uint64(tail & omask)
                orec[o, KEY_LOW], orec[o, KEY_HIGH], orec[o, NEXT] = low, high, np.int32(tail)
                if straight:
                    for j in range(sources):
                        orec[o, ROWS + j] = srec[s, ROWS + j]
                else:
                    for j in range(sources):
                        orec[o, np.uint64(place[j])] = srec[s, ROWS + j]
                for j in range(targets):
                    orec[o, np.uint64(place[sources + j])] = trec[t, ROWS + j]
                oevents[np.uint64(tail - obase)] = max(event, theirs)
                tail += np.int64(match)
        i += 1
    cursor[0] = i
    ometa[TAIL] = tail
    return 1


@nb.njit(PROBE, **KERNEL)
def scan(source, target, out, place, streams, marks, ordered, cursor):
    """The same by nested loops: compare each source entry with every entry of the target."""
    srec, _, sevents, smeta = source
    trec, _, tevents, tmeta = target
    orec, _, oevents, ometa = out
    smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
    sources, targets = srec.shape[1] - ROWS, trec.shape[1] - ROWS
    tlow, tbase, ttail = tmeta[LOW], tmeta[BASE], tmeta[TAIL]
    sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
    end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
    i, resumed = cursor[0], cursor[3]
    while i < cursor[1]:
        s = np.uint64(i & smask)
        event = sevents[np.uint64(i - sbase)]
        low, high = srec[s, KEY_LOW], srec[s, KEY_HIGH]
        found = cursor[2] if resumed == 1 else tlow
        resumed = 0
        while found < ttail:
            t = np.uint64(found & tmask)
            if trec[t, KEY_LOW] == low and trec[t, KEY_HIGH] == high and trec[t, NEXT] != np.int32(found):
                theirs = tevents[np.uint64(found - tbase)] if found >= tbase else np.int32(-1)
                live = theirs < event or ordered == 0
                for j in range(targets):
                    row, stream = trec[t, ROWS + j], np.uint64(streams[j])
                    if live and np.int32(row - marks[np.uint64(event * ordered), stream]) < 0:
                        live = False
                if live:
                    if tail == end:
                        cursor[0], cursor[2], cursor[3] = i, found, 1
                        ometa[TAIL] = tail
                        return 0
                    o = np.uint64(tail & omask)
                    orec[o, KEY_LOW], orec[o, KEY_HIGH], orec[o, NEXT] = low, high, np.int32(tail)
                    for j in range(sources):
                        orec[o, np.uint64(place[j])] = srec[s, ROWS + j]
                    for j in range(targets):
                        orec[o, np.uint64(place[sources + j])] = trec[t, ROWS + j]
                    oevents[np.uint64(tail - obase)] = max(event, theirs)
                    tail += 1
            found += 1
        i += 1
    cursor[0], cursor[3] = i, 0
    ometa[TAIL] = tail
    return 1
