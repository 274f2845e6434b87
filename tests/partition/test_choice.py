"""Choosing a partitioning, and hashing keys: the same place for equal values, whatever they are written as."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import partition
from eddy.partition.shares import allot, best, frontier


def query(columns, where, window=None, **options):
    """A query of these streams."""
    streams = {n: eddy.Stream(c, window=window or eddy.Rows(10)) for n, c in columns.items()}
    return eddy.Query(streams, where=where, **options)


def one_key(kinds):
    """A.x = B.x = ..., of these types."""
    columns = {name: {"x": kind} for name, kind in zip("ABCDEF", kinds, strict=False)}
    return query(columns, [f"A.x = {name}.x" for name in list(columns)[1:]])


def cells_of(chosen, name, values):
    """The cell of each row, or None where it is sent nowhere."""
    places, cells = chosen.deal(name, {"x": values})
    found = dict(zip(places.tolist(), cells.tolist(), strict=True))
    return [found.get(i) for i in range(len(values))]


def test_equal_numbers_of_any_type_meet():
    """Small and large integers, and whole floats, are the same keys."""
    kinds = ["int8", "int64", "uint64", "uint16", "float64", "float32"]
    chosen = partition.choose(one_key(kinds), 7)
    numbers = list(range(100))
    first = cells_of(chosen, "A", np.array(numbers, "int8"))
    assert len(set(first)) == 7
    for name, kind in zip("BCDEF", kinds[1:], strict=True):
        assert cells_of(chosen, name, np.array(numbers, kind)) == first


def test_minus_zero_is_zero_and_nan_goes_nowhere():
    """Floats are compared as SQL does."""
    chosen = partition.choose(one_key(["float64", "float32"]), 5)
    a = cells_of(chosen, "A", np.array([0.0, -0.0, 1.5, np.nan]))
    assert a[0] == a[1] and a[3] is None
    assert cells_of(chosen, "B", np.array([-0.0, 0.0, 1.5, np.nan], "float32")) == a


def test_one_instant_in_other_units_and_zones_is_one_key():
    """Timestamps are compared by what they mean."""
    kinds = ["timestamp[s, UTC]", "timestamp[ns, Europe/Berlin]", "timestamp[ms, UTC]"]
    chosen = partition.choose(one_key(kinds), 5)
    moments = [datetime.datetime(2026, 1, 1, h, tzinfo=datetime.timezone.utc) for h in range(20)]
    found = [
        cells_of(chosen, name, pa.array(moments, pa.timestamp(unit, zone)))
        for name, unit, zone in (("A", "s", "UTC"), ("B", "ns", "Europe/Berlin"), ("C", "ms", "UTC"))
    ]
    assert found[0] == found[1] == found[2] and len(set(found[0])) == 5


def test_texts_meet_whatever_arrow_holds_them_in():
    """Plain, large, sliced, chunked and dictionary-coded texts are hashed by content; NULL goes nowhere."""
    chosen = partition.choose(one_key(["string", "string"]), 5)
    texts = ["", "a", "é", None, "a text that is longer than eight bytes", "a", "\U0001f600" * 9]
    plain = cells_of(chosen, "A", texts)
    assert plain[3] is None and plain[1] == plain[5]
    large = pa.array(["x", *texts], pa.large_string()).slice(1)
    chunked = pa.chunked_array([texts[:2], texts[2:]], pa.string())
    coded = pa.array(texts).dictionary_encode()
    for values in (large, chunked, coded):
        assert cells_of(chosen, "B", values) == plain


def test_another_process_deals_alike(tmp_path):
    """A pickled partitioning sends the same rows to the same cells elsewhere."""
    chosen = partition.choose(one_key(["string", "string"]), 9)
    (tmp_path / "it").write_bytes(pickle.dumps(chosen))
    code = (
        "import pickle, sys; it = pickle.loads(open(sys.argv[1], 'rb').read());"
        "print(it.deal('B', {'x': [f'key {i}' for i in range(50)]})[1].tolist())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "it"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == str(chosen.deal("A", {"x": [f"key {i}" for i in range(50)]})[1].tolist())


def test_shares_send_the_fewest_rows():
    """Of all vectors of shares none gives a cell fewer rows."""
    sizes, dimensions = {"A": 7.0, "B": 100.0, "C": 30.0}, [frozenset("AB"), frozenset("BC"), frozenset("AC")]
    found = best(sizes, dimensions, 24)
    loads = [
        7 / (x * z) + 100 / (x * y) + 30 / (y * z)
        for x in range(1, 25)
        for y in range(1, 25)
        for z in range(1, 25)
        if x * y * z <= 24
    ]
    assert found.load == pytest.approx(min(loads)) and found.cells <= 24


def test_grids_share_the_cells_by_what_they_have_to_do():
    """A grid with more rows gets more cells, and none goes without."""
    large = frontier({"A": 900.0}, [frozenset("A")], 10)
    small = frontier({"A": 100.0}, [frozenset("A")], 10)
    ways = allot([large, small], 10)
    assert [way.cells for way in ways] == [9, 1]


def test_a_hot_key_gets_cells_of_its_own():
    """A sample shows it; then the fullest cell has a fraction of what it would have."""
    chain = query({n: {"x": "int64"} for n in "ABC"}, ["A.x = B.x", "B.x = C.x"])
    random = np.random.default_rng(0)
    rows = {n: {"x": np.where(random.random(4000) < 0.4, 7, random.integers(0, 10**6, 4000))} for n in "ABC"}
    sizes = dict.fromkeys("ABC", 4000)
    fullest = []
    for sample in (None, {n: {"x": c["x"][:500]} for n, c in rows.items()}):
        chosen = partition.choose(chain, 16, sizes, sample)
        got = np.zeros(chosen.cells, int)
        for name, columns in rows.items():
            got += np.bincount(chosen.deal(name, columns, np.arange(4000))[1], minlength=chosen.cells)
        fullest.append(got.max())
    assert "heavy A.x = B.x = C.x = 7" in chosen.explain()
    assert fullest[1] < 0.5 * fullest[0]


def test_explain_shows_shares_and_rows_sent():
    """The kind, each dimension's share, copies of each stream, and what was measured."""
    star = query(
        {"A": dict.fromkeys("xy", "int64"), "B": {"x": "int64"}, "C": {"y": "int64"}},
        ["A.x = B.x", "A.y = C.y"],
    )
    text = partition.choose(star, 4, {"A": 100, "B": 100, "C": 100}).explain({"A": (100, 100)})
    assert "partitioned by hypercube: 4 cells" in text and "A.x = B.x in 2, A.y = C.y in 2" in text
    assert "B: each row to 2.00 cells" in text and "100 sent of 100 rows" in text


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda q: partition.choose(q, 0), "at least 1"),
        (lambda q: partition.choose("A B", 2), "query must be an eddy.Query, not str"),
        (lambda q: partition.choose(q, "4"), "cells must be a whole number of at least 1, not '4'"),
        (lambda q: partition.choose(q, 1.5), "cells must be a whole number of at least 1, not 1.5"),
        (lambda q: partition.choose(q, 2, rows={"A": -3}), "rows of stream A must be a number of at least 0"),
        (
            lambda q: partition.choose(q, 2, rows={"A": "3"}),
            "rows of stream A must be a number of at least 0",
        ),
        (lambda q: partition.choose(q, 2, sample={"A": {"q": [1]}}), "sample: stream A has no column 'q'"),
        (lambda q: partition.choose(q, 2, sample={"A": {}}), "sample: stream A: column 'x' is missing"),
        (lambda q: partition.choose(q, 2).deal("A", {"y": [1]}), "stream A: column 'x' is missing"),
        (
            lambda q: partition.choose(q, 2).deal("A", {"x": [1, 2], "y": [1]}, np.arange(2)),
            "stream A: columns differ in length: x has 2, y has 1, numbers has 2",
        ),
        (lambda q: partition.choose(q, 2).deal("A", {"x": [1]}, [1, 2]), "x has 1, numbers has 2"),
        (
            lambda q: partition.row_marks(q, [0, 7], [0, 0]),
            "no stream number 7: the query has 2, from 0 to 1",
        ),
        (lambda q: partition.row_marks(q, [-1], [0, 0]), "no stream number -1"),
        (lambda q: partition.row_marks(q, [0.5], [0, 0]), "an array of int32"),
        (lambda q: partition.row_marks(q, [0, 1], [0]), "in the order A, B: 2 numbers, not 1"),
        (lambda q: partition.row_marks(q, [0, 1], [0, -1]), "counts must be whole numbers of at least 0"),
        (lambda q: partition.Cell(q, partition.choose(q, 2), 0).push([]), "push takes a dict"),
        (lambda q: partition.choose(q, 2, kind="round"), "one of hash"),
        (lambda q: partition.choose(q, 2, rows={"Z": 1}), "no stream 'Z'"),
        (lambda q: partition.choose(q, 2).deal("Z", {}), "no stream 'Z'"),
        (lambda q: partition.choose(q, 2, kind="slices"), "sliced"),
        (lambda q: partition.Cell(q, partition.choose(q, 2), 2), "no cell 2"),
        (lambda q: partition.Cell(q, partition.choose(q, 2), 0, retractions=True), "withdraw"),
        (
            lambda q: partition.Cell(q, partition.choose(q, 2), 0, travels=False),
            "counts rows, so their numbers",
        ),
        (
            lambda q: partition.Cell(q, partition.choose(q, 2), 0).push({"A": {"x": [1]}}),
            "'__row' is missing",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    """Each mistake is named, with what to do."""
    with pytest.raises(eddy.EddyError, match=message):
        call(one_key(["int64", "int64"]))


def test_differences_and_aggregates_stay_whole():
    """Their results depend on events of any cell."""
    columns = {n: {"k": "int64"} for n in "AB"}
    for made in (
        query(columns, [], minus={"B": "A.k = B.k"}),
        query(columns, ["A.k = B.k"], aggregates={"n": "COUNT(*)"}),
    ):
        chosen = partition.choose(made, 8)
        assert chosen.cells == 1 and "not dealt out" in chosen.explain()


def test_slices_of_time_are_chosen_where_they_are_better():
    """A cross product in narrow windows over a long history has no key, but time."""
    stream = eddy.Stream({"ts": "int64"}, window=eddy.Range(10))
    made = eddy.Query({"A": stream, "B": stream}, cross=True)
    sample = {n: {"ts": np.arange(1000)} for n in "AB"}
    chosen = partition.choose(made, 8, {"A": 10**6, "B": 10**6}, sample)
    assert chosen.kind == "slices" and chosen.cells == 8 and "slices of time" in chosen.explain()
    rows, cells = chosen.deal("A", {"ts": np.arange(1000)})
    assert 1000 < len(rows) < 1100 and set(cells.tolist()) == set(range(8))


@pytest.mark.parametrize("nulls", [0.0, 0.8])
@pytest.mark.parametrize("width", [1_000, 30_000, 200_000])
@pytest.mark.parametrize(
    ("kind", "sampled"),
    [
        (kind, some)
        for kind in ("hash", "hypercube", "slices")
        for some in ("ABC", "B", "")
        if (kind, some) != ("slices", "")
    ],
)
def test_the_estimate_is_what_is_sent(kind, width, sampled, nulls):
    """Within a factor of two, however rows are dealt out, of all streams or of some of which there is a sample."""
    streams = {
        n: eddy.Stream({"ts": "int64", "k": "int64", "v": "int64"}, window=eddy.Range(width)) for n in "ABC"
    }
    query = eddy.Query(streams, ["A.k = B.k", "B.k = C.k" if kind == "hash" else "B.v = C.v"])
    random, feed = np.random.default_rng(4), {}
    for name, n in zip("ABC", (30_000, 10_000, 3_000), strict=True):
        skewed = np.where(random.random(n) < 0.3, 7, random.integers(0, 5_000, n))
        keys = {c: pa.array(skewed, mask=random.random(n) < (nulls if name in sampled else 0)) for c in "kv"}
        feed[name] = {"ts": np.sort(random.integers(0, 100_000, n)), **keys}
    sample = {name: {c: values[::20] for c, values in feed[name].items()} for name in sampled}
    rows = {name: len(columns["ts"]) for name, columns in feed.items()}
    found = partition.choose(query, 8, rows, sample or None, kind)
    cells = np.concatenate([found.deal(n, feed[n], np.arange(rows[n]))[1] for n in "ABC"])
    assert found.kind == kind and len(np.unique(cells)) > 1
    assert 0.5 < found.sent / len(cells) < 2
    assert f"estimated: {found.sent:,.0f} rows sent" in found.explain()
    if sampled == "ABC":
        assert 0.5 < found.load / np.bincount(cells).max() < 2


def test_where_a_heavy_key_would_fill_a_cell_another_class_is_cut():
    """Half of the rows have one key of a class that two large streams have; another class cuts them evenly."""
    columns = {"A": {"k": "int64", "t": "int64"}, "B": {"k": "int64"}, "C": {"t": "int64"}}
    made = query(columns, ["A.k = B.k", "A.t = C.t"])
    n = np.arange(1000)
    sample = {"A": {"k": np.where(n % 10 < 6, 7, n), "t": n}, "B": {"k": n}, "C": {"t": n}}
    rows = {"A": 100_000, "B": 10_000, "C": 5_000}
    chosen = partition.choose(made, 2, rows, sample)
    assert chosen.weighed.heavy == [] and chosen.load < 65_000
    places, cells = chosen.deal("A", sample["A"])
    assert len(places) == 1000 and abs(int(np.count_nonzero(cells)) - 500) < 100
    many = partition.choose(made, 16, rows, sample)
    assert many.cells == 16 and many.load < chosen.load / 4
