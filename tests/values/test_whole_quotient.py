"""Quotients of whole numbers: exact and towards zero, or NULL."""

import itertools

import numpy as np

from eddy.values.arithmetic import whole_quotient

EDGES = [0, 1, -1, 2, -2, 7, -7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
POSITIVE = [0, 1, 2, 7, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]


def exact(a: int, b: int, low: int, high: int) -> int | None:
    """Python's own, without what is behind the point."""
    if not b:
        return None
    found = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return found if low <= found < high else None


def check(left, right, dtype_a, dtype_b, result, low, high):
    pairs = list(itertools.product(left, right))
    a = np.array([a for a, _ in pairs], dtype_a)
    b = np.array([b for _, b in pairs], dtype_b)
    values, valid = whole_quotient(a, b, np.dtype(result))
    known = np.ones(len(pairs), bool) if valid is None else valid
    found = [int(value) if there else None for value, there in zip(values, known, strict=True)]
    assert found == [exact(a, b, low, high) for a, b in pairs]


def test_signed_numbers():
    """Also where a float would be off, and -2**63 by -1 does not fit."""
    check(EDGES, EDGES, np.int64, np.int64, np.int64, -(2**63), 2**63)


def test_unsigned_numbers():
    """Of uint64 it is one."""
    check(POSITIVE, POSITIVE, np.uint64, np.uint64, np.uint64, 0, 2**64)


def test_one_of_either():
    """Signed and unsigned: int64, where it fits."""
    check(POSITIVE, EDGES, np.uint64, np.int64, np.int64, -(2**63), 2**63)
    check(EDGES, POSITIVE, np.int64, np.uint64, np.int64, -(2**63), 2**63)
