"""Kernels that count and add up what comes and goes, exactly. See `accumulators`.

Each is called with the touches of a batch: `starts` and `slots` have a touch's first row and its group's slot,
`weights` and `values` are in order of touch; a weight is 1 for a value that comes, -1 for one that is withdrawn,
0 for NULL. `out` receives the first three words of the group's state twice a touch: before it, and after.

Integers are added in two words, 128 bits. Floats are integers too: each is a whole multiple of the least one,
2**-1074. So a sum of floats is one long integer, and what is withdrawn leaves no trace; it is rounded once, when
it is shown. So is a mean, which is that integer divided by the number of values. The long integer is kept in digits
of 32 bits, each in a word of 64, so that carries can wait until the end of a touch. All groups share one window of
digits, no wider than the values seen so far need.

A group without values has a state of zeros: its slot can be given to another group as it is.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from stairs.kernel import kernel, part

COUNT, LOW, HIGH = range(3)
"""Places in the state of an integer sum: the number of values, the lower and the upper word of the sum."""
MANTISSA, EXPONENT, POSITIVE, NEGATIVE, NANS = range(1, 6)
"""Further places in the state of a float sum: what the finite values add up to, as a mantissa of at most 63
bits whose last bit stands for all below it, and a power of two; and how many are inf, -inf and NaN."""
INFINITE = 3000
"""An exponent beyond all finite sums."""
UNDEFINED = 4000
"""The exponent of a sum that is NaN."""
LEAST = -1074
"""The power of two that all floats are whole multiples of."""

_DIGIT = (1 << 32) - 1
_EXPONENT_MASK = 0x7FF
_FRACTION_BITS = 52
_FRACTION = (1 << 52) - 1
_PRECISION = 53
_WHOLE = 1 << _PRECISION
"""Up to here every integer is a float."""
_SPREAD = 4
"""Digits for one value: it lies across three, and one more for the carries of billions of them."""

_starts = types.int32[::1]
_weights = types.int8[::1]
_words = types.int64[::1]
_rows = types.int64[:, ::1]


@part
def _write(state, slot, out, row):
    """Three words; as a loop, for an assignment of slices takes seconds to compile."""
    for j in range(3):
        out[row, j] = state[slot, j]


@kernel(types.void(_starts, _starts, _weights, _rows, _rows))
def count(starts, slots, weights, state, out):
    """Count the values that are not NULL."""
    for v in range(slots.size):
        slot = slots[v]
        out[2 * v, COUNT] = state[slot, COUNT]
        for i in range(starts[v], starts[v + 1]):
            state[slot, COUNT] += weights[i]
        out[2 * v + 1, COUNT] = state[slot, COUNT]


@kernel(types.void(_starts, _starts, _weights, _words, types.boolean, _rows, _rows))
def add_integers(starts, slots, weights, values, unsigned, state, out):
    """Add up integers of 64 bits in two words. `unsigned` says that the values are uint64, bit by bit."""
    for v in range(slots.size):
        slot = slots[v]
        _write(state, slot, out, 2 * v)
        number, high = state[slot, COUNT], state[slot, HIGH]
        low = np.uint64(state[slot, LOW])
        for i in range(starts[v], starts[v + 1]):
            value = np.uint64(values[i])
            extension = np.int64(values[i] < 0 and not unsigned)
            number += weights[i]
            if weights[i] > 0:
                low += value
                high += np.int64(low < value) - extension
            elif weights[i] < 0:
                high -= np.int64(low < value) - extension
                low -= value
        state[slot, COUNT], state[slot, LOW], state[slot, HIGH] = number, np.int64(low), high
        _write(state, slot, out, 2 * v + 1)


@kernel(types.UniTuple(types.int64, 2)(_weights, _words))
def digit_range(weights, bits):
    """The first digit that these floats need, and the one behind the last; (64, 0) where they need none."""
    low, high = np.int64(64), np.int64(0)
    for i in range(bits.size):
        exponent = (bits[i] >> _FRACTION_BITS) & _EXPONENT_MASK
        if weights[i] != 0 and exponent != _EXPONENT_MASK and bits[i] << 1 != 0:
            digit = max(exponent - 1, 0) >> 5
            low, high = min(low, digit), max(high, digit + _SPREAD)
    return low, high


@part
def magnitude(digits, k, lowest):
    """Digit k of the absolute value of carried digits, the lowest of which that is not 0 is given."""
    digit = digits[k] & _DIGIT
    if digits[digits.size - 1] >= 0 or k < lowest:
        return digit
    return _DIGIT - digit + np.int64(k == lowest)


@part
def carry(digits):
    """Bring all digits but the last, which has the sign, to 32 bits; returns the lowest that is not 0, or -1."""
    last = digits.size - 1
    lowest = np.int64(-1)
    for k in range(last + 1):
        if k < last:
            digits[k + 1] += digits[k] >> 32
            digits[k] &= _DIGIT
        if lowest < 0 and digits[k] != 0:
            lowest = k
    return lowest


@part
def _write_sum(digits, low, state):
    """Carry, and write what the digits come to as mantissa and exponent. The first is digit `low` of all floats."""
    last = digits.size - 1
    lowest = carry(digits)
    state[MANTISSA], state[EXPONENT] = 0, 0
    if lowest < 0:
        return
    top = last
    while magnitude(digits, top, lowest) == 0:
        top -= 1
    # Two digits make a mantissa of more than 32 bits; from the third come as many as make it at least 57.
    mantissa = np.uint64(magnitude(digits, top, lowest)) << np.uint64(32)
    rest = np.uint64(0)
    if top > 0:
        mantissa |= np.uint64(magnitude(digits, top - 1, lowest))
    if top > 1:
        rest = np.uint64(magnitude(digits, top - 2, lowest))
    exponent = 32 * (low + top - 1) + LEAST
    for bits in (np.uint64(16), np.uint64(8)):
        if mantissa >> (np.uint64(64) - bits) == np.uint64(0):
            mantissa = (mantissa << bits) | (rest >> (np.uint64(32) - bits))
            rest = (rest << bits) & np.uint64(_DIGIT)
            exponent -= np.int64(bits)
    below = rest != np.uint64(0) or lowest < top - 2
    mantissa = (mantissa >> np.uint64(1)) | (mantissa & np.uint64(1)) | np.uint64(below)
    state[MANTISSA] = -np.int64(mantissa) if digits[last] < 0 else np.int64(mantissa)
    state[EXPONENT] = exponent + 1


@part
def _add(start, stop, weights, bits, low, digits, state, slot):
    """Add up floats, given bit by bit, into the digits of a group, and count those that are not finite."""
    for i in range(start, stop):
        weight = np.int64(weights[i])
        exponent = (bits[i] >> _FRACTION_BITS) & _EXPONENT_MASK
        fraction = bits[i] & _FRACTION
        state[slot, COUNT] += weight
        if exponent == _EXPONENT_MASK:
            kind = NANS if fraction != 0 else POSITIVE if bits[i] > 0 else NEGATIVE
            state[slot, kind] += weight
        elif weight != 0 and bits[i] << 1 != 0:
            mantissa = np.uint64(fraction)
            if exponent > 0:
                mantissa |= np.uint64(1 << _FRACTION_BITS)
                exponent -= 1
            if bits[i] < 0:
                weight = -weight
            k, shift = (exponent >> 5) - low, np.uint64(exponent & 31)
            upper = mantissa >> (np.uint64(32) - shift)
            digits[slot, k] += weight * np.int64((mantissa << shift) & np.uint64(_DIGIT))
            digits[slot, k + 1] += weight * np.int64(upper & np.uint64(_DIGIT))
            digits[slot, k + 2] += weight * np.int64(upper >> np.uint64(32))


@kernel(types.void(_starts, _starts, _weights, _words, types.int64, _rows, _rows, _rows))
def add_floats(starts, slots, weights, bits, low, digits, state, out):
    """Add up floats, given bit by bit, into the digits of their groups, of which the first is digit `low`."""
    for v in range(slots.size):
        slot = slots[v]
        _write(state, slot, out, 2 * v)
        _add(starts[v], starts[v + 1], weights, bits, low, digits, state, slot)
        _write_sum(digits[slot], low, state[slot])
        if state[slot, NANS] > 0 or (state[slot, POSITIVE] > 0 and state[slot, NEGATIVE] > 0):
            state[slot, MANTISSA], state[slot, EXPONENT] = 0, UNDEFINED
        elif state[slot, POSITIVE] > 0 or state[slot, NEGATIVE] > 0:
            state[slot, MANTISSA], state[slot, EXPONENT] = 1 if state[slot, POSITIVE] > 0 else -1, INFINITE
        _write(state, slot, out, 2 * v + 1)


@kernel(types.void(_rows, types.float64[::1], types.boolean[::1]))
def show_floats(state, values, valid):
    """What the first three words of a float sum's state stand for. A mantissa is rounded once: to 53 bits."""
    for i in range(state.shape[0]):
        exponent = state[i, EXPONENT]
        mantissa = np.float64(state[i, MANTISSA])
        if -900 < exponent < 900:
            values[i] = mantissa * np.int64((exponent + 1023) << _FRACTION_BITS).view(np.float64)
        else:
            values[i] = np.nan if exponent == UNDEFINED else math.ldexp(mantissa, np.int32(exponent))
        valid[i] = state[i, COUNT] > 0


