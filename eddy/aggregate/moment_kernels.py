"""Kernels of VARIANCE and STDDEV: the exact sums of values and of their squares, and what they come to.

As for sums (`sum_kernels`), a value is a whole multiple of the least one, so that its square is one of the least
one's square. Both sums are long integers in digits of 32 bits, of which what is withdrawn leaves no trace. With n
values the variance is (n * squares - sum * sum) / (n * n), or n * (n - 1) in the place of the last: a quotient of long
integers, rounded once.
"""

from __future__ import annotations

import numpy as np
from numba import types

from eddy.aggregate.sum_kernels import LEAST, carry, divided, magnitude
from stairs.kernel import kernel, part

COUNT, VARIANCE, NOTHING, ODD = range(4)
"""Places in a group's state: the number of its values, their variance bit by bit, nothing, and how many of the values
are infinite or NaN."""
MORE = 6
"""Digits behind the point of the first of two quotients: with them a last bit of the second is above all rounding."""

_DIGIT = (1 << 32) - 1
_EXPONENT_MASK = 0x7FF
_FRACTION_BITS = 52
_FRACTION = (1 << 52) - 1

_starts = types.int32[::1]
_weights = types.int8[::1]
_words = types.int64[::1]
_rows = types.int64[:, ::1]


@part
def _place(digits, k, number, shift, weight):
    """Add a number of 64 bits, shifted by up to 31, to digits from the k-th on."""
    upper = number >> (np.uint64(32) - shift)
    digits[k] += weight * np.int64((number << shift) & np.uint64(_DIGIT))
    digits[k + 1] += weight * np.int64(upper & np.uint64(_DIGIT))
    digits[k + 2] += weight * np.int64(upper >> np.uint64(32))


@part
def _add(number, exponent, weight, negative, sums, squares):
    """Add a value, which is a number shifted by an exponent, and its square to the digits of a group."""
    shift = exponent & 31
    _place(sums, exponent >> 5, number, np.uint64(shift), -weight if negative else weight)
    low, high = number & np.uint64(_DIGIT), number >> np.uint64(32)
    k, shift = (exponent >> 5) * 2 + (shift >> 4), np.uint64((2 * shift) & 31)
    _place(squares, k, low * low, shift, weight)
    _place(squares, k + 1, low * high, shift, 2 * weight)
    _place(squares, k + 2, high * high, shift, weight)


@part
def _times(digits, k, one, other, sign):
    """Add the product of two digits to the k-th and the next."""
    product = np.uint64(one) * np.uint64(other)
    digits[k] += sign * np.int64(product & np.uint64(_DIGIT))
    digits[k + 1] += sign * np.int64(product >> np.uint64(32))


@kernel(types.float64(_words, _words, types.int64, types.int64, types.int64, _words))
def _variance(sums, squares, count, divisor, exponent, work):
    """The variance of `count` values, whose sum of squares is divided by `divisor` instead of it in the end.

    `exponent` is the power of two of the first digit of the squares. `work` is as long as these, and MORE + 4.
    """
    lowest = carry(sums)
    carry(squares)
    work[:] = 0
    first = MORE + 1
    for k in range(squares.size):
        _times(work, first + k, squares[k], count & _DIGIT, 1)
        _times(work, first + k + 1, squares[k], count >> 32, 1)
    for i in range(sums.size):
        one = magnitude(sums, i, lowest) if lowest >= 0 else np.int64(0)
        if one != 0:
            for j in range(sums.size):
                _times(work, first + i + j, one, magnitude(sums, j, lowest), -1)
    carry(work)
    over, n = np.uint64(0), np.uint64(count)
    for k in range(work.size - 1, 0, -1):
        digit, found = np.uint64(work[k]), np.uint64(0)
        for half in (digit >> np.uint64(16), digit & np.uint64(0xFFFF)):
            over = (over << np.uint64(16)) | half
            found = (found << np.uint64(16)) | (over // n)
            over %= n
        work[k] = np.int64(found)
    work[0] = np.int64(over != np.uint64(0))  # what is left counts as something, however little
    return divided(work, carry(work), exponent - 32 * first, divisor)


@part
def _enter(kind, word, weight, low, sums, squares, state):
    """Count a value, given bit by bit, and add it to the digits of a group. `kind`: 0 int64, 1 uint64, 2 a float."""
    state[COUNT] += weight
    if kind < 2:
        negative = kind == 0 and word < 0
        number = np.uint64(0) - np.uint64(word) if negative else np.uint64(word)
        _add(number, np.int64(0), weight, negative, sums, squares)
        return
    exponent = (word >> _FRACTION_BITS) & _EXPONENT_MASK
    if exponent == _EXPONENT_MASK:
        state[ODD] += weight
    elif word << 1 != 0:
        number = np.uint64(word & _FRACTION)
        if exponent > 0:
            number |= np.uint64(1 << _FRACTION_BITS)
            exponent -= 1
        _add(number, exponent - 32 * low, weight, word < 0, sums, squares)


@kernel(
    types.void(
        _starts,
        _starts,
        _weights,
        _words,
        types.int64,
        types.int64,
        types.boolean,
        _rows,
        _rows,
        types.float64[:, ::1],
        _rows,
        _rows,
    ),
    makes_arrays=True,
)
def add_moments(starts, slots, weights, words, kind, low, sample, sums, squares, shown, state, out):
    """Let values of groups come and go, and write count and variance before and after each touch.

    The first arguments are those of the kernels in `sum_kernels`. `kind` says what the words are (`_enter`), `low` is
    the first digit of floats' sums. `sample`: the squares are divided by the count less one. `shown` is the state.
    """
    work = np.empty(squares.shape[1] + MORE + 4, np.int64)
    unit = np.int64(0) if kind < 2 else 2 * (32 * low + LEAST)
    for v in range(slots.size):
        slot = slots[v]
        for j in range(3):
            out[2 * v, j] = state[slot, j]
        for i in range(starts[v], starts[v + 1]):
            if weights[i] != 0:
                weight = np.int64(weights[i])
                _enter(kind, words[i], weight, low, sums[slot], squares[slot], state[slot])
        count = state[slot, COUNT]
        found = 0.0
        if state[slot, ODD] > 0:
            found = np.nan
        elif count > np.int64(sample):
            found = _variance(sums[slot], squares[slot], count, count - np.int64(sample), unit, work)
        else:  # sums of one value are as they are, but their digits are brought to 32 bits
            carry(sums[slot])
            carry(squares[slot])
        shown[slot, VARIANCE] = found
        for j in range(3):
            out[2 * v + 1, j] = state[slot, j]
