"""The directory of a chain of set differences: an entry for each key in use, with its list of base rows."""

from __future__ import annotations

from numba import int32, int64, uint64, void

from eddy.difference.layout import (
    COUNTS,
    DIRECTORY,
    HASH,
    HEAD,
    KEYS,
    LINKS,
    NEXT,
    ORDERS,
    STAMP,
    UNLINKED,
    USED,
    VACANT,
    part,
)
from stairs.hashing import stir
from stairs.kernel import kernel


@part
def entry_of(directory, column, width):
    """The entry of the key that the directory's numbers end with, made if there is none."""
    heads, entries, meta = directory
    first, halves = meta.shape[0] - width, meta[KEYS]
    hashed = uint64(0)
    for w in range(width):
        hashed = stir(hashed, meta[first + w])
    bucket = int64(hashed & uint64(heads.shape[1] - 1))
    entry = int64(heads[column, bucket])
    while entry >= 0:
        same = True
        for w in range(width):
            word = meta[first + w]
            same &= entries[entry, halves + 2 * w] == int32(word)
            same &= entries[entry, halves + 2 * w + 1] == int32(word >> 32)
        if same:
            return entry
        entry = int64(entries[entry, NEXT])
    entry = meta[VACANT]
    if entry >= 0:
        meta[VACANT] = entries[entry, NEXT]
    else:
        entry = meta[USED]
        meta[USED] += 1
    for at in range(COUNTS, halves):
        entries[entry, at] = 0
    for w in range(width):
        word = meta[first + w]
        entries[entry, halves + 2 * w], entries[entry, halves + 2 * w + 1] = int32(word), int32(word >> 32)
    entries[entry, HASH], entries[entry, HEAD], entries[entry, STAMP] = int32(hashed), -1, meta[ORDERS]
    entries[entry, NEXT] = heads[column, bucket]
    heads[column, bucket] = entry
    return entry


@part
def give_up(directory, column, entry):
    """Make an entry vacant if no row needs it any more."""
    heads, entries, meta = directory
    if entries[entry, HEAD] >= 0:
        return
    for at in range(COUNTS, meta[KEYS]):
        if entries[entry, at] != 0:
            return
    bucket = int64(entries[entry, HASH]) & (heads.shape[1] - 1)
    newer = int64(heads[column, bucket])
    if newer == entry:
        heads[column, bucket] = entries[entry, NEXT]
    else:
        while entries[newer, NEXT] != entry:
            newer = int64(entries[newer, NEXT])
        entries[newer, NEXT] = entries[entry, NEXT]
    entries[entry, NEXT] = meta[VACANT]
    meta[VACANT] = entry


@part
def link(records, entries, slot, column, entry):
    """Put a base row into the list of an entry."""
    at = LINKS + 3 * column
    older = int64(entries[entry, HEAD])
    records[slot, at], records[slot, at + 1], records[slot, at + 2] = entry, -1, older
    if older >= 0:
        records[older, at + 1] = slot
    entries[entry, HEAD] = slot


@part
def unlink(records, directory, slot, column):
    """Take a base row out of the list of its entry."""
    at = LINKS + 3 * column
    newer, older = int64(records[slot, at + 1]), int64(records[slot, at + 2])
    if older >= 0:
        records[older, at + 1] = newer
    if newer >= 0:
        records[newer, at + 2] = older
    else:
        entry = int64(records[slot, at])
        directory[1][entry, HEAD] = older
        if older < 0:
            give_up(directory, column, entry)
    records[slot, at] = UNLINKED


@kernel(void(DIRECTORY, DIRECTORY, int32[::1]))
def move_entries(old, new, moved):
    """Fill a new, empty directory of another size; `moved` gets the new number of each entry."""
    heads, entries, meta = new
    for column in range(old[0].shape[0]):
        for bucket in range(old[0].shape[1]):
            entry = int64(old[0][column, bucket])
            while entry >= 0:
                to = meta[USED]
                meta[USED] += 1
                moved[entry] = to
                for at in range(entries.shape[1]):
                    entries[to, at] = old[1][entry, at]
                into = int64(entries[to, HASH]) & (heads.shape[1] - 1)
                entries[to, NEXT] = heads[column, into]
                heads[column, into] = to
                entry = int64(old[1][entry, NEXT])
