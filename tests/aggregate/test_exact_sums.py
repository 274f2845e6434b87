"""Sums, means and medians at the edges of their types: nothing drifts, nothing wraps, everything is rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.aggregate import sum_kernels
from eddy.aggregate.accumulators import Touches
from eddy.aggregate.groups import accumulator
from eddy.values.types import FLOAT64, Column, column_type
from tests.group_model import exact, mean, median, rounded, total

INF, NAN = math.inf, math.nan
TOP = 1.7976931348623157e308


def shown(function, kind, *steps):
    """What one group shows after each step, a list of values that come; `Gone(...)` has values that are withdrawn."""
    one = accumulator(function, column_type(kind))
    one.move(np.zeros(0, np.int64), 1)
    results = []
    for values in steps:
        sign = -1 if isinstance(values, Gone) else 1
        signs = np.full(len(values), sign, np.int8)
        touches = Touches(np.array([0, len(values)], np.int32), np.zeros(1, np.int32), signs, None)
        after = one.step(touches, [Column(np.array(list(values), column_type(kind).dtype))])
        now = one.show(np.zeros(1, np.int64))
        assert exact(now.values.tolist()) == exact(after.values[1:].tolist())
        results.append(after.values[1].item() if after.valid is None or after.valid[1] else None)
    return results


class Gone(tuple):
    """Values that are withdrawn."""

    def __new__(cls, *values):
        return super().__new__(cls, values)


@pytest.mark.parametrize("noise", [1e16, 1e300, TOP, 2.0**-1074, -1e-310, 0.1, 1 / 3, INF, -INF, NAN])
@pytest.mark.parametrize("left", [0.1, -1e-320, 5e-324, 1.0, -TOP, 2.0**52 + 1])
def test_what_is_left_alone_is_the_sum(noise, left):
    """A thousand values come beside one and are withdrawn again: the sum is that one, to the last bit."""
    values = [noise * (1 + i / 1000) for i in range(1000)]
    values = [v if math.isfinite(v) else noise for v in values]
    last = shown("SUM", "float64", [left], values, Gone(*values[::-1]))[-1]
    assert exact(last) == exact(left)
    assert exact(shown("AVG", "float64", [left], values, Gone(*values))[-1]) == exact(left)
    assert shown("SUM", "float64", values, Gone(*values))[-1] is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60), st.randoms())
def test_a_sum_is_rounded_once(values, random):
    """The sum is the float nearest to the exact one, in any order, over all exponents that floats have."""
    random.shuffle(values)
    assert exact(shown("SUM", "float64", values)[0]) == exact(total(values))
    assert exact(shown("AVG", "float64", values)[0]) == exact(mean(values))


@given(
    st.integers(-1074, 960),
    st.lists(st.tuples(st.integers(-(2**53), 2**53), st.integers(0, 11)), min_size=1, max_size=40),
    st.data(),
)
def test_sums_of_near_exponents_and_what_is_left_of_them(base, parts, data):
    """Values of like size, where rounding is closest to call, and every sum on the way back to nothing."""
    values = [math.ldexp(m, base + e) for m, e in parts]
    values = [v for v in values if math.isfinite(v)] or [1.0]
    gone = data.draw(st.permutations(values))
    steps = shown("SUM", "float64", values, *(Gone(v) for v in gone))
    expected = [rounded(sum(map(Fraction, gone[i:]))) for i in range(len(gone))]
    assert exact(steps) == exact([*expected, None])


def test_halves_round_to_even():
    """A sum half way between two floats, a little above, and a little below, whatever lies in between."""
    for tiny in (2.0**-60, 2.0**-90, 2.0**-400, 5e-324):
        for sign in (1, -1):
            one, half = sign * 1.0, sign * 2.0**-53
            assert shown("SUM", "float64", [one, half], [sign * tiny], Gone(sign * tiny), [-sign * tiny]) == [
                one,
                sign * (1 + 2.0**-52),
                one,
                one,
            ]
            odd = sign * (1 + 2.0**-52)
            assert shown("SUM", "float64", [odd, half], [-sign * tiny])[1] == odd
            assert shown("SUM", "float64", [odd, half])[0] == sign * (1 + 2.0**-51)


@pytest.mark.parametrize("sign", [1, -1])
def test_carries_of_many_values(sign):
    """Ten thousand of the largest mantissa, wherever it lies across the digits, are as exact as one."""
    for exponent in range(-40, 0):
        value = sign * math.ldexp(2**53 - 1, exponent)
        assert shown("SUM", "float64", [value] * 10_000) == [rounded(10_000 * Fraction(value))]


def test_infinities_and_nan_come_and_go():
    """Each shows for as long as it is there, and leaves no trace."""
    steps = [[1.5], [INF], [-INF], Gone(INF), [NAN], [NAN], Gone(NAN), Gone(-INF), Gone(NAN), Gone(1.5)]
    assert exact(shown("SUM", "float64", *steps)) == exact(
        [1.5, INF, NAN, -INF, NAN, NAN, NAN, NAN, 1.5, None]
    )
    assert exact(shown("MAX", "float64", *steps)) == exact(
        [1.5, INF, INF, 1.5, NAN, NAN, NAN, NAN, 1.5, None]
    )
    assert exact(shown("MIN", "float64", *steps)) == exact(
        [1.5, 1.5, -INF, -INF, -INF, -INF, -INF, 1.5, 1.5, None]
    )


def test_beyond_the_largest_float():
    """The sum is infinite while it is out of range, and comes back; the mean never is."""
    assert shown("SUM", "float64", [TOP], [TOP], Gone(TOP), [-TOP]) == [TOP, INF, TOP, 0.0]
    assert shown("AVG", "float64", [TOP], [TOP], [TOP], [-TOP] * 4) == [
        TOP,
        TOP,
        TOP,
        mean([-TOP] + [0.0] * 6),
    ]
    assert shown("MEDIAN", "float64", [TOP, TOP], [5e-324, 5e-324, 5e-324]) == [TOP, 5e-324]


def test_zero_has_no_sign():
    """Equal values show equal bits."""
    for function in ("SUM", "AVG", "MIN", "MAX", "MEDIAN"):
        assert exact(shown(function, "float64", [-0.0], [0.0], Gone(0.0))) == exact([0.0, 0.0, 0.0])
    assert exact(shown("AVG", "float64", [-5e-324, 0.0, 0.0])) == exact([-0.0 + 0.0])


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_integer_sums_come_back_when_they_fit(kind):
    """NULL while int64 cannot hold the sum, the exact one otherwise; the mean is there all the time."""
    high = int(np.iinfo(kind).max)
    most = 2**63 - 1
    values = [high, high, high - 5]
    assert shown("SUM", kind, [most], values, Gone(*values), [1], Gone(most)) == [most, None, most, None, 1]
    assert shown("AVG", kind, [most], values)[1] == float(Fraction(most + sum(values), 4))
    low = int(np.iinfo(kind).min)
    if low:
        assert shown("SUM", kind, [low], [-1], [high], Gone(-1)) == [low, None, -2, -1]
        assert shown("AVG", kind, [low, low])[0] == float(low)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_of_two_words_is_rounded_once(sign):
    """Half way between two floats it goes to the even one; one more, however far below, decides."""
    most = sign * (2**63 - 1)
    for rest, rounded_to in (
        (2**11, 0),
        (2**11 + 1, 2**12),
        (2**12 + 2**11 - 1, 2**12),
        (2**12 + 2**11, 2**13),
    ):
        mean_of_four = shown("AVG", "int64", [most, most, sign * (rest + 2), 0])[0]
        assert mean_of_four == sign * float(2**64 + rounded_to) / 4


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_means_and_medians_of_large_integers(values):
    """A mean is rounded once, and so is that of the two in the middle."""
    assert shown("SUM", "int64", values)[0] == total(values)
    assert shown("AVG", "int64", values)[0] == mean(values)
    assert shown("MEDIAN", "int64", values)[0] == median(values)
    positive = [value + 2**63 for value in values]
    assert shown("AVG", "uint64", positive)[0] == mean(positive)
    assert shown("MEDIAN", "uint64", positive)[0] == median(positive)


@pytest.mark.parametrize("bits", range(52, 63))
@pytest.mark.parametrize("sign", [1, -1])
def test_medians_where_rounding_is_closest_to_call(bits, sign):
    """Two neighbours beside a float, or half way between two, where floats are one to a thousand apart."""
    apart = 2 ** (bits - 52)
    for halves in range(4):
        middle = 2**bits + apart * halves // 2
        for a in range(-3, 4):
            for b in range(a, a + 4):
                pair = [sign * (middle + a), sign * (middle + b)]
                assert shown("MEDIAN", "int64", pair)[0] == median(pair), pair


@pytest.mark.parametrize(
    "values",
    [
        [9007199254740993.0 * 0.2, 9007199254740993.0 * 0.3, 9007199254740993.0 * 0.1],
        [1.0, 2.0**-53, 2.0**-54],
        [1e308, 1e308, -1e308, 5e-324],
        [1e16, 1.0, -1e16],
        [5e-324, 0.0],
        [5e-324, 5e-324, 0.0],
        [5e-324, 0.0, 0.0],
        [1.5e-323, 0.0],
        [2.2250738585072014e-308, -5e-324, 0.0],
        [TOP, TOP, TOP],
        [-TOP, -TOP, TOP, 5e-324],
        [INF, 1.0],
        [-INF, 1.0, 2.0],
        [INF, -INF],
        [NAN, INF],
    ],
    ids=str,
)
def test_a_mean_is_rounded_once(values):
    """The float nearest to the exact mean: a sum that was rounded and then divided would be another."""
    assert exact(shown("AVG", "float64", values)[0]) == exact(mean(values))
    negative = [-value for value in values]
    assert exact(shown("AVG", "float64", negative)[0]) == exact(mean(negative))


@given(
    st.integers(-1074, 960),
    st.lists(st.tuples(st.integers(-(2**53), 2**53), st.integers(0, 70)), min_size=1, max_size=30),
    st.data(),
)
def test_means_of_near_exponents_and_what_is_left_of_them(base, parts, data):
    """Values of like size, whose sum may cancel and whose mean may fall between the least floats, on the way back."""
    values = [m * math.ldexp(1.0, base + e) if base + e < 971 else float(m) for m, e in parts]
    gone = data.draw(st.permutations(values))
    steps = shown("AVG", "float64", values, *(Gone(v) for v in gone))
    assert exact(steps) == exact([mean(gone[i:]) for i in range(len(gone))] + [None])


@given(
    st.integers(-(2**127), 2**127 - 1),
    st.one_of(st.integers(1, 2**40), st.sampled_from([1, 3, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40])),
    st.integers(0, 126),
)
def test_means_of_up_to_a_million_million_integers(added, count, shift):
    """A sum of two words, divided by any count, is rounded once."""
    added >>= shift
    assert exact(shown_mean(added, count)) == exact(float(Fraction(added, count)) + 0.0)


@given(
    st.integers(-(2**200), 2**200),
    st.one_of(st.integers(1, 2**40), st.integers(0, 40).map(lambda bits: 2**bits)),
    st.integers(0, 199),
    st.one_of(st.integers(-1074, 700), st.just(-1074)),
)
def test_means_of_up_to_a_million_million_floats(added, count, shift, exponent):
    """A long sum, divided by any count, is rounded once, also where the result is subnormal or rounds to zero."""
    added >>= shift
    digits, rest = np.zeros(9, np.int64), added
    for k in range(8):
        digits[k], rest = rest & 0xFFFFFFFF, rest >> 32
    digits[8] = rest
    found = sum_kernels.divided(digits, sum_kernels.carry(digits), exponent, count)
    assert exact(found) == exact(float(Fraction(added) * Fraction(2) ** exponent / count) + 0.0)


@pytest.mark.parametrize("bits", [1, 2, 3, 10, 31, 32, 33, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_means_where_rounding_is_closest_to_call(bits, sign):
    """Half way between two floats, one part in a million million above, and below; among subnormal ones too."""
    for count in (2**bits, 2**bits - 1, 2**bits + 1):
        for kept in (2**52, 2**52 + 1, 2**53 - 1):
            for off in (-1, 0, 1):
                added = sign * ((2 * kept + 1) * count + off)
                one = shown_mean(added, count)
                assert one == float(Fraction(added, count)), (count, kept, off)


def shown_mean(added, count):
    """The mean of so many integers that add up to this."""
    low, high = np.array([added & (2**64 - 1)], np.uint64).view(np.int64), np.array([added >> 64], np.int64)
    out = np.empty(1)
    sum_kernels.mean_integers(low, high, np.array([count]), out)
    return out.item()


def test_the_window_of_digits_is_no_wider_than_the_values():
    """Prices take a few words a group; values of all sizes take about seventy; sums survive each widening."""
    one = accumulator("SUM", FLOAT64)
    one.move(np.zeros(0, np.int64), 1000)
    slots, starts = np.arange(2, dtype=np.int32), np.array([0, 1, 2], np.int32)
    seen = [Fraction(0), Fraction(0)]
    for pair, most in (
        ((12.25, -0.01), 100),
        ((999999.99, 1e9), 110),
        ((1e-9, -1e12), 130),
        ((5e-324, -TOP), 640),
    ):
        touches = Touches(starts, slots, np.ones(2, np.int8), None)
        values = one.step(touches, [Column(np.array(pair))]).values[1::2]
        seen = [s + Fraction(v) for s, v in zip(seen, pair, strict=True)]
        assert values.tolist() == [rounded(s) for s in seen]
        assert one.nbytes < 1000 * most
