"""Black boxes of a user's own, changed by Gms, Gpt and Ghm (T33 and T35)."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eddy
from eddy import Range, Rows, Tumbling, Unbounded
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack
from tests.boxes.median import Median

OLD, NEW = "(A B) C", "A (B C)"
TECHNIQUES = pytest.mark.parametrize("migration", [Gms(), Gpt(), Ghm()], ids=repr)


def query_of(window, names="ABC"):
    """A join on k over streams with a time."""
    streams = {name: eddy.Stream(dict.fromkeys(("ts", "k", "v"), "int64"), window=window) for name in names}
    return eddy.Query(streams, where=[f"A.k = {name}.k" for name in names[1:]])


def row(number, keys=2):
    """Event ``number`` of a feed, which takes turns among A, B and C: its stream and its batch."""
    return "ABC"[number % 3], {"ts": [number], "k": [number * number % keys], "v": [number * 7 % 11]}


def values(result):
    """The rows of a result as a sorted list."""
    return sorted(map(tuple, zip(*result.to_pydict().values(), strict=True)))


class Log:
    """A box that remembers what it was given, and says how much that was."""

    def __init__(self):
        self.taken, self.closed = [], 0

    def push_all(self, batches):
        """How many batches came."""
        self.taken.append(batches)
        return len(batches)

    def close(self):
        """Count how often this is called."""
        self.closed += 1


@TECHNIQUES
def test_t33_the_old_boxes_output_until_the_swap_and_the_new_ones_after(migration):
    """Event by event the results are those of an engine that never changed, at the switch too."""
    query = query_of(Range(12))
    staying = eddy.Eddy(query, plan=OLD)
    old, new = eddy.Eddy(query, plan=OLD), eddy.Eddy(query, plan=NEW)
    boxes = eddy.Boxes(old, query.streams, migration=migration)
    for number in range(80):
        if number == 30:
            boxes.migrate(lambda: new)
        user = boxes.box
        before = user.statistics().results
        found = boxes.push(*row(number))
        assert values(found) == values(staying.push(*row(number)))
        assert user.statistics().results - before == len(found)
    assert boxes.box is new
    (change,) = boxes.history
    assert (change.technique, change.begun) == (type(migration).__name__, 30)
    ended = {"Gms": 30, "Gpt": 43, "Ghm": 43}
    assert change.ended == ended[change.technique]
    assert old.statistics().events == change.ended and not boxes.migrating


@TECHNIQUES
def test_a_median_on_top_goes_on_as_if_nothing_had_happened(migration):
    """The sliding-window median of the paper's section 5.3: results of two plans cannot be combined."""
    query = query_of(Range(10))
    staying = Median(query, OLD, 15)
    boxes = eddy.Boxes(Median(query, OLD, 15), query.streams, above=Range(15), migration=migration)
    old = boxes.box
    for number in range(120):
        if number == 40:
            boxes.migrate(lambda: Median(query, NEW, 15))
        assert boxes.push(*row(number)) == staying.push_all(dict([row(number)]))
    (change,) = boxes.history
    assert boxes.box.engine.plan == NEW and change.ended < 120
    assert old.closed and not boxes.box.closed


def test_gpt_takes_the_windows_of_both():
    """The rows, of w, and the results above, of w': after w + w' nothing from before the change counts (H-C7)."""
    query = query_of(Range(10))
    ended = []
    for above in (None, Range(0), Range(25)):
        boxes = eddy.Boxes(eddy.Eddy(query), query.streams, above, Gpt())
        for number in range(100):
            if number == 40:
                boxes.migrate(lambda: eddy.Eddy(query))
            boxes.push(*row(number))
        ended.append(boxes.history[0].ended - 40)
        assert boxes.remembered <= ended[-1] + 1
    assert ended == [11, 12, 37]  # low-water rows are known where pushes end


