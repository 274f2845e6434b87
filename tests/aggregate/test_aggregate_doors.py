"""Aggregates in an engine: `table()`, drawing in parts, restarts, memory, and what is refused."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest

import eddy
from eddy.values.strings import StringPool
from policies import Gms, Jisc, ParallelTrack
from tests.operator_engines import a, b, joined, signed_values, values


def test_table_is_for_aggregates():
    """A join and a difference say what they lack."""
    streams = {name: eddy.Stream({"k": "int64"}) for name in "AB"}
    for query in (
        eddy.Query(streams, where=["A.k = B.k"]),
        eddy.Query(streams, minus={"B": "A.k = B.k"}),
    ):
        for flag in (False, True):
            with pytest.raises(
                eddy.EddyError, match=r"table\(\) shows the groups of an aggregate: give the query"
            ):
                eddy.Eddy(query, retractions=flag).table()


def test_table_waits_for_results_that_are_being_drawn():
    """In the middle of a push there is no answer; the message says what to do first."""
    engine = joined({"n": "COUNT(*)"}, batch_size=1)
    engine.push("A", a((1, 0)))
    parts = engine.push("B", b((1, 0), (1, 0)), max_rows=1)
    with pytest.raises(eddy.StateError, match="draw the iterator"):
        engine.table()
    assert sum(len(part) for part in parts) == 4
    assert values(engine.table()) == [(2,)]


def test_changes_that_nobody_draws_are_in_the_table():
    """When the iterator is closed its changes are given up, but every row has arrived."""
    engine = joined({"n": "COUNT(*)"}, batch_size=1)
    engine.push("A", a((1, 0)))
    engine.push("B", b((1, 0), (1, 0), (1, 0)), max_rows=1).close()
    assert values(engine.table()) == [(3,)]
    assert signed_values(engine.push("B", b((1, 0)))) == [(-1, 3), (1, 4)]


def test_an_aggregate_has_no_row_numbers():
    """Its rows are made of many; the message says where to look."""
    engine = joined({"n": "COUNT(*)"})
    engine.push("A", a((1, 0)))
    with pytest.raises(eddy.EddyError, match="an aggregate has no row numbers: read its columns"):
        _ = engine.push("B", b((1, 0))).rows


def test_results_that_are_empty_have_the_columns():
    """A push without changes, `settle()` and an empty table show the same columns as any other."""
    engine = joined({"n": "COUNT(*)", "s": "SUM(B.v)"}, "A.g", migration=ParallelTrack())
    columns = {"A.g": [], "n": [], "s": []}
    assert engine.push("A", a((1, 0))).to_pydict() == columns
    assert engine.push("A", {"k": [], "g": []}).to_pydict() == columns
    assert engine.settle().to_pydict() == engine.table().to_pydict() == columns
    assert list(engine.push("A", a((1, 0)), max_rows=5)) == []


def test_results_held_back_cannot_be_aggregated():
    """Parallel Track's own order is refused beforehand."""
    with pytest.raises(eddy.EddyError, match=r'ParallelTrack\(order="pt"\) .* use order="max" with'):
        joined({"n": "COUNT(*)"}, migration=ParallelTrack(order="pt"))


def test_a_restart_keeps_the_groups(tmp_path):
    """Groups are made again from the live rows, and go on as if nothing had happened."""
    engine = joined({"n": "COUNT(*)", "m": "MEDIAN(B.v)"}, "A.g", (eddy.Rows(2), None), ("string", "int64"))
    engine.push("B", b((1, 3), (1, 4), (2, 9)))
    engine.push("A", a((1, "gone"), (1, "x"), (2, None)))
    table = Counter(values(engine.table()))
    assert table == Counter([("x", 2, 3.5), (None, 1, 9.0)])
    engine.save(tmp_path / "snapshot")
    engine = eddy.Eddy.load(tmp_path / "snapshot", migration=Gms())
    assert Counter(values(engine.table())) == table
    assert signed_values(engine.push("A", a((2, "x")))) == [(-1, "x", 2, 3.5), (1, "x", 1, 9.0)]


def test_a_refused_batch_changes_no_group():
    """The table stays, and so does what comes next."""
    engine = joined({"n": "COUNT(*)"}, "A.g", windows=(eddy.Rows(1), None))
    engine.push("B", b((1, 0)))
    engine.push("A", a((1, 7)))
    before = engine.statistics(), values(engine.table())
    with pytest.raises(eddy.EddyError):
        engine.push_all({"A": a((2, 8), (3, 9)), "B": {"k": [1]}})
    assert (engine.statistics(), values(engine.table())) == before
    assert signed_values(engine.push("A", a((1, 8)))) == [(-1, 7, 1), (1, 8, 1)]


