"""The engine through its doors: what goes in, what comes out, what is refused, and what it costs to keep."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import tracemalloc
from collections import Counter
from pathlib import Path

import attrs
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings

import eddy
from policies import Fixed, Jisc, Migration, NoFeedback, Routing
from tests.checks import check
from tests.strategies import small_cases

ROOT = Path(__file__).parents[1]


def query(names="AB", window=None, **options):
    """Streams with a key ``k`` in common and a value ``v`` each, under one kind of window."""
    window = window or eddy.Unbounded()
    streams = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=window) for name in names}
    where = [f"{names[0]}.k = {name}.k" for name in names[1:]]
    return eddy.Query(streams, **{"where": where, **options})


def batch(keys, values=None):
    """A batch of ``query``; values count up unless given."""
    keys = np.asarray(keys, np.int64)
    return {"k": keys, "v": np.arange(len(keys)) if values is None else np.asarray(values, np.int64)}


def rows(*results):
    """Row numbers of results that follow each other, as tuples."""
    return [tuple(row) for result in results for row in result.rows.tolist()]


def feed(names, pushes, size, keys, seed=0):
    """Pushes of random rows, to each stream once and then to any."""
    rng = np.random.default_rng(seed)
    order = [*names, *rng.choice(list(names), pushes)][:pushes]
    return [(str(n), batch(rng.integers(0, keys, size), rng.integers(0, 99, size))) for n in order]


# -- batches -----------------------------------------------------------------------------------------------------

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


# -- parts of a push ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [None, 3])
def test_a_batch_larger_than_batch_size_is_cut(max_rows, monkeypatch):
    """No more than `batch_size` events are processed at a time, and nothing in the results tells."""
    pushes = feed("ABC", 12, 40, 5)
    whole = eddy.Eddy(query("ABC", eddy.Rows(9)))
    cut = eddy.Eddy(query("ABC", eddy.Rows(9)), batch_size=7)
    store, sizes = cut._router.store, []
    monkeypatch.setattr(
        cut._router, "store", lambda parts: (sizes.append(len(parts[0].events)), store(parts))
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
    assert cut._batches == 6 * 12
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
        timeout=120,
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


# -- what is refused ---------------------------------------------------------------------------------------------

GOOD = {"ts": [20, 21], "k": [1, 2], "i8": [1, -1], "u": [0, 9], "s": ["a", "b"], "f": [0.5, 1.5]}
KINDS = {"ts": "int64", "k": "int64", "i8": "int8", "u": "uint16", "s": "string", "f": "float64"}


def without(column):
    return {name: values for name, values in GOOD.items() if name != column}


BAD = {
    "an unknown stream": lambda e: e.push("Z", GOOD),
    "an unknown stream beside a good one": lambda e: e.push_all({"A": GOOD, "Z": GOOD}),
    "an unknown column": lambda e: e.push("A", {**GOOD, "extra": [1, 2]}),
    "a missing column": lambda e: e.push("A", without("f")),
    "a missing time": lambda e: e.push("A", without("ts")),
    "a text for a number": lambda e: e.push("A", {**GOOD, "k": ["one", "two"]}),
    "a number for a text": lambda e: e.push("A", {**GOOD, "s": [1, 2]}),
    "a fraction for an integer": lambda e: e.push("A", {**GOOD, "k": [1.5, 2.0]}),
    "ragged columns": lambda e: e.push("A", {**GOOD, "s": ["a"]}),
    "an array of two dimensions": lambda e: e.push("A", {**GOOD, "k": np.ones((2, 2), int)}),
    "a scalar": lambda e: e.push("A", {**GOOD, "k": 5}),
    "an integer too large for int8": lambda e: e.push("A", {**GOOD, "i8": [1, 128]}),
    "an integer too large for int64": lambda e: e.push("A", {**GOOD, "k": [1, 2**63]}),
    "a negative number for uint16": lambda e: e.push("A", {**GOOD, "u": [1, -1]}),
    "a time that goes back in the batch": lambda e: e.push("A", {**GOOD, "ts": [21, 20]}),
    "a time before the newest event": lambda e: e.push("A", {**GOOD, "ts": [5, 20]}),
    "a time before it in push_all": lambda e: e.push_all({"B": GOOD, "A": {**GOOD, "ts": [5, 30]}}),
    "a NULL time": lambda e: e.push("A", {**GOOD, "ts": [20, None]}),
    "one good batch of two": lambda e: e.push_all({"A": GOOD, "B": {**GOOD, "i8": [1, 999]}}),
    "no batch": lambda e: e.push("A", None),
    "a list of rows": lambda e: e.push("A", [(20, 1, 1, 0, "a", 0.5)]),
    "a batch in parts": lambda e: e.push("A", {**GOOD, "i8": [1, 128]}, max_rows=5),
    "push_all of no mapping": lambda e: e.push_all([("A", GOOD)]),
    "a plan that misses a stream": lambda e: e.migrate("A B"),
    "a plan that repeats one": lambda e: e.migrate("(A B) A"),
    "a plan that is none": lambda e: e.migrate(None),
}


@pytest.mark.parametrize("what", list(BAD))
def test_what_is_refused_leaves_no_trace(what):
    """The error names the fault, statistics stay equal, and all later results are those of a twin never asked."""
    streams = {name: eddy.Stream(KINDS, window=eddy.Range(15)) for name in "ABC"}
    made = eddy.Query(streams, where=["A.k = B.k", "B.s = C.s", "A.f <= C.f"])
    asked, twin = (eddy.Eddy(made, plan="(A B) C", batch_size=3) for _ in range(2))

    def go_on(time, keys):
        many = {
            "ts": time + np.arange(6) // 2,
            "k": keys,
            "i8": keys,
            "u": keys,
            "s": [f"t{k % 2}" for k in keys],
        }
        both = []
        for engine in (asked, twin):
            found = [engine.push(name, {**many, "f": keys}) for name in "ABC" if time % 2 == 0]
            found.append(engine.push_all({name: {**many, "f": keys, "ts": many["ts"] + 3} for name in "CBA"}))
            both.append([(rows(part), part.to_pydict()) for part in found])
        assert both[0] == both[1]
        return sum(len(part) for part, _ in both[0])

    assert go_on(1, [1, 2, 3, 1, 2, 3]) > 0
    before = asked.statistics(), asked.explain()
    with pytest.raises(eddy.EddyError) as error:
        BAD[what](asked)
    assert len(str(error.value)) > 20
    assert (asked.statistics(), asked.explain()) == before
    assert asked.statistics() == twin.statistics()
    assert go_on(7, [3, 3, 2, 1, 9, 1]) > 0
    asked.migrate("A (B C)")
    twin.migrate("A (B C)")
    assert go_on(13, [1, 2, 3, 1, 2, 3]) > 0
    assert asked.statistics() == twin.statistics()


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: eddy.Query({}), "streams"),
        (lambda: eddy.Query({"A": eddy.Stream({"x": "int64"})}), "at least two"),
        (lambda: query(where=["A.k = B.nothing"]), "nothing"),
        (lambda: query(where=["A.k < 'text'"]), "A.k"),
        (lambda: query(where=[]), "cross=True"),
        (lambda: eddy.Eddy("A B"), "eddy.Query"),
        (lambda: eddy.Eddy(query(), plan="A C"), "no stream of the query"),
        (lambda: eddy.Eddy(query(), batch_size=0), "batch_size"),
        (lambda: eddy.Eddy(query(), batch_size=2.5), "batch_size"),
        (lambda: eddy.Eddy(query(), joins="merge"), "'hash' or 'nested'"),
        (lambda: eddy.Eddy(query(), routing=Fixed), r"pass an instance, Fixed\(\)"),
        (lambda: eddy.Eddy(query(), routing=Jisc()), "policies.Routing"),
        (lambda: eddy.Eddy(query(), migration=NoFeedback()), "policies.Migration"),
        (lambda: eddy.Eddy(query(), migration="jisc"), "policies.Migration"),
        (lambda: eddy.Eddy(query(), feedback=Fixed()), "policies.Feedback"),
    ],
)
def test_an_engine_that_cannot_be_is_refused(make, says):
    """An empty query, a predicate without types, a wrong option or policy: the message says which."""
    with pytest.raises(eddy.EddyError, match=says):
        make()


@pytest.mark.parametrize("background", [-1, 1.5, "3", None])
def test_the_budget_of_jisc_is_a_number_of_keys(background):
    """Anything but a whole number that is not negative is refused where it is written."""
    with pytest.raises((ValueError, TypeError)):
        Jisc(background=background)


# -- what the engine tells ---------------------------------------------------------------------------------------


def test_statistics_are_a_frozen_value():
    """They are of one moment, do not change with the engine, and cannot be changed."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(3)), plan="(A B) C")
    before = engine.statistics()
    engine.push("A", batch([1, 1, 1, 2]))
    engine.push("B", batch([1, 2]))
    after = engine.statistics()
    assert (before.events, after.events, after.results, after.migrations) == (0, 6, 0, 0)
    assert after == engine.statistics() != before
    assert [(s.name, s.rows, s.live) for s in after.streams] == [("A", 4, 3), ("B", 2, 2), ("C", 0, 0)]
    (stair,) = after.stairs
    assert (stair.name, stair.streams, stair.live) == ("A B by k", ("A", "B"), 3)
    assert (
        stair.complete and after.complete and (stair.fraction, stair.holes, stair.keys_filled) == (1.0, 0, 0)
    )
    assert after.bytes >= sum(part.bytes for part in (*after.streams, *after.stairs)) > 0
    for value in (after, after.streams[0], stair):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            value.bytes = 0
    assert hash(after) == hash(engine.statistics())


