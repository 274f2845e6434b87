"""What black boxes remember of their streams: which rows, in which form, for how long."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eddy
from eddy import Range, Rows, Unbounded
from policies import Gms
from tests.boxes.own import Log


def test_a_silent_stream_is_kept_and_the_others_are_not():
    """Each stream of a push is forgotten by itself; order and form stay."""
    streams = {name: eddy.Stream({"k": "int64"}, window=Rows(3)) for name in "AB"}
    boxes = eddy.Boxes(Log(), streams, migration=Gms())
    boxes.push_all({"A": {"k": np.arange(2)}, "B": {"k": np.arange(5)}})
    for number in range(100):
        boxes.push_all({"B": pa.table({"k": [number]}), "A": {"k": []}})
    assert boxes.remembered == 5
    boxes.migrate(Log)
    first, *rest = boxes.box.taken
    assert list(first) == ["A"] and first["A"]["k"].tolist() == [0, 1]
    assert [batches["B"].to_pydict() for batches in rest] == [{"k": [n]} for n in (97, 98, 99)]


@pytest.mark.parametrize(
    "make",
    [
        lambda times: {"ts": times, "k": times % 5},
        lambda times: {"ts": times.tolist(), "k": (times % 5).tolist()},
        lambda times: np.rec.fromarrays([times, times % 5], names="ts,k"),
        lambda times: pa.table({"ts": times, "k": times % 5}),
        lambda times: pa.RecordBatch.from_pydict({"ts": times, "k": times % 5}),
        lambda times: pd.DataFrame({"ts": times, "k": times % 5}),
        lambda times: pl.DataFrame({"ts": times, "k": times % 5}),
    ],
    ids=["arrays", "lists", "structured", "table", "record batch", "pandas", "polars"],
)
def test_batches_of_every_make_are_replayed_in_their_own_form(make):
    """And with the values that they had, though the caller may use his arrays again."""
    streams = {"A": eddy.Stream({"ts": "int64", "k": "int64"}, window=Range(100))}
    boxes = eddy.Boxes(Log(), streams, migration=Gms())
    times = np.arange(4)
    batch = make(times)
    boxes.push("A", batch)
    if isinstance(batch, dict) and isinstance(batch["ts"], np.ndarray):
        times += 1000
    boxes.migrate(Log)
    ((replayed,),) = [batches.values() for batches in boxes.box.taken]
    assert type(replayed) is type(batch)
    assert np.asarray(replayed["ts"]).tolist() == [0, 1, 2, 3]


def test_a_box_may_give_its_results_one_by_one():
    """What is dropped is drawn all the same: the rows are taken in as it is."""

    class Lazy(Log):
        def push_all(self, batches):
            for name in batches:
                self.taken.append(name)
                yield name

    streams = {name: eddy.Stream({"k": "int64"}, window=Rows(2)) for name in "AB"}
    boxes = eddy.Boxes(Lazy(), streams, migration=Gms())
    assert list(boxes.push_all({"A": {"k": [1]}, "B": {"k": [1]}})) == ["A", "B"]
    boxes.migrate(Lazy)
    assert boxes.box.taken == ["A", "B"]


def test_static_streams_are_kept_for_ever():
    """A relation that was loaded once is replayed before all else."""
    streams = {
        "R": eddy.Stream({"k": "int64"}, static=True),
        "A": eddy.Stream({"ts": "int64", "k": "int64"}, window=Range(5)),
    }
    query = eddy.Query(streams, where=["A.k = R.k"])
    boxes = eddy.Boxes(eddy.Eddy(query), streams, migration=Gms())
    boxes.push("R", {"k": [1, 2]})
    for number in range(20):
        boxes.push("A", {"ts": [number], "k": [number % 4]})
    assert boxes.remembered == 8
    boxes.migrate(lambda: eddy.Eddy(query))
    assert [len(boxes.push("A", {"ts": [20], "k": [key]})) for key in range(4)] == [0, 1, 1, 0]


def test_durations_and_units():
    """Windows and what looks back above them may be durations; a plain number is for integers."""
    streams = {
        "A": eddy.Stream({"ts": "timestamp[ms]"}, window=Range("2 s")),
        "B": eddy.Stream({"ts": "timestamp[s]"}, window=Range("2 s")),
    }
    boxes = eddy.Boxes(Log(), streams, above=Range("3 s"), migration=Gms())
    for second in range(20):
        boxes.push_all({name: {"ts": np.array([second], "M8[s]")} for name in "AB"})
    assert boxes.remembered == 2 * 7  # from the push before the first that ended in the last 3 s
    with pytest.raises(eddy.QueryError, match="say what 3 counts"):
        eddy.Boxes(Log(), streams, above=Range(3))
    with pytest.raises(eddy.QueryError, match="counts time"):
        eddy.Boxes(Log(), {"A": eddy.Stream({"k": "int64"})}, above=Range(3))


def test_time_that_goes_back():
    """Within a batch, and from one push to the next; the box is not asked."""
    streams = {
        "A": eddy.Stream({"ts": "int64"}, window=Range(5)),
        "B": eddy.Stream({"ts": "int64"}, window=Rows(5)),
    }
    boxes = eddy.Boxes(Log(), streams)
    with pytest.raises(eddy.OrderError, match="row 2 of the batch: sort the batch by ts"):
        boxes.push("A", {"ts": [1, 2, 1]})
    boxes.push("A", {"ts": [4]})
    with pytest.raises(eddy.OrderError, match="starts at 3, but an event at 4"):
        boxes.push("B", {"ts": [3]})
    assert len(boxes.box.taken) == 1
    untimed = eddy.Boxes(Log(), {"A": eddy.Stream({"ts": "int64"}, window=Unbounded())})
    untimed.push("A", {"ts": [5, 3]})
    assert untimed.remembered == 2 and repr(untimed).endswith("2 events>")
