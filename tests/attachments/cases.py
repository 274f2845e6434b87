"""Random queries with attachments, how they are fed, and what is done to the engine meanwhile."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

import eddy
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Mns, MovingState, NoFeedback, ParallelTrack
from tests import naive_attached
from tests.attachments.restarts import a_restart, restarted
from tests.cases import predicate, window

KINDS = {
    "inner": eddy.InnerJoin,
    "left": eddy.LeftJoin,
    "right": eddy.RightJoin,
    "full": eddy.FullJoin,
    "semi": eddy.SemiJoin,
    "anti": eddy.AntiJoin,
    "asof": eddy.AsofJoin,
    "left asof": eddy.LeftAsofJoin,
}
TECHNIQUES = [Jisc(), Jisc(1), MovingState(), EagerStairs(), ParallelTrack(), HybMig(), Gms(), Gpt(), Ghm()]
COLUMNS = {"ts": "int64", "x": "int64", "y": "int32", "s": "string"}
TIMELESS = {"n": "int64", "x": "int64", "y": "int32", "s": "string"}


@frozen
class Declared:
    """A stream as the oracle wants it."""

    window: tuple
    columns: dict = COLUMNS
    time: str | None = "ts"
    static: bool = False


@frozen
class AttachedCase:
    """Plain values that print as code; ``steps`` are ("push", stream, rows), ("push_all", {stream: rows}), ("advance",
    time), ("migrate", plan) and ("save", {option: value}, whether the query is given)."""

    streams: dict
    where: list
    attach: list
    after: list
    steps: list
    changes: bool
    plan: str | None
    options: dict
    max_rows: int | None = None

    @property
    def core(self):
        return [name for name in self.streams if name not in {one[1] for one in self.attach}]


def a_window(pick):
    kind = pick.choice(
        ["unbounded", "rows", "rows", "range", "range", "tumbling rows", "tumbling time", "sliding"]
    )
    if kind == "unbounded":
        return ("unbounded",)
    size = pick.integer(1, 6)
    return (kind, size, pick.integer(1, 3)) if kind == "sliding" else (kind, size)


def a_row(pick, time):
    return (
        time,
        None if pick.chance(10) else pick.integer(0, 2),
        None if pick.chance(10) else pick.integer(0, 3),
        None if pick.chance(10) else pick.choice("abc"),
    )


def col(stream, name):
    return ("col", stream, name)


def a_condition(pick, stream, visible, time):
    """What joins a stream with those that are visible: mostly a key, and now and then more."""
    other, c = pick.choice(visible), pick.choice(["x", "x", "s", "y"])
    trees = [("=", col(other, c), col(stream, c))] if pick.chance(85) else []
    if pick.chance(15):
        trees.append(("not", ("is distinct", col(pick.choice(visible), "x"), col(stream, "x"))))
    if pick.chance(30):
        trees.append((pick.choice(["<", "<=", "!=", ">"]), col(pick.choice(visible), "y"), col(stream, "y")))
    if pick.chance(20):
        trees.append((">", col(stream, "y"), ("lit", pick.integer(0, 2))))
    if pick.chance(10):
        trees.append((">", col(pick.choice(visible), "y"), ("lit", pick.integer(0, 2))))
    if pick.chance(15):
        trees.append(("<=", ("abs", ("-", col(other, time), col(stream, time))), ("lit", pick.integer(0, 4))))
    return trees or [("<", col(other, "y"), col(stream, "y"))]


def a_keyless_condition(pick, stream, visible, time):
    """A condition without a key: a band, what NOT IN asks, or both."""
    other = pick.choice(visible)
    column = pick.choice([time, time, "y"])
    mine, theirs = col(stream, column), col(other, column)
    low, high = pick.integer(-4, 2), pick.integer(0, 4)
    ends = [(">=", mine, ("+", theirs, ("lit", low))), ("<", mine, ("+", theirs, ("lit", low + high)))]
    trees = pick.choice([ends, ends, ends[:1], ends[1:], []])
    if not trees or pick.chance(25):
        c = pick.choice("xs")
        trees = [*trees, ("is distinct", ("=", col(pick.choice(visible), c), col(stream, c)), ("lit", False))]
    if pick.chance(15):
        trees = [*trees, ("!=", col(pick.choice(visible), "y"), col(stream, "y"))]
    if pick.chance(15):
        trees = [*trees, ("=", col(pick.choice(visible), "x"), col(stream, "x"))]
    return trees


def attached_case(pick, condition=a_condition):
    """Any attachments of any core, in any windows."""
    cores, more = pick.integer(1, 3), pick.integer(1, 3)
    names = [f"S{i}" for i in range(cores)] + [f"T{i}" for i in range(more)]
    timed = pick.chance(80)
    streams = {}
    for name in names:
        own = a_window(pick)
        while not timed and own[0] in ("range", "sliding", "tumbling time"):
            own = a_window(pick)
        streams[name] = Declared(own) if timed else Declared(own, TIMELESS, None)
    where = [("=", col(names[i], "x"), col(names[i + 1], "x")) for i in range(cores - 1)]
    if pick.chance(30):
        where.append((">", col("S0", "y"), ("lit", 0)))
    changes, attach, visible = pick.chance(45), [], names[:cores]
    for name in names[cores:]:
        kinds = [kind for kind in KINDS if changes or not attach or kind not in ("right", "full")]
        kind = pick.choice(kinds)
        on = condition(pick, name, visible, "ts" if timed else "n")
        if "asof" in kind:
            other, strict, c = (
                pick.choice(visible),
                pick.chance(50),
                pick.choice(["ts" if timed else "n"] * 2 + ["y"]),
            )
            on = [tree for tree in on if tree[0] == "=" or naive_attached.reads(tree) == {name}]
            attach.append((kind, name, on, (col(other, c), col(name, c), strict)))
        else:
            attach.append((kind, name, on))
        if kind not in naive_attached.ASKS:
            visible = [*visible, name]
    after = (
        [("is null", col(visible[-1], "x"))] if pick.chance(15) and visible[-1] not in names[:cores] else []
    )
    options = {
        "batch_size": pick.choice([1, 2, 7, 4096]),
        "migration": pick.choice(TECHNIQUES) if cores > 1 else Jisc(),
        "feedback": Mns() if pick.chance(20) and cores > 1 else NoFeedback(),
        "threads": pick.choice([1, 1, 1, 2]),
    }
    plan = None if pick.chance(40) else " ".join(names[:cores]) if cores < 3 else "(S0 S1) S2"
    steps = feed(pick, names, cores, timed)
    max_rows = pick.choice([None, None, None, 2])
    return AttachedCase(streams, where, attach, after, steps, changes, plan, options, max_rows)


def feed(pick, names, cores, timed):
    steps, time = [], 0
    for _ in range(pick.integer(1, 12)):
        kind = pick.choice(["push", "push", "push", "push_all", "push_all", "migrate", "advance", "save"])
        if kind == "migrate" and cores == 3:
            steps.append(("migrate", pick.choice(["(S0 S1) S2", "S0 (S1 S2)", "(S0 S2) S1"])))
        elif kind == "save":
            steps.append(a_restart(pick))
        elif kind == "advance" and timed:
            time += pick.integer(1, 4)
            steps.append(("advance", time))
        elif kind == "push_all":
            batches, last = {}, time
            for name in pick.some(names):
                at, rows = time, []
                for _ in range(pick.integer(1, 5)):
                    at += pick.integer(0, 2)
                    rows.append(a_row(pick, at))
                batches[name], last = rows, max(last, at)
            time = last
            steps.append(("push_all", batches))
        else:
            rows = []
            for _ in range(pick.integer(1, 6)):
                time += pick.integer(0, 2)
                rows.append(a_row(pick, time))
            steps.append(("push", pick.choice(names), rows))
    return steps


def text_of(tree):
    """A predicate as a text."""
    if tree[0] == "not" and tree[1][0] == "is distinct":
        a, b = (f"{side[1]}.{side[2]}" for side in tree[1][1:])
        return f"{a} IS NOT DISTINCT FROM {b}"
    if tree[0] == "is distinct":
        return f"({predicate(tree[1])}) IS DISTINCT FROM FALSE"
    return predicate(tree)


def query_of(case):
    """The query, by Python."""
    attach = []
    for kind, stream, on, *by in case.attach:
        told = [text_of(tree) for tree in on]
        if by:
            x, y, strict = by[0]
            told.append(predicate((">" if strict else ">=", x, y)))
        attach.append(KINDS[kind](stream, told))
    streams = {
        name: eddy.Stream(stream.columns, window=window(stream), time=stream.time)
        for name, stream in case.streams.items()
    }
    return eddy.Query(
        streams,
        where=[predicate(tree) for tree in case.where],
        attach=attach,
        after=[predicate(tree) for tree in case.after],
        changes=case.changes,
        cross=True,
    )


def batch(case, name, rows):
    return {column: [row[place] for row in rows] for place, column in enumerate(case.streams[name].columns)}


def events_of(case, step):
    """What the oracle is told of a step."""
    if step[0] == "push":
        return [(step[1], row) for row in step[2]]
    if step[0] == "advance":
        return [(None, step[1])]
    if step[0] != "push_all":
        return []
    order = list(case.streams)
    timed = all(stream.time for stream in case.streams.values())
    events = [
        ((row[0] if timed else position, order.index(name), position), name, row)
        for name, rows in step[1].items()
        for position, row in enumerate(rows)
    ]
    return [(name, row) for _, name, row in sorted(events, key=lambda event: event[0])]


def parts_of(given):
    return [given] if isinstance(given, eddy.Result) else list(given)


def signed_rows(results):
    """A Counter of signs and row numbers, None for no row."""
    found = Counter()
    for result in results:
        for sign, rows in zip(result.sign.tolist(), result.rows.tolist(), strict=True):
            found[sign, tuple(None if n < 0 else n for n in rows)] += 1
    return found


def expected(case):
    """For each step what it brings, as `signed_rows`, and what the end brings."""
    parts = [events_of(case, step) for step in case.steps]
    events = [event for part in parts for event in part]
    attach, after = [tuple(one) for one in case.attach], case.after
    if any(one[0] in naive_attached.KEEPS_RIGHT for one in attach):  # WHERE stands behind all joins
        after = [*after, *(tree for tree in case.where if len(naive_attached.reads(tree)) == 1)]
    if case.changes:
        told = [*naive_attached.signed(case.streams, case.where, events, attach, after), Counter()]
    else:
        found = naive_attached.final(case.streams, case.where, events, attach, after)
        told = [Counter({(1, rows): n for rows, n in one.items()}) for one in found]
    steps, at = [], 0
    for part in parts:
        steps.append(sum(told[at : at + len(part)], Counter()))
        at += len(part)
    return steps, told[-1]


def check(case):
    """Run a case, and compare every step with the oracle."""
    wanted, last = expected(case)
    engine = eddy.Eddy(query_of(case), plan=case.plan, **case.options)
    for number, (step, want) in enumerate(zip(case.steps, wanted, strict=True)):
        if step[0] == "push":
            results = parts_of(engine.push(step[1], batch(case, step[1], step[2]), max_rows=case.max_rows))
        elif step[0] == "push_all":
            given = {name: batch(case, name, rows) for name, rows in step[1].items()}
            results = parts_of(engine.push_all(given, max_rows=case.max_rows))
        elif step[0] == "advance":
            results = [engine.advance(step[1])]
        elif step[0] == "save":
            policies = {name: case.options[name] for name in ("migration", "feedback")}
            engine = restarted(engine, {**policies, **step[1]}, query_of(case) if step[2] else None)
            results = []
        else:
            engine.migrate(step[1])
            results = []
        assert signed_rows(results) == want, f"step {number}, {step}"
    assert signed_rows([engine.close()]) == last, "close"
