"""The directory of a chain of set differences: an entry for each key in use, with its list of base rows."""

from __future__ import annotations

from numba import int32, int64, uint64, void

from eddy.difference.layout import COUNTS, DIRECTORY, HASH, HEAD, INTS, LINKS, NEXT, STAMP, UNLINKED
from stairs.hashing import feed, mixed, unfed
from stairs.kernel import kernel, part


@part
def entry_of(directory, column, width):
    """The entry of the key of ``width`` words that is sought, made if there is none."""
    heads, entries, use = directory.heads, directory.entries, directory.use[0]
    halves = use.keys
    hashed = unfed(width)
    for w in range(width):
        hashed = feed(hashed, directory.sought[w])
    hashed = mixed(hashed)
    bucket = int64(hashed & uint64(heads.shape[1] - 1))
    entry = int64(heads[column, bucket])
    while entry >= 0:
        same = True
        for w in range(width):
            word = directory.sought[w]
            same &= entries[entry, halves + 2 * w] == int32(word)
            same &= entries[entry, halves + 2 * w + 1] == int32(word >> 32)
        if same:
            return entry
        entry = int64(entries[entry, NEXT])
    entry = use.vacant
    if entry >= 0:
        use.vacant = entries[entry, NEXT]
    else:
        entry = use.used
        use.used += 1
    for at in range(COUNTS, halves):
        entries[entry, at] = 0
    for w in range(width):
        word = directory.sought[w]
        entries[entry, halves + 2 * w], entries[entry, halves + 2 * w + 1] = int32(word), int32(word >> 32)
    entries[entry, HASH], entries[entry, HEAD], entries[entry, STAMP] = int32(hashed), -1, use.orders
    entries[entry, NEXT] = heads[column, bucket]
    heads[column, bucket] = entry
    return entry


@part
def give_up(directory, column, entry):
    """Make an entry vacant if no row needs it any more."""
    heads, entries, use = directory.heads, directory.entries, directory.use[0]
    if entries[entry, HEAD] >= 0:
        return
    for at in range(COUNTS, use.keys):
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
    entries[entry, NEXT] = use.vacant
    use.vacant = entry


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
        directory.entries[entry, HEAD] = older
        if older < 0:
            give_up(directory, column, entry)
    records[slot, at] = UNLINKED


@kernel(void(DIRECTORY, DIRECTORY, INTS))
def move_entries(old, new, moved):
    """Fill a new, empty directory of another size; `moved` gets the new number of each entry."""
    heads, entries, use = new.heads, new.entries, new.use[0]
    for column in range(old.heads.shape[0]):
        for bucket in range(old.heads.shape[1]):
            entry = int64(old.heads[column, bucket])
            while entry >= 0:
                to = use.used
                use.used += 1
                moved[entry] = to
                for at in range(entries.shape[1]):
                    entries[to, at] = old.entries[entry, at]
                into = int64(entries[to, HASH]) & (heads.shape[1] - 1)
                entries[to, NEXT] = heads[column, into]
                heads[column, into] = to
                entry = int64(old.entries[entry, NEXT])
