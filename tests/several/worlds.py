"""Random queries over four streams, which come and go in one engine, each beside its oracle: an engine of its own."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import define, field

import eddy
from policies import HybMig, Jisc, Mns, MovingState, ParallelTrack
from tests.several.statements import SCHEMAS, WORDS, made, statement
from tests.strategies import tree

TECHNIQUES = [None, None, Jisc(), MovingState(), ParallelTrack(), HybMig(), Jisc(2)]


def records(result):
    """The rows of a result, with signs, in an order that depends on them alone."""
    return sorted(map(repr, result.records(sign=True)))


@define
class Alone:
    """A query in an engine of its own."""

    query: eddy.Query
    engine: eddy.Eddy
    before: dict = field(factory=dict)
    """Rows of each stream that came before those that the engine was given."""
    numbered: bool = True
    """Whether the engine of all counts rows as this one, with those before."""

    def lows(self):
        """For each stream the first row that its window holds."""
        return {
            s.name: self.before.get(s.name, 0) + s.rows - s.live for s in self.engine.statistics().streams
        }


@define
class World:
    """An engine of several queries, and their oracles."""

    pick: object
    options: dict = field(factory=dict)
    alone: dict = field(factory=dict)
    engine: object = None
    log: list = field(factory=list)
    """All rows so far, in the order of arrival: (stream, row)."""
    counts: dict = field(factory=lambda: dict.fromkeys(SCHEMAS, 0))
    now: int = 0
    names: int = 0
    unread: list = field(factory=list)
    shared: dict = field(factory=dict)
    """Options that the engine of several queries has, and the others have not."""

    def begin(self):
        """The engine with its first queries."""
        pick = self.pick
        self.options = {
            "batch_size": pick.choice([1, 3, 16, 4096]),
            "migration": pick.choice(TECHNIQUES),
            "feedback": pick.choice([None, None, Mns()]),
            "retractions": pick.chance(15),
            "memory": pick.choice([None, None, 20_000]),
        }
        queries = {self.name(): made(statement(pick)) for _ in range(pick.integer(1, 3))}
        for name, query in queries.items():
            alone = self.engine_for(query)
            if alone is not None:
                self.alone[name] = Alone(query, alone)
        queries = {name: alone.query for name, alone in self.alone.items()}
        plans = {name: self.plan(query) for name, query in queries.items()}
        try:
            self.engine = eddy.Eddy(queries, plan=plans, **self.options, **self.shared)
        except eddy.PlanError:  # feedback does not judge under every plan
            self.engine = eddy.Eddy(queries, **self.options, **self.shared)

    def engine_for(self, query):
        """An engine of its own; None if the options are not for this query."""
        try:
            return eddy.Eddy(query, **self.options)
        except eddy.EddyError:
            return None

    def plan(self, query):
        """A plan of its own for some queries."""
        names = query.core.names
        if query.minus or len(names) < 3 or self.pick.chance(50):
            return None
        return tree(self.pick, self.pick.shuffled(names))[1:-1]

    def name(self):
        self.names += 1
        return f"q{self.names}"

    def row(self, stream):
        """A row, as a dict."""
        pick = self.pick
        self.now += pick.choice([0, 0, 1, 1, 4])
        found = {"ts": self.now, "x": pick.integer(0, 2), "y": pick.integer(0, 2), "v": pick.integer(0, 9)}
        if pick.chance(8):
            found[pick.choice(["x", "y", "v"])] = None
        return {**found, "s": pick.choice(WORDS)}

    def push(self):
        """Rows of a stream, or of several; every query's results are those of its oracle."""
        pick, rows = self.pick, {}
        streams = sorted({name for alone in self.alone.values() for name in alone.query.streams})
        if not streams:
            return
        several = pick.chance(50)
        for _ in range(pick.integer(1, 12)):
            stream = pick.choice(streams) if several or not rows else next(iter(rows))
            rows.setdefault(stream, []).append(self.row(stream))
            self.now += several  # ties are in the order of declaration, which differs between queries
        order = sorted(
            ((row["ts"], stream, row) for stream, of in rows.items() for row in of), key=lambda t: t[0]
        )
        self.log += [(stream, row) for _, stream, row in order]
        for stream, of in rows.items():
            self.counts[stream] += len(of)
        found = self.engine.push_all({s: columns(s, of) for s, of in rows.items()})
        wanted = {}
        for name, alone in self.alone.items():
            own = {s: columns(s, of) for s, of in rows.items() if s in alone.query.streams}
            result = alone.engine.push_all(own) if own else None
            wanted[name] = ([], None) if result is None else (records(result), self.rows(alone, result))
        self.unread.append((found, wanted))
        if pick.chance(70):
            self.read()

    def rows(self, alone, result):
        if alone.query.grouped or not alone.numbered:
            return None
        before = np.array([alone.before.get(name, 0) for name in alone.query.names])
        return sorted((result.rows + before * (result.rows >= 0)).tolist())

    def read(self):
        """What was given, now or some pushes ago, is right."""
        for found, wanted in self.unread:
            for name, (lines, rows) in wanted.items():
                assert records(found[name]) == lines, (name, self.told(name))
                if rows is not None:
                    assert sorted(found[name].rows.tolist()) == rows, (name, self.told(name))
        self.unread = []

    def told(self, name):
        return str(self.alone[name].query) if name in self.alone else name

    def add(self):
        """One more query, which sees the rows that are live, or those to come."""
        text, history = statement(self.pick), self.pick.chance(70)
        text = text.replace(
            "[TUMBLING 6 ROWS]", "[ROWS 6]"
        )  # panes begin at row 0, which the oracle has not seen
        query, name = made(text), self.name()
        held = self.held() if history else {}
        own = self.engine_for(query)
        if own is None:
            with pytest.raises(eddy.EddyError):
                self.engine.add(name, query)
            return
        alone = Alone(query, own, numbered=not query.attachments and not query.minus)
        firsts = {s: held.get(s, self.counts[s]) for s in query.streams}
        try:
            self.engine.add(name, query, self.plan(query), history=history)
        except eddy.PlanError:
            self.engine.add(name, query, history=history)
        alone.before = firsts
        seen = dict.fromkeys(SCHEMAS, 0)
        for stream, row in self.log:
            if stream in firsts and seen[stream] >= firsts[stream]:
                alone.engine.push(stream, columns(stream, [row]))
            seen[stream] += 1
        self.alone[name] = alone

    def held(self):
        """For each stream of which a window holds rows the first of them."""
        found = {}
        for alone in self.alone.values():
            for stream, low in alone.lows().items():
                found[stream] = min(low, found.get(stream, low))
        return found

    def drop(self):
        """A query goes. Streams that nobody has any more keep their numbers."""
        if len(self.alone) > 1:
            name = self.pick.choice(sorted(self.alone))
            self.read()
            self.engine.drop(name)
            del self.alone[name]

    def migrate(self):
        """Another plan for a query, and for those that have its core."""
        if not self.alone:
            return
        name = self.pick.choice(sorted(self.alone))
        query = self.alone[name].query
        if query.minus or len(query.core.names) < 3:
            return
        try:
            self.engine.migrate(tree(self.pick, self.pick.shuffled(query.core.names))[1:-1], query=name)
        except eddy.PlanError:
            pass

    def freeze(self):
        """The routing policy decides no more, or again: of one query or of all."""
        name = self.pick.choice([None, *sorted(self.alone)])
        self.pick.choice([self.engine.freeze, self.engine.thaw])(name)

    def tables(self):
        """The groups of every query that aggregates are those of its oracle."""
        for name, alone in self.alone.items():
            if alone.query.grouped:
                assert records(self.engine.table(name)) == records(alone.engine.table()), self.told(name)


def columns(stream, rows):
    """Rows as columns."""
    return {name: [row[name] for row in rows] for name in SCHEMAS[stream]}


def check(pick, steps=14, **shared):
    """A random world, step by step; ``shared`` are options of the engine of several queries."""
    world = World(pick, shared=shared)
    world.begin()
    for _ in range(pick.integer(4, steps)):
        what = pick.choice(["push"] * 6 + ["add", "add", "drop", "migrate", "migrate", "freeze", "tables"])
        getattr(world, what)()
    world.read()
    world.tables()
    closed = world.engine.close()
    for name, alone in world.alone.items():
        assert records(closed[name]) == records(alone.engine.close()), (name, world.told(name))
