"""Joining: from the entries of one ring into the chains, or over the whole, of another.

Both kernels append each match straight into the ring above, with the source's key. They stop when that ring is
full and are called again with the same cursor and list: ``cursor`` holds the next source id, the end of the source
range, and how far the work at hand has come.

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

from stairs.kernel import kernel, part
from stairs.lanes import any_below, consecutive, copy_all
from stairs.layout import (
    BASE,
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

BLOCK = 512
"""Source entries that take their steps together."""

PROBE = nb.int64(STATE, STATE, STATE, LONGS, LONGS, RECORDS, LONGS, RECORDS)


@part
def bucket(low, high, shift):
    """Fibonacci hashing of the 64-bit key: the top bits of a product."""
    key = (np.uint64(np.uint32(high)) << np.uint64(32)) | np.uint64(np.uint32(low))
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


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
        orec, _, oevents, ometa = out
        smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
        sources = own if own > 0 else srec.shape[1] - ROWS
        targets = other if other > 0 else trec.shape[1] - ROWS
        tlow, tbase, shift = np.int32(tmeta[LOW]), np.int32(tmeta[BASE]), tmeta[SHIFT]
        sbase, obase, tail = smeta[BASE], ometa[BASE], ometa[TAIL]
        end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
        leaf = targets == 1
        # Wide composites whose streams, or places, follow each other are tested, and copied, many columns at once.
        tested = own == 0 and targets >= 4 and consecutive(streams, 0, targets)
        ours = own == 0 and sources >= 4 and consecutive(place, 0, sources)
        others = own == 0 and targets >= 4 and consecutive(place, sources, sources + targets)
        swidth, twidth, width, owidth = srec.shape[1], trec.shape[1], marks.shape[1], orec.shape[1]
        stream, newest = np.uint64(streams[0]), marks.shape[0] - 1
        i, stop, active = cursor[0], cursor[1], cursor[2]
        while i < stop or active > 0:
            if active == 0:
                upto = min(i + BLOCK, stop)
                for entry in range(i, upto):
                    s = np.uint64(entry & smask)
                    found = theads[np.uint64(bucket(srec[s, KEY_LOW], srec[s, KEY_HIGH], shift))]
                    prefetch(trec, np.int64(found & tmask))
                    offset = np.int32(entry - sbase)
                    waiting[0, np.uint64(active)], waiting[1, np.uint64(active)] = offset, found
                    here = np.int32(found - tlow) >= 0
                    if ordered:
                        here &= sevents[np.uint64(offset)] >= 0  # a row that is not kept finds nothing
                    active += np.int64(here)
                i = upto
            taken, left = min(active, end - tail), 0
            if taken == 0 and active > 0:
                cursor[0], cursor[2], ometa[TAIL] = i, active, tail
                return 0
            for a in range(taken):
                offset, found = waiting[0, a], waiting[1, a]
                s, t = np.uint64((sbase + offset) & smask), np.uint64(found & tmask)
                event, age = sevents[np.uint64(offset)], np.int32(found - tbase)
                theirs = tevents[np.uint64(max(age, 0))]
                theirs = theirs if age >= 0 else np.int32(-1)
                if ordered:
                    moment = np.uint64(event)
                else:
                    moment = np.uint64(min(np.int64(max(event, theirs)) + 1, newest))
                floor = marks[moment, stream]
                if tested:
                    behind = -any_below(
                        trec,
                        np.int64(t) * twidth + ROWS,
                        marks,
                        np.int64(moment) * width + np.int64(stream),
                        targets,
                    )
                else:
                    behind = np.int32(trec[t, ROWS] - floor)
                    for j in range(1, targets):
                        behind |= np.int32(trec[t, ROWS + j] - marks[moment, np.uint64(streams[j])])
                if not ordered:
                    for j in range(sources):
                        behind |= np.int32(srec[s, ROWS + j] - marks[moment, np.uint64(streams[targets + j])])
                low, high = srec[s, KEY_LOW], srec[s, KEY_HIGH]
                same = (trec[t, KEY_LOW] == low) & (trec[t, KEY_HIGH] == high)
                match = same & (behind >= 0) & (theirs < event if ordered else True)
                following = trec[t, NEXT]
                prefetch(trec, np.int64(following & tmask))
                o = np.uint64(tail & omask)
                orec[o, KEY_LOW], orec[o, KEY_HIGH], orec[o, NEXT] = low, high, np.int32(tail)
                if ours:
                    copy_all(
                        orec, np.int64(o) * owidth + place[0], srec, np.int64(s) * swidth + ROWS, sources
                    )
                else:
                    for j in range(sources):
                        orec[o, np.uint64(place[j])] = srec[s, ROWS + j]
                if others:
                    at = np.int64(o) * owidth + place[sources]
                    copy_all(orec, at, trec, np.int64(t) * twidth + ROWS, targets)
                else:
                    for j in range(targets):
                        orec[o, np.uint64(place[sources + j])] = trec[t, ROWS + j]
                oevents[np.uint64(tail - obase)] = event if ordered else max(event, theirs)
                tail += np.int64(match)
                # The ids of a leaf are its rows, in order: there the first dead row ends the chain.
                alive = np.int32(following - tlow) >= 0
                if ordered:
                    alive &= (np.int32(following - floor) >= 0) | (not leaf)
                waiting[0, np.uint64(left)], waiting[1, np.uint64(left)] = offset, following
                left += np.int64(alive)
            for a in range(taken, active):
                waiting[0, left], waiting[1, left] = waiting[0, a], waiting[1, a]
                left += 1
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
