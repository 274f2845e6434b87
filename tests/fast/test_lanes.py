"""Many columns at once give what one after the other gives, for every number of columns from four on."""

from __future__ import annotations

import numba as nb
import numpy as np
import pytest

from stairs.kernel import kernel
from stairs.layout import LONGS, RECORDS
from stairs.lowlevel.bits import BITS, count_bits, first_bit
from stairs.lowlevel.lanes import any_below, consecutive, copy_all


@kernel(nb.int32(RECORDS, nb.int64, RECORDS, nb.int64, nb.int64))
def some_below(ones, one, others, other, count):
    return any_below(ones, one, others, other, count)


@kernel(nb.int64(nb.uint64))
def lowest(number):
    return first_bit(number)


@kernel(nb.int64(nb.uint64))
def counted(number):
    return count_bits(number)


@kernel(nb.void(RECORDS, nb.int64, RECORDS, nb.int64, nb.int64))
def copied(to, there, start, here, count):
    copy_all(to, there, start, here, count)


@kernel(nb.boolean(LONGS, nb.int64, nb.int64))
def counts_up(numbers, start, stop):
    return consecutive(numbers, start, stop)


@pytest.mark.parametrize("count", range(4, 30))
def test_every_number_of_columns(count):
    random = np.random.default_rng(count)
    for _ in range(100):
        ones = random.integers(0, 3 * count, (3, count + 5)).astype(np.int32)
        others = random.integers(0, 3, (3, count + 7)).astype(np.int32)
        one, other = random.integers(0, 10, 2).tolist()
        a, b = ones.ravel()[one : one + count], others.ravel()[other : other + count]
        assert bool(some_below(ones, one, others, other, count)) == bool((a < b).any())
        to = np.full_like(ones, -1)
        wanted = to.copy()
        wanted.ravel()[other : other + count] = a
        copied(to, other, ones, one, count)
        assert np.array_equal(to, wanted)


def test_numbers_are_compared_by_their_difference():
    newest = np.array([[-(2**31) + 5] * 8], np.int32)
    older = np.array([[2**31 - 5] * 8], np.int32)
    assert not some_below(newest, 0, older, 0, 8)
    assert some_below(older, 0, newest, 0, 8)


def test_the_first_bit_of_a_number_and_how_many_there_are():
    for place in range(BITS):
        above = (1 << BITS) - (1 << place)
        assert lowest(1 << place) == lowest(above) == place
        assert counted(above) == BITS - place
    assert counted(0) == 0


def test_consecutive():
    numbers = np.array([7, 2, 3, 4, 6])
    assert counts_up(numbers, 1, 4)
    assert counts_up(numbers, 4, 5)
    assert not counts_up(numbers, 0, 4)
    assert not counts_up(numbers, 1, 5)
