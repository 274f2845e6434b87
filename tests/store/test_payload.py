"""Payload rings against a plain list of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.store.payload import SMALLEST, Payload
from eddy.values.strings import StringPool
from eddy.values.types import Column, column_type

TYPES = {"x": column_type("int64"), "v": column_type("float32"), "s": column_type("string")}
FIRST = st.sampled_from([0, 5, 2**31 - 3, 2**32 - 1, 2**62])


def columns_of(pool: StringPool, rows: list[tuple]) -> dict[str, Column]:
    """Columns x (nullable), v and s from tuples; strings as codes, as the engine gives them."""
    valid = np.array([x is not None for x, _, _ in rows], np.bool_)
    return {
        "x": Column(np.array([x or 0 for x, _, _ in rows], np.int64), None if valid.all() else valid),
        "v": Column(np.array([v for _, v, _ in rows], np.float32)),
        "s": Column(pool.encode(pa.array([s for _, _, s in rows], pa.string()))),
    }


def values_of(column: Column) -> list:
    values = column.values.to_pylist() if isinstance(column.values, pa.Array) else column.values.tolist()
    valid = column.known
    return [value if known else None for value, known in zip(values, valid, strict=True)]


ROW = st.tuples(st.one_of(st.none(), st.integers(-9, 9)), st.sampled_from([0.5, 1.5]), st.sampled_from("abc"))
STEPS = st.lists(st.tuples(st.lists(ROW, max_size=90), st.floats(0, 1)), max_size=12)


@given(FIRST, STEPS, st.randoms())
def test_rings_follow_a_list(first: int, steps: list, random) -> None:
    """Every live row reads as it was written, in any order, through growth, wrap-around and retirement."""
    pool = StringPool()
    payload, model = Payload(TYPES, pool, first), {}
    for rows, share in steps:
        payload.append(columns_of(pool, rows), len(rows))
        model.update(enumerate(rows, first + len(model)))
        assert payload.next_row == first + len(model)
        live = list(range(payload.low, payload.next_row))
        random.shuffle(live)
        wanted = np.array(live, np.int64)
        for position, name in enumerate(TYPES):
            assert values_of(payload.take(name, wanted)) == [model[row][position] for row in live]
        assert payload.storage("s", wanted).values.dtype == np.int64
        codes = np.concatenate(list(payload.codes_in_use()))
        assert sorted(codes) == sorted(payload.storage("s", wanted).values)
        payload.retain_from(payload.low + int(share * len(live)))


def one_column(n: int, start: int = 0) -> dict[str, Column]:
    return {"x": Column(np.arange(start, start + n))}


def test_values_are_copied() -> None:
    """What the caller does with its array after a push does not matter."""
    payload, values = Payload({"x": TYPES["x"]}, StringPool()), np.arange(10)
    payload.append({"x": Column(values)}, 10)
    values[:] = -1
    taken = payload.take("x", np.arange(10)).values
    assert taken.tolist() == list(range(10))
    taken[:] = -1
    assert payload.take("x", np.arange(10)).values.tolist() == list(range(10))


def test_masks_exist_only_where_a_null_was_seen() -> None:
    """A mask that is all true costs nothing; one that no longer holds a NULL goes at the next move."""
    payload = Payload({"x": TYPES["x"]}, StringPool())
    payload.append({"x": Column(np.arange(4), np.ones(4, np.bool_))}, 4)
    assert payload.nbytes == SMALLEST * 8
    assert payload.take("x", np.arange(4)).valid is None
    payload.append({"x": Column(np.arange(2), np.array([True, False]))}, 2)
    assert payload.nbytes == SMALLEST * 9
    assert payload.take("x", np.array([5, 4, 0])).valid.tolist() == [False, True, True]
    payload.retain_from(6)
    payload.append(one_column(1_000), 1_000)
    assert payload.nbytes == 1_024 * 8


@pytest.mark.parametrize("batch", [1, 100, 5_000])
def test_rings_shrink_after_a_peak(batch: int) -> None:
    """A burst makes the rings large; when it has passed, they go back to what steady state needs."""
    payload = Payload({"x": TYPES["x"]}, StringPool())
    payload.append(one_column(1_000_000), 1_000_000)
    peak = payload.nbytes
    for _ in range(200):
        payload.append(one_column(batch, payload.next_row), batch)
        payload.retain_from(payload.next_row - 50)
    assert payload.nbytes <= max(SMALLEST, 8 * (batch + 50)) * 8 < peak
    rows = np.arange(payload.low, payload.next_row)
    assert payload.take("x", rows).values.tolist() == rows.tolist()


def test_steady_state_does_not_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large batches over a small window do not make the rings shrink and grow in turn."""
    payload, moves = Payload({"x": TYPES["x"]}, StringPool()), []
    original = Payload._resize
    monkeypatch.setattr(Payload, "_resize", lambda self, rows: (moves.append(rows), original(self, rows)))
    for _ in range(500):
        payload.append(one_column(4_096), 4_096)
        payload.retain_from(payload.next_row - 1)
    assert len(moves) <= 2


def test_nothing_is_retired_beyond_the_last_row() -> None:
    """The low row never passes the next row and never goes back."""
    payload = Payload({"x": TYPES["x"]}, StringPool())
    payload.append(one_column(10), 10)
    payload.retain_from(99)
    assert (payload.low, payload.next_row) == (10, 10)
    payload.retain_from(3)
    assert payload.low == 10