# Size


def test_groups_keep_their_texts_while_the_pool_sweeps(monkeypatch):
    """Thousands of texts pass; a sweep frees those of rows that are gone, and never a group's."""
    sweeps = []
    sweep = StringPool.sweep
    monkeypatch.setattr(StringPool, "sweep", lambda self, codes: sweeps.append(1) or sweep(self, codes))
    engine = joined({"n": "COUNT(*)"}, "A.g", (eddy.Rows(40), eddy.Rows(3)), ("string", "int64"))
    engine.push("B", b((0, 0), (1, 0), (1, 0)))
    live, known = deque(maxlen=40), Counter()
    for turn in range(150):
        texts = [f"text {turn} {place}" for place in range(99)] + ["often", None]
        batch = [(place % 3, text) for place, text in enumerate(texts)]
        for sign, *row in signed_values(engine.push("A", a(*batch))):
            known[tuple(row)] += sign
        live.extend(batch)
        groups = Counter()
        for k, text in live:
            groups[text] += [1, 2, 0][k]
        wanted = Counter((text, n) for text, n in groups.items() if n)
        assert Counter(values(engine.table())) == +known == wanted
    assert len(sweeps) >= 3


@pytest.mark.parametrize("technique", [Jisc(), ParallelTrack(), Gms()], ids=repr)
def test_memory_stays_bounded(technique):
    """Groups come and go for long, with plan changes; the memory of those that are gone is used again."""
    streams = {
        name: eddy.Stream({"k": "int64", "g": "string", "v": "float64"}, window=eddy.Rows(100))
        for name in "ABC"
    }
    functions = {name: f"{name}(B.v)" for name in ("SUM", "AVG", "MIN", "MAX", "MEDIAN", "COUNT")}
    query = eddy.Query(streams, ["A.k = B.k", "B.k = C.k"], group_by=["A.g", "C.k"], aggregates=functions)
    engine = eddy.Eddy(query, migration=technique)
    random = np.random.default_rng(0)
    sizes = []
    for turn in range(600):
        if turn % 30 == 0:
            engine.migrate(["(A B) C", "(B C) A"][turn // 30 % 2])
        texts = [f"{turn} {place}" for place in range(60)]
        batch = {"k": random.integers(0, 40, 60), "g": texts, "v": random.random(60)}
        engine.push("ABC"[turn % 3], batch)
        sizes.append(engine.statistics().bytes)
    assert max(sizes[300:]) <= 1.2 * max(sizes[:300])


@pytest.mark.parametrize("technique", [Jisc(), Gms(), ParallelTrack()], ids=repr)
def test_a_large_feed_against_counters(technique):
    """Fifty thousand events in large batches: the table is what plain counters say, and the changelog leads to it."""
    engine = joined(
        {"n": "COUNT(*)", "s": "SUM(B.v)"}, "A.g", (eddy.Rows(2000), eddy.Rows(1500)), migration=technique
    )
    random = np.random.default_rng(3)
    plans = ["A B", "B A", "A: B | B: A"]
    live = {"A": np.empty((0, 2), np.int64), "B": np.empty((0, 2), np.int64)}
    known = Counter()
    for turn in range(20):
        engine.migrate(plans[turn % 3])
        sizes = random.integers(1, 2500, 2)
        fed = {name: random.integers(0, 500, (size, 2)) for name, size in zip("AB", sizes, strict=True)}
        fed["A"][:, 1] = random.integers(0, 3000, sizes[0])
        shown = {"A": "g", "B": "v"}
        result = engine.push_all(
            {name: {"k": pairs[:, 0], shown[name]: pairs[:, 1]} for name, pairs in fed.items()}
        )
        for sign, *row in signed_values(result):
            known[tuple(row)] += sign
        assert min(known.values(), default=0) >= 0
        live = {
            name: np.concatenate([live[name], fed[name]])[-most:] for name, most in (("A", 2000), ("B", 1500))
        }
        count = np.bincount(live["B"][:, 0], minlength=500)
        total = np.bincount(live["B"][:, 0], live["B"][:, 1], 500).astype(int)
        groups = {}
        for k, g in live["A"].tolist():
            n, s = groups.get(g, (0, 0))
            groups[g] = n + int(count[k]), s + int(total[k])
        wanted = Counter((g, n, s) for g, (n, s) in groups.items() if n)
        assert Counter(values(engine.table())) == +known == wanted
