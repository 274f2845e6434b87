"""What became of a combination of rows: `why_not` and `why` agree with the oracle, and say it in words."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy import history
from tests import naive
from tests.cases import Case, expected, make_engine, step_events
from tests.checks import Book, push
from tests.strategies import small_cases

base = settings().max_examples

# A plain reading of what the verdicts mean


def conjuncts(where):
    """The predicates of a query, one by one."""
    for tree in where:
        if tree[0] == "and":
            yield from conjuncts(tree[1:])
        elif tree[0] == "between":
            yield from ((">=", tree[1], tree[2]), ("<=", tree[1], tree[3]))
        else:
            yield tree


def classes(where):
    """Sets of columns that must all be equal, where they are of more than one stream."""
    sets = []
    for tree in conjuncts(where):
        if tree[0] == "=" and tree[1][0] == tree[2][0] == "col" and tree[1] != tree[2]:
            touched = [s for s in sets if s & set(tree[1:])]
            sets = [s for s in sets if s not in touched] + [set(tree[1:]).union(*touched)]
    return [s for s in sets if len({column[1] for column in s}) > 1]


def constant(tree):
    """The column that a predicate compares with constants, and nothing else."""
    if tree[0] in naive.COMPARISONS:
        columns = [part for part in tree[1:] if part[0] == "col"]
        return columns[0] if len(columns) == 1 and {part[0] for part in tree[1:]} == {"col", "lit"} else None
    return tree[1] if tree[0] == "in" and tree[1][0] == "col" else None


def ruled_out(case, name, row):
    """Whether a row alone shows that it is in no result, and whether its types show it."""
    bound = {name: row}

    def holds(tree):
        return naive.evaluator(tree, case.streams)(bound) is True

    for tree in conjuncts(case.where):
        if naive.reads(tree) <= {name} and not holds(tree):
            return True, True
    misfit = False
    for members in classes(case.where):
        own = [column for column in members if column[1] == name]
        values = [naive.evaluator(column, case.streams)(bound) for column in own]
        if any(value is None or value != value or value != values[0] for value in values):
            return True, True
        for tree in conjuncts(case.where):
            column = constant(tree)
            if (
                column in members
                and own
                and not holds((tree[0], *(own[0] if p == column else p for p in tree[1:])))
            ):
                return True, True
        kinds = {case.streams[stream].columns[column] for _, stream, column in members}
        misfit = misfit or any(not fits(value, kind) for value in values for kind in kinds)
    return False, misfit


def fits(value, kind):
    """Whether a column of this type could hold the value."""
    if isinstance(value, float) and "int" in kind:
        return math.isfinite(value) and value == int(value) and fits(int(value), kind)
    if isinstance(value, (int, float)) and "int" in kind:
        size = int(kind.strip("uint"))
        low, high = (0, 2**size) if kind.startswith("u") else (-(2 ** (size - 1)), 2 ** (size - 1))
        return low <= value < high
    return True


@define
class Witness:
    """Everything that happened, and the plain truth about it."""

    case: Case
    book: Book = field(init=False)
    events: list = field(factory=list)
    counts: list = field(factory=list)
    plans: list = field(factory=list)
    emitted: dict = field(factory=dict)

    def __attrs_post_init__(self):
        self.book = Book(self.case)

    def saw(self, step, wanted, plan):
        """A push is over: the oracle's results of each event, and the plan that ran."""
        happened = step_events(self.case, step)
        for place, results in enumerate(wanted, len(self.events)):
            self.emitted.update(dict.fromkeys(results, place))
        self.book.enter(happened)
        for name, row in happened:
            before = self.counts[-1] if self.counts else {}
            self.counts.append({**before, name: before.get(name, 0) + 1})
            self.events.append((name, row))
        self.plans += [plan] * len(happened)

    def live(self, name, row, event):
        """Whether the window of a stream holds the row at an event."""
        past = self.book.rows[name][: self.counts[event].get(name, 0)]
        at, values = self.events[event]
        time = self.case.streams[at].time
        now = values[list(self.case.streams[at].columns).index(time)] if time else None
        return row in naive.live_rows(self.case.streams[name], past, now)

    def left(self, name, row):
        """The event at which the row left its window; None if it has not."""
        arrival = self.book.event[name, row]
        later = range(arrival, len(self.events))
        return next((event for event in later if not self.live(name, row, event)), None)

    def value(self, rows, name, column):
        """A value of one of the rows."""
        return self.book.rows[name][rows[name]][list(self.case.streams[name].columns).index(column)]

    def truth(self, rows):
        """The event of the last of the rows, and all reasons against a result, in order; True, or maybe (None)."""
        known = self.book.rows
        if any(row >= len(known.get(name, ())) for name, row in rows.items()):
            return None, {"not arrived": True}
        event = max(self.book.event[pair] for pair in rows.items())
        bound = {name: known[name][row] for name, row in rows.items()}
        judged = [ruled_out(self.case, name, row) for name, row in bound.items()]
        reasons = {
            "filtered": True if (True, True) in judged else None if (False, True) in judged else False,
            "window": not all(self.live(name, row, event) for name, row in rows.items()),
            "predicate": not all(
                naive.evaluator(tree, self.case.streams)(bound) is True for tree in self.case.where
            ),
        }
        return event, {verdict: true for verdict, true in reasons.items() if true is not False}


