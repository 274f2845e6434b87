"""What goes in: batches in any form, in the order of their times, by `push`, `push_all` and `run`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import eddy
from tests.feeds import batch, query, rows

TYPED = {"ts": "timestamp[us]", "k": "int32", "s": "string", "f": "float64", "b": "bool"}
STAMPS = np.array([1, 2, 2, 5], "datetime64[us]")
PLAIN = {
    "ts": STAMPS,
    "k": np.array([3, 1, 3, 2], np.int32),
    "s": ["x", "", "é", "x"],
    "f": np.array([0.5, -0.0, np.inf, 1e300]),
    "b": np.array([True, False, True, True]),
}


def structured():
    array = np.empty(4, [("ts", "M8[us]"), ("k", "i4"), ("s", "O"), ("f", "f8"), ("b", "?")])
    for name, values in PLAIN.items():
        array[name] = values
    return array


ARROW = pa.table({**PLAIN, "s": pa.array(PLAIN["s"])})
FORMS = {
    "dict of arrays": PLAIN,
    "dict of lists": {name: list(values) for name, values in PLAIN.items()},
    "structured array": structured(),
    "arrow table": ARROW,
    "arrow record batch": ARROW.to_batches()[0],
    "arrow table in chunks": pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    "pandas": pandas.DataFrame(PLAIN),
    "polars": polars.DataFrame({**PLAIN, "s": PLAIN["s"]}),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_batch_comes_in_any_form(form):
    """The same rows give the same results, however the batch is held, by `push` and by `push_all`."""
    made = eddy.Query({"A": eddy.Stream(TYPED), "B": eddy.Stream({"k": "int64"})}, where=["A.k = B.k"])
    engine = eddy.Eddy(made)
    engine.push("A", FORMS[form])
    found = engine.push("B", {"k": [3, 2]})
    assert rows(found) == [(0, 0), (2, 0), (3, 1)] or rows(found) == [(2, 0), (0, 0), (3, 1)]
    table = found.to_arrow().sort_by("A.ts")
    assert table.schema.types[:5] == [pa.timestamp("us"), pa.int32(), pa.string(), pa.float64(), pa.bool_()]
    assert table.to_pydict() == {
        "A.ts": [STAMPS[i].astype(object) for i in (0, 2, 3)],
        "A.k": [3, 3, 2],
        "A.s": ["x", "é", "x"],
        "A.f": [0.5, np.inf, 1e300],
        "A.b": [True, True, True],
        "B.k": [3, 3, 2],
    }
    assert len(engine.push_all({"B": {"k": [1]}, "A": FORMS[form]})) == 5


def test_the_callers_arrays_stay_the_callers():
    """Changing a batch after its push changes no result, not even one that was not read yet."""
    engine = eddy.Eddy(query())
    mine = batch([1, 2, 3])
    engine.push("A", mine)
    found = engine.push("B", mine)
    for values in mine.values():
        values[:] = -5
    assert found.to_pydict() == {"A.k": [1, 2, 3], "A.v": [0, 1, 2], "B.k": [1, 2, 3], "B.v": [0, 1, 2]}
    found.rows[:] = 77
    assert rows(engine.push("B", batch([2]))) == [(1, 3)]


def test_nothing_in_nothing_out():
    """Empty batches, and a push of no stream at all, give empty results of the right shape."""
    engine = eddy.Eddy(query("ABC"))
    for found in (engine.push("A", batch([])), engine.push_all({}), engine.push_all({"A": batch([])})):
        assert len(found) == 0 and found.rows.shape == (0, 3)
        assert found.to_arrow().num_rows == 0 and found.to_arrow().column_names[0] == "A.k"
    assert list(engine.push("B", batch([]), max_rows=3)) == []
    assert engine.statistics().events == 0


# -- order -------------------------------------------------------------------------------------------------------


def timed(**times):
    """Streams A, B, C with times and windows of one row, so that the order of arrival shows in the results."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(1)) for name in times}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]))
    return engine, {name: {"ts": ts, "k": [0] * len(ts)} for name, ts in times.items()}


def one_by_one(made, batches, order):
    """The results of the same rows pushed in this order, a row at a time."""
    engine, taken = eddy.Eddy(made), Counter()
    found = []
    for name in order:
        place = taken[name]
        taken[name] += 1
        found += rows(
            engine.push(name, {c: values[place : place + 1] for c, values in batches[name].items()})
        )
    return found


def test_push_all_merges_by_time_and_ties_go_as_declared():
    """Rows of equal time arrive in the order of the query's streams, each stream's own in theirs."""
    engine, batches = timed(A=[5, 5, 7], B=[1, 5, 6], C=[5, 7, 7])
    wanted = one_by_one(engine.query, batches, "BAABCBACC")
    assert len(wanted) > 3
    assert rows(engine.push_all(dict(reversed(batches.items())))) == wanted


def test_push_all_without_times_goes_by_position():
    """Unless every stream has a time, row i of every stream arrives before row i + 1 of any."""
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(1)) for name in "ABC"}
    streams["B"] = eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(1))
    made = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    batches = {"C": {"k": [0] * 4}, "A": {"k": [0] * 3}, "B": {"ts": [9, 3], "k": [0] * 2}}
    wanted = one_by_one(made, batches, "ABCABCACC")
    assert rows(eddy.Eddy(made).push_all(batches)) == wanted


def test_push_all_of_some_streams():
    """Streams that are left out get no rows."""
    engine = eddy.Eddy(query("ABC"))
    assert len(engine.push_all({"C": batch([1]), "A": batch([1, 1])})) == 0
    assert sorted(rows(engine.push("B", batch([1])))) == [(0, 0, 0), (1, 0, 0)]
    assert [stream.rows for stream in engine.statistics().streams] == [2, 1, 1]


def test_run_pushes_a_source_as_it_comes():
    """Each result is there before the next batch is asked for."""
    asked = []

    def source():
        for name, keys in [("A", [1, 2]), ("B", [2]), ("B", [1, 1])]:
            asked.append(name)
            yield name, batch(keys)

    found = eddy.Eddy(query()).run(source())
    assert asked == []
    assert (rows(next(found)), asked) == ([], ["A"])
    assert (rows(next(found)), asked) == ([(1, 0)], ["A", "B"])
    assert [rows(result) for result in found] == [[(0, 1), (0, 2)]]
