"""Running a case and holding every step of it against the oracle."""

from __future__ import annotations

import datetime
import itertools
import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from attrs import define, field

import eddy
from tests import by_hand
from tests.cases import Case, batch, expected, make_engine, selected, step_events, thrifty
from tests.inside import Inside
from tests.kinds import moment, pythonic, special, zone


@define
class Book:
    """Which event each row was, and its values: what is needed to judge results by row numbers."""

    case: Case
    rows: dict = field(factory=dict)
    event: dict = field(factory=dict)
    shown: dict = field(init=False)
    count: int = 0
    now: int = 0

    def __attrs_post_init__(self):
        self.shown = {f"{name}.{column}": [] for name, s in self.case.streams.items() for column in s.columns}

    def enter(self, events):
        """Give the events of a step their numbers, and put by what their values look like in a result."""
        for name, row in events:
            known, stream = self.rows.setdefault(name, []), self.case.streams[name]
            self.event[name, len(known)] = self.count
            known.append(row)
            self.count += 1
            for (column, kind), value in zip(stream.columns.items(), row, strict=True):
                self.shown[f"{name}.{column}"].append(plain(pythonic(value, kind)))
                if column == stream.time:
                    self.now = max(self.now, value)

    def latest(self, numbers):
        """The event that completed a result."""
        return max(self.event[pair] for pair in zip(self.case.streams, numbers, strict=True))

    def earliest(self, numbers):
        """The event that brought the oldest row of a result."""
        return min(self.event[pair] for pair in zip(self.case.streams, numbers, strict=True))

    def values(self, found, item):
        """The values of column ``item`` ("A.x") in results."""
        place, known = list(self.case.streams).index(item.partition(".")[0]), self.shown[item]
        return [known[numbers[place]] for numbers in found]


def plain(value):
    """A value that compares: NaN by name, -0.0 apart from 0.0, moments with a zone as those of UTC."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ("float", value, math.copysign(1, value))
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc)
    return value


def row_tuples(results, first=0):
    """The row numbers of results that follow each other, as tuples, counted from row ``first``."""
    return [tuple(row) for result in results for row in (result.rows - first).tolist()]


def push(engine, case, step):
    """Do a push or push_all; a list of results: several where the step asks for chunks."""
    if step[0] == "push_all":
        return [engine.push_all({name: batch(case, name, rows) for name, rows in step[1].items()})]
    name, rows, *most = step[1:]
    if not most:
        return [engine.push(name, batch(case, name, rows))]
    results = list(engine.push(name, batch(case, name, rows), max_rows=most[0]))
    assert all(len(result) <= most[0] for result in results), "a chunk is larger than max_rows"
    return results


def judge(book, wanted, results):
    """Hold a step's results against the oracle's: each once, by order of latest event, with its values."""
    assert sum(map(len, results)) == sum(map(len, wanted)), describe(
        wanted, row_tuples(results, book.case.first_row)
    )
    found = row_tuples(results, book.case.first_row)
    assert Counter(found) == Counter(itertools.chain(*wanted)), describe(wanted, found)
    order = [book.latest(numbers) for numbers in found]
    assert order == sorted(order), f"not in the order of the latest event: {found}"
    columns = [result.to_pydict() for result in results]
    for item in selected(book.case):
        shown = [plain(value) for part in columns for value in part[item]]
        assert shown == book.values(found, item), f"column {item} differs"


def describe(wanted, found):
    """What is wrong with the rows found, in a line."""
    want = Counter(itertools.chain(*wanted))
    lost, extra = sorted((want - Counter(found)).elements()), sorted((Counter(found) - want).elements())
    return f"lost {len(lost)}: {lost[:8]}, extra {len(extra)}: {extra[:8]} of {want.total()}"


def check(case, **options):
    """Run the case and compare each push with the oracle; ``options`` go before the case's own."""
    return follow(case, make_engine(case, **options), expected(case))


def follow(case, engine, wanted):
    """Do the case's steps and judge each push, at once or, where the case holds its results, at the end."""
    book = Book(case)
    held = []
    for step, want in zip(case.steps, wanted, strict=True):
        if step[0] in ("push", "push_all"):
            held.append((want, push(engine, case, step)))
            book.enter(step_events(case, step))
            if not case.hold:
                judge(book, *held[-1])
        elif step[0] == "migrate":
            engine.migrate(step[1])
        elif step[0] == "settle":
            assert len(engine.settle()) == 0
            demoted = any(
                other[0] in ("demote", "by hand") for other in case.steps
            )  # by choice, not by a change
            assert demoted or engine.memory is not None or engine.statistics().complete
        elif step[0] == "demote":
            demote(engine, step[1])
        elif step[0] == "by hand":
            by_hand.use(engine, book, step[1])
        elif step[0] == "restart":
            engine = restart(engine)
        elif step[0] == "reject":
            refuse(engine, book, *step[1:])
    for want, results in held if case.hold else ():
        judge(book, want, results)
    statistics = engine.statistics()
    assert statistics.events == book.count
    assert statistics.results == sum(len(rows) for want in wanted for rows in want)
    return engine