class Count:
    """How many results there were in the last 10, by their times."""

    def __init__(self, query):
        self.engine, self.times = eddy.Eddy(query), []

    def push_all(self, batches):
        """The count after this push, the time of which is in every batch."""
        now = max(max(batch["ts"]) for batch in batches.values())
        found = self.engine.push_all(batches).to_pydict()
        self.times += map(max, zip(found["A.ts"], found["B.ts"], strict=True))
        self.times = [time for time in self.times if time >= now - 10]
        return len(self.times)


@TECHNIQUES
def test_t35_a_count_of_results_by_their_times(migration):
    """a@0 and b@9 make a result that is counted at 13, though a has left: w + w' of rows are replayed (H-C7)."""
    query = query_of(Range(10), "AB")
    boxes = eddy.Boxes(Count(query), query.streams, above=Range(10), migration=migration)
    assert boxes.push("A", {"ts": [0], "k": [1], "v": [0]}) == 0
    assert boxes.push("B", {"ts": [9], "k": [1], "v": [0]}) == 1
    assert boxes.push("B", {"ts": [12], "k": [5], "v": [0]}) == 1
    boxes.migrate(lambda: Count(query))
    assert boxes.push("B", {"ts": [13], "k": [6], "v": [0]}) == 1
    boxes.settle()
    assert boxes.push("B", {"ts": [13], "k": [7], "v": [0]}) == 1
    assert boxes.push("A", {"ts": [20], "k": [9], "v": [0]}) == 0


def test_t35_what_above_is_for():
    """The same count, declared to depend on live rows only: a@0 is not replayed, and its result is missed."""
    query = query_of(Range(10), "AB")
    boxes = eddy.Boxes(Count(query), query.streams, migration=Gms())
    boxes.push("A", {"ts": [0], "k": [1], "v": [0]})
    boxes.push("B", {"ts": [9], "k": [1], "v": [0]})
    boxes.push("B", {"ts": [12], "k": [5], "v": [0]})
    boxes.migrate(lambda: Count(query))
    assert boxes.push("B", {"ts": [13], "k": [6], "v": [0]}) == 0


@TECHNIQUES
def test_t35_a_count_of_live_results(migration):
    """Where a result lives as long as its rows, as in an engine's aggregates, w is enough: 0 at 13 (H-C7)."""
    join = query_of(Range(10), "AB")
    query = eddy.Query(join.streams, where=join.predicates, aggregates={"n": "COUNT(*)"})
    boxes = eddy.Boxes(eddy.Eddy(query), query.streams, migration=migration)
    table = lambda: boxes.box.table().to_pydict()["n"]  # noqa: E731
    boxes.push("A", {"ts": [0], "k": [1], "v": [0]})
    boxes.push("B", {"ts": [9], "k": [1], "v": [0]})
    assert table() == [1]
    boxes.push("B", {"ts": [12], "k": [5], "v": [0]})
    boxes.migrate(lambda: eddy.Eddy(query))
    boxes.settle()
    boxes.push("B", {"ts": [13], "k": [6], "v": [0]})
    assert table() == [0] and boxes.remembered == 3
    assert boxes.push("A", {"ts": [14], "k": [5], "v": [0]}).to_pydict(sign=True) == {
        "n": [0, 1],
        "sign": [-1, 1],
    }


