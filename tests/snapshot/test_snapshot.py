"""An engine that was saved and loaded goes on as if nothing had happened."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from policies import Jisc, MovingState, Routing
from tests.cases import expected, make_engine, make_query, step_events
from tests.checks import Book, judge, push, refuse
from tests.snapshots import counts, feed, header_of, plain, rows_of, zoned
from tests.strategies import Drawn, large_cases, plan, small_cases

base = settings().max_examples


def saved_and_loaded(engine, case, path, **options):
    """The engine after a restart. Unless something is changed, it would save again what it was loaded from."""
    engine.save(path)
    query = make_query(case) if any(tree[0] == "user" for tree in case.where) else None
    own = {
        "migration": Jisc(background=case.background),
        "feedback": case.feedback,
        "routing": engine.routing,
    }
    loaded = eddy.Eddy.load(path, query, **{**own, **options})
    if "migration" not in options:
        assert counts(loaded) == counts(engine)
    if not options and isinstance(engine.migration, Jisc):
        before = path.read_bytes()
        loaded.save(path)
        assert path.read_bytes() == before
    return loaded


def follow(case, path, restarts):
    """Like `checks.follow`, with a restart before some steps: ``restarts`` gives the options of each."""
    wanted, book, held = expected(case), Book(case), []
    engine = make_engine(case)
    for number, (step, want) in enumerate(zip(case.steps, wanted, strict=True)):
        if number in restarts:
            engine = saved_and_loaded(engine, case, path, **restarts[number])
        if step[0] in ("push", "push_all"):
            held.append((want, push(engine, case, step)))
            book.enter(step_events(case, step))
            if not case.hold:
                judge(book, *held[-1])
        elif step[0] == "migrate":
            engine.migrate(step[1])
        else:
            refuse(engine, book, *step[1:])
    for want, results in held if case.hold else ():
        judge(book, want, results)
    assert engine.statistics().results == sum(len(rows) for want in wanted for rows in want)


def moments(data, case, most):
    """Before which steps to restart, and what to change on the way."""
    if not case.steps:
        return {}
    pick = Drawn(data.draw)
    chosen = data.draw(st.sets(st.integers(0, len(case.steps) - 1), min_size=1, max_size=most))
    changes = {"batch_size": [1, 5, 4096], "joins": ["hash", "nested"], "migration": [MovingState()]}
    return {
        number: {
            **({"plan": plan(pick, list(case.streams))} if pick.chance(40) else {}),
            **{name: pick.choice(values) for name, values in changes.items() if pick.chance(15)},
        }
        for number in chosen
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("snapshots")


@given(small_cases(rejects=10, chunks=10), st.data())
@settings(max_examples=base // 2)
def test_a_restart_changes_no_result(folder, case, data):
    """Saved and loaded at any moments, under any plan, the engine goes on to equal the oracle."""
    follow(case, folder / "case.eddy", moments(data, case, 4))


@given(large_cases(), st.data())
@settings(max_examples=max(3, base // 30))
def test_a_restart_with_thousands_of_rows(folder, case, data):
    """The same with batches of up to 5,000 rows, sparse keys and small windows."""
    follow(case, folder / "case.eddy", moments(data, case, 2))


# Whole engines, by hand


@pytest.mark.parametrize("first", [0, 2**32 - 10, 2**50])
def test_values_of_every_type_survive(tmp_path, first):
    """Zones, NULLs, NaN, text, filtered rows, rows from far on; only some columns are kept."""
    engine = zoned(first)
    assert feed(engine, 0, 12)
    engine.save(tmp_path / "zoned.eddy")
    loaded = eddy.Eddy.load(tmp_path / "zoned.eddy")
    assert str(loaded.query) == str(engine.query)
    assert (loaded.seed, loaded.batch_size, loaded.joins) == (5, 3, "hash")
    wanted = feed(engine, 12, 30)
    assert len(wanted) > 20 and max(wanted)[0] >= first
    assert feed(loaded, 12, 30) == wanted


def test_composites_are_holes_after_loading_and_fill_on_demand(tmp_path):
    """Nothing is filled that nobody asks for; a migration technique may fill at once."""
    schema = {"x": "int64"}
    query = eddy.sql("SELECT * FROM A, B, C WHERE A.x = B.x AND B.x = C.x", dict.fromkeys("ABC", schema))
    engine = plain(query, "(A B) C")
    engine.push_all({name: {"x": np.arange(100)} for name in "AB"})
    engine.save(tmp_path / "abc.eddy")
    loaded = eddy.Eddy.load(tmp_path / "abc.eddy")
    (stair,) = loaded.statistics().stairs
    assert (stair.live, stair.complete) == (0, False)
    assert len(loaded.push("C", {"x": [3, 3, 4]})) == 3
    assert loaded.statistics().stairs[0].live == 2
    (stair,) = eddy.Eddy.load(tmp_path / "abc.eddy", migration=MovingState()).statistics().stairs
    assert (stair.live, stair.complete) == (100, True)


def test_questions_about_the_time_before_get_careful_answers(tmp_path):
    """The history is not saved: `why_not` says what the rows tell, and where its knowledge begins."""
    engine = plain()
    engine.push_all({"A": {"x": [1, 2]}, "B": {"x": [1, 3], "y": [0, 0]}})
    engine.save(tmp_path / "engine.eddy")
    loaded = eddy.Eddy.load(tmp_path / "engine.eddy")
    assert "before event 4, where the history begins, but A.x = B.x fails" in str(loaded.why_not(A=1, B=1))
    assert loaded.why_not(A=0, B=0).verdict == engine.why_not(A=0, B=0).verdict


def test_an_empty_engine_has_nothing_to_fill(tmp_path):
    """No rows, no holes: STAIRs are complete."""
    plain().save(tmp_path / "empty.eddy")
    loaded = eddy.Eddy.load(tmp_path / "empty.eddy")
    assert loaded.statistics().complete
    loaded.push("A", {"x": [1]})
    assert len(loaded.push("B", {"x": [1], "y": [2]})) == 1


class Asked(Routing):
    """Notes when it is asked."""

    period = 10

    def __init__(self):
        self.at = []

    def choose(self, view):
        self.at.append(view.events)


def test_policies_are_given_anew_and_asked_in_time(tmp_path):
    """Their names are in the file for people to read; the count of events since the last decision goes on."""
    engine = plain(routing=Asked(), migration=Jisc(background=3))
    for i in range(14):
        engine.push("A", {"x": [i]})
    engine.save(tmp_path / "engine.eddy")
    header = header_of(tmp_path / "engine.eddy")
    assert header["policies"] == {"routing": "Asked", "migration": "Jisc", "feedback": "NoFeedback"}
    loaded = eddy.Eddy.load(tmp_path / "engine.eddy", routing=Asked())
    assert loaded.migration == Jisc(at_once=2.0)
    for i in range(14):
        loaded.push("A", {"x": [i]})
    assert engine.routing.at == [10] and loaded.routing.at == [20]


def test_any_name_survives(tmp_path):
    """Of columns too, reserved words included; and so does text."""
    streams = {name: {"x y": "int64", 'say "x"': "string"} for name in ("order", "é", "a/b")}
    where = ['"order"."x y" = "é"."x y"', '"é"."say ""x""" = "a/b"."say ""x"""']
    engine = plain(eddy.Query(streams, where))
    batch = {"x y": [1, 2], 'say "x"': ["'", "]"]}
    engine.push_all(dict.fromkeys(streams, batch))
    engine.save(tmp_path / "names.eddy")
    loaded = eddy.Eddy.load(tmp_path / "names.eddy")
    assert loaded.plan == engine.plan
    assert rows_of(loaded.push("order", batch)) == rows_of(engine.push("order", batch))


