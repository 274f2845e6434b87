"""Rows of batches that are refused are counted, by stream."""

import pytest

import eddy


def test_rows_that_are_refused_are_counted():
    """A batch that is refused counts with all of its rows, and what is no batch with none."""
    streams = dict.fromkeys("AB", eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(10)))
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]))
    engine.push("A", {"ts": [5], "k": [1]})
    for batch in ({"ts": [6, 7], "k": ["x", "y"]}, {"ts": [1, 2, 3], "k": [1, 1, 1]}, 7, {}):
        with pytest.raises(eddy.EddyError):
            engine.push("B", batch)
    told = {stream.name: (stream.rows, stream.refused) for stream in engine.statistics().streams}
    assert told == {"A": (1, 0), "B": (0, 5)}
