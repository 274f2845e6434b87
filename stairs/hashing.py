"""The one way in which keys are hashed: pieces for kernels.

`mixed` is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, with Stafford's constants): whichever bit of
a number changes, each bit of the other changes with a chance of one half. `salted` makes it a family of independent
functions. `stir` takes in a key of many words at one multiplication a word, from `unstirred` on.

What these return never changes: a checkpoint of a streaming query on Spark has its rows where they said, and goes on
under a later version. Tables in memory use others, which take in what only this process knows (`secret`), so that no
keys can be chosen that share a place: `seeded` for one number, `seeded_pair` for two, and `feed`, from `unfed` on, for
many. Chains do with less, `bucket_of`: they are looked up for every row, and use the top bits of a product alone.
Snapshots have no hashes in them.
"""

from __future__ import annotations

import numpy as np

from stairs.kernel import part
from stairs.layout import LANE_BITS
from stairs.lowlevel.secret import folded, multiplier, secret

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: multiples of it are spread evenly."""
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

_HALF = np.uint64(32)


@part
def mixed(number):
    """All 64 bits of a number spread over all bits of another; no two numbers have the same."""
    h = np.uint64(number)
    h = (h ^ (h >> np.uint64(30))) * FIRST
    h = (h ^ (h >> np.uint64(27))) * SECOND
    return h ^ (h >> np.uint64(31))


@part
def salted(number, salt):
    """The same with one of many functions; also the hash of a pair of numbers, neither of which is in place of both."""
    return mixed(np.uint64(number) + (np.uint64(salt) + np.uint64(1)) * GOLDEN)


@part
def unstirred(length):
    """The running hash of a key of this length, before its first word: keys of several lengths should differ in it."""
    return np.uint64(length) * SECOND


@part
def stir(h, word):
    """The running hash ``h`` of a key with one more word. To be used whole, it is `mixed` at the end."""
    h = (np.uint64(h) ^ np.uint64(word)) * FIRST
    return h ^ (h >> _HALF)


@part
def share_of(h, parts):
    """Which of so many ``parts``, fewer than 2**32, a hash belongs to: each gets the same share of all hashes."""
    return np.int64(((h >> _HALF) * np.uint64(parts)) >> _HALF)


@part
def seeded(number):
    """`mixed`, by a function that only this process knows."""
    return mixed(np.uint64(number) ^ secret())


@part
def seeded_pair(one, other):
    """The same for two numbers."""
    return mixed(seeded(one) + np.uint64(other))


@part
def unfed(length):
    """`unstirred`, by a function that only this process knows."""
    return (np.uint64(length) * SECOND) ^ secret()


@part
def feed(h, word):
    """`stir`, likewise. A change of some bits of a word makes no change of the hash that another word could undo."""
    return folded(np.uint64(h) ^ np.uint64(word), multiplier())


@part
def bucket_of(key, shift):
    """The top bits of a product, as many as ``SHIFT`` says (see `layout`): Fibonacci hashing (Knuth, section 6.4) with
    a factor that only this process knows.

    Any two keys share a place with a chance of about two in the number of places, over all factors (Dietzfelbinger and
    others, J. Algorithms 25, 1997), and numbers that follow each other, such as the codes of strings, hardly ever do.
    """
    top = np.int64((np.uint64(key) * multiplier()) >> np.uint64(shift & 63))
    return top & (np.int64(-1) << (shift >> LANE_BITS))


@part
def bucket(low, high, shift):
    """`bucket_of` for a key in two halves."""
    return bucket_of((np.uint64(np.uint32(high)) << _HALF) | np.uint64(np.uint32(low)), shift)
