"""Standard input: what its first lines say is known without waiting for the next."""

from __future__ import annotations

import io
import os
import threading

import pyarrow as pa
import pytest

from eddy.errors import EddyError
from eddy.sources.stdin import StandardInput

FIRST = b"k,v\n1,2\n"


def opened(file, format="csv"):
    return StandardInput(format, None, None, file)


def test_two_lines_are_enough_though_the_writer_pauses():
    """Neither is a third line waited for, nor is one lost that comes later."""
    reading, writing = os.pipe()
    os.write(writing, FIRST)
    made = []
    with open(reading, "rb") as file:
        thread = threading.Thread(target=lambda: made.append(opened(file)), daemon=True)
        thread.start()
        thread.join(30)
        known = list(made)  # a source that waits for a third line has nothing yet
        os.write(writing, b"3,4\n")
        os.close(writing)
        thread.join(30)
        assert known and known[0].schema.names == ["k", "v"]
        rows = [piece.rows.num_rows for piece in made[0].read(None) if piece.rows is not None]
    assert sum(rows) == 2


def test_what_has_come_with_the_first_lines_says_what_types_are():
    """One odd value among many that are there already does not make a column text."""
    lines = b"".join(b"%d,%d\n" % (i, i) for i in range(300))
    source = opened(io.BytesIO(FIRST + b"x,2\n" + lines))
    assert str(source.schema.field("k").type) == "int64"
    pieces = list(source.narrowed(dict.fromkeys("kv", pa.int64())).read(None))
    assert sum(piece.rows.num_rows for piece in pieces if piece.rows is not None) == 301
    assert sum(len(piece.bad) for piece in pieces) == 1


def test_lines_are_waited_for_where_the_first_say_nothing():
    """As where JSON begins with lines that are none."""
    source = opened(io.BytesIO(b"{\n{\n" + b'{"k": 1}\n' * 3), "jsonl")
    assert source.schema.names == ["k"]


def test_an_empty_input_is_told_of():
    with pytest.raises(EddyError):
        opened(io.BytesIO(b""))
