"""Black boxes of a user's own, changed by Gms, Gpt and Ghm (T33 and T35)."""

from __future__ import annotations

import pytest

import eddy
from eddy import Range, Rows
from policies import Ghm, Gms, Gpt
from tests.boxes.own import Log, Median, query_of

OLD, NEW = "(A B) C", "A (B C)"
TECHNIQUES = pytest.mark.parametrize("migration", [Gms(), Gpt(), Ghm()], ids=repr)


def row(number, keys=2):
    """Event ``number`` of a feed, which takes turns among A, B and C: its stream and its batch."""
    return "ABC"[number % 3], {"ts": [number], "k": [number * number % keys], "v": [number * 7 % 11]}


def values(result):
    """The rows of a result as a sorted list."""
    return sorted(map(tuple, zip(*result.to_pydict().values(), strict=True)))


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


@TECHNIQUES
def test_a_push_without_rows_lets_a_change_go_on(migration):
    """It takes nothing in and is no event, under windows of time, too; a technique may use it for its work."""
    query = query_of(Range(12))
    staying = eddy.Eddy(query, plan=OLD)
    boxes = eddy.Boxes(eddy.Eddy(query, plan=OLD), query.streams, migration=migration)
    assert len(boxes.push_all({})) == 0
    for number in range(60):
        if number == 30:
            boxes.migrate(lambda: eddy.Eddy(query, plan=NEW))
        assert values(boxes.push(*row(number))) == values(staying.push(*row(number)))
        assert len(boxes.push_all({})) == 0
    assert boxes.box.plan == NEW and not boxes.migrating