def test_explain_draws_the_plan_and_how_full_it_is():
    """Every STAIR and every stream has a line, under the one that reads it."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(10)), plan="(A B) C")
    engine.push("A", batch([1, 2]))
    engine.push("B", batch([1, 2]))
    engine.push("C", batch([1]))
    lines = engine.explain().splitlines()
    assert lines[0] == "plan (A B) C" and lines[1].startswith("5 events, 1 result, ")
    assert lines[3] == "results"
    assert lines[4].startswith("├─ STAIR A B by k: 2 live, ") and lines[4].endswith(", complete")
    assert lines[5].startswith("│  ├─ A Rows(10): 2 live of 2 rows, ")
    assert lines[6].startswith("│  └─ B Rows(10): 2 live of 2 rows, ")
    assert lines[7].startswith("└─ C Rows(10): 1 live of 1 rows, ")
    assert all(" each" in line for line in lines[8:])
    engine.migrate("A (B C)")
    engine.push("A", batch([1]))
    (line,) = [line for line in engine.explain().splitlines() if "STAIR" in line]
    assert line.startswith("└─ STAIR B C by k: 1 live, ")
    assert not line.endswith("complete") and "filled" in line and "0% settled" in line
    engine.migrate("stems")
    assert engine.explain().splitlines()[3:6] == [
        "  A visits B, then C",
        "  B visits A, then C",
        "  C visits A, then B",
    ]
    assert repr(engine) == "<Eddy A: B C | B: A C | C: A B: 6 events, 2 results>"


def test_explain_names_other_keys():
    """A STAIR under several attributes, under a row, or under nothing says so."""
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}) for name in "ABC"}
    made = eddy.Query(streams, where=["A.x = C.x", "B.y = C.y", "A.y < B.x"])
    assert "STAIR A B by x, y:" in eddy.Eddy(made, plan="(A B) C").explain()
    made = eddy.Query(streams, where=["A.x = B.x", "B.y < C.y"])
    assert "STAIR A B by row of B:" in eddy.Eddy(made, plan="(A B) C").explain()
    made = eddy.Query(streams, where=["A.x = B.x"], cross=True)
    assert "STAIR A B by nothing" in eddy.Eddy(made, plan="(A B) C").explain()


# -- results that are kept ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["whole", "cut", "parts"])
def test_results_may_be_held_as_long_as_one_likes(how):
    """Row numbers and values, texts too, are those of their push, however many pushes and sweeps came after."""
    streams = {name: eddy.Stream({"k": "int64", "s": "string"}, window=eddy.Rows(20)) for name in "AB"}
    made = eddy.Query(streams, where=["A.k = B.k"])
    engine = eddy.Eddy(made, batch_size=8 if how == "cut" else 4096)
    rng = np.random.default_rng(1)
    told, held = {"A": [], "B": []}, []
    for i in range(120):
        name = "AB"[i % 2]
        keys = rng.integers(0, 12, 30)
        texts = [f"{name}{i}-{j} {'long ' * 20}" for j in range(30)]
        told[name] += texts
        if how == "parts":
            held += engine.push(name, {"k": keys, "s": texts}, max_rows=11)
        else:
            held.append(engine.push(name, {"k": keys, "s": texts}))
        if i % 40 == 0:
            engine.migrate("B A" if engine.plan == "A B" else "A B")
    assert sum(map(len, held)) > 2000
    for result in held:
        values = result.to_pydict()
        assert values["A.s"] == [told["A"][row] for row in result.rows[:, 0]]
        assert values["B.s"] == [told["B"][row] for row in result.rows[:, 1]]
        assert values["A.k"] == values["B.k"]
    assert len(set(rows(*held))) == sum(map(len, held))


def test_texts_that_come_and_go_keep_their_meaning():
    """The pool of strings is swept while rows with new texts arrive, and equal texts still meet."""
    streams = {name: eddy.Stream({"s": "string"}, window=eddy.Rows(10)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.s = B.s"]))
    sizes = []
    for i in range(40):
        texts = [f"{i}-{j}" for j in range(1000)]
        engine.push("A", {"s": texts})
        found = engine.push("B", {"s": [*texts[-3:], f"other {i}"]}).to_pydict()
        assert found["A.s"] == found["B.s"] == texts[-3:]
        sizes.append(engine.statistics().bytes)
    assert max(sizes[20:]) <= max(sizes[:20])


# -- plans, holes and policies -----------------------------------------------------------------------------------


def test_a_change_leaves_holes_and_a_probe_fills_them():
    """Kept STAIRs stay complete; a new one fills the keys that are asked for, and what it builds is counted."""
    engine = eddy.Eddy(query("ABCD"), plan="((A B) C) D")
    for name in "ABC":
        engine.push(name, batch(range(50)))
    engine.migrate("((A B) D) C")
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert told["A B by k"].complete and told["A B by k"].live == 50
    assert not told["A B D by k"].complete
    engine.migrate("((B C) A) D")
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert (told["B C by k"].live, told["B C by k"].fraction) == (0, 0.0)
    assert rows(engine.push("D", batch([7]))) == [(7, 7, 7, 0)]
    told = {stair.name: stair for stair in engine.statistics().stairs}
    assert (told["B C by k"].keys_filled, told["A B C by k"].keys_filled) == (1, 1)
    assert (told["B C by k"].live, told["A B C by k"].live) == (1, 1)
    statistics = engine.statistics()
    assert (statistics.migrations, statistics.keys_filled, statistics.composites_filled) == (2, 2, 2)
    assert not statistics.complete


@pytest.mark.parametrize("plan", ["(B C) A", "A (C B)"])
@pytest.mark.parametrize("background", [1, 4, 1000])
def test_background_filling_completes_with_its_budget(background, plan):
    """Up to so many keys a batch are filled, newest rows first, until no STAIR has a hole."""
    engine = eddy.Eddy(query("ABC"), plan="(A B) C", migration=Jisc(background=background))
    for name in "BC":
        engine.push(name, batch(range(20)))
    engine.migrate(plan)
    filled, pushes = [0], 0
    while not engine.statistics().complete:
        engine.push("A", batch([999]))
        filled.append(engine.statistics().keys_filled)
        pushes += 1
        assert filled[-1] - filled[-2] <= background
        if 0 < filled[-1] < 20:
            (stair,) = engine._router.stairs.values()
            newest = range(20 - filled[-1], 20)
            assert stair.present(np.arange(20)).tolist() == [key in newest for key in range(20)]
        assert pushes < 30
    assert filled[-1] == 20 and pushes >= 20 // background
    assert engine.statistics().stairs[0].live == 20
    assert Counter(rows(engine.push("A", batch([3, 19])))) == {(pushes, 3, 3): 1, (pushes + 1, 19, 19): 1}


def test_without_a_budget_the_windows_complete_what_nobody_asks_for():
    """Under plain JISC a turned-over window leaves no hole, though no key was ever probed."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(20)), plan="(A B) C")
    for name in "BC":
        engine.push(name, batch(range(20)))
    engine.migrate("(B C) A")
    assert not engine.statistics().complete
    engine.push("B", batch([500] * 20))
    engine.push("C", batch([600] * 20))
    engine.push("A", batch([999]))
    assert engine.statistics().complete and engine.statistics().composites_filled == 0


