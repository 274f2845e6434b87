"""Joining: from the entries of one ring into the chains, or over the whole, of another.

Both kernels append each match straight into the ring above, with the source's key. They stop when that ring is
full and are called again with the same cursor and list: ``cursor`` holds the next source id, the end of the source
range, and how far the work at hand has come; and it counts candidates.

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

from stairs.chains import AHEAD, NEAR
from stairs.hashing import bucket_of
from stairs.kernel import kernel, part
from stairs.layout import BASE, KEY_HIGH, KEY_LOW, LONGS, LOW, NEXT, RECORDS, ROWS, SHIFT, STATE, TAIL
from stairs.lowlevel.flat import ask, get, get_key, put, put_key
from stairs.match_kernels import behind, shape_of, source_behind, write_link, write_rows

BLOCK = 512
"""Source entries that take their steps together."""

LINKING, STEPS, MISSED = 4, 5, 6
"""Fields of a cursor after those of the probe at hand: whether matches are linked; how many candidates were looked at;
and how many of them came with this portion and were no match, most of them because they come later than the source's
event. The longer a portion, the more of these (see `sequence_kernels`)."""
CURSOR = 7
"""Fields of the cursor of a probe."""

PROBE = nb.int64(STATE, STATE, STATE, LONGS, LONGS, RECORDS, LONGS, RECORDS)


@part
def ask_for_record(records, start, width, wide):
    """Ask for a record before it is needed; if it is ``wide`` it may reach over two lines of the cache.

    Chains lead to records in no order, and a mispredicted end of a chain keeps the processor from looking ahead. Those
    of a block that are asked for at once arrive together.
    """
    ask(records, start)
    if wide:
        ask(records, start + width - 1)


@part
def enter_block(source, target, out, widths, start, stop, linking, ordered, wide, waiting):
    """List the source entries start..stop whose buckets are not empty, with the newest entry of the bucket; how many.

    Every entry is written, and stays if it counts: no branch has to be guessed. ``widths``: numbers of a record of the
    source, and of one of the target, which is ``wide`` or not.
    """
    srec, _, sevents, smeta = source
    trec, theads, _, tmeta = target
    smask, tmask = srec.shape[0] - 1, trec.shape[0] - 1
    tlow, tshift, sbase, oshift = np.int32(tmeta[LOW]), tmeta[SHIFT], smeta[BASE], out[3][SHIFT]
    far, second, active = theads.shape[0] > NEAR, waiting.shape[1], 0
    for entry in range(start, stop):
        if far:  # past the end it may be any record, which does no harm
            later = get_key(srec, ((entry + AHEAD) & smask) * widths[0])
            ask(theads, bucket_of(later, tshift))
        key = get_key(srec, (entry & smask) * widths[0])
        found = get(theads, bucket_of(key, tshift))
        ask_for_record(trec, np.int64(found & tmask) * widths[1], widths[1], wide)
        put(waiting, active, np.int32(entry - sbase))
        put(waiting, second + active, found)
        here = np.int32(found - tlow)
        if linking:
            ask(out[1], bucket_of(key, oshift))
        if ordered:
            here |= get(sevents, entry - sbase)  # a row that is not kept finds nothing
        active += np.int64(here >= 0)
    return active


@part
def close_up(waiting, left, start, stop):
    """Move what was not reached of the list, start..stop, to behind those that are left; how many these are then."""
    for a in range(start, stop):
        waiting[0, left], waiting[1, left] = waiting[0, a], waiting[1, a]
        left += 1
    return left


def probing(own: int, other: int, ordered: bool) -> Any:
    """The probe from entries of ``own`` streams into STAIRs of ``other``; 0: of any number.

    With fixed numbers the compiler unrolls the loops over components, which take most of the time otherwise. Where one
    side is a stream, as in every left-deep plan, half of these loops are gone, however many streams the other has.
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
        trec, _, tevents, tmeta = target
        orec, oheads, oevents, ometa = out
        smask, tmask, omask = srec.shape[0] - 1, trec.shape[0] - 1, orec.shape[0] - 1
        sources = own if own > 0 else srec.shape[1] - ROWS
        targets = other if other > 0 else trec.shape[1] - ROWS
        swidth, twidth, owidth = ROWS + sources, ROWS + targets, ROWS + sources + targets
        widths = swidth, twidth
        linking, oshift, olow = cursor[LINKING] != 0, ometa[SHIFT], np.int32(ometa[LOW])
        tlow, tbase, sbase = np.int32(tmeta[LOW]), np.int32(tmeta[BASE]), smeta[BASE]
        obase, tail = ometa[BASE], ometa[TAIL]
        end = min(ometa[LOW] + orec.shape[0], obase + oevents.shape[0])
        width, newest, second = marks.shape[1], marks.shape[0] - 1, waiting.shape[1]
        shape = shape_of(place, streams, sources, targets, own, other)
        i, stop, active, wide = cursor[0], cursor[1], cursor[2], other == 0
        steps, missed = np.int64(0), np.int64(0)
        while i < stop or active > 0:
            if active == 0:
                upto = min(i + BLOCK, stop)
                active = enter_block(source, target, out, widths, i, upto, linking, ordered, wide, waiting)
                i = upto
            if tail == end and active > 0:
                cursor[0], cursor[2], ometa[TAIL] = i, active, tail
                cursor[STEPS] += steps
                cursor[MISSED] += missed
                return 0
            left, a = 0, 0
            while a < active and tail < end:
                offset, found = np.int64(get(waiting, a)), get(waiting, second + a)
                s = ((sbase + offset) & smask) * swidth
                key, event = get_key(srec, s), get(sevents, offset)
                t, age = np.int64(found & tmask) * twidth, np.int32(found - tbase)
                older = age >> np.int32(31)  # all bits are 1 if it is of an earlier batch, else all are 0
                theirs = get(tevents, np.int64(age & ~older)) | older
                latest = event if ordered else max(event, theirs)
                moment = np.int64(latest) * width if ordered else min(np.int64(latest) + 1, newest) * width
                floor = get(marks, moment + shape.stream[0])
                dead = behind(trec, t, marks, moment, floor, streams, shape, other)
                if not ordered:
                    dead |= source_behind(srec, s, marks, moment, streams, shape)
                match = (get_key(trec, t) == key) & (dead >= 0) & (theirs < event if ordered else True)
                found = get(trec, t + NEXT)
                ask_for_record(trec, np.int64(found & tmask) * twidth, twidth, wide)
                o = (tail & omask) * owidth
                put_key(orec, o, key)
                write_link(orec, o, oheads, key, oshift, olow, tail, linking, match)
                write_rows(orec, o, srec, s, trec, t, place, shape, own, other)
                put(oevents, tail - obase, latest)
                tail += np.int64(match)
                missed -= np.int64(~older & np.int32(np.int32(match) - np.int32(1)))
                # The ids of a leaf are its rows, in order: there the first dead row ends the chain.
                alive = np.int32(found - tlow)
                if ordered and targets == 1:
                    alive |= np.int32(found - floor)
                put(waiting, left, np.int32(offset))
                put(waiting, second + left, found)
                left += np.int64(alive >= 0)
                a += 1
            steps += a
            active = close_up(waiting, left, a, active)
        cursor[0], cursor[2], ometa[TAIL] = i, 0, tail
        cursor[STEPS] += steps
        cursor[MISSED] += missed
        return 1

    return probe


SHAPES = (1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (0, 1), (1, 0), (0, 0)
ARRIVING = {(own, other): probing(own, other, True) for own, other in SHAPES}
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
            cursor[STEPS] += ttail - found
            cursor[MISSED] += ttail - max(found, tbase)
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
                            cursor[STEPS] -= ttail - found
                            cursor[MISSED] -= ttail - max(found, tbase)
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


def shape_for(sources: int, targets: int) -> tuple[int, int]:
    """Which of SHAPES a probe from entries of so many streams into STAIRs of so many has."""
    fits = ((own, other) for own, other in SHAPES if own in (sources, 0) and other in (targets, 0))
    return next(fits)


def join_for(sources: int, targets: int, nested: bool, ordered: bool) -> Any:
    """The kernel that joins entries of so many streams with STAIRs of so many."""
    if nested:
        return SCAN_ARRIVING if ordered else SCAN_FILLING
    return ARRIVING[shape_for(sources, targets)] if ordered else FILLING
