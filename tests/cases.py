"""A case: a query, how it is fed and what is done to the engine meanwhile; plain values that print as code.

`tests/checks.py` runs one through the engine and compares every step with the oracle. Rows are tuples in the
order of the stream's columns; times are whole seconds, also where the column is a timestamp.
"""

from __future__ import annotations

import itertools
import math

from attrs import evolve, frozen
from numba import njit

import eddy
import eddy.tracks.driver
import stairs.directory
from policies import (
    Auto,
    Base,
    Card,
    Cheapest,
    Doe,
    EagerStairs,
    Feedback,
    Fixed,
    Ghm,
    Gms,
    Gpt,
    Greedy,
    HybMig,
    Jisc,
    Lottery,
    Migration,
    Mns,
    MovingState,
    NoFeedback,
    ParallelTrack,
    Pop,
    Random,
    Routing,
    Skinner,
)
from policies.optimizer.model import CostModel
from tests import naive
from tests.forms import formed
from tests.inside import engine_from

TECHNIQUES = [
    *(Jisc(keys) for keys in (0, 1, 100)),
    *(HybMig(sharing, keys) for sharing in (True, False) for keys in (0, 1, 3, 100)),
    *(technique() for technique in (MovingState, EagerStairs, ParallelTrack, Gms, Gpt, Ghm)),
]
"""Every technique that emits results in the order of their latest events, with all that changes what it does."""


class Taking(Migration):
    """Gives one change after the other to another technique of four, in an order of its own."""

    def __init__(self, order):
        self.order = order
        self.next = itertools.cycle(order)

    def __repr__(self):
        return f"Taking({self.order})"

    def begin(self, change):
        technique = (Jisc(), MovingState(), ParallelTrack(), HybMig())[next(self.next)]
        change.delegate(technique, {})
        technique.begin(change)

    def work(self, change):
        Jisc().work(change)  # after loading a snapshot there is nobody else


ANY_TECHNIQUE = [
    *TECHNIQUES,
    *(Jisc(keys, once) for keys in (0, 1) for once in (0.5, 2.0, 100.0)),
    Cheapest(),
    Cheapest(pause=1e4),
    Taking((3, 0, 2, 1)),
    Taking((2, 3, 1, 0)),
]
"""And those that are now one of these, now another, by how large windows are beside batches or by what is predicted."""

FEEDBACK = [
    NoFeedback(),
    Doe(),
    Mns(),
    Mns(restraint=False),
    Mns(detect="bloom", restraint=False),
    Mns(1, "bloom", False),
    Mns(restraint=False, pairs=True),
]
"""Every feedback policy, with all that changes what it does."""

ROUTING = [
    Fixed(),
    Auto(every=6),
    Base(after=9),
    Pop(every=4),
    Card(every=8),
    Random(5),
    Lottery(6, draws=3),
    Lottery(9, draw="tuple"),
    Greedy(7, slack=0.0),
    Skinner(4),
    Skinner(9, composites=True),
    Base(8),
    Pop(6, overhead=math.inf, gain=0.0),
    Card(7, overhead=math.inf, gain=0.0, alpha=1.0),
    Auto(5, gain=0.0, overhead=math.inf, model=CostModel(change=0.0)),
]
"""Every kind of routing policy, asked often."""


@frozen
class S:
    """A stream: its columns by type, its window as the oracle writes it, and its time column.

    One that is ``static`` has neither window nor time, and its rows come before all others.
    """

    columns: dict
    window: tuple = ("unbounded",)
    time: str | None = None
    static: bool = False


@frozen
class Case:
    """A query and a list of steps.

    A step is ``("push", stream, rows)``, ``("push", stream, rows, max_rows)``,
    ``("push_all", {stream: rows})``, ``("migrate", plan)``, ``("settle",)``, ``("demote", seed)``,
    ``("by hand", seed)``, ``("restart",)`` or ``("reject", what, stream)``.
    ``first_row``: the number of each stream's first row, as if the engine had run for long. ``memory``: a budget,
    looked at before every batch.
    """

    streams: dict
    where: list
    steps: list
    plan: str | None = None
    select: list | None = None
    cross: bool = False
    batch_size: int = 4096
    technique: Migration = TECHNIQUES[0]
    feedback: Feedback = FEEDBACK[0]
    routing: Routing = ROUTING[0]
    joins: str = "hash"
    door: str = "query"
    form: str = "list"
    hold: bool = False
    first_row: int = 0
    memory: int | None = None
    threads: int = 1

    @property
    def background(self):
        """Keys that the technique may fill a batch besides."""
        return getattr(self.technique, "background", 0)


# How a case is told to the library


@njit
def sum_is_even(x, y):
    """Whether x and y are both odd or both even."""
    return (x + y) % 2 == 0


@njit
def within_two(x, y):
    """Whether x and y are at most two apart."""
    return abs(x - y) <= 2


USER = {"sum is even": sum_is_even, "within two": within_two}


def text(tree):
    """A predicate or expression of the oracle as SQL."""
    kind, *rest = tree
    if kind == "col":
        return ".".join(rest)
    if kind == "lit":
        return literal(rest[0])
    if kind == "in":
        return f"{inner(rest[0])} IN ({', '.join(map(literal, rest[1]))})"
    if kind == "between":
        return "{} BETWEEN {} AND {}".format(*map(inner, rest))
    if kind == "neg":
        return f"-{inner(rest[0])}"
    if kind == "abs":
        return f"ABS({text(rest[0])})"
    if kind == "not":
        return f"NOT {inner(rest[0])}"
    if kind in ("is null", "is not null"):
        return f"{inner(rest[0])} {kind.upper()}"
    return f" {kind.upper()} ".join(map(inner, rest))