def test_what_a_hole_missed_is_there_when_its_old_rows_have_gone():
    """Completion by expiry loses no result of rows that came while their key was a hole."""
    for probed in (False, True):
        engine = eddy.Eddy(query("ABC", eddy.Rows(4)), plan="(A B) C")
        engine.push("B", batch([7, 8, 1, 1]))
        engine.push("C", batch([8, 7, 2, 2]))
        engine.migrate("(B C) A")
        engine.push("C", batch([7]))
        engine.push("B", batch([7]))
        if probed:
            assert rows(engine.push("A", batch([8]))) == []
        engine.push("B", batch([3, 3, 3]))
        engine.push("C", batch([4]))
        assert engine.statistics().complete
        assert sorted(rows(engine.push("A", batch([7])))) == [(int(probed), 4, 4)]


@given(small_cases(demotes=95, migrations=15, limit=6_000))
@settings(max_examples=40)
def test_keys_may_be_demoted_at_any_moment(case):
    """With half of all keys made holes before nearly every step, results are still the oracle's."""
    check(case)


def test_demoting_everything_leaves_the_answer():
    """A STAIR without a single entry fills on demand: exactly the same results, from an empty STAIR."""
    engine, twin = (eddy.Eddy(query("ABC", eddy.Rows(30)), plan="(A B) C") for _ in range(2))
    for name, rows_in in feed("ABC", 60, 10, 8, seed=3):
        for stair in engine._router.stairs.values():
            stair.demote(np.arange(8))
        assert engine.statistics().stairs[0].live == 0
        assert engine.statistics().complete == (engine.statistics().streams[0].live == 0)
        assert Counter(rows(engine.push(name, rows_in))) == Counter(rows(twin.push(name, rows_in)))
    assert engine.statistics().results == twin.statistics().results > 1000
    assert engine.statistics().keys_filled > 50


