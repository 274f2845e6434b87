"""Random sets of joins with filters, which come and go in one engine, against `tests/naive.py`: no engine beside it.

What a query is to give is what the oracle gives for all rows that there have been, with two limits: the latest row came
after the query, and no row is older than those that it sees.
"""

from __future__ import annotations

import warnings

from attrs import define, field

import eddy
from policies import Card, HybMig, Jisc, Mns, MovingState, ParallelTrack
from tests import naive
from tests.strategies import tree

COLUMNS = {"ts": "int64", "x": "int64", "y": "int64", "v": "int64"}
SCHEMAS = dict.fromkeys("ABCD", COLUMNS)
WINDOWS = {
    "": ("unbounded",),
    "[ROWS 3]": ("rows", 3),
    "[ROWS 7]": ("rows", 7),
    "[RANGE 6]": ("range", 6),
    "[RANGE 25]": ("range", 25),
    "[TUMBLING 6 ROWS]": ("tumbling rows", 6),
    "[TUMBLING 10]": ("tumbling time", 10),
}
JOINS = [
    [("=", "A.x", "B.x")],
    [("=", "A.x", "B.x"), ("=", "B.y", "C.y")],
    [("=", "A.x", "B.x"), ("=", "B.x", "C.x")],
    [("=", "B.x", "C.x"), ("<", "B.v", "C.v")],
    [("=", "A.x", "B.x"), ("=", "B.y", "C.y"), ("=", "C.x", "D.x")],
    [("<", "C.v", "D.v")],
]
OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
FLIPPED = {"<": ">"}


@define(eq=False)
class Stream:
    """A stream as the oracle has it."""

    window: tuple
    columns: tuple = tuple(COLUMNS)
    time: str = "ts"


@define(eq=False)
class Asked:
    """A query, and what it sees."""

    query: eddy.Query
    streams: dict
    where: list
    begun: int
    """Events before it."""
    firsts: dict
    """The first row of each stream that it sees."""
    ended: int | None = None


def column(text):
    return ("col", *text.split("."))


def drawn(pick):
    """A query, its streams and predicates as the oracle takes them."""
    joins, texts, where = pick.choice(JOINS), [], []
    names = sorted({side[0] for _, *sides in joins for side in sides})
    for op, left, right in joins:
        where.append((op, column(left), column(right)))
        turned = op in FLIPPED and pick.chance(50)
        texts.append(f"{right} {FLIPPED[op]} {left}" if turned else f"{left} {op} {right}")
    for name in names:
        while pick.chance(40):
            op, of, constant = pick.choice(OPERATORS), pick.choice("xv"), pick.integer(0, 9)
            where.append((op, ("col", name, of), ("lit", constant)))
            texts.append(f"{name}.{of} {op} {constant}")
    alike = pick.chance(50)
    usual = pick.choice(list(WINDOWS))
    windows = {name: usual if alike else pick.choice(list(WINDOWS)) for name in names}
    text = f"SELECT {names[0]}.v FROM {', '.join(f'{n} {w}' for n, w in windows.items())} WHERE {' AND '.join(texts)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eddy.LossyWindow)
        query = eddy.sql(text, schemas=SCHEMAS)
    return query, {name: Stream(WINDOWS[of]) for name, of in windows.items()}, where


