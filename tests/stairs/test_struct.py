"""A struct has its fields in the same places for Python and for kernels, and no others."""

from __future__ import annotations

import ctypes

import numba as nb
import numpy as np
import pytest

from eddy.fast import layout as fast_layout
from eddy.intake import merge
from eddy.threads import layout as thread_layout
from eddy.threads.layout import MAILBOX
from stairs.lowlevel import struct
from stairs.lowlevel.struct import LONG, field_at

TABLES = {
    name: dtype
    for module in (fast_layout, merge, thread_layout)
    for name, dtype in vars(module).items()
    if isinstance(dtype, np.dtype)
}
PAIR = np.dtype([("first", LONG), ("second", LONG), ("room", LONG, 3), ("last", LONG)])
pair_at, pair_of = struct.at(PAIR), struct.line_of(PAIR)


@nb.njit
def _swap(address):
    pair = pair_at(address)
    pair.first, pair.second = pair.second, pair.first
    pair.last += field_at(pair, "last") - field_at(pair, "first")
    return pair.first


@nb.njit
def _sum(table, count):
    total = 0
    for i in range(count):
        total += pair_of(table, i).last
    return total


@pytest.mark.parametrize("dtype", TABLES.values(), ids=TABLES)
def test_an_object_has_every_field_where_the_dtype_says(dtype):
    """What Python writes by name is what a kernel reads by name."""
    made = struct.new(dtype)
    assert ctypes.sizeof(made) == dtype.itemsize
    for i, name in enumerate(dtype.names):
        kind, place = dtype.fields[name][:2]
        assert place % 8 == 0, name
        if kind.shape == ():
            setattr(made, name, i + 1)
            there = np.frombuffer(made, np.int64, 1, place)
            assert there[0] == getattr(made, name) == i + 1
        else:
            assert bytes(getattr(made, name)) == bytes(kind.itemsize)


def test_what_threads_write_has_a_cache_line_to_itself():
    """A thread that waits for one number does not slow down those that write another."""
    shared = [MAILBOX.fields[name][1] for name in MAILBOX.names[: MAILBOX.names.index("bell") + 1]]
    assert shared == list(range(0, 64 * len(shared), 64))


def test_a_kernel_reads_and_writes_fields():
    """By the address of one struct."""
    pair = struct.new(PAIR)
    pair.first, pair.second = 3, 4
    assert _swap(struct.address(pair)) == 4
    assert (pair.first, pair.second, pair.last) == (4, 3, 40)


def test_a_name_that_is_no_field_is_refused():
    """A misspelt field would be an attribute that no kernel ever sees."""
    with pytest.raises(AttributeError, match="thrid"):
        struct.new(PAIR).thrid = 5


def test_lines_share_the_memory_of_their_table():
    """Of any number of dimensions, in their order."""
    table = np.zeros((2, 3), PAIR)
    for i, line in enumerate(struct.lines(table)):
        line.last = i
    assert table["last"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert _sum(table.ctypes.data, table.size) == 15