class Turning(Routing):
    """Names another plan every time it is asked."""

    period = 50

    def __init__(self, plans):
        self.plans = list(plans)
        self.asked = []

    def begin(self, names, seed):
        self.began = names, seed

    def choose(self, view):
        self.asked.append(view.events)
        return self.plans[len(self.asked) % len(self.plans)]


class Eager(Migration):
    """Fills every hole at the change itself, and notes what it was told."""

    def __init__(self):
        self.told = []

    def begin(self, change):
        created = change.shift()
        self.told.append([stair.name for stair in created])
        for stair in created:
            while not stair.complete:
                stair.settle(1000)

    def work(self, change):
        raise AssertionError("nothing was left to do")


def test_a_routing_policy_is_asked_by_the_clock_and_changes_the_plan():
    """Every `period` events it sees statistics; what it names is the plan from the next batch on."""
    turning, eager = Turning(["(A B) C", None, "A (B C)", "stems"]), Eager()
    engine = eddy.Eddy(query("ABC", eddy.Rows(25)), routing=turning, migration=eager, seed=9, batch_size=20)
    turning, eager = engine.routing, engine.migration  # its own copies
    twin = eddy.Eddy(query("ABC", eddy.Rows(25)))
    assert turning.began == (("A", "B", "C"), 9)
    plans = set()
    for name, rows_in in feed("ABC", 40, 30, 9, seed=5):
        assert Counter(rows(engine.push(name, rows_in))) == Counter(rows(twin.push(name, rows_in)))
        plans.add(engine.plan)
    assert plans == {"(A B) C", "A (B C)", "A: B C | B: A C | C: A B"}
    assert all(
        later - earlier >= 50 for earlier, later in zip(turning.asked, turning.asked[1:], strict=False)
    )
    assert engine.statistics().migrations > 10 and engine.statistics().complete
    assert ["B C"] in eager.told and [] in eager.told