@define(eq=False)
class NaiveWorld:
    """An engine of several queries, and all that has happened."""

    pick: object
    engine: object = None
    asked: dict = field(factory=dict)
    gone: list = field(factory=list)
    log: list = field(factory=list)
    now: int = 0
    unread: list = field(factory=list)
    given: dict = field(factory=dict)
    """The results of each query: (events before the push, events after it, rows)."""

    def begin(self):
        pick = self.pick
        options = {
            "batch_size": pick.choice([1, 4, 4096]),
            "migration": pick.choice([None, Jisc(), MovingState(), ParallelTrack(), HybMig()]),
            "routing": pick.choice([None, None, Card()]),
            "feedback": pick.choice([None, None, Mns()]),
            "memory": pick.choice([None, None, 20_000]),
        }
        self.engine = eddy.Eddy({}, **options)
        for _ in range(pick.integer(1, 3)):
            self.add()

    def numbers(self, stream):
        """How many rows of a stream there are."""
        return sum(name == stream for name, _ in self.log)

    def plan(self, query):
        """A plan for a query, or none."""
        names = query.names
        return (
            tree(self.pick, self.pick.shuffled(names))[1:-1]
            if len(names) > 1 and self.pick.chance(40)
            else None
        )

    def add(self):
        query, streams, where = drawn(self.pick)
        history, name = self.pick.chance(70), f"q{len(self.gone) + len(self.asked)}"
        held = {}
        for one in self.asked.values() if history else ():
            for stream, low in self.lows(one).items():
                held[stream] = min(low, held.get(stream, low))
        firsts = {stream: held.get(stream, self.numbers(stream)) for stream in streams}
        try:
            self.engine.add(name, query, self.plan(query), history=history)
        except eddy.PlanError:  # feedback may not judge under every plan
            self.engine.add(name, query, history=history)
        self.asked[name] = Asked(query, streams, where, len(self.log), firsts)

    def lows(self, one):
        """The first row of each stream that the window of a query holds, of those that it sees."""
        place = list(COLUMNS).index("ts")
        times = [row[place] for stream, row in self.log if stream in one.streams]
        found = {}
        for name, stream in one.streams.items():
            rows = [row for of, row in self.log if of == name]
            low = naive.live_rows(stream, rows, times[-1] if times else 0).start
            found[name] = max(low, one.firsts[name])
        return found

    def drop(self):
        if self.asked:
            name = self.pick.choice(sorted(self.asked))
            self.engine.drop(name)
            one = self.asked.pop(name)
            one.ended = len(self.log)
            self.gone.append((name, one))

    def migrate(self):
        if self.asked:
            name = self.pick.choice(sorted(self.asked))
            plan = self.plan(self.asked[name].query)
            if plan is not None:
                try:
                    self.engine.migrate(plan, query=name)
                except eddy.PlanError:
                    pass

    def freeze(self):
        name = self.pick.choice([None, *sorted(self.asked)])
        self.pick.choice([self.engine.freeze, self.engine.thaw])(name)

    def push(self):
        pick, before = self.pick, len(self.log)
        streams = sorted({name for one in self.asked.values() for name in one.streams})
        if not streams:
            return
        some = streams if pick.chance(60) else [pick.choice(streams)]
        batches = {}
        for _ in range(pick.integer(1, 10)):
            self.now += pick.choice([1, 1, 3])
            row = [self.now, pick.integer(0, 2), pick.integer(0, 2), pick.integer(0, 9)]
            if pick.chance(8):
                row[pick.integer(1, 3)] = None
            name = pick.choice(some)
            batches.setdefault(name, []).append(row)
            self.log.append((name, tuple(row)))
        found = self.engine.push_all(
            {
                name: dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
                for name, rows in batches.items()
            }
        )
        self.unread.append((before, len(self.log), found))
        if pick.chance(60):
            self.read()

    def read(self):
        for before, after, found in self.unread:
            for name in found:
                self.given.setdefault(name, []).append(
                    (before, after, sorted(map(tuple, found[name].rows.tolist())))
                )
        self.unread = []

    def compare(self):
        """All that was given is what the oracle says."""
        self.read()
        for name, one in [*self.gone, *self.asked.items()]:
            events = [(i, event) for i, event in enumerate(self.log) if event[0] in one.streams]
            answers = naive.join(one.streams, one.where, [event for _, event in events], 200_000)
            if len(answers) < len(events):
                continue
            wanted = {i: answer for (i, _), answer in zip(events, answers, strict=True)}
            for before, after, rows in self.given.get(name, ()):
                expected = [
                    numbers
                    for i in range(before, after)
                    for numbers in wanted.get(i, ())
                    if all(
                        number >= first for number, first in zip(numbers, one.firsts.values(), strict=True)
                    )
                ]
                assert rows == sorted(expected), (name, str(one.query), before, after)


def check(pick, steps=14):
    """A random world, step by step."""
    world = NaiveWorld(pick)
    world.begin()
    for _ in range(pick.integer(4, steps)):
        what = pick.choice(["push"] * 7 + ["add", "add", "drop", "migrate", "migrate", "freeze"])
        getattr(world, what)()
    world.compare()