def judge(witness, rows, answer, complete):
    """Hold an answer against the truth. ``complete``: the history reaches back to the first event."""
    event, reasons = witness.truth(rows)
    assert answer.rows == {name: row + witness.case.first_row for name, row in rows.items()}
    assert str(answer) == answer.text and answer.text.endswith((".", ".)"))
    assert (not reasons) == (tuple(rows.values()) in witness.emitted)
    assert reasons or witness.emitted[tuple(rows.values())] == event
    plan = None if event is None else witness.plans[event]
    assert (answer.event, answer.plan) == (event, plan) or (
        not complete and (answer.event, answer.plan) == (None, None)
    )
    if answer.verdict == "forgotten":
        gone = [name for name in answer.streams if witness.left(name, rows[name]) is not None]
        assert gone == list(answer.streams) != []
        assert not complete or "window" not in reasons
    elif complete:
        first = next((verdict for verdict, true in reasons.items() if true), "result")
        assert answer.verdict == first or (answer.verdict in reasons and reasons[answer.verdict] is None)
    else:
        assert answer.verdict in (reasons or {"result"})
    if answer.verdict == "window":
        dead = [name for name, row in rows.items() if not witness.live(name, row, event)]
        assert set(answer.streams) <= set(dead)
        assert not complete or list(answer.streams) == list(answer.expired) == dead
    for name, when in answer.expired.items():
        assert when == witness.left(name, rows[name])
    for text in answer.predicates if answer.verdict == "predicate" else ():
        columns = re.fullmatch(r"(\w)\.(\w+) = (\w)\.(\w+)", text)
        if columns:
            one, other = (witness.value(rows, *columns.group(i, i + 1)) for i in (1, 3))
            assert one != other


def combinations(witness, random):
    """Combinations worth asking about: results, results with another row in one place, and any rows."""
    names = list(witness.case.streams)
    counts = {name: len(witness.book.rows.get(name, ())) for name in names}
    results = list(witness.emitted)
    for _ in range(2):
        yield {name: random.randrange(count + (random.random() < 0.1) or 1) for name, count in counts.items()}
        recent = {name: max(0, count - 1 - random.randrange(4)) for name, count in counts.items()}
        yield recent
        if results:
            chosen = dict(zip(names, random.choice(results[-20:]), strict=True))
            yield chosen
            name = random.choice(names)
            yield {**chosen, name: random.randrange(counts[name])}