def test_an_engine_that_broke_in_a_batch_says_so(monkeypatch):
    """After something failed half-way, the engine refuses to go on instead of giving wrong results."""

    def failing(*_):
        raise RuntimeError("full")

    engine = eddy.Eddy(query())
    monkeypatch.setattr(engine._output, "of", failing)  # whichever way the batch takes
    with pytest.raises(RuntimeError, match="full"):
        engine.push("A", batch([1]))
    with pytest.raises(eddy.StateError, match="full"):
        engine.push("A", batch([1]))


@pytest.mark.parametrize("plan", ["((A B) C) D", "(A B) (C D)", "stems"])
def test_nested_loops_find_what_hashing_finds(plan):
    """`joins="nested"` compares everything with everything; results and plan changes are the same."""
    nested, hashed = (
        eddy.Eddy(query("ABCD", eddy.Rows(12)), plan=plan, joins=joins) for joins in ("nested", "hash")
    )
    for i, (name, rows_in) in enumerate(feed("ABCD", 60, 7, 5, seed=2)):
        if i % 15 == 14:
            for engine in (nested, hashed):
                engine.migrate("((C B) D) A" if i % 2 else plan)
        assert Counter(rows(nested.push(name, rows_in))) == Counter(rows(hashed.push(name, rows_in)))
    assert nested.statistics().results == hashed.statistics().results > 500
    filled = nested.statistics().composites_filled
    assert filled == hashed.statistics().composites_filled > 0


