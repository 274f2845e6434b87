"""What really became of a combination of rows, worked out in the plainest way from the whole feed."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from unittest import mock

from attrs import define, evolve, field

import eddy
from eddy.inspect import history
from policies import Fixed
from tests import naive
from tests.cases import Case, expected, make_engine, step_events
from tests.checks import Book, push
from tests.inside import Inside

# What a row alone shows


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
    """Run a case, and ask about some combinations after some of the pushes. Only the case changes its plan."""
    case = evolve(case, routing=Fixed())
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


@contextmanager
def short_history(events):
    """Engines made here remember about so many events."""
    with (
        mock.patch.object(history, "LARGE", 2),
        mock.patch("eddy.engine.build.History", lambda: history.History(events)),
    ):
        yield


# An example


def query(**windows):
    """A join of three streams on x, with a filter and a comparison."""
    columns = {"ts": "int64", "x": "int64", "v": "float64"}
    streams = {name: eddy.Stream(columns, window=windows.get(name, eddy.Unbounded())) for name in "ABC"}
    return eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "B.v > 10", "A.v < C.v"])


def rows(*values):
    """A batch of rows (ts, x, v)."""
    return {column: [row[place] for row in values] for place, column in enumerate(("ts", "x", "v"))}


def example():
    """An engine with a result (A 0, B 0, C 0), and rows that give none."""
    engine = Inside(query(A=eddy.Rows(3), B=eddy.Range(10)), plan="(A B) C")
    engine.push("A", rows((0, 1, 3.0), (1, 2, 4.0)))
    engine.push("B", rows((2, 1, 11.0), (3, 2, 3.0), (3, None, 15.0)))
    engine.push("C", rows((4, 1, 5.0), (5, 1, None), (6, 2, 1.0)))
    return engine