def demote(engine, seed):
    """Turn some keys of every composite STAIR into holes, as a memory budget would; never while two plans run."""
    for router in routers(engine):
        if not router.alone:
            continue
        for stair in router.stairs.values():
            keys = np.unique(stair.carrier.keys(stair.carrier.low, stair.carrier.tail))
            stair.demote(keys[np.random.default_rng(seed).random(len(keys)) < 0.5])


def routers(engine):
    """The routers of an engine: one for each thread."""
    return list(engine.state.executor.routers)


def restart(engine):
    """An engine that goes on from a snapshot of this one."""
    with tempfile.TemporaryDirectory() as folder:
        engine.save(Path(folder) / "snapshot")
        policies = {"migration": engine.migration, "feedback": engine.feedback, "memory": engine.memory}
        policies |= {"routing": engine.routing, "threads": engine.threads}
        return thrifty(Inside.load(Path(folder) / "snapshot", engine.query, **policies))


# Bad input


def sample(stream, now):
    """A good batch of two rows at time ``now``."""
    values = {"string": "a", "bool": True}
    return {
        column: [moment(now, zone(kind) is not None) if kind.startswith("timestamp") else now] * 2
        if column == stream.time
        else [pythonic(0, kind) if special(kind) else values.get(kind, 1)] * 2
        for column, kind in stream.columns.items()
    }


def refuse(engine, book, what, name):
    """Offer the engine something wrong; it must say so and stay as it was."""
    before = engine.statistics(), engine.plan
    offer = BAD[what](engine, book, name)
    if offer is not None:
        with pytest.raises(eddy.EddyError):
            offer()
        assert (engine.statistics(), engine.plan) == before, f"{what}: the engine changed"


def spoilt(change):
    """Bad input made of a good batch by ``change(batch, stream, now)``; None where it does not apply."""

    def offer(engine, book, name):
        stream = book.case.streams[name]
        good = sample(stream, book.now)
        bad = change(dict(good), stream, book.now)
        return bad and (lambda: engine.push(name, bad))

    return offer


def both(change):
    """Like `spoilt`, beside a good batch of another stream in one `push_all`."""

    def offer(engine, book, name):
        other = next(other for other in book.case.streams if other != name)
        good = sample(book.case.streams[other], book.now)
        bad = change(sample(book.case.streams[name], book.now), book.case.streams[name], book.now)
        return bad and (lambda: engine.push_all({other: good, name: bad}))

    return offer


def missing(good, stream, now):
    """A column is left out."""
    del good[list(good)[-1]]
    return good or {"nothing": [1, 2]}


def ragged(good, stream, now):
    """A column is longer than the others."""
    if len(good) == 1:
        return None
    good[list(good)[-1]] = good[list(good)[-1]] * 2
    return good


def wrong_type(good, stream, now):
    """A column has values of another type."""
    column = list(good)[-1]
    good[column] = [1.5, 2.25] if stream.columns[column] in ("string", "binary") else ["one", "two"]
    return good


def too_large(good, stream, now):
    """An integer does not fit."""
    column = next((column for column, kind in stream.columns.items() if "int" in kind), None)
    return column and {**good, column: [1, 2**70]}


def backwards(good, stream, now):
    """The second row is older than the first."""
    if stream.time is None:
        return None
    kind = stream.columns[stream.time]
    older = moment(now - 1, zone(kind) is not None) if kind.startswith("timestamp") else now - 1
    return {**good, stream.time: [good[stream.time][0], older]}


def no_time(good, stream, now):
    """The second row has no time."""
    return stream.time and {**good, stream.time: [good[stream.time][0], None]}


def bad_plan(plan):
    """A plan that does not fit the query."""
    return lambda engine, book, name: lambda: engine.migrate(plan(list(book.case.streams)))


def went_back(offer):
    """Only where a window uses time does time matter to `push`."""
    timed = {"range", "sliding", "tumbling time"}
    return lambda engine, book, name: (
        offer(engine, book, name) if any(s.window[0] in timed for s in book.case.streams.values()) else None
    )


BAD = {
    "unknown stream": lambda engine, book, name: lambda: engine.push("nowhere", {"x": [1]}),
    "missing column": spoilt(missing),
    "ragged": spoilt(ragged),
    "wrong type": spoilt(wrong_type),
    "too large": spoilt(too_large),
    "no time": spoilt(no_time),
    "back in time": went_back(spoilt(backwards)),
    "one bad of two: ragged": both(ragged),
    "one bad of two: wrong type": both(wrong_type),
    "one bad of two: missing column": both(missing),
    "one bad of two: back in time": went_back(both(backwards)),
    "plan misses a stream": bad_plan(lambda names: names[0]),
    "plan repeats a stream": bad_plan(lambda names: f"({' '.join(names[:2])}) {names[0]}"),
    "plan names a stranger": bad_plan(lambda names: f"({names[0]} nowhere) {names[1]}"),
    "plan is no plan": bad_plan(lambda names: "((("),
}