# -- memory ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", ["((A B) C) D", "stems"])
def test_memory_stays_bounded_over_many_windows(plan):
    """After a hundred turn-overs, with plan changes on the way, the engine is no larger than after five."""
    engine = eddy.Eddy(query("ABCD", eddy.Rows(500)), plan=plan)
    rng = np.random.default_rng(4)
    sizes = []
    for i in range(1000):
        engine.push_all({name: batch(rng.integers(0, 400, 50)) for name in "ABCD"})
        if i % 40 == 39:
            engine.migrate("(A B) (C D)")
            engine.migrate(plan)
        if i % 10 == 9:
            sizes.append(engine.statistics().bytes)
    assert max(sizes[10:]) <= 1.3 * max(sizes[5:30])
    assert engine.statistics().streams[0].live == 500


def test_memory_shrinks_after_a_burst():
    """Rings, payload, holes, times and rings for results go back to what a quiet feed needs."""
    kinds = {"ts": "int64", "k": "int64"}
    streams = {name: eddy.Stream(kinds, window=eddy.Range(100)) for name in "ABC"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"]), plan="(A B) C")
    rng = np.random.default_rng(6)

    def push(time, size, keys):
        for name in "ABC":
            engine.push(name, {"ts": np.full(size, time), "k": rng.integers(0, keys, size)})

    for time in range(300):
        push(time, 4, 40)
    quiet = engine.statistics()
    push(300, 4000, 300)
    engine.migrate("A (B C)")
    push(301, 1000, 300)
    burst = engine.statistics()
    assert burst.bytes > 50 * quiet.bytes
    for time in range(302, 700):
        push(time, 4, 40)
    after = engine.statistics()
    assert after.complete and after.bytes < 3 * quiet.bytes
    for kind in ("streams", "stairs"):
        for now, then, most in zip(*(getattr(told, kind) for told in (after, quiet, burst)), strict=True):
            assert now.bytes < 3 * then.bytes < most.bytes, now.name


def test_single_rows_leave_no_litter():
    """Rows pushed one by one cost what their rings cost: no Python objects pile up beside them."""
    engine = eddy.Eddy(query("ABC", eddy.Rows(400)), plan="(A B) C")
    rng = np.random.default_rng(7)

    def turn_over(times):
        for i in range(1200 * times):
            engine.push("ABC"[i % 3], {"k": rng.integers(0, 400, 1), "v": np.zeros(1, np.int64)})

    turn_over(1)
    tracemalloc.start()
    try:
        turn_over(1)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        turn_over(2)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000
