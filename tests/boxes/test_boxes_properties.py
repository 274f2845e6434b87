"""Boxes that are changed at any moment give what the oracle says: engines under other plans, a median on top."""

from __future__ import annotations

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from policies import Ghm, Gms, Gpt
from tests import naive
from tests.boxes.own import Median, median_at, timed_values
from tests.strategies import Drawn, plan

NAMES = "ABC"
COLUMNS = ("ts", "k", "v")
UNTIMED = ("n", "k", "v")
"""Columns of streams without a time: then a row's place in its push decides the order."""
TECHNIQUES = [Gms(), Gpt(), Gpt(patience=0.3), Gpt(patience=1.5), Ghm(share=1.01), Ghm(), Ghm(share=7.0)]


@frozen
class Case:
    """Streams with windows, pushes of rows as ``{stream: rows}``, and before which of them the box changes to what."""

    windows: dict
    pushes: list
    changes: dict
    technique: object
    width: int
    timed: bool

    @property
    def columns(self):
        return COLUMNS if self.timed else UNTIMED

    @property
    def query(self):
        kinds = {
            "rows": eddy.Rows,
            "range": eddy.Range,
            "tumbling time": lambda width: eddy.Tumbling(time=width),
            "unbounded": eddy.Unbounded,
        }
        streams = {
            name: eddy.Stream(dict.fromkeys(self.columns, "int64"), window=kinds[kind](*size))
            for name, (kind, *size) in self.windows.items()
        }
        return eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])

    def expected(self):
        """For each push its results, as pairs of a time and a value."""
        time = "ts" if self.timed else None
        streams = {name: Declared(window, self.columns, time) for name, window in self.windows.items()}
        where = [("=", ("col", a, "k"), ("col", b, "k")) for a, b in ("AB", "BC")]
        events, sizes, rows = [], [], {name: [] for name in NAMES}
        for push in self.pushes:
            merged = [
                (row[0] if self.timed else place, name, row)
                for name in NAMES
                for place, row in enumerate(push.get(name, ()))
            ]
            arrived = [(name, row) for _, name, row in sorted(merged, key=lambda item: item[0])]
            events += arrived
            sizes.append(len(arrived))
            for name, row in arrived:
                rows[name].append(row)
        found = iter(naive.join(streams, where, events))
        answer = []
        for size in sizes:
            combined = [
                [rows[name][number] for name, number in zip(NAMES, numbers, strict=True)]
                for _ in range(size)
                for numbers in next(found)
            ]
            answer.append([(max(r[0] for r in c), sum(r[2] for r in c)) for c in combined])
        return answer


@frozen
class Declared:
    """A stream as the oracle knows it."""

    window: tuple
    columns: tuple
    time: str | None


@st.composite
def cases(draw, timed=True):
    """Random windows of every kind, pushes of one stream or several, and changes that may overlap."""
    pick = Drawn(draw)
    windows = {}
    for name in NAMES:
        by_time = ["range", "range", "tumbling time"] if timed else []
        kind = pick.choice([*by_time, "rows", "unbounded"])
        windows[name] = (kind,) if kind == "unbounded" else (kind, pick.integer(1, 8))
    now, pushes, changes = 0, [], {}
    for number in range(pick.integer(1, 40)):
        push = {}
        for name in pick.some(NAMES):
            push[name] = []
            for _ in range(pick.integer(1, 3)):
                push[name].append((now + pick.integer(0, 2), pick.integer(0, 1), pick.integer(0, 9)))
            push[name].sort(key=lambda row: row[0])
        now = max(row[0] for rows in push.values() for row in rows)
        pushes.append(push)
        if pick.chance(20):
            changes[number] = plan(pick, NAMES)
    return Case(windows, pushes, changes, pick.choice(TECHNIQUES), pick.integer(0, 8), timed)


def batches(case, push):
    """A push as it is given to a box."""
    return {
        name: {column: [row[place] for row in rows] for place, column in enumerate(case.columns)}
        for name, rows in push.items()
    }


def run(case, boxes, make):
    """What is given for each push."""
    for number, push in enumerate(case.pushes):
        if number in case.changes:
            boxes.migrate(lambda number=number: make(case.changes[number]))
        yield boxes.push_all(batches(case, push))


@given(cases())
def test_an_engine_is_replaced_by_an_engine_at_any_moment(case):
    """Each push gives exactly the results that its events complete, each once, in the order of events."""
    make = lambda plan: eddy.Eddy(case.query, plan=plan)  # noqa: E731
    boxes = eddy.Boxes(make("(A B) C"), case.query.streams, migration=case.technique)
    for found, wanted in zip(run(case, boxes, make), case.expected(), strict=True):
        values = timed_values(found)
        assert sorted(values) == sorted(wanted)
        assert [time for time, _ in values] == [time for time, _ in wanted]


@given(cases(timed=False))
def test_streams_without_a_time_keep_their_order(case):
    """What is replayed of a push is merged as it was, also where it has streams that are not needed any more."""
    make = lambda plan: eddy.Eddy(case.query, plan=plan)  # noqa: E731
    boxes = eddy.Boxes(make("(A B) C"), case.query.streams, migration=case.technique)
    for found, wanted in zip(run(case, boxes, make), case.expected(), strict=True):
        assert sorted(timed_values(found, ".n")) == sorted(wanted)


@given(cases())
def test_a_median_above_an_engine_is_replaced_at_any_moment(case):
    """The median of all results of some time, whose rows may have left since."""
    make = lambda plan: Median(case.query, plan, case.width)  # noqa: E731
    above = eddy.Range(case.width)
    boxes = eddy.Boxes(make("(A B) C"), case.query.streams, above, case.technique)
    results = []
    for found, wanted in zip(run(case, boxes, make), case.expected(), strict=True):
        results += wanted
        times = sorted({time for time, _ in wanted})
        assert found == [(time, median_at(results, time, case.width)) for time in times]


@given(cases())
@settings(max_examples=max(5, settings().max_examples // 2))
def test_aggregates_and_withdrawals_go_on(case):
    """An engine with groups gives the changes of its groups, as one that is never changed does."""
    joined = case.query
    outputs = {"n": "COUNT(*)", "m": "MEDIAN(A.v)"}
    query = eddy.Query(joined.streams, joined.predicates, group_by="B.k", aggregates=outputs)
    make = lambda plan: eddy.Eddy(query, plan=plan)  # noqa: E731
    boxes, staying = eddy.Boxes(make("(A B) C"), query.streams, migration=case.technique), make("(A B) C")
    for found, push in zip(run(case, boxes, make), case.pushes, strict=True):
        wanted = staying.push_all(batches(case, push))
        assert found.to_pydict(sign=True) == wanted.to_pydict(sign=True)