@kernel(types.int64(types.uint64))
def _bits(word):
    """How many bits a number has."""
    found = 0
    while word >> np.uint64(found) != np.uint64(0):
        found += 8
        if found == 64:
            break
    while found > 0 and word >> np.uint64(found - 1) == np.uint64(0):
        found -= 1
    return found


@kernel(types.float64(types.uint64, types.boolean, types.int64))
def _nearest(quotient, below, exponent):
    """The float nearest to a number, half way to the even one: `quotient` times a power of two, and something `below`
    its last bit. It has 57 bits at least, so that the last one kept is never the last one there is."""
    drop = max(np.int64(_bits(quotient) - _PRECISION), LEAST - exponent)
    if drop > 64:  # less than half of the least float
        return 0.0
    kept = np.uint64(0) if drop == 64 else quotient >> np.uint64(drop)
    half = np.uint64(1) << np.uint64(drop - 1)
    rest = quotient & (half | (half - np.uint64(1)))
    if rest > half or (rest == half and (below or kept & np.uint64(1) != np.uint64(0))):
        kept += np.uint64(1)
    return math.ldexp(np.float64(kept), exponent + drop)


@kernel(types.float64(_words, types.int64, types.int64, types.int64))
def divided(digits, lowest, exponent, count):
    """Carried digits divided by a count below 2**47, as the nearest float: rounded once. Zero has no sign.

    `exponent` is the power of two of the first digit; `lowest` the first that is not 0, or -1.
    """
    if lowest < 0:
        return 0.0
    k = digits.size - 1
    while magnitude(digits, k, lowest) == 0:
        k -= 1
    n, over = np.uint64(count), np.uint64(0)
    quotient, digit = np.uint64(0), np.uint64(0)
    k += 1
    while quotient < np.uint64(1 << 24):  # by whole digits; behind the first one there are zeros
        k -= 1
        digit = np.uint64(magnitude(digits, k, lowest)) if k >= 0 else np.uint64(0)
        for half in (digit >> np.uint64(16), digit & np.uint64(0xFFFF)):
            over = (over << np.uint64(16)) | half
            quotient = (quotient << np.uint64(16)) | (over // n)
            over %= n
    k -= 1
    digit = np.uint64(magnitude(digits, k, lowest)) if k >= 0 else np.uint64(0)
    bits = 32 * (k + 1)
    while quotient < np.uint64(1 << 56):  # then by eight bits, so that all of the quotient is in one word
        over = (over << np.uint64(8)) | (digit >> np.uint64(24))
        digit = (digit << np.uint64(8)) & np.uint64(_DIGIT)
        quotient = (quotient << np.uint64(8)) | (over // n)
        over %= n
        bits -= 8
    below = over != np.uint64(0) or digit != np.uint64(0) or lowest < k
    found = _nearest(quotient, below, exponent + bits)
    return -found if digits[digits.size - 1] < 0 and found > 0.0 else found


@kernel(
    types.void(_starts, _starts, _weights, _words, types.int64, _rows, types.float64[:, ::1], _rows, _rows)
)
def mean_floats(starts, slots, weights, bits, low, digits, means, state, out):
    """As `add_floats`, but the state has the mean, bit by bit, in the place of the mantissa: `means` is the state."""
    for v in range(slots.size):
        slot = slots[v]
        _write(state, slot, out, 2 * v)
        _add(starts[v], starts[v + 1], weights, bits, low, digits, state, slot)
        lowest = carry(digits[slot])
        mean = 0.0
        if state[slot, NANS] > 0 or (state[slot, POSITIVE] > 0 and state[slot, NEGATIVE] > 0):
            mean = np.nan
        elif state[slot, POSITIVE] > 0 or state[slot, NEGATIVE] > 0:
            mean = np.inf if state[slot, POSITIVE] > 0 else -np.inf
        elif state[slot, COUNT] > 0:
            mean = divided(digits[slot], lowest, 32 * low + LEAST, state[slot, COUNT])
        means[slot, MANTISSA] = mean
        _write(state, slot, out, 2 * v + 1)


@kernel(types.void(_words, _words, _words, types.float64[::1]), makes_arrays=True)
def mean_integers(low, high, counts, out):
    """Integers of two words divided by counts, as the nearest floats: rounded once."""
    digits = np.empty(4, np.int64)
    for i in range(low.size):
        if high[i] == low[i] >> 63 and -_WHOLE <= low[i] <= _WHOLE:
            out[i] = low[i] / max(
                counts[i], 1
            )  # both are floats as they are, so the quotient is rounded once
            continue
        digits[0], digits[1] = low[i] & _DIGIT, (low[i] >> 32) & _DIGIT
        digits[2], digits[3] = high[i] & _DIGIT, high[i] >> 32
        out[i] = divided(digits, carry(digits), 0, max(counts[i], 1))
