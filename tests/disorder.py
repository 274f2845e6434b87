"""Cases whose rows come out of order: what the definition says of watermarks, late rows and the order of processing.

`Model` is that definition, in plain Python and row by row. `disordered` makes one of a case of `tests/cases.py` or
`tests/operator_cases.py`: the same rows arrive in another order, in other pushes, and time is advanced now and then.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path

from attrs import define, field, frozen

from tests import checks, naive, operator_checks
from tests.cases import Case, is_timestamp, make_engine, step_events, thrifty
from tests.forms import moment, zone
from tests.inside import Inside
from tests.operator_cases import OperatorCase, changelog
from tests.operator_cases import make_engine as make_operator_engine

NEVER = -(10**30)


@define
class Model:
    """The reorder buffer as section by section of its definition."""

    case: Case
    bounds: dict
    """How far behind its newest row a row of each stream may be."""
    newest: dict = field(init=False)
    promised: dict = field(init=False)
    at: int = NEVER
    waiting: list = field(factory=list)
    late: list = field(factory=list)
    arrived: int = 0
    now: int = NEVER

    def __attrs_post_init__(self):
        self.newest, self.promised = dict.fromkeys(self.bounds, NEVER), dict.fromkeys(self.bounds, NEVER)

    @property
    def turns(self):
        """The streams in the order of declaration."""
        return list(self.case.streams)

    def push(self, batches):
        """Rows arrive together; the events that leave."""
        loaded = [(n, row) for n in self.turns if self.case.streams[n].static for row in batches.get(n, ())]
        for name, rows in batches.items():
            stream = self.case.streams[name]
            for row in () if stream.static else rows:
                time = naive.time_of(stream, row)
                if time < self.at:
                    self.late.append((name, row))
                    continue
                self.waiting.append(((time, self.turns.index(name), self.arrived), name, row))
                self.arrived += 1
        for (time, _, _), name, _ in self.waiting:
            self.newest[name] = max(self.newest[name], time)
        return loaded + self.moved()

    def advance(self, time, name):
        """Nothing older comes any more, of a stream or of any; the events that leave, and that time goes on."""
        for told in self.bounds if name is None else [name]:
            self.promised[told] = max(self.promised[told], time)
        before = self.at
        events = self.moved()
        return [*events, (None, self.at)] if self.at > max(before, self.now) else events

    def moved(self):
        """The watermark goes where it belongs; the events that it passes."""
        self.at = max(
            self.at, min(max(self.newest[n] - self.bounds[n], self.promised[n]) for n in self.bounds)
        )
        return self.leave(lambda time: time < self.at)

    def flush(self):
        """All events that wait."""
        self.at = max([self.at, *(place[0] for place, _, _ in self.waiting)])
        return self.leave(lambda time: True)

    def leave(self, passed):
        out = sorted((row for row in self.waiting if passed(row[0][0])), key=lambda row: row[0])
        self.waiting = [row for row in self.waiting if not passed(row[0][0])]
        self.now = max([self.now, *(place[0] for place, _, _ in out)])
        return [(name, row) for _, name, row in out]


@frozen
class Disordered:
    """A case, and the steps that feed it out of order.

    A step is one of the case's own, ``("push_all", {stream: rows})``, ``("advance", time, stream or None)`` or
    ``("flush",)``.
    """

    case: Case
    steps: list
    bounds: dict
    late: str


def fits(case):
    """Whether lateness has a meaning for a case: every stream has a time."""
    return all(stream.time is not None or stream.static for stream in case.streams.values())


def disordered(pick, case, within):
    """The case with its rows in another order: within the lateness, or as it comes, so that some are late."""
    timed = {name: stream for name, stream in case.streams.items() if not stream.static}
    bound = pick.choice([0, 1, 3, 10, 40])
    bounds = {name: bound if pick.chance(70) else pick.choice([0, 2, 20]) for name in timed}
    events, others, load = [], [], []
    for step in case.steps:
        if step[0] not in ("push", "push_all"):
            others += [] if step[0] in ("reject", "by hand") else [step]
            continue
        here = step_events(case, step)
        load += [event for event in here if event[0] not in timed]
        events += [event for event in here if event[0] in timed]
    times = [naive.time_of(timed[name], row) for name, row in events]
    spread = min(bounds.values()) if within else pick.choice([1, 5, 30])
    places = [time + pick.integer(0, spread) for time in times]
    arrivals = [events[i] for i in sorted(range(len(events)), key=lambda i: (places[i], i))]
    steps = [("push_all", batches(load))] if load else []
    sizes = pick.choice([[1], [1, 2, 5], [3, 20], [7], [10**6]])
    newest = NEVER
    while arrivals:
        here = arrivals[: pick.choice(sizes)]
        del arrivals[: len(here)]
        if others and pick.chance(40):
            steps.append(others.pop(0))
        steps.append(("push_all", batches(here)))
        newest = max([newest, *(naive.time_of(timed[name], row) for name, row in here)])
        if not within and pick.chance(15):
            name = pick.choice(list(timed)) if pick.chance(50) else None
            steps.append(("advance", newest + pick.integer(-9, 9), name))
    return Disordered(case, [*steps, ("flush",)], bounds, pick.choice(["drop", "keep"]))


def batches(events):
    """Events by stream."""
    found = {}
    for name, row in events:
        found.setdefault(name, []).append(row)
    return found


def engine_of(disorder):
    """An engine that allows the disorder."""
    case = disorder.case
    lateness = {
        name: f"{bound} s" if is_timestamp(case.streams[name]) else bound
        for name, bound in disorder.bounds.items()
    }
    make = make_operator_engine if isinstance(case, OperatorCase) else make_engine
    return make(case, lateness=lateness, late=disorder.late)


def point(case, time, name):
    """A time as the column of a stream takes it."""
    name = name or next(n for n, s in case.streams.items() if not s.static)
    stream = case.streams[name]
    kind = stream.columns[stream.time]
    return moment(time, zone(kind) is not None) if kind.startswith("timestamp") else time


def check_disorder(disorder):
    """Run it, and hold every step against the oracle over the rows that the model says are processed then."""
    case, model = disorder.case, Model(disorder.case, disorder.bounds)
    operators = isinstance(case, OperatorCase)
    engine, book = engine_of(disorder), checks.Book(case)
    released, given, late = [], [], []
    for step in disorder.steps:
        if step[0] in ("push", "push_all"):
            given.append(checks.push(engine, case, step))
            released.append(model.push(step[1]))
        elif step[0] == "advance":
            given.append([engine.advance(point(case, *step[1:]), stream=step[2])])
            released.append(model.advance(*step[1:]))
        elif step[0] == "flush":
            given.append([engine.flush()])
            released.append(model.flush())
        else:
            engine = other_step(engine, case, step)
        if disorder.late == "keep":
            late += late_rows(case, engine.late())
    if not any(s.window[0] in ("range", "sliding", "tumbling time") for s in case.streams.values()):
        released = [[event for event in events if event[0] is not None] for events in released]
    events = list(itertools.chain(*released))
    wanted = iter(changelog(case, events) if operators else naive.join(case.streams, case.where, events))
    for here, results in zip(released, given, strict=True):
        book.enter(event for event in here if event[0] is not None)
        want = [next(wanted) for _ in here]
        (operator_checks if operators else checks).judge(book, want, results)
    statistics = engine.statistics()
    counts = Counter(name for name, _ in model.late)
    assert {s.name: s.late for s in statistics.streams if s.late} == counts
    assert statistics.events == book.count
    if disorder.late == "keep":
        assert Counter(late) == Counter(name for name, _ in model.late)
    return model


def late_rows(case, tables):
    """The stream of each late row that was handed out."""
    return [name for name, table in tables.items() for _ in range(table.num_rows)]


def other_step(engine, case, step):
    """A step that brings no row; returns the engine that goes on."""
    if step[0] == "migrate":
        engine.migrate(step[1])
    elif step[0] == "settle":
        assert len(engine.settle()) == 0
    elif step[0] == "demote":
        checks.demote(engine, step[1])
    elif step[0] == "restart":
        with tempfile.TemporaryDirectory() as folder:
            engine.save(Path(folder) / "snapshot")
            own = {"migration": engine.migration, "feedback": engine.feedback, "memory": engine.memory}
            own |= {"routing": engine.routing, "threads": engine.threads, **(step[1] if step[1:] else {})}
            engine = thrifty(Inside.load(Path(folder) / "snapshot", engine.query, **own))
    return engine
