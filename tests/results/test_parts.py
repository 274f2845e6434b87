"""A push in parts: large batches are cut, and with `max_rows` results are drawn a part at a time."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import eddy
from tests.feeds import batch, feed, query, rows
from tests.inside import Inside

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("max_rows", [None, 3])
def test_a_batch_larger_than_batch_size_is_cut(max_rows, monkeypatch):
    """No more than `batch_size` events are processed at a time, and nothing in the results tells."""
    pushes = feed("ABC", 12, 40, 5)
    whole = Inside(query("ABC", eddy.Rows(9)))
    cut = Inside(query("ABC", eddy.Rows(9)), batch_size=7)
    store, sizes = cut.state.executor.store, []
    monkeypatch.setattr(
        cut.state.executor, "store", lambda parts: (sizes.append(len(parts[0].events)), store(parts))
    )
    for name, rows_in in pushes:
        wanted = whole.push(name, rows_in)
        found = cut.push(name, rows_in) if max_rows is None else list(cut.push(name, rows_in, max_rows=3))
        found = [found] if max_rows is None else found
        assert Counter(rows(*found)) == Counter(rows(wanted))
        assert [row["ABC".index(name)] for row in rows(*found)] == [
            row["ABC".index(name)] for row in rows(wanted)
        ]
        values = [value for part in found for value in part.to_pydict()[f"{name}.v"]]
        assert values == wanted.to_pydict()[f"{name}.v"]
    assert cut.state.batches == 6 * 12
    if max_rows is not None:  # else kernels store the rows
        assert sizes == [7, 7, 7, 7, 7, 5] * 12
    assert cut.statistics().results == whole.statistics().results > 100


@pytest.mark.parametrize("plan", ["(A B) C", "A (B C)", "stems"])
@pytest.mark.parametrize("max_rows", [1, 7, 1000, 2**40, np.int64(50)])
def test_results_come_in_parts(plan, max_rows):
    """Parts hold no more than `max_rows`, in the order of the latest event, and add up to the whole."""
    whole, parts = (eddy.Eddy(query("ABC"), plan=plan) for _ in range(2))
    for name, rows_in in feed("ABC", 9, 30, 6):
        wanted = whole.push(name, rows_in)
        found = list(parts.push(name, rows_in, max_rows=max_rows))
        assert all(0 < len(part) <= max_rows for part in found)
        assert Counter(rows(*found)) == Counter(rows(wanted))
        place = "ABC".index(name)
        assert [row[place] for row in rows(*found)] == [row[place] for row in rows(wanted)]
    assert parts.statistics().results == whole.statistics().results > 500


BOUNDED = """
import resource, numpy as np, eddy
names = "ABCD"
streams = {name: eddy.Stream({"k": "int64", "s": "string"}) for name in names}
engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.k = D.k"]), plan="(A B) (C D)")
for name in "ABC":
    engine.push(name, {"k": np.ones(216, np.int64), "s": [name] * 216})
for part in engine.push("D", {"k": [2], "s": ["warm"]}, max_rows=20_000): pass
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before, count, marks = peak(), 0, set()
for i, part in enumerate(engine.push("D", {"k": [1], "s": ["D"]}, max_rows=20_000)):
    assert len(part) <= 20_000
    count += len(part)
    if i % 100 == 0:
        assert part.to_pydict()["D.s"] == ["D"] * len(part)
assert engine.statistics().results == count
print(count, peak() - before)
"""


def test_one_row_with_ten_million_partners_needs_little_memory():
    """Results are never built faster than they are drawn: 10 million take a few megabytes, not 400."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOUNDED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    count, megabytes = map(int, done.stdout.split())
    assert count == 216**3
    assert megabytes < 48


def test_parts_must_be_drawn_before_the_engine_goes_on():
    """Until then pushes, plan changes and snapshots are refused, and none of this loses or repeats a result."""
    engine = eddy.Eddy(query("ABC"), plan="(A B) C")
    engine.push("A", batch([1] * 4))
    engine.push("B", batch([1] * 4))
    drawn = engine.push("C", batch([1, 1, 2]), max_rows=5)
    found = []
    for refused in (
        lambda: engine.push("A", batch([1])),
        lambda: engine.push("A", batch([1]), max_rows=2),
        lambda: engine.push_all({"A": batch([1]), "B": batch([1])}),
        lambda: engine.migrate("A (B C)"),
        lambda: engine.save("nowhere"),
    ):
        with pytest.raises(eddy.StateError, match="not all drawn"):
            refused()
        found.append(next(drawn))
        assert "(A B) C" in engine.explain()
    assert engine.plan == "(A B) C" and [s.rows for s in engine.statistics().streams] == [4, 4, 3]
    found += drawn
    assert Counter(rows(*found)) == Counter((a, b, c) for a in range(4) for b in range(4) for c in range(2))
    assert engine.statistics().results == 32
    engine.migrate("A (B C)")
    assert len(engine.push("A", batch([1]))) == 8


def test_parts_that_were_dropped_are_still_pending():
    """A caller who lost the iterator finds it again; a refused push takes nothing from it."""
    engine = eddy.Eddy(query())
    assert engine.pending is None
    engine.push("A", batch([1] * 5))
    engine.push("B", batch([1, 1]), max_rows=3)
    gc.collect()
    with pytest.raises(eddy.StateError, match=r"engine\.pending"):
        engine.push("B", batch([1]))
    assert sum(map(len, engine.pending)) == 10
    assert engine.pending is None
    assert len(engine.push("A", batch([1]))) == 2


@pytest.mark.parametrize("drawn", [0, 1, 2])
def test_closing_the_iterator_gives_up_results_but_no_row(drawn):
    """All rows of the batch arrive, also those of pieces that were still to come."""
    engine = eddy.Eddy(query(), batch_size=2)
    engine.push("A", batch([1] * 10))
    parts = engine.push("B", batch([1] * 7), max_rows=4)
    for _ in range(drawn):
        next(parts)
    parts.close()
    assert engine.pending is None
    assert [s.rows for s in engine.statistics().streams] == [10, 7]
    assert rows(engine.push("A", batch([1]))) == [(10, b) for b in range(6, -1, -1)]


@pytest.mark.parametrize("max_rows", [0, -1, 2.5, "3", True])
def test_max_rows_must_be_a_number_of_rows(max_rows):
    """Anything but a whole number of at least one is refused before a row arrives."""
    engine = eddy.Eddy(query())
    with pytest.raises(eddy.EddyError, match="max_rows"):
        engine.push("A", batch([1]), max_rows=max_rows)
    assert engine.statistics().events == 0