def test_results_must_be_drawn_before_saving(tmp_path):
    """In the middle of a push there is no state to save."""
    engine = plain()
    engine.push("A", {"x": [1, 1, 1]})
    drawing = engine.push("B", {"x": [1], "y": [1]}, max_rows=1)
    next(drawing)
    with pytest.raises(eddy.StateError, match="then save"):
        engine.save(tmp_path / "engine.eddy")
    assert os.listdir(tmp_path) == []
    assert len(list(drawing)) == 2
    engine.save(tmp_path / "engine.eddy")
    assert eddy.Eddy.load(tmp_path / "engine.eddy").statistics().results == 3


def test_a_snapshot_is_as_large_as_the_live_rows(tmp_path):
    """Neither composites nor history count: 300 rows with 1,000,000 composites fit into a few kilobytes."""
    schema = {"x": "int64", "v": "int64"}
    query = eddy.sql("SELECT * FROM A [ROWS 1000], B [ROWS 1000], C [ROWS 1000] WHERE A.x = B.x AND B.x = C.x",
                     dict.fromkeys("ABC", schema))  # fmt: skip
    random_numbers = np.random.default_rng(1)

    def size(plan, rounds, rows):
        engine = plain(query, plan)
        for _ in range(rounds):
            for name in "AB":
                engine.push(name, {"x": np.zeros(rows, int), "v": random_numbers.integers(0, 2**62, rows)})
        engine.save(tmp_path / "engine.eddy")
        return (tmp_path / "engine.eddy").stat().st_size, engine.statistics().bytes

    bare, _ = size("stems", 1, 1000)
    large, held = size("(A B) C", 1, 1000)
    assert held > 10_000_000 and large < 30_000
    assert abs(large - bare) < 300
    longer, _ = size("stems", 20, 1000)
    assert abs(longer - large) < 300
    empty, _ = size("stems", 0, 0)
    half, _ = size("stems", 1, 500)
    assert 1.8 < (large - empty) / (half - empty) < 2.2
