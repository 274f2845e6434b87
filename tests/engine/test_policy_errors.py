"""Errors of migration and feedback policies: named, raised before a batch is taken, and without loss."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import eddy
from eddy.partition import Cell, choose
from policies import HybMig, Jisc, Migration, Mns, Routing
from tests.engine.test_policy_objects import batches, query

pytestmark = pytest.mark.filterwarnings("ignore::eddy.PolicyWarning")

PLANS = ("(A B) C", "A (B C)")


class Own(RuntimeError):
    """What the policies here raise."""


def after_beginning(technique, change):
    super(type(technique), technique).begin(change)
    raise Own("begin")


def at_work(technique, change):
    super(type(technique), technique).work(change)
    raise Own("work")


def at_work_first(technique, change):
    super(type(technique), technique).work(change)
    if change.age < 0.5:
        raise Own("work")


def at_the_end(technique, change):
    raise Own("done")


TECHNIQUES = {
    "after begin": (Jisc, {"begin": after_beginning}),
    "work": (Jisc, {"work": at_work}),
    "work first": (HybMig, {"work": at_work_first}),
    "work beside": (HybMig, {"work": at_work}),
    "done": (Jisc, {"done": at_the_end}),
}


def technique_of(kind):
    base, methods = TECHNIQUES[kind]
    return type("Failing", (base,), methods)()


def followed(made, plain, feed, retries=1, **how):
    """Push to both; a batch that is refused is pushed again. How often that was so, and what was said."""
    told = []
    for number, batch in enumerate(feed):
        if number in (6, 12):
            for engine in (made, plain):
                engine.migrate(PLANS[number == 6])
        wanted = sorted(plain.push_all(batch).rows.tolist())
        for attempt in range(retries + 1):
            try:
                found = made.push_all(batch, **how)
                break
            except eddy.PolicyError as error:
                assert attempt < retries and isinstance(error.__cause__, Own)
                told.append(str(error))
        parts = [found] if isinstance(found, eddy.Result) else list(found)
        assert sorted(row for part in parts for row in part.rows.tolist()) == wanted
    assert made.statistics().events == plain.statistics().events and made.plan == plain.plan
    return told


@pytest.mark.parametrize("how", [{}, {"max_rows": 7}], ids=["", "in parts"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", TECHNIQUES)
def test_an_error_of_a_technique_stops_no_batch(kind, threads, how):
    """The batch at whose end it came is whole; the next push says what has happened, and takes nothing."""
    made = eddy.Eddy(query(), PLANS[0], migration=technique_of(kind), threads=threads, batch_size=40)
    told = followed(made, eddy.Eddy(query(), PLANS[0]), batches("ABC", 18, rows=40), **how)
    assert told
    for text in told:
        assert text.startswith("the migration policy Failing raised Own: ")
        assert "nothing is lost by it. This batch was not taken: push it again; settle() " in text


@pytest.mark.parametrize("threads", [1, 2])
def test_a_change_that_does_not_begin_leaves_the_plan(threads):
    """Nothing has changed, and another technique is the way out."""

    class Failing(Jisc):
        def begin(self, change):
            raise Own("begin")

    made, plain = (
        eddy.Eddy(query(), PLANS[0], migration=m, threads=n) for m, n in ((Failing(), threads), (Jisc(), 1))
    )
    for batch in batches("ABC", 6, rows=20):
        with pytest.raises(
            eddy.PolicyError, match=r"Failing raised Own: begin\. The plan is as it was"
        ) as caught:
            made.migrate(PLANS[1])
        assert isinstance(caught.value.__cause__, Own)
        assert made.plan == PLANS[0] and not made.statistics().migrations and not made.statistics().history
        assert sorted(made.push_all(batch).rows.tolist()) == sorted(plain.push_all(batch).rows.tolist())


def test_a_change_that_a_routing_policy_wants_and_a_technique_refuses():
    """The push says so, and the batch can be pushed again; the routing policy is asked when it is due again."""

    class Changing(Routing):
        period = 100

        def choose(self, view):
            return PLANS[view.plan == PLANS[0]]

    class Failing(Jisc):
        def begin(self, change):
            raise Own("begin")

    made = eddy.Eddy(query(), PLANS[0], routing=Changing(), migration=Failing())
    told = followed_without_changes(made, eddy.Eddy(query(), PLANS[0]))
    assert len(told) > 3 and made.plan == PLANS[0]
    assert "The plan is as it was, and the batch was not taken: push it again" in told[0]


def followed_without_changes(made, plain):
    told = []
    for batch in batches("ABC", 20, rows=20):
        wanted = sorted(plain.push_all(batch).rows.tolist())
        try:
            found = made.push_all(batch)
        except eddy.PolicyError as error:
            told.append(str(error))
            found = made.push_all(batch)
        assert sorted(found.rows.tolist()) == wanted
    return told


def test_settle_ends_a_change_without_the_technique():
    """Then there is nothing that it could fail at."""
    made, plain = eddy.Eddy(query(), PLANS[0], migration=technique_of("work")), eddy.Eddy(query(), PLANS[0])
    for number, batch in enumerate(batches("ABC", 12, rows=40)):
        if number == 4:
            made.migrate(PLANS[1])
        if number == 5:
            with pytest.raises(eddy.PolicyError, match=r"settle\(\) finishes the plan change without it"):
                made.push_all(batch)
            made.settle()
        assert sorted(made.push_all(batch).rows.tolist()) == sorted(plain.push_all(batch).rows.tolist())
    assert made.plan == PLANS[1] and made.statistics().complete


def test_an_error_in_what_a_technique_asks_of_the_engine_stops_it():
    """Nobody knows then what was done and what was not: the error says so, and what to do."""

    class Failing(Jisc):
        def work(self, change):
            change.incomplete[0].settle("all of them")

    made = eddy.Eddy(query(), PLANS[0], migration=Failing())
    *feed, last = batches("ABC", 6, rows=40)
    for batch in feed:
        made.push_all(batch)
    made.migrate(PLANS[1])
    with pytest.raises(eddy.StateError, match=r"Failing .* stopped .* load the last snapshot") as caught:
        made.push_all(last)
    assert isinstance(caught.value.__cause__, Exception)
    with pytest.raises(eddy.StateError, match="load the last snapshot"):
        made.push_all(last)


def test_a_technique_that_fails_when_a_snapshot_is_loaded(tmp_path):
    """The error names it; the file is as it was."""

    class Failing(Jisc):
        def resume(self, change):
            raise Own("resume")

    made = eddy.Eddy(query(), PLANS[0])
    *feed, last = batches("ABC", 4, rows=40)
    for batch in feed:
        made.push_all(batch)
    made.save(tmp_path / "engine.eddy")
    for threads in (1, 2):
        with pytest.raises(eddy.PolicyError, match=r"Failing raised Own: resume\. Nothing was loaded"):
            eddy.Eddy.load(tmp_path / "engine.eddy", migration=Failing(), threads=threads)
    again = eddy.Eddy.load(tmp_path / "engine.eddy")
    assert sorted(again.push_all(last).rows.tolist()) == sorted(made.push_all(last).rows.tolist())


def failing(name, answer=None):
    """A feedback policy of which one method, or property, fails as soon as there is something in the list: it raises an
    error, or gives an answer that is none."""
    on = []

    def fail(policy, *args):
        if not on:
            found = getattr(super(Failing, policy), name)
            return found(*args) if callable(found) else found
        if answer is None:
            raise Own(name)
        return answer

    Failing = type("Failing", (Mns,), {name: property(fail) if name == "hesitates" else fail})
    return Failing(), on


FEEDBACK = {
    "rest": ("rest",),
    "judges": ("judges",),
    "waits": ("waits",),
    "hesitates": ("hesitates",),
    "no number": ("rest", "long"),
    "no attributes": ("judges", (99,)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", FEEDBACK)
def test_an_error_of_a_feedback_policy_stops_no_batch(kind, threads):
    """What it was asked about is not judged, or goes on to be; results are the same."""
    names = "ABCD"
    plans = ("((A B) C) D", "((C B) A) D")
    policy, on = failing(*FEEDBACK[kind])
    made, plain = (
        eddy.Eddy(query(names), plans[0], feedback=f, threads=n) for f, n in ((policy, threads), (None, 1))
    )
    on.append(True)
    told = []
    random = np.random.default_rng(5)
    for number in range(60):
        batch = {n: {"k": random.integers(0, 90, 40), "v": random.integers(0, 90, 40)} for n in names}
        try:
            if number == 30:
                plain.migrate(plans[1])
                made.migrate(plans[1])
        except eddy.EddyError as error:  # a policy that cannot say what it judges is refused, as before
            assert kind in ("judges", "waits", "no attributes")
            assert made.plan == plans[0]
            assert "failed" in str(error) or "returned (99,)" in str(error)
            plain.migrate(plans[0])
        wanted = sorted(plain.push_all(batch).rows.tolist())
        for _ in range(2):
            try:
                found = made.push_all(batch)
                break
            except eddy.PolicyError as error:
                told.append(str(error))
        assert sorted(found.rows.tolist()) == wanted
    assert made.statistics().events == plain.statistics().events
    assert told and all(text.startswith("the feedback policy Failing raised ") for text in told)
    assert "This batch was not taken: push it again" in told[0]
    assert made.statistics().feedback.policy == "Failing"


def test_a_shard_follows_the_others_where_begin_fails_in_it():
    """Some have the new plan by then: it takes over with holes, nothing is lost, and the next push tells."""

    class Flaky(Migration):
        calls = 0

        def begin(self, change):
            Flaky.calls += 1
            if Flaky.calls == 2:
                raise RuntimeError("boom")
            super().begin(change)

        def work(self, change):
            pass

    declared = {n: eddy.Stream({"k": "int64"}, window=eddy.Rows(500)) for n in "ABC"}
    query = eddy.Query(declared, where=["A.k = B.k", "B.k = C.k"])
    one, two = (
        eddy.Eddy(query, plan="(A B) C"),
        eddy.Eddy(query, plan="(A B) C", threads=2, migration=Flaky()),
    )
    batch = {n: {"k": np.arange(2000) % 300} for n in "ABC"}
    for each in (one, two):
        each.push_all(batch)
        each.migrate("A (B C)")
    with pytest.raises(eddy.PolicyError, match="Flaky raised RuntimeError: boom"):
        two.push_all(batch)
    assert two.plan == one.plan == "A (B C)" and len(two.push_all(batch)) == len(one.push_all(batch)) > 0


def failing_in_its_last_push(threads=1):
    """An engine whose technique is going to fail in the next push, its twin, and the batch to push."""
    made = eddy.Eddy(query(), PLANS[0], migration=technique_of("work"), threads=threads, batch_size=40)
    plain = eddy.Eddy(query(), PLANS[0])
    *feed, last = batches("ABC", 6, rows=40)
    for engine in (made, plain):
        for batch in feed:
            engine.push_all(batch)
        engine.migrate(PLANS[1])
    return made, plain, last


@pytest.mark.parametrize("how", [{}, {"max_rows": 7}], ids=["", "in parts"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_the_last_push_is_told_by_a_warning(threads, how):
    """At its end, once, at the line of the caller; statistics and explain show it until the next push raises it."""
    made, plain, last = failing_in_its_last_push(threads)
    assert made.statistics().fault is None
    with pytest.warns(eddy.PolicyWarning) as caught:
        found = made.push_all(last, **how)
        rows = [row for part in ([found] if not how else found) for row in part.rows.tolist()]
    assert sorted(rows) == sorted(plain.push_all(last).rows.tolist())
    (warning,) = caught
    said = "the migration policy Failing raised Own: work"
    assert str(warning.message) == f"{said}. Nothing is lost by it; the next push raises it"
    assert isinstance(warning.message.__cause__, Own) and warning.filename == __file__
    assert made.statistics().fault == said and f"\n{said}; the next push raises it\n" in made.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(eddy.PolicyError, match=said):
            made.push_all(last)
    assert made.statistics().fault is None and said not in made.explain()


@pytest.mark.parametrize("how", [{}, {"max_rows": 7}], ids=["", "in parts"])
def test_a_warning_that_is_made_an_error_loses_no_results(how, capsys):
    """It is shown as an error that nobody has caught, and the push goes on to give what it has found."""
    made, plain, last = failing_in_its_last_push()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = made.push_all(last, **how)
        rows = [row for part in ([found] if not how else found) for row in part.rows.tolist()]
    assert sorted(rows) == sorted(plain.push_all(last).rows.tolist())
    assert made.statistics().events == plain.statistics().events
    assert "PolicyWarning: the migration policy Failing raised Own: work" in capsys.readouterr().err


def test_an_error_in_a_cell_is_told_by_a_warning():
    """Cells of a partitioning are pushed to by another door."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(10)) for name in "ABC"}
    timed = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    cell = Cell(timed, choose(timed, 1), 0, migration=technique_of("work"), plan=PLANS[0])
    batch = {name: {"ts": [1, 2], "k": [1, 2]} for name in "ABC"}
    assert len(cell.push(batch)) == 2
    cell.migrate(PLANS[1])
    with pytest.warns(eddy.PolicyWarning, match="Failing raised Own: work"):
        assert len(cell.push({name: {"ts": [3], "k": [1]} for name in "ABC"})) == 7