def inner(tree):
    """Like `text`, in brackets unless it is one word."""
    return text(tree) if tree[0] in ("col", "lit", "abs") else f"({text(tree)})"


def literal(value):
    """A value as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def predicate(tree):
    """A predicate as `eddy.Query` takes it: SQL, or the user's own function."""
    if tree[0] == "user":
        return eddy.predicate(USER[tree[1]], *map(text, tree[2:]))
    return text(tree)


def is_timestamp(stream):
    """Whether the time column is a timestamp, so that widths are durations."""
    return stream.time is not None and stream.columns[stream.time].startswith("timestamp")


def window(stream):
    """The library's window for the oracle's."""
    kind, *size = stream.window
    if kind == "unbounded":
        return eddy.Unbounded()
    size, *step = size
    if kind == "rows":
        return eddy.Rows(size)
    if kind == "tumbling rows":
        return eddy.Tumbling(rows=size)
    width = f"{size} seconds" if is_timestamp(stream) else size
    if kind == "sliding":
        return eddy.Sliding(width, every=f"{step[0]} seconds" if is_timestamp(stream) else step[0])
    return eddy.Range(width) if kind == "range" else eddy.Tumbling(time=width)


def bracket(stream):
    """The window as `eddy.sql` writes it."""
    kind, *size = stream.window
    unit = " SECONDS" if is_timestamp(stream) else ""
    form = {
        "unbounded": "[UNBOUNDED]",
        "rows": "[ROWS {}]",
        "range": f"[RANGE {{}}{unit}]",
        "sliding": f"[RANGE {{}}{unit} SLIDE {{}}{unit}]",
        "tumbling rows": "[TUMBLING {} ROWS]",
        "tumbling time": f"[TUMBLING {{}}{unit}]",
    }
    return form[kind].format(*size)


def make_query(case):
    """The case's query, made in Python or through SQL."""
    if case.door == "sql":
        schemas = {
            name: eddy.Stream(stream.columns, time=stream.time, static=stream.static)
            for name, stream in case.streams.items()
        }
        sources = ", ".join(f"{name} {bracket(stream)}" for name, stream in case.streams.items())
        chosen = ", ".join(f'{item} AS "{item}"' for item in selected(case))
        return eddy.sql(
            f"SELECT {chosen} FROM {sources} WHERE {' AND '.join(map(inner, case.where))}", schemas
        )
    streams = {
        name: eddy.Stream(stream.columns, window=window(stream), time=stream.time, static=stream.static)
        for name, stream in case.streams.items()
    }
    where = [predicate(tree) for tree in case.where]
    return eddy.Query(streams, where=where, select=case.select, cross=case.cross)


def make_engine(case, **options):
    """An engine for the case; ``options`` go before the case's own.

    What counts as a large window, in which bucket heads lie side by side, and in which sorted indexes serve, is any,
    some, or none, by the case.
    """
    stairs.directory.LEAST = (0, 128, 1 << 16)[len(case.steps) % 3]
    eddy.tracks.driver.FEW = (64, 4, 0)[len(case.steps) % 3]
    own = {
        "plan": case.plan,
        "batch_size": case.batch_size,
        "joins": case.joins,
        "migration": case.technique,
        "feedback": case.feedback,
        "routing": case.routing,
        "memory": case.memory,
        "threads": case.threads,
    }
    return thrifty(engine_from(case.first_row, make_query(case), **{**own, **options}))


def thrifty(engine):
    """An engine that looks at its memory before every batch, if it has a budget."""
    if engine.state.budget is not None:
        engine.state.budget.every = 1
    return engine


def selected(case):
    """The columns of a result, as "A.x"."""
    return case.select or [
        f"{name}.{column}" for name, stream in case.streams.items() for column in stream.columns
    ]


def batch(case, name, rows):
    """Rows as a batch that the engine takes, in the case's form."""
    kinds = case.streams[name].columns
    return formed(case.form, {c: ([row[place] for row in rows], kinds[c]) for place, c in enumerate(kinds)})


# What the oracle sees


def merged(case, batches):
    """The events of one `push_all`: by time if every stream has one, else by position; ties as declared.

    Static streams come first, one after the other.
    """
    timed = all(stream.time is not None or stream.static for stream in case.streams.values())
    events = []
    for turn, (name, stream) in enumerate(case.streams.items()):
        for position, row in enumerate(batches.get(name, ())):
            when = row[list(stream.columns).index(stream.time)] if timed and stream.time else position
            place = (0, turn, position) if stream.static else (1, when, turn, position)
            events.append((place, name, row))
    return [(name, row) for _, name, row in sorted(events, key=lambda event: event[0])]


def step_events(case, step):
    """The events that a step adds to the feed."""
    if step[0] == "push":
        return [(step[1], row) for row in step[2]]
    return merged(case, step[1]) if step[0] == "push_all" else []


def expected(case, limit=None):
    """For each step the results of each of its events; shorter than the steps where `limit` was reached."""
    if LAST and all(getattr(case, part) is getattr(LAST[0], part) for part in ("streams", "where", "steps")):
        return LAST[1]
    parts = [step_events(case, step) for step in case.steps]
    answers = iter(naive.join(case.streams, case.where, itertools.chain(*parts), limit))
    steps = []
    for part in parts:
        results = [next(answers, None) for _ in part]
        if None in results:
            break
        steps.append(results)
    return steps


LAST = []
"""The case that `cut` has made last, and its results: the oracle need not work twice."""


def cut(case, limit):
    """The case without the steps from which on the oracle would try more than `limit` combinations."""
    results = expected(case, limit)
    LAST[:] = evolve(case, steps=case.steps[: len(results)]), results
    return LAST[0]
