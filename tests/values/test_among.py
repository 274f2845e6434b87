"""Strings among constants: as Python's own `in` says."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.values.among import FEW, among

TEXT = st.sampled_from(
    ["", "a", "b", "ab", "é", "12345678", "123456789", "12345679x", "x" * 40, "x" * 39 + "y"]
)


@given(st.lists(TEXT), st.lists(TEXT, max_size=FEW + 2), st.integers(0, 3))
def test_strings_among_constants(values: list[str], constants: list[str], cut: int) -> None:
    """Few constants or many, none, repeated ones; a slice of a larger array too."""
    text = pa.array([*["cut off"] * cut, *values], pa.string()).slice(cut)
    assert among(text, tuple(constants)).tolist() == [value in constants for value in values]


@pytest.mark.parametrize("constants", [(), ("a",), tuple("abcdefghijkl")])
def test_strings_in_several_chunks(constants: tuple[str, ...]) -> None:
    text = pa.chunked_array([["a", "b"], [], ["z"]], pa.string())
    assert among(text, constants).tolist() == [value in constants for value in ("a", "b", "z")]


def test_no_strings() -> None:
    assert among(pa.array([], pa.string()), ("a",)).tolist() == []
