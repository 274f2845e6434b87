"""Strings that are only selected: right in every result, however late it is read, while their buffers come and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.values import carried


def pushed(rng, name, i, n):
    """Rows of a stream, and what stands in them: ids count up, some keys and some notes are NULL."""
    first = i * n
    notes = [None if j % 11 == 3 else f"{name} {j} {'x' * (j % 60)}" for j in range(first, first + n)]
    keys = [None if key == 29 else key for key in rng.integers(0, 30, n).tolist()]
    return {"id": np.arange(first, first + n), "k": pa.array(keys, pa.int64()), "note": notes}


@pytest.mark.parametrize("size", [1, 40, 700])
@pytest.mark.parametrize("options", [{}, {"retractions": True}, {"threads": 2}, {"batch_size": 16}], ids=str)
def test_every_result_has_the_strings_of_its_rows(options, size, tmp_path, monkeypatch):
    """Rows that a filter or a NULL rules out, snapshots, plan changes, many sweeps, results read late."""
    monkeypatch.setattr(carried, "MINIMUM", 1 << 12)
    monkeypatch.setattr(carried, "SMALL", 1 << 10)
    streams = {
        name: eddy.Stream({"id": "int64", "k": "int64", "note": "string"}, window=eddy.Rows(50))
        for name in "ABC"
    }
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "A.k = C.k", "A.id % 3 <> 1"]), **options)
    rng, told, held, sizes = np.random.default_rng(4), {}, [], []
    for i in range(30 if size > 1 else 120):
        for name in "ABC":
            rows = pushed(rng, name, i, size)
            told |= {(name, row): note for row, note in zip(rows["id"].tolist(), rows["note"], strict=True)}
            held.append(engine.push(name, rows if i % 2 else pa.table(rows)))
        if i % 8 == 5:
            engine.migrate("(B C) A" if engine.plan == "(A B) C" else "(A B) C")
        if i == 17:
            engine.save(tmp_path / "saved.eddy")
            engine = eddy.Eddy.load(tmp_path / "saved.eddy")
        sizes.append(engine.statistics().bytes)
    assert sum(map(len, held)) > 100
    for result in held:
        values = result.to_pydict()
        for name in "ABC":
            assert values[f"{name}.note"] == [told[name, row] for row in values[f"{name}.id"]]
    assert max(sizes) < 8 * max(sizes[3:10])


def test_why_not_knows_rows_whose_strings_are_not_held():
    """A row that a filter rules out is explained by what the filter reads."""
    streams = dict.fromkeys("AB", eddy.Stream({"k": "int64", "note": "string"}, window=eddy.Rows(10)))
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "A.k > 5"]))
    engine.push("A", {"k": [1, 2, 3, 9], "note": ["a", "b", "c", "d"]})
    found = engine.push("B", {"k": [1, 9], "note": ["e", "f"]}).to_pydict()
    assert (found["A.note"], found["B.note"]) == (["d"], ["f"])
    assert "A.k is 1" in str(engine.why_not(A=0, B=0))
