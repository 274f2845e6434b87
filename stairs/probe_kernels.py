"""Joining: from the entries of one ring into the chains, or over the whole, of another.

Both kernels append each match straight into the ring above, with the source's key. They stop when that ring is
full and are called again with the same cursor and list: ``cursor`` holds the next source id, the end of the source
range, and how far the work at hand has come.

With ``cursor[LINKING]`` a probe also puts each match into the chain of its key, as `key_kernels.link` does: while the
record is at hand, instead of in a second pass.

``ordered`` kernels are for arriving entries: a match must be older than the source's latest event and live at it, so
that each pair is found once, from its later side. ``marks[e]`` are the low-water rows at event e.

The others fill holes: every pair counts whose rows are all live at its latest event. (One that is not can never be
part of a result, and with many streams there are a great many of them.) There ``marks[0]`` are the low-water rows
before the batch, ``marks[1 + e]`` those at event e, the last line serves for all events after, and ``streams`` are
those of the target and then those of the source.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from stairs.flat import get, get_key, put, put_key
from stairs.kernel import kernel, part
from stairs.lanes import any_below, consecutive, copy_all
from stairs.layout import (
    BASE,
    KEY_HIGH,
    KEY_LOW,
    LANE_BITS,
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

BLOCK, FEW = 512, 3
"""Source entries that take their steps together; when so few are left, each goes to the end of its chain at once."""

AHEAD, NEAR = 64, 1 << 16
"""How far ahead bucket heads are asked for; no more than NEAR of them are in the cache anyway."""

LINKING = 4
"""The field of a cursor that says whether matches are linked."""

PROBE = nb.int64(STATE, STATE, STATE, LONGS, LONGS, RECORDS, LONGS, RECORDS)


@part
def bucket_of(key, shift):
    """Fibonacci hashing of a 64-bit key: the top bits of a product, as many as ``SHIFT`` says (see `layout`)."""
    top = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift & 63))
    return top & (np.int64(-1) << (shift >> LANE_BITS))


@part
def bucket(low, high, shift):
    """The same for a key in two halves."""
    return bucket_of((np.uint64(np.uint32(high)) << np.uint64(32)) | np.uint64(np.uint32(low)), shift)


@part
def following(older, low):
    """Where a link to ``older`` leads: no further back than just below the low-water id ``low``.

    So that a 32-bit id cannot come round and look live again. This is ``low + max(older - low, -1)`` without a branch,
    which could not be predicted: compilers make one of ``max``.
    """
    ahead = np.int32(older - low)
    return np.int32(low + (ahead | (ahead >> np.int32(31))))


def probing(own: int, other: int, ordered: bool) -> Any:
    """The probe from entries of ``own`` streams into STAIRs of ``other``; 0 and 0: of any number.

    With fixed numbers the compiler unrolls the loops over components, which take most of the time otherwise.
    """

    @kernel(PROBE, f"probe_{own}_{other}_{'arriving' if ordered else 'filling'}")
    def probe(source, target, out, place, streams, marks, cursor, waiting):
        """Follow the chains of the source entries' keys; 1 when done, 0 when ``out`` is full.

        How long a chain is and which of its entries match cannot be predicted, so there is no branch on either. A block
        of source entries takes one step along all its chains at a time: ``waiting`` lists the source entry and the
        candidate of those that are not at their end, and is closed up as they reach it. Short composites are written in
        any case, and the tail moves on if it was a match. All loads of a round are independent of each other.
        """
        srec, _, sevents, smeta = source
        trec, theads, tevents, tmeta = target
        orec, oheads, oevents, ometa = out
        smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
        linking, oshift, olow = cursor[LINKING] != 0, ometa[SHIFT], np.int32(ometa[LOW])
        fixed = own > 0
        sources = own if fixed else srec.shape[1] - ROWS
        targets = other if fixed else trec.shape[1] - ROWS
        swidth, twidth, owidth, width = (
            ROWS + sources,
            ROWS + targets,
            ROWS + sources + targets,
            marks.shape[1],
        )
        tlow, tbase, shift = np.int32(tmeta[LOW]), np.int32(tmeta[BASE]), tmeta[SHIFT]
        sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
        end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
        far = theads.shape[0] > NEAR
        first, newest, second, leaf = streams[0], marks.shape[0] - 1, waiting.shape[1], targets == 1
        # What a loop stores might be these, for all that the compiler knows, so they are read once, here.
        last = sources + targets - 1
        place0, place1, place2, place3 = (
            place[0],
            place[min(1, last)],
            place[min(2, last)],
            place[min(3, last)],
        )
        stream1, stream2 = streams[min(1, targets - 1)], streams[min(2, targets - 1)]
        # Wide composites whose streams, or places, follow each other are tested, and copied, many columns at once.
        tested = not fixed and targets >= 4 and consecutive(streams, 0, targets)
        ours = not fixed and sources >= 4 and consecutive(place, 0, sources)
        others = not fixed and targets >= 4 and consecutive(place, sources, sources + targets)
        i, stop, active = cursor[0], cursor[1], cursor[2]
        while i < stop or active > 0:
            if active == 0:
                upto = min(i + BLOCK, stop)
                for entry in range(i, upto):
                    if far:  # past the end it may be any record, which does no harm
                        later = get_key(srec, ((entry + AHEAD) & smask) * swidth)
                        prefetch(theads, bucket_of(later, shift))
                    key = get_key(srec, (entry & smask) * swidth)
                    found = get(theads, bucket_of(key, shift))
                    prefetch(trec, np.int64(found & tmask))
                    offset = np.int32(entry - sbase)
                    put(waiting, active, offset)
                    put(waiting, second + active, found)
                    here = np.int32(found - tlow)
                    if linking:
                        prefetch(oheads, bucket_of(key, oshift))
                    if ordered:
                        here |= get(sevents, np.int64(offset))  # a row that is not kept finds nothing
                    active += np.int64(here >= 0)
                i = upto
            if tail == end and active > 0:
                cursor[0], cursor[2], ometa[TAIL] = i, active, tail
                return 0
            few, left, a = active <= FEW, 0, 0
            while a < active and tail < end:
                offset, found = np.int64(get(waiting, a)), get(waiting, second + a)
                s = ((sbase + offset) & smask) * swidth
                key, event = get_key(srec, s), get(sevents, offset)
                while True:
                    t, age = np.int64(found & tmask) * twidth, np.int32(found - tbase)
                    older = age >> np.int32(31)  # all bits are 1 if it is of an earlier batch, else all are 0
                    theirs = get(tevents, np.int64(age & ~older)) | older
                    if ordered:
                        moment = np.int64(event) * width
                    else:
                        moment = min(np.int64(max(event, theirs)) + 1, newest) * width
                    floor = get(marks, moment + first)
                    if tested:
                        behind = -any_below(trec, t + ROWS, marks, moment + first, targets)
                    else:
                        behind = np.int32(get(trec, t + ROWS) - floor)
                        if fixed and other >= 2:
                            behind |= np.int32(get(trec, t + ROWS + 1) - get(marks, moment + stream1))
                        if fixed and other >= 3:
                            behind |= np.int32(get(trec, t + ROWS + 2) - get(marks, moment + stream2))
                        if not fixed:
                            for j in range(1, targets):
                                behind |= np.int32(get(trec, t + ROWS + j) - get(marks, moment + streams[j]))
                    if not ordered:
                        for j in range(sources):
                            behind |= np.int32(
                                get(srec, s + ROWS + j) - get(marks, moment + streams[targets + j])
                            )
                    match = (get_key(trec, t) == key) & (behind >= 0) & (theirs < event if ordered else True)
                    older_one = get(trec, t + NEXT)
                    prefetch(trec, np.int64(older_one & tmask))
                    o = (tail & omask) * owidth
                    put_key(orec, o, key)
                    if linking:
                        head = bucket_of(key, oshift)
                        first_one = get(oheads, head)
                        put(orec, o + NEXT, following(first_one, olow))
                        put(oheads, head, np.int32(tail) if match else first_one)
                    else:
                        put(orec, o + NEXT, np.int32(tail))
                    if fixed:
                        put(orec, o + place0, get(srec, s + ROWS))
                        if own >= 2:
                            put(orec, o + place1, get(srec, s + ROWS + 1))
                        if own >= 3:
                            put(orec, o + place2, get(srec, s + ROWS + 2))
                        put(orec, o + (place1, place2, place3)[own - 1], get(trec, t + ROWS))
                        if other >= 2:
                            put(orec, o + place2, get(trec, t + ROWS + 1))
                        if other >= 3:
                            put(orec, o + place3, get(trec, t + ROWS + 2))
                    else:
                        if ours:
                            copy_all(orec, o + place0, srec, s + ROWS, sources)
                        else:
                            for j in range(sources):
                                put(orec, o + place[j], get(srec, s + ROWS + j))
                        if others:
                            copy_all(orec, o + place[sources], trec, t + ROWS, targets)
                        else:
                            for j in range(targets):
                                put(orec, o + place[sources + j], get(trec, t + ROWS + j))
                    put(oevents, tail - obase, event if ordered else max(event, theirs))
                    tail += np.int64(match)
                    # The ids of a leaf are its rows, in order: there the first dead row ends the chain.
                    alive = np.int32(older_one - tlow)
                    if ordered and leaf:
                        alive |= np.int32(older_one - floor)
                    if not few or alive < 0 or tail == end:
                        break
                    found = older_one
                put(waiting, left, np.int32(offset))
                put(waiting, second + left, older_one)
                left += np.int64(alive >= 0)
                a += 1
            while a < active:
                waiting[0, left], waiting[1, left] = waiting[0, a], waiting[1, a]
                left, a = left + 1, a + 1
            active = left
        cursor[0], cursor[2], ometa[TAIL] = i, 0, tail
        return 1

    return probe


ARRIVING = {
    (own, other): probing(own, other, True) for own, other in ((1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (0, 0))
}
FILLING = probing(0, 0, False)


def scanning(ordered: bool) -> Any:
    """The same by nested loops: every source entry with every entry of the target."""

    @kernel(PROBE, f"scan_{'arriving' if ordered else 'filling'}")
    def scan(source, target, out, place, streams, marks, cursor, waiting):
        """The same by nested loops: compare each source entry with every entry of the target."""
        srec, _, sevents, smeta = source
        trec, _, tevents, tmeta = target
        orec, _, oevents, ometa = out
        smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
        sources, targets = srec.shape[1] - ROWS, trec.shape[1] - ROWS
        tlow, tbase, ttail = tmeta[LOW], tmeta[BASE], tmeta[TAIL]
        sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
        end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
        i, resumed, newest = cursor[0], cursor[3], marks.shape[0] - 1
        while i < cursor[1]:
            s = np.uint64(i & smask)
            event = sevents[np.uint64(i - sbase)]
            low, high = srec[s, KEY_LOW], srec[s, KEY_HIGH]
            found = cursor[2] if resumed == 1 else tlow
            if ordered and event < 0:
                found = ttail  # a row that is not kept finds nothing
            resumed = 0
            while found < ttail:
                t = np.uint64(found & tmask)
                if trec[t, KEY_LOW] == low and trec[t, KEY_HIGH] == high and trec[t, NEXT] != np.int32(found):
                    theirs = tevents[np.uint64(found - tbase)] if found >= tbase else np.int32(-1)
                    live = theirs < event if ordered else True
                    moment = np.int64(event) if ordered else min(np.int64(max(event, theirs)) + 1, newest)
                    for j in range(targets if live else 0):
                        live &= (
                            np.int32(trec[t, ROWS + j] - marks[np.uint64(moment), np.uint64(streams[j])]) >= 0
                        )
                    if not ordered:
                        for j in range(sources):
                            stream = np.uint64(streams[targets + j])
                            live &= np.int32(srec[s, ROWS + j] - marks[np.uint64(moment), stream]) >= 0
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

    return scan


SCAN_ARRIVING, SCAN_FILLING = scanning(True), scanning(False)


def join_for(sources: int, targets: int, nested: bool, ordered: bool) -> Any:
    """The kernel that joins entries of so many streams with STAIRs of so many."""
    if nested:
        return SCAN_ARRIVING if ordered else SCAN_FILLING
    return ARRIVING.get((sources, targets), ARRIVING[0, 0]) if ordered else FILLING
