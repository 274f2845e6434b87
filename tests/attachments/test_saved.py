"""Engines with attachments that are saved and loaded: they go on as if there had been no break."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.snapshot.query import check_same, describe, rebuilt
from tests.attachments.cases import attached_case, query_of
from tests.attachments.restarts import restarted
from tests.strategies import Drawn, Pick

ROOT = Path(__file__).parents[2]
TYPES = {"ts": "int64", "k": "int32", "v": "float64", "s": "string"}
WINDOWS = {"A": eddy.Range(12), "B": eddy.Rows(9), "C": eddy.Range(7), "D": eddy.Sliding(9, every=3)}
KINDS = {
    "inner": eddy.InnerJoin,
    "left": eddy.LeftJoin,
    "right": eddy.RightJoin,
    "full": eddy.FullJoin,
    "semi": eddy.SemiJoin,
    "anti": eddy.AntiJoin,
    "asof": eddy.AsofJoin,
    "left asof": eddy.LeftAsofJoin,
}
ON = {
    "asof": "C.k = A.k AND A.ts >= C.ts AND C.v > 1",
    "left asof": "C.k = A.k AND A.v >= C.v",
}
MODES = [False, True]


def declared(names, windows=WINDOWS):
    return {name: eddy.Stream(TYPES, window=windows[name], time="ts") for name in names}


def query(kind, changes, names="ABC", **parts):
    """A join of A and B, or A alone, to which C is attached: by a key, a filter and, outside as-of joins, by more."""
    on = ON.get(kind, "C.k = A.k AND C.v > 1 AND (C.s <> A.s OR C.v >= A.v)")
    where = ["A.k = B.k", "B.v > 0"] if "B" in names else ["A.v >= 0"]
    parts = {"attach": [KINDS[kind]("C", on)], "where": where, "changes": changes, **parts}
    return eddy.Query(declared(names), **parts)


def rows(stream, start):
    """Four rows of a stream, with NULLs in every column but the time."""
    numbers = [start + 3 * i + ord(stream) for i in range(4)]
    return {
        "ts": [start + i // 2 for i in range(4)],
        "k": [None if n % 11 == 0 else n % 3 for n in numbers],
        "v": [None if n % 7 == 0 else float(n % 4) for n in numbers],
        "s": [None if n % 5 == 0 else "xyz"[n % 3] for n in numbers],
    }


def fed(engine, start, stop, names="ABC"):
    """What pushes bring, one after the other."""
    return [shown(engine.push_all({name: rows(name, i) for name in names})) for i in range(start, stop)]


def shown(result):
    """Its values and signs, in any order."""
    values = result.to_pydict(sign=True)
    return Counter(zip(*values.values(), strict=True))


def groups(engine):
    return Counter(zip(*engine.table().to_pydict().values(), strict=True))


def goes_on(engine, other, names="ABC", start=6, stop=40):
    """Both give the same from here to their ends; returns how many results that are."""
    first, second = fed(engine, start, stop, names), fed(other, start, stop, names)
    assert first == second
    assert engine.statistics().results == other.statistics().results
    last = shown(engine.close())
    assert last == shown(other.close())
    return sum(map(Counter.total, first)) + last.total()


@pytest.mark.parametrize("names", ["AC", "ABC"])
@pytest.mark.parametrize("changes", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_on(kind, changes, names):
    """Filtered rows, NULLs, windows of time and of rows, with another batch size and more threads."""
    of = query(kind, changes, names)
    engine = eddy.Eddy(of, batch_size=5)
    fed(engine, 0, 6, names)
    other = restarted(engine, {"batch_size": 3, "threads": 2, "plan": "B A" if "B" in names else None})
    assert other.statistics().events == engine.statistics().events
    assert goes_on(engine, other, names) > 5


@pytest.mark.parametrize("changes", MODES)
@pytest.mark.parametrize("first", ["left", "asof", "left asof", "anti", "inner"])
@pytest.mark.parametrize("second", ["left", "semi", "left asof"])
def test_one_behind_another(first, second, changes):
    """The second knows composites of the first, with rows that have left their windows, and from their births."""
    on = ON.get(second, "C.k = A.k").replace("C.", "D.").replace("A.ts", "B.ts")
    of = query(
        first,
        changes,
        "ABCD",
        attach=[KINDS[first]("C", ON.get(first, "C.k = A.k AND C.v > 2")), KINDS[second]("D", on)],
    )
    engine = eddy.Eddy(of)
    fed(engine, 0, 20, "ABCD")
    other = restarted(engine, {"batch_size": 2})
    assert goes_on(engine, other, "ABCD", 20, 45) > 5


def test_the_choice_of_an_as_of_join_is_kept():
    """A result that is withdrawn names the row that it was given with, though that has left its window."""
    streams = {
        "A": eddy.Stream({"ts": "int64", "x": "string"}, window=eddy.Range(50), time="ts"),
        "B": eddy.Stream({"ts": "int64", "y": "string"}, window=eddy.Rows(1), time="ts"),
    }
    join = eddy.AsofJoin("B", "A.ts >= B.ts")
    engine = eddy.Eddy(eddy.Query(streams, attach=join, changes=True))
    engine.push("B", {"ts": [1], "y": ["one"]})
    given = engine.push("A", {"ts": [2], "x": ["a"]})
    assert given.to_pydict() == {"A.ts": [2], "A.x": ["a"], "B.ts": [1], "B.y": ["one"]}
    engine.push("B", {"ts": [3, 4], "y": ["two", "three"]})
    engine = restarted(engine, {})
    engine.push("B", {"ts": [5], "y": ["four"]})
    engine = restarted(engine, {})
    taken = engine.push("B", {"ts": [53], "y": ["five"]})
    assert taken.to_pydict(sign=True) == {**given.to_pydict(), "sign": [-1]}
    assert taken.rows.tolist() == [[0, 0]]


@pytest.mark.parametrize("kind", ["left", "right", "full", "semi", "anti", "left asof"])
def test_groups_go_on(kind):
    """What they hold follows from what stands, with its NULLs."""
    shows = "A.k" if kind in ("semi", "anti") else "C.s"
    aggregates = {"n": "COUNT(*)", "m": "MIN(A.v)"}
    of = query(kind, False, select=None, group_by=shows, aggregates=aggregates)
    engine = eddy.Eddy(of)
    fed(engine, 0, 6)
    other = restarted(engine, {"batch_size": 2})
    assert groups(other) == groups(engine)
    first, second = fed(engine, 6, 30), fed(other, 6, 30)
    assert first == second
    assert groups(other) == groups(engine)
    assert sum(map(Counter.total, first)) > 20


def test_rows_that_wait_go_on_too():
    """The tables of the reorder buffer come behind those of what is attached."""
    engine = eddy.Eddy(query("left", False), lateness=4, late="keep")
    fed(engine, 0, 9)
    engine.push("C", {"ts": [1], "k": [1], "v": [2.0], "s": ["late"]})
    other = restarted(engine, {})
    assert other.statistics().streams == engine.statistics().streams
    late = other.late()["C"].to_pydict()
    assert late == engine.late()["C"].to_pydict()
    assert late["s"] == ["late"]
    for i in (11, 9, 13, 10, 12, 30):
        pushed = {name: rows(name, i) for name in "ABC"}
        assert shown(engine.push_all(pushed)) == shown(other.push_all(pushed))
    assert shown(engine.advance(29)) == shown(other.advance(29))
    assert shown(engine.flush()) == shown(other.flush())
    assert shown(engine.close()) == shown(other.close())


def test_static_streams():
    """A table that is attached stays loaded, and takes no more rows."""
    streams = {
        "A": eddy.Stream({"k": "int64"}, window=eddy.Rows(2)),
        "R": eddy.Stream({"k": "int64", "name": "string"}, static=True),
    }
    engine = eddy.Eddy(eddy.Query(streams, attach=eddy.LeftJoin("R", "A.k = R.k")))
    engine.push("R", {"k": [1, 2], "name": ["one", None]})
    engine = restarted(engine, {})
    engine.push("R", {"k": [3], "name": ["three"]})
    engine.push("A", {"k": [1, 7]})
    engine = restarted(engine, {})
    with pytest.raises(eddy.BatchError, match="stream R is static"):
        engine.push("R", {"k": [3], "name": ["three"]})
    assert engine.push("A", {"k": [3]}).to_pydict()["R.name"] == ["three"]
    assert engine.close().to_pydict() == {"A.k": [7], "R.k": [None], "R.name": [None]}


def test_an_engine_that_has_seen_nothing():
    engine, other = (eddy.Eddy(query("full", True)) for _ in range(2))
    other = restarted(other, {})
    assert goes_on(engine, other, start=0, stop=12) > 20


def test_strings_and_withdrawals_of_an_engine_with_retractions():
    """What `retractions` asks for is as `changes` in the query, and saved; it cannot be changed."""
    engine = eddy.Eddy(query("left", False), retractions=True)
    fed(engine, 0, 6)
    with pytest.raises(eddy.EddyError, match="made with retractions=True: leave retractions out"):
        restarted(engine, {"retractions": False})
    other = restarted(engine, {})
    assert other.retractions
    assert goes_on(engine, other) > 20
    final = eddy.Eddy(query("left", False))
    with pytest.raises(eddy.EddyError, match="made with retractions=False"):
        restarted(final, {"retractions": True})


def test_another_query_is_refused():
    """The error names the attachment; sides of a comparison, and the order of AND, do not matter."""
    engine = eddy.Eddy(query("left", False))
    again = eddy.LeftJoin("C", "C.v > 1 AND A.k = C.k AND (C.v >= A.v OR A.s <> C.s)")
    assert restarted(engine, {}, query("left", False, attach=again)).query.attachments
    cases = {
        "it has LEFT JOIN C, the snapshot SEMI JOIN C": ("semi", {}),
        r"LEFT JOIN C is ON C\.k = A\.k AND .* in the snapshot ON C\.k = A\.k$": (
            "left",
            {"attach": eddy.LeftJoin("C", "C.k = A.k")},
        ),
        "changes is False, in the snapshot it is True": ("left", {"changes": True}),
        r"behind its joins it tests nothing, the snapshot C\.v IS NULL": ("left", {"after": "C.v IS NULL"}),
        "its streams are A, B, C, the snapshot's A, B": ("left", {"attach": (), "streams": "AB"}),
    }
    for message, (kind, parts) in cases.items():
        names = parts.pop("streams", "ABC")
        with pytest.raises(eddy.StateError, match=message.removesuffix("$")):
            restarted(
                eddy.Eddy(query(kind, parts.pop("changes", False), names, **parts)), {}, query("left", False)
            )


def test_functions_of_the_users_own_need_the_query():
    def near(x, y):
        return abs(x - y) < 2

    of = query("left", False, attach=eddy.LeftJoin("C", [eddy.predicate(near, "A.v", "C.v"), "A.k = C.k"]))
    engine = eddy.Eddy(of)
    fed(engine, 0, 6)
    with pytest.raises(eddy.StateError, match=r"near\(A\.v, C\.v\): load it with .*query=query"):
        restarted(engine, {})
    assert goes_on(engine, restarted(engine, {}, of)) > 20


@settings(deadline=None)
@given(st.data())
def test_every_query_is_rebuilt(data):
    """From its text and its parts, with the same attachments in the same words."""
    of = query_of(attached_case(Drawn(data.draw)))
    saved = json.loads(json.dumps(describe(of)))
    again = rebuilt(saved, "path")
    assert describe(again)["attachments"] == saved["attachments"]
    assert again.core.names == of.core.names
    assert set(again.filters) == set(of.filters)
    check_same(saved, of, "path")
    check_same(saved, again, "path")


def test_a_snapshot_of_the_third_format_loads():
    """`tests/data/format-3.eddy` was written by `third()` and ``save``."""
    path = ROOT / "tests/data/format-3.eddy"
    with zipfile.ZipFile(path) as file:
        assert json.loads(file.read("header.json"))["format"] == 3
    assert goes_on(third(), eddy.Eddy.load(path)) > 20


def third():
    engine = eddy.Eddy(query("left", True), plan="A B", lateness={"A": 2, "B": 0, "C": 1})
    fed(engine, 0, 6)
    return engine


def test_a_file_that_is_not_whole_is_refused(tmp_path):
    """Tables that do not fit together are damage."""
    engine = eddy.Eddy(query("full", True))
    fed(engine, 0, 6)
    engine.save(tmp_path / "whole.eddy")
    with zipfile.ZipFile(tmp_path / "whole.eddy") as file:
        members = {name: file.read(name) for name in file.namelist()}
    for one, other in (("2.arrow", "3.arrow"), ("4.arrow", "5.arrow"), ("2.arrow", None)):
        with zipfile.ZipFile(tmp_path / "other.eddy", "w") as file:
            for name, body in members.items():
                if name != one or other is not None:
                    file.writestr(name, members[other] if name == one else body)
        with pytest.raises(eddy.StateError, match="cut short or damaged"):
            eddy.Eddy.load(tmp_path / "other.eddy")


@pytest.mark.parametrize("place", ["lows", "nexts", "changes"])
def test_a_header_that_makes_no_sense_is_refused(tmp_path, place):
    """Whatever stands there: an error of ours, and never a crash."""
    engine = eddy.Eddy(query("left", True))
    fed(engine, 0, 6)
    engine.save(tmp_path / "whole.eddy")
    with zipfile.ZipFile(tmp_path / "whole.eddy") as file:
        members = {name: file.read(name) for name in file.namelist()}
    for value in (None, "x", [], {}, [-1], [2**70], [1, 2], ["x"], [10**6]):
        header = json.loads(members["header.json"])
        header["attached"][place] = value
        with zipfile.ZipFile(tmp_path / "odd.eddy", "w") as file:
            for name, body in members.items():
                file.writestr(name, json.dumps(header) if name == "header.json" else body)
        with pytest.raises(eddy.EddyError):
            eddy.Eddy.load(tmp_path / "odd.eddy")


def test_what_nobody_asks_for_is_not_saved(tmp_path):
    """A snapshot is as large as the windows, however much has passed through them."""
    engine = eddy.Eddy(query("left", False))
    sizes = []
    for start in (0, 200):
        fed(engine, start, start + 200)
        engine.save(tmp_path / "engine.eddy")
        sizes.append((tmp_path / "engine.eddy").stat().st_size)
    assert sizes[1] < 1.3 * sizes[0]


@pytest.mark.parametrize("seed", range(40))
def test_random_cases_are_saved_after_every_step(seed):
    from attrs import evolve

    from tests.attachments.cases import check
    from tests.attachments.restarts import a_restart

    case, pick = attached_case(Pick(seed)), Pick(-seed)
    steps = [one for step in case.steps for one in (step, a_restart(pick))]
    check(evolve(case, steps=steps))