def interrogate(case, random, complete=True):
    """Run a case, and ask about some combinations after some of the pushes."""
    engine, witness = make_engine(case), Witness(case)
    for step, wanted in zip(case.steps, expected(case), strict=True):
        if step[0] == "migrate":
            engine.migrate(step[1])
        elif step[0] in ("push", "push_all"):
            plan = engine.plan
            push(engine, case, step)
            witness.saw(step, wanted, plan)
            asked = random.randrange(len(case.steps)) < 5
            for rows in combinations(witness, random) if asked else ():
                numbers = {name: row + case.first_row for name, row in rows.items()}
                judge(witness, rows, engine.why_not(**numbers), complete)
                assert engine.why(**numbers) == engine.why_not(**numbers)
    return engine


@given(small_cases(most=4), st.randoms(use_true_random=False))
@settings(max_examples=max(10, base // 3))
def test_every_verdict_is_right(case, random):
    """A result exactly if the oracle emitted it, at its event; else a reason that a plain reading confirms."""
    interrogate(case, random)


@contextmanager
def short_history(events):
    """Engines made here remember about so many events."""
    with (
        mock.patch.object(history, "LARGE", 2),
        mock.patch("eddy.engine.History", lambda: history.History(events)),
    ):
        yield


@given(small_cases(most=4), st.randoms(use_true_random=False), st.sampled_from([4, 12, 40]))
@settings(max_examples=max(10, base // 3))
def test_with_a_short_history_nothing_false_is_said(case, random, events):
    """What is too long ago may be left open, and all that is said is still true."""
    with short_history(events):
        interrogate(case, random, complete=False)


# In words


def query(**windows):
    """A join of three streams on x, with a filter and a comparison."""
    columns = {"ts": "int64", "x": "int64", "v": "float64"}
    streams = {name: eddy.Stream(columns, window=windows.get(name, eddy.Unbounded())) for name in "ABC"}
    return eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "B.v > 10", "A.v < C.v"])


def rows(*values):
    """A batch of rows (ts, x, v)."""
    return {column: [row[place] for row in values] for place, column in enumerate(("ts", "x", "v"))}


@pytest.fixture
def engine():
    """An engine with a result (A 0, B 0, C 0), and rows that give none."""
    engine = eddy.Eddy(query(A=eddy.Rows(3), B=eddy.Range(10)), plan="(A B) C")
    engine.push("A", rows((0, 1, 3.0), (1, 2, 4.0)))
    engine.push("B", rows((2, 1, 11.0), (3, 2, 3.0), (3, None, 15.0)))
    engine.push("C", rows((4, 1, 5.0), (5, 1, None), (6, 2, 1.0)))
    return engine


def test_a_result_is_told_with_its_event_and_its_plan(engine):
    """The plan is the one of that moment, not the present one."""
    engine.migrate("A (B C)")
    engine.push("B", rows((7, 1, 12.0)))
    old, new = engine.why(A=0, B=0, C=0), engine.why(A=0, B=3, C=0)
    assert str(old) == "A 0, B 0 and C 0 gave a result at event 5, when C 0 arrived, under plan (A B) C."
    assert (old.verdict, old.event, old.plan) == ("result", 5, "(A B) C")
    assert (new.verdict, new.event, new.plan) == ("result", 8, "A (B C)")
    assert engine.why_not(A=0, B=0, C=0) == old


@pytest.mark.parametrize(
    "asked, verdict, text",
    [
        (
            {"A": 2, "B": 0, "C": 0},
            "not arrived",
            "A 2 has not arrived: A has rows 0 to 1 so far. "
            "(A batch that goes back in time is refused, and its rows get no numbers.)",
        ),
        (
            {"A": 1, "B": 1, "C": 2},
            "filtered",
            "B 1 was ruled out when it arrived at event 3: B.v > 10 fails: B.v is 3.0.",
        ),
        (
            {"A": 1, "B": 2, "C": 2},
            "filtered",
            "B 2 was ruled out when it arrived at event 4: B.x is NULL, which no A.x or C.x can equal.",
        ),
        (
            {"A": 1, "B": 0, "C": 0},
            "predicate",
            "A 1, B 0 and C 0 were in their windows together at event 5, when C 0 arrived, but "
            "A.x = B.x fails: A.x is 2, B.x is 1.",
        ),
        (
            {"A": 0, "B": 0, "C": 1},
            "predicate",
            "A 0, B 0 and C 1 were in their windows together at event 6, when C 1 arrived, but "
            "A.v < C.v is unknown, which is not enough: A.v is 3.0, C.v is NULL.",
        ),
    ],
)
def test_the_reason_is_told_with_its_values(engine, asked, verdict, text):
    """Each verdict has a sentence that names rows, events, predicates and values."""
    answer = engine.why_not(**asked)
    assert (answer.verdict, str(answer)) == (verdict, text)


def test_rows_that_left_their_windows_are_told_with_the_event(engine):
    """By rows, by time, and with the arrival of the last row itself."""
    engine.push("A", rows((13, 1, 0.0), (13, 1, 0.0)))
    engine.push("C", rows((14, 1, 9.0)))
    assert str(engine.why_not(A=0, B=0, C=3)) == (
        "A 0 left its window, Rows(3), at event 9, before C 3 arrived at event 10. "
        "B 0 left its window, Range(10), at event 8 (its time is 2, the event's 13), "
        "before C 3 arrived at event 10."
    )
    answer = engine.why_not(A=2, B=0, C=0)
    assert str(answer).endswith("(its time is 2, the event's 13), with the arrival of A 2.")
    assert (answer.event, answer.expired, answer.streams) == (8, {"B": 8}, ("B",))


def test_values_that_are_gone_leave_the_verdict_open(engine):
    """The windows are still judged then, and filters by what was noted of them."""
    for _ in range(4):
        engine.push("A", rows(*[(20, 1, 0.0)] * 5))
    answer = engine.why_not(A=0, B=0, C=0)
    assert answer.verdict == "forgotten"
    assert (answer.event, answer.expired) == (5, {"A": 9, "B": 8})
    assert answer.predicates == ("A.x = B.x", "B.x = C.x", "A.v < C.v")
    assert "A 0 left its window, Rows(3), at event 9; its values are not known any more." in str(answer)
    assert "They were in their windows together at event 5, when C 0 arrived." in str(answer)
    assert engine.why_not(A=0, B=0, C=10**9).verdict == "not arrived"
    filtered = engine.why_not(A=0, B=1, C=0)
    assert (filtered.verdict, filtered.predicates) == ("filtered", ("B.v > 10", "A.x = B.x = C.x"))
    assert "B.v > 10 failed, or B.x was NULL, or else no A.x or C.x could equal it" in str(filtered)


def test_what_is_known_of_some_rows_may_be_enough():
    """A row without values does not hide that two others cannot match."""
    engine = eddy.Eddy(query(B=eddy.Rows(1)))
    engine.push("B", rows((0, 1, 11.0)))
    engine.push("A", rows((0, 1, 0.0)))
    engine.push("C", rows((0, 2, 1.0)))
    for _ in range(4):
        engine.push("B", rows((0, 1, 11.0), (0, 1, 11.0)))
    answer = engine.why_not(A=0, B=0, C=0)
    assert (answer.verdict, answer.predicates) == ("predicate", ("A.x = C.x",))
    assert "A.x = C.x fails: A.x is 1, C.x is 2" in str(answer)


@pytest.mark.parametrize(
    "kinds, values, wanted",
    [
        (("int64", "uint64"), (1, 2**64 - 1), "B.x is 18446744073709551615, which no A.x can equal"),
        (("int32", "float64"), (1, 1.5), "B.x is 1.5, which no A.x can equal"),
        (("float64", "float32"), (1.0, math.nan), "B.x is NaN, which no A.x can equal"),
        (("uint64", "uint64"), (2**64 - 1, 1), "A.x = B.x fails: A.x is 18446744073709551615, B.x is 1"),
        (("float64", "float32"), (1.5, -0.0), "A.x = B.x fails: A.x is 1.5, B.x is -0.0"),
        (("string", "string"), ("it's", "b"), "A.x = B.x fails: A.x is 'it''s', B.x is 'b'"),
        (("bool", "bool"), (True, False), "A.x = B.x fails: A.x is TRUE, B.x is FALSE"),
        (
            ("timestamp[s]", "timestamp[ms]"),
            (0, 1500),
            "A.x = B.x fails: A.x is 1970-01-01 00:00:00, B.x is 1970-01-01 00:00:01.5",
        ),
    ],
)
@pytest.mark.parametrize("shown", [True, False])
def test_values_are_told_as_sql_writes_them(kinds, values, wanted, shown):
    """Also where the column itself is not kept, and only its key is known."""
    streams = {name: {"x": kind, "id": "int64"} for name, kind in zip("AB", kinds, strict=True)}
    engine = eddy.Eddy(eddy.Query(streams, where="A.x = B.x", select=None if shown else ["A.id"]))
    for name, kind, value in zip("AB", kinds, values, strict=True):
        array = np.array([value], f"datetime64[{kind[10:-1]}]") if kind.startswith("timestamp") else [value]
        engine.push(name, {"x": array, "id": [7]})
    answer = str(engine.why_not(A=0, B=0))
    if shown or "fails" in wanted:
        assert wanted.replace("-0.0", "-0.0" if shown else "0.0") in answer
    else:
        assert "B.x was NULL, or else no A.x could equal it" in answer


def test_times_are_told_as_people_write_them():
    """A window over timestamps expires at a date, not at a number."""
    stream = eddy.Stream({"ts": "timestamp[s]", "x": "int64"}, window=eddy.Range("5 minutes"))
    engine = eddy.Eddy(eddy.Query({"A": stream, "B": stream}, where="A.x = B.x"))
    for name, at in (("A", "2024-01-31T12:00:00"), ("B", "2024-01-31T12:05:01")):
        engine.push(name, {"ts": np.array([at], "datetime64[s]"), "x": [1]})
    text = "(its time is 2024-01-31 12:00:00, the event's 2024-01-31 12:05:01), with the arrival of B 0."
    assert str(engine.why_not(A=0, B=0)).endswith(text)


@pytest.mark.parametrize(
    "asked, wanted",
    [
        ({"A": 0}, "none of B, C"),
        ({"A": 0, "B": 0, "C": 0, "D": 0}, "no stream D"),
        ({"A": 0, "B": -1, "C": 0}, "B=-1 is no row number"),
        ({"A": 0, "B": True, "C": 0}, "B=True is no row number"),
        ({"A": 0, "B": "x", "C": 0}, "B='x' is no row number"),
        ({"A": 0, "B": 1.0, "C": 0}, "B=1.0 is no row number"),
    ],
)
def test_a_question_that_makes_no_sense_is_an_error(engine, asked, wanted):
    """Every stream is needed, no other, and whole numbers."""
    for ask in (engine.why, engine.why_not):
        with pytest.raises(eddy.EddyError, match=wanted):
            ask(**asked)
    assert engine.why_not(A=np.int64(0), B=np.uint8(0), C=0).verdict == "result"


def test_streams_may_have_any_name():
    """Even that of the method's own argument."""
    engine = eddy.Eddy(
        eddy.Query({"self": {"x": "int64"}, "my-rows": {"x": "int64"}}, where='self.x = "my-rows".x')
    )
    engine.push_all({"self": {"x": [1]}, "my-rows": {"x": [1]}})
    assert engine.why_not(**{"self": 0, "my-rows": 0}).verdict == "result"


# The history


def test_long_ago_is_said_to_be_long_ago():
    """Rows that are live since before the history have met; whether others did is too long ago to say."""
    with short_history(8):
        engine = eddy.Eddy(query(A=eddy.Rows(3), B=eddy.Rows(100)))
        engine.push_all({"A": rows((0, 1, 1.0)), "B": rows((0, 1, 11.0)), "C": rows((0, 1, 2.0))})
        for _ in range(10):
            engine.push("B", rows((0, 1, 11.0)))
        answer = engine.why(A=0, B=0, C=0)
        assert str(answer) == "A 0, B 0 and C 0 gave a result before event 7, where the history begins."
        assert (answer.event, answer.plan) == (None, None)
        for _ in range(20):
            engine.push("A", rows((0, 1, 1.0)))
        answer = engine.why(A=0, B=0, C=0)
        assert (answer.verdict, answer.streams) == ("forgotten", ("A",))
        assert "Whether A 0 had left its window when the last of the rows arrived is too long ago" in str(
            answer
        )
        assert (
            "A 0 left its window, Rows(3), before event 15, where the history begins"
            in str(engine.why_not(A=0, B=5, C=0))
            or engine.why_not(A=0, B=5, C=0).verdict == "forgotten"
        )


def test_the_history_is_bounded_whatever_comes():
    """Large batches, small ones, batches larger than all of it, and plan changes without end."""
    with mock.patch.object(history, "LARGE", 8), mock.patch.object(history, "PLANS", 10):
        past = history.History(64)
        streams = {name: {"x": "int64"} for name in "AB"}
        engine = eddy.Eddy(eddy.Query(streams, where="A.x = B.x"), batch_size=100)
        engine._history = past
        for turn, size in enumerate([1, 2, 1, 7, 8, 30, 90, 3, 100, 1] * 20):
            engine.push("AB"[turn % 2], {"x": np.arange(size)})
            engine.migrate(["A B", "B A"][turn % 2])
            held = [stretch.size for stretch in past._stretches]
            assert past.end == engine.statistics().events
            assert sum(held) <= 64 and len(held) <= 1 + 64 // 8 * 2
            assert len(past._plans) <= 10


def test_arrays_of_a_large_push_are_not_held_by_its_last_batches():
    """A push that is cut into batches must not live on as a whole."""
    engine = eddy.Eddy(
        eddy.Query({"A": {"x": "float64"}, "B": {"x": "float64"}}, where="A.x = B.x"), batch_size=300
    )
    engine.push_all({name: {"x": [*range(1000), math.nan]} for name in "AB"})
    for stretch in engine._history._stretches:
        assert stretch.streams.base is None
        assert all(flags.base is None for flags in (stretch.by_row or {}).values())
    assert engine.why(A=500, B=500).event == 1001
    assert engine.why_not(A=1000, B=500).verdict == "filtered"
    assert engine.why_not(A=999, B=500).verdict == "predicate"


def test_a_refused_batch_is_no_event(engine):
    """Late rows get no numbers, so nothing that is said about others changes."""
    before = engine.why_not(A=0, B=0, C=1)
    with pytest.raises(eddy.BatchError):
        engine.push("A", rows((0, 1, 3.0)))
    assert engine.why_not(A=0, B=0, C=1) == before
    assert engine.why_not(A=2, B=0, C=0).verdict == "not arrived"


def test_questions_while_results_are_drawn():
    """What has been processed has arrived, drawn or not."""
    engine = eddy.Eddy(
        eddy.Query({"A": {"x": "int64"}, "B": {"x": "int64"}}, where="A.x = B.x"), batch_size=2
    )
    engine.push("A", {"x": [1, 1, 1]})
    parts = engine.push("B", {"x": [1, 1, 1]}, max_rows=1)
    next(parts)
    assert engine.why(A=0, B=1).verdict == "result"
    assert engine.why(A=0, B=2).verdict == "not arrived"
    list(parts)
    assert engine.why(A=0, B=2).event == 5


def test_after_loading_a_snapshot_the_past_is_one(engine, tmp_path):
    """Events keep their numbers; what was before the snapshot is known from the live rows alone."""
    engine.push("A", rows((13, 1, 0.0), (13, 1, 0.0)))
    engine.save(tmp_path / "engine")
    loaded = eddy.Eddy.load(tmp_path / "engine")
    loaded.push("B", rows((14, 1, 12.0)))
    assert loaded.why(A=2, B=3, C=0).event == engine.statistics().events
    assert str(loaded.why_not(A=1, B=3, C=0)).startswith("A 1, B 3 and C 0 were in their windows together")
    assert loaded.why_not(A=0, B=3, C=0).verdict == "window"
    assert loaded.why_not(A=0, B=0, C=0).verdict == "forgotten"
