"""Black boxes that fail, and what is refused: the box in use goes on, and nothing is lost."""

from __future__ import annotations

import warnings

import pytest

import eddy
from eddy import Rows, Tumbling
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack
from tests.boxes.own import Log, query_of


class Failing(Log):
    """A box that fails when it is given a negative key."""

    def push_all(self, batches):
        if min(batches["A"]["k"]) < 0:
            raise ValueError("a negative key")
        return super().push_all(batches)


ONE = {"A": eddy.Stream({"k": "int64"}, window=Rows(4))}


def test_a_push_that_the_box_refuses_was_not_made():
    """It is not remembered, and the new box is not given it."""
    boxes = eddy.Boxes(Failing(), ONE, migration=Gpt())
    boxes.push("A", {"k": [1]})
    boxes.migrate(Log)
    with pytest.raises(ValueError, match="negative"):
        boxes.push("A", {"k": [-1]})
    for number in range(2, 6):
        boxes.push("A", {"k": [number]})
    assert [batches["A"]["k"] for batches in boxes.box.taken] == [[2], [3], [4], [5]]


def test_a_batch_that_cannot_be_copied_is_not_pushed():
    """The box in use does not get what another could not be given."""

    class Odd(list):
        def copy(self):
            raise RuntimeError("no copies")

    boxes = eddy.Boxes(Log(), ONE)
    with pytest.raises(RuntimeError, match="no copies"):
        boxes.push("A", {"k": Odd([1])})
    assert boxes.box.taken == [] and boxes.remembered == 0


@pytest.mark.parametrize("migration", [Gpt(), Ghm()], ids=repr)
def test_a_new_box_that_fails_ends_the_change_and_not_the_push(migration):
    """The old box goes on, the results of the push are given, and somebody is warned."""
    boxes = eddy.Boxes(Log(), ONE, migration=migration)
    old, new = boxes.box, Failing()
    boxes.push("A", {"k": [1]})
    boxes.migrate(lambda: new)
    with pytest.warns(eddy.PolicyWarning, match="given up: ValueError: a negative key"):
        assert boxes.push("A", {"k": [-1]}) == 1
    assert boxes.box is old and not boxes.migrating and new.closed == 1
    assert boxes.history[-1].fault == "ValueError: a negative key" and boxes.history[-1].ended is None
    assert boxes.push("A", {"k": [-1]}) == 1


