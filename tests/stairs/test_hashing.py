"""One mixer for all hashes: what others rely on, and what must never change."""

from __future__ import annotations

import numba as nb
import numpy as np
import pyarrow as pa
import pytest

from eddy.partition.hash import add_coordinates, text_keys
from stairs.hashing import mixed, salted, share_of, stir, unstirred


@nb.njit
def _mix_all(numbers, out):
    for i in range(numbers.size):
        out[i] = np.int64(mixed(numbers[i]))


@nb.njit
def _pairs(ones, others, out):
    for i in range(ones.size):
        for j in range(others.size):
            out[i, j] = np.int64(salted(others[j], ones[i]))


@nb.njit
def _stirred(words):
    h = unstirred(words.size)
    for i in range(words.size):
        h = stir(h, words[i])
    return np.int64(mixed(h))


@nb.njit
def _shares(parts, out):
    for i in range(out.size):
        out[i] = share_of(mixed(i), parts)


NUMBERS = np.array([0, 1, -1, 2**62, -(2**63), 123456789])


@pytest.mark.parametrize(
    "salt, share, cells",
    [(0, 7, [6, 3, 6, 0, 1, 0]), (1, 1000, [431, 745, 912, 739, 767, 478]), (3, 4, [3, 1, 1, 1, 1, 2])],
)
def test_a_key_stays_in_its_cell_from_version_to_version(salt, share, cells):
    """The state of a streaming query lies where an earlier version has sent its rows."""
    found = np.zeros(len(NUMBERS), np.int64)
    add_coordinates(NUMBERS, salt, share, 1, found)
    assert found.tolist() == cells


def test_a_text_has_the_same_number_in_every_version():
    """For the same reason: shorter than a word, one word, and longer."""
    texts = ["", "a", "eddy", "eightbyt", "longer than eight bytes", "ünïcode"]
    assert text_keys(pa.array(texts)).tolist() == [
        0,
        -4440034950108951290,
        5773699534376607951,
        4336046815915670103,
        80833736167103738,
        5707001147033827096,
    ]


def test_every_bit_of_a_number_changes_half_of_its_hash():
    """For numbers that follow each other, as keys often do."""
    numbers = np.arange(2000)
    whole, other = np.empty(2000, np.int64), np.empty(2000, np.int64)
    _mix_all(numbers, whole)
    assert len(np.unique(whole)) == 2000
    for bit in range(64):
        _mix_all(numbers ^ np.int64(np.uint64(1 << bit).astype(np.int64)), other)
        changed = np.unpackbits((whole ^ other).view(np.uint8)).mean()
        assert 0.48 < changed < 0.52, bit


def test_pairs_of_small_numbers_do_not_collide():
    """Neither number stands for both, and the order counts."""
    small, out = np.arange(-300, 300), np.empty((600, 600), np.int64)
    _pairs(small, small, out)
    assert len(np.unique(out)) == out.size
    assert not (out == out.T)[~np.eye(600, dtype=bool)].any()


def test_keys_of_several_words_differ():
    """In their words, their order and their number."""
    keys = [(), (0,), (0, 0), (1,), (1, 0), (0, 1), (2**63 - 1, -1), (-1, 2**63 - 1)]
    assert len({_stirred(np.array(key, np.int64)) for key in keys}) == len(keys)


def test_parts_get_equal_shares():
    """Of the hashes of consecutive numbers, for a number of parts that is no power of two."""
    out = np.empty(70_000, np.int64)
    _shares(7, out)
    assert np.bincount(out).tolist() == pytest.approx([10_000] * 7, rel=0.04)
