"""Python's own strings, read where they are."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from eddy.errors import BatchError
from eddy.intake.columns import normalise
from eddy.query.stream import Stream
from eddy.values.text_objects import KNOWN, ascii_texts

TEXTS = ["", "a", "zero\0inside", "user-000017", "x" * 15, "y" * 16, "z" * 17, "~" * 300, "a"]


class Text(str):
    """A string of somebody's own class."""

    __slots__ = ()


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="strings lie elsewhere")
def test_the_layout_is_known():
    """Of the Pythons that are supported, it is: else strings are converted one by one."""
    assert KNOWN


@pytest.mark.parametrize(
    "values", [TEXTS, tuple(TEXTS), np.array(TEXTS, object), np.array(TEXTS, object)[::-2]]
)
def test_strings_of_ascii_characters(values):
    found = ascii_texts(values)
    assert found is not None
    found.validate(full=True)
    assert found.to_pylist() == list(values)


def test_no_strings_at_all():
    for values in ([], np.empty(0, object)):
        found = ascii_texts(values)
        assert found is not None and found.to_pylist() == []


@pytest.mark.parametrize(
    "other", [None, "größer", "Ж", "𝄞", b"bytes", 1, 2.5, Text("own"), np.str_("numpy"), ["a"]]
)
def test_anything_else_is_left_to_others(other):
    assert ascii_texts(["a", other, "b"]) is None


@pytest.mark.parametrize("make", [list, lambda texts: np.array(texts, object)])
def test_columns_of_strings_are_the_same_whatever_they_hold(make):
    """NULLs, letters beyond ASCII and other classes come in as ever, and what is no text is refused."""
    stream = Stream({"s": "string"})
    for texts in (TEXTS, ["a", None], ["a", "größer", "Ж𝄞"], [Text("own"), "a"]):
        columns, n = normalise("A", stream, {"s": make(texts)})
        column = columns["s"]
        assert n == len(texts)
        assert column.known.tolist() == [text is not None for text in texts]
        shown = [
            text if valid else None
            for text, valid in zip(column.values.to_pylist(), column.known, strict=True)
        ]
        assert shown == texts
    with pytest.raises(BatchError):
        normalise("A", stream, {"s": make(["a", 1])})


def test_series_of_objects():
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(TEXTS, dtype=object)
    columns, _ = normalise("A", Stream({"s": "string"}), {"s": texts})
    assert columns["s"].values.to_pylist() == TEXTS
