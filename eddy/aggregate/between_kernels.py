"""Kernels of quantiles: the number between two others, rounded once.

At a rank of r / d between two values it is (lower * (d - r) + upper * r) / d. Both products are whole multiples of what
floats are multiples of, so the quotient is one of long integers, as that of a mean (`sum_kernels`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from eddy.aggregate.sum_kernels import LEAST, carry, divided
from stairs.kernel import kernel, part

_DIGIT = (1 << 32) - 1
_EXPONENT_MASK = 0x7FF
_FRACTION_BITS = 52
_FRACTION = (1 << 52) - 1
_DIGITS = 70
"""Enough for every float, times less than 2 ** 31."""

_words = types.int64[::1]
_floats = types.float64[::1]


@part
def _add_float(digits, low, bits, weight):
    exponent, number = (bits >> _FRACTION_BITS) & _EXPONENT_MASK, np.uint64(bits & _FRACTION)
    if exponent > 0:
        number |= np.uint64(1 << _FRACTION_BITS)
        exponent -= 1
    if bits < 0:
        weight = -weight
    k, shift = (exponent >> 5) - low, np.uint64(exponent & 31)
    upper = number >> (np.uint64(32) - shift)
    digits[k] += weight * np.int64((number << shift) & np.uint64(_DIGIT))
    digits[k + 1] += weight * np.int64(upper & np.uint64(_DIGIT))
    digits[k + 2] += weight * np.int64(upper >> np.uint64(32))


@part
def _digit(bits):
    """The first digit that a float needs."""
    return max(((bits >> _FRACTION_BITS) & _EXPONENT_MASK) - 1, 0) >> 5


@kernel(types.void(_floats, _floats, _words, _words, _words, types.int64, _floats), makes_arrays=True)
def between_floats(lower, upper, lower_bits, upper_bits, rests, denominator, out):
    """What lies at so many parts of `denominator` between two floats, which are given as bits too."""
    work = np.empty(_DIGITS, np.int64)
    for i in range(lower.size):
        low, high, rest = lower[i], upper[i], rests[i]
        if rest == 0 or low == high:
            out[i] = low + 0.0
        elif math.isfinite(low) and math.isfinite(high):
            first = min(_digit(lower_bits[i]), _digit(upper_bits[i]))
            digits = work[: max(_digit(lower_bits[i]), _digit(upper_bits[i])) - first + 4]
            digits[:] = 0
            _add_float(digits, first, lower_bits[i], denominator - rest)
            _add_float(digits, first, upper_bits[i], rest)
            out[i] = divided(digits, carry(digits), 32 * first + LEAST, denominator)
        else:
            out[i] = low + high if low + high == low + high else np.nan  # one NaN, bit by bit


@kernel(types.void(_words, _words, types.boolean, _words, types.int64, _floats), makes_arrays=True)
def between_integers(lower, upper, unsigned, rests, denominator, out):
    """The same of integers of 64 bits; `unsigned` says that they are uint64, bit by bit."""
    digits = np.empty(4, np.int64)
    for i in range(lower.size):
        digits[:] = 0
        for value, weight in ((lower[i], denominator - rests[i]), (upper[i], rests[i])):
            digits[0] += weight * (value & _DIGIT)
            digits[1] += weight * ((value >> 32) & _DIGIT if unsigned else value >> 32)
        out[i] = divided(digits, carry(digits), 0, denominator)