@pytest.mark.parametrize("share", [1.5, 2.0, 5.0])
def test_ghm_has_two_stages(share):
    """First the old rows are worked off, while new ones queue (d1); then those, while others come (d2).

    In events, with n old ones and ``share`` processed for each that comes: d1 = n / share, d2 = d1 / (share - 1).
    """
    streams = {"A": eddy.Stream({"k": "int64"}, window=Rows(600))}
    boxes = eddy.Boxes(Log(), streams, migration=Ghm(share))
    for number in range(1000):
        boxes.push("A", {"k": [number]})
    boxes.migrate(Log)
    behind = []
    while boxes.migrating:
        behind.append(boxes.history[-1].behind)
        boxes.push("A", {"k": [0]})
    (change,) = boxes.history
    assert change.rows == 600 == behind[0] and behind == sorted(behind, reverse=True)
    whole = -(-share // 1)  # one push at a time has one event, so as many are processed as this
    d1 = change.replayed - change.begun
    d2 = change.ended - change.replayed
    assert d1 == pytest.approx(600 / whole, abs=1)
    assert d2 == pytest.approx(d1 / (whole - 1), abs=1)
    assert len(boxes.box.taken) == 600 + d1 + d2


def test_gms_replays_before_the_next_push():
    """The pause is the replay: when `migrate` returns the new box is in use, and nothing was given meanwhile."""
    streams = {"A": eddy.Stream({"k": "int64"}, window=Rows(5))}
    boxes = eddy.Boxes(Log(), streams, migration=Gms())
    for number in range(9):
        boxes.push("A", {"k": [number]})
    boxes.migrate(Log)
    assert [batches["A"]["k"] for batches in boxes.box.taken] == [[4], [5], [6], [7], [8]]
    (change,) = boxes.history
    assert (change.begun, change.replayed, change.ended, change.rows) == (9, 9, 9, 5)


def test_gpt_has_patience_with_a_silent_stream():
    """Where B brings no more rows, a new box is made and the rows that count are replayed to it (H-C5)."""
    query = query_of(Rows(4), "AB")
    staying = eddy.Eddy(query)
    boxes = eddy.Boxes(eddy.Eddy(query), query.streams, migration=Gpt(patience=2.0))
    made = []
    for number in range(60):
        if number == 20:
            boxes.migrate(lambda: made.append(eddy.Eddy(query)) or made[-1])
        batch = {"ts": [number], "k": [number % 3], "v": [0]}
        name = "B" if number < 8 or number > 50 else "A"
        assert values(boxes.push(name, batch)) == values(staying.push(name, batch))
    (change,) = boxes.history
    assert (len(made), change.ended, change.rows) == (2, 20 + 2 * 8 + 1, 8)
    assert boxes.box is made[1]


@TECHNIQUES
def test_a_change_during_a_change_starts_anew(migration):
    """The first new box is let go, unless it has taken over already; nothing is lost of what came meanwhile."""
    streams = {"A": eddy.Stream({"ts": "int64"}, window=Range(10))}
    boxes = eddy.Boxes(Log(), streams, migration=migration)
    made = [boxes.box]
    for number in range(60):
        if number in (20, 23, 24):
            boxes.migrate(lambda: made.append(Log()) or made[-1])
        boxes.push("A", {"ts": [number]})
    assert [box.closed for box in made] == [1, 1, 1, 0]
    assert len(boxes.history) == 3 and boxes.history[-1].ended is not None
    assert [change.ended is None for change in boxes.history] == [type(migration) is not Gms] * 2 + [False]
    taken = [time for batches in boxes.box.taken for time in batches["A"]["ts"]]
    assert taken == list(range(taken[0], 60)) and taken[0] <= 24


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
    """Windows and what looks back above them may be durations; a plain number must be in one unit."""
    streams = {
        "A": eddy.Stream({"ts": "timestamp[ms]"}, window=Range("2 s")),
        "B": eddy.Stream({"ts": "timestamp[s]"}, window=Range("2 s")),
    }
    boxes = eddy.Boxes(Log(), streams, above=Range("3 s"), migration=Gms())
    for second in range(20):
        boxes.push_all({name: {"ts": np.array([second], "M8[s]")} for name in "AB"})
    assert boxes.remembered == 2 * 7  # from the push before the first that ended in the last 3 s
    with pytest.raises(eddy.QueryError, match="different units"):
        eddy.Boxes(Log(), streams, above=Range(3))
    with pytest.raises(eddy.QueryError, match="counts time"):
        eddy.Boxes(Log(), {"A": eddy.Stream({"k": "int64"})}, above=Range(3))


# -- what goes wrong -------------------------------------------------------------------------------------------------


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