def test_where_warnings_are_errors_the_results_are_given(monkeypatch):
    """The warning is shown as an error that nobody has caught."""
    seen = []
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: seen.append(kind))
    boxes = eddy.Boxes(Log(), ONE, migration=Gpt())
    boxes.migrate(Failing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert boxes.push("A", {"k": [-1]}) == 1
    assert seen == [eddy.PolicyWarning]


def test_a_change_that_cannot_begin_leaves_all_as_it_was():
    """Another one that is under way goes on."""
    boxes = eddy.Boxes(Log(), ONE, migration=Gms())
    old, tried = boxes.box, []
    boxes.push("A", {"k": [-1]})
    with pytest.raises(ValueError, match="negative"):
        boxes.migrate(lambda: tried.append(Failing()) or tried[-1])
    assert boxes.box is old and boxes.history == () and tried[0].closed == 1
    boxes = eddy.Boxes(Log(), ONE, migration=Ghm())
    boxes.push("A", {"k": [1, 2]})
    boxes.migrate(Log)
    with pytest.raises(ZeroDivisionError):
        boxes.migrate(lambda: 1 / 0)
    assert boxes.migrating
    boxes.push("A", {"k": [3, 4]})
    assert [batches["A"]["k"] for batches in boxes.box.taken] == [[1, 2], [3, 4]]


def test_an_interrupted_push_may_have_been_taken_or_not():
    """Then there is nothing that another box could be given for sure."""

    class Interrupted(Log):
        def push_all(self, batches):
            raise KeyboardInterrupt

    new = Log()
    boxes = eddy.Boxes(Interrupted(), ONE, migration=Gpt())
    boxes.migrate(lambda: new)
    with pytest.raises(KeyboardInterrupt):
        boxes.push("A", {"k": [1]})
    assert new.closed == 1 and not boxes.migrating
    with pytest.raises(eddy.StateError, match="interrupted"):
        boxes.migrate(Log)


def test_an_interrupted_new_box_is_let_go():
    """It may have stopped in the middle of a push."""

    class Interrupted(Log):
        def push_all(self, batches):
            raise KeyboardInterrupt

    boxes = eddy.Boxes(Log(), ONE, migration=Gpt())
    boxes.migrate(Interrupted)
    with pytest.raises(KeyboardInterrupt):
        boxes.push("A", {"k": [1]})
    assert not boxes.migrating and len(boxes.box.taken) == 1
    boxes.migrate(Log)
    boxes.settle()
    assert len(boxes.box.taken) == 1


def test_a_box_that_cannot_be_closed():
    """It was let go, whatever it says."""

    class Open(Log):
        def close(self):
            raise OSError("busy")

    boxes = eddy.Boxes(Open(), ONE, migration=Gms())
    boxes.push("A", {"k": [1]})
    with pytest.warns(eddy.PolicyWarning, match="OSError: busy"):
        boxes.migrate(Log)
    assert len(boxes.box.taken) == 1


@pytest.mark.parametrize(
    "migration", [Jisc(), MovingState(), EagerStairs(), ParallelTrack(), HybMig()], ids=repr
)
def test_techniques_that_look_inside_are_refused(migration):
    """They move or share states, which a black box does not show."""
    boxes = eddy.Boxes(Log(), ONE, migration=migration)
    with pytest.raises(eddy.EddyError, match="use Gms, Gpt or Ghm"):
        boxes.migrate(Log)
    assert not boxes.migrating


def test_a_technique_may_do_as_it_likes():
    """Whatever it leaves undone, the new box has all that it needs when it takes over."""

    class Hasty(Migration):
        def begin(self, change):
            change.box(replay=False)

        def work(self, change):
            change.swap()

    class Idle(Migration):
        def begin(self, change):
            pass

        def work(self, change):
            raise AssertionError("there is nothing to do")

    for technique in (Hasty(), Idle()):
        boxes = eddy.Boxes(Log(), ONE, migration=technique)
        for number in range(6):
            boxes.push("A", {"k": [number]})
        boxes.migrate(Log)
        boxes.push("A", {"k": [6]})
        assert [batches["A"]["k"][0] for batches in boxes.box.taken][-4:] == [3, 4, 5, 6]
        assert boxes.history[-1].ended is not None


def test_settle_finishes_now():
    """Rows that the new box lacks are replayed; without a change it does nothing."""
    boxes = eddy.Boxes(Log(), ONE, migration=Gpt())
    boxes.settle()
    boxes.push("A", {"k": [1]})
    boxes.migrate(Log)
    boxes.push("A", {"k": [2]})
    boxes.settle()
    assert [batches["A"]["k"] for batches in boxes.box.taken] == [[1], [2]]
    assert boxes.history[-1].ended == 2
    boxes.push("A", {"k": [-3]})
    boxes.migrate(Failing)
    with pytest.raises(ValueError, match="negative"):
        boxes.settle()
    assert not boxes.migrating and boxes.history[-1].fault == "ValueError: a negative key"


@pytest.mark.parametrize(
    "wrong, error, text",
    [
        (lambda: eddy.Boxes(3, ONE), eddy.EddyError, "push_all"),
        (lambda: eddy.Boxes(Log, ONE), eddy.EddyError, "push_all"),
        (lambda: eddy.Boxes(Log(), query_of(Rows(3))), eddy.QueryError, "query.streams"),
        (lambda: eddy.Boxes(Log(), {}), eddy.QueryError, "query.streams"),
        (lambda: eddy.Boxes(Log(), ONE, above=Rows(3)), eddy.QueryError, "above"),
        (lambda: eddy.Boxes(Log(), ONE, migration="Gms"), eddy.EddyError, "Gms()"),
        (
            lambda: eddy.Boxes(Log(), {"A": eddy.Stream({"k": "int64"}, window=Tumbling(rows=3))}),
            eddy.QueryError,
            "first row ever",
        ),
        (lambda: eddy.Boxes(Log(), ONE).migrate(Log()), eddy.EddyError, r"lambda: Log\(...\)"),
        (lambda: eddy.Boxes(Log(), ONE).migrate("A B"), eddy.EddyError, "a function"),
        (lambda: eddy.Boxes(Log(), ONE).push("B", {"k": [1]}), eddy.BatchError, "no stream 'B'"),
        (lambda: eddy.Boxes(Log(), ONE).push("A", {"x": [1]}), eddy.BatchError, "no column 'k'"),
        (lambda: eddy.Boxes(Log(), ONE).push_all([1]), eddy.EddyError, "push_all takes a dict"),
    ],
)
def test_what_is_refused(wrong, error, text):
    """Each error says what to give."""
    with pytest.raises(error, match=text):
        wrong()


def test_an_outer_join_is_no_black_box():
    """Which of its rows had a partner that has left its window is not in the rows that another box would be given."""
    streams = {name: eddy.Stream({"k": "int64"}, window=Rows(4)) for name in "ABC"}
    made = eddy.Query(streams, "A.k = B.k", attach=eddy.LeftJoin("C", "A.k = C.k"))
    with pytest.raises(
        eddy.EddyError, match="has LEFT JOIN C, so what it gives depends on rows that have left"
    ):
        eddy.Boxes(eddy.Eddy(made), streams)
    boxes = eddy.Boxes(Log(), streams)
    with pytest.raises(eddy.EddyError, match="has LEFT JOIN C"):
        boxes.migrate(lambda: eddy.Eddy(made))
