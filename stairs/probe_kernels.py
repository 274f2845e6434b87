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
    INTS,
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

PROBE = nb.int64(STATE, STATE, STATE, LONGS, LONGS, RECORDS, INTS, nb.int64, LONGS)


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


@nb.njit(nb.boolean(RECORDS, nb.uint64, LONGS, INTS), inline="always", **KERNEL)
def is_live_at(records, slot, streams, marks):
    """Whether all components of an entry are live at these marks."""
    for j in range(streams.shape[0]):
        if np.int32(records[slot, ROWS + j] - marks[np.uint64(streams[j])]) < 0:
            return False
    return True


@nb.njit(PROBE, **KERNEL)
def probe(source, target, out, place, streams, marks, last, ordered, cursor):
    """Follow the chain of each source entry's key; 1 when done, 0 when ``out`` is full.

    Liveness first against the last marks of the batch, all components at once by the sign of an OR; only entries
    that die within the batch are compared with the marks of their event.
    """
    srec, _, sevents, smeta = source
    trec, theads, tevents, tmeta = target
    orec, _, oevents, ometa = out
    smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
    sources, targets = srec.shape[1] - ROWS, trec.shape[1] - ROWS
    tlow, tbase, shift = np.int32(tmeta[LOW]), np.int32(tmeta[BASE]), tmeta[SHIFT]
    sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
    end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
    straight = in_line(place, sources)
    floor = np.empty(targets, np.int32)
    for j in range(targets):
        floor[j] = last[streams[j]]
    i, found, resumed = cursor[0], np.int32(cursor[2]), cursor[3]
    while i < cursor[1]:
        s = np.uint64(i & smask)
        event = sevents[np.uint64(i - sbase)]
        low, high = srec[s, KEY_LOW], srec[s, KEY_HIGH]
        if resumed == 0:
            found = theads[np.uint64(bucket(low, high, shift))]
        resumed = 0
        while np.int32(found - tlow) >= 0:
            t = np.uint64(found & tmask)
            following = trec[t, NEXT]
            if trec[t, KEY_LOW] == low and trec[t, KEY_HIGH] == high:
                theirs = np.int32(-1)
                if np.int32(found - tbase) >= 0:
                    theirs = tevents[np.uint64(np.int32(found - tbase))]
                if theirs < event or ordered == 0:
                    behind = np.int32(0)
                    for j in range(targets):
                        behind |= np.int32(trec[t, ROWS + j] - floor[j])
                    if behind >= 0 or is_live_at(trec, t, streams, marks[np.uint64(event * ordered)]):
                        if tail == end:
                            cursor[0], cursor[2], cursor[3] = i, found, 1
                            ometa[TAIL] = tail
                            return 0
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
                        tail += 1
                    elif targets == 1:
                        break  # rows of one stream hang in their chain in order: all that follow are older
            found = following
        i += 1
    cursor[0], cursor[3] = i, 0
    ometa[TAIL] = tail
    return 1


@nb.njit(PROBE, **KERNEL)
def scan(source, target, out, place, streams, marks, last, ordered, cursor):
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
