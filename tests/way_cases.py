"""Random cases for `tests/ways.py`: most for the fast path, the others of every kind."""

from __future__ import annotations

import itertools

from attrs import evolve

from policies import Random
from tests import queries, strategies
from tests.cases import ANY_TECHNIQUE, FEEDBACK, ROUTING, S
from tests.queries import col, lit

WINDOWS = [("rows", 3), ("rows", 30), ("tumbling rows", 5), ("unbounded",)]
TIME_WINDOWS = [("range", 4), ("range", 30), ("tumbling time", 6)]
SHAPES = {
    "one key": lambda first, a, b: [("=", col(first, "x"), col(b, "x"))],
    "chain": lambda first, a, b: [("=", col(a, "y"), col(b, "x"))],
    "star": lambda first, a, b: [("=", col(first, "y"), col(b, "x"))],
    "two columns": lambda first, a, b: [("=", col(a, c), col(b, c)) for c in "xy"],
}


def plain_query(pick, names):
    """A query that the fast path is for: 64-bit keys without NULLs; now and then a further predicate."""
    timed = pick.chance(80)
    columns = ({"ts": "int64"} if timed else {}) | {"x": "int64", "y": "int64", "v": "float64"}
    sizes = {c: pick.choice([2, 4, 9]) for c in "xy"}
    nulls = 2 if pick.chance(10) else 0
    specs = {"v": queries.Spec("float", "float64", 4, nulls), "ts": queries.Spec("int", "int64", 0, 0)}
    specs |= {c: queries.Spec("int", "int64", size, 0) for c, size in sizes.items()}
    kinds = WINDOWS + (TIME_WINDOWS if timed else [])
    streams = {name: S(columns, pick.choice(kinds), "ts" if timed else None) for name in names}
    shape = SHAPES[pick.choice(["one key"] * 3 + ["chain", "chain", "star", "star", "two columns"])]
    where = [edge for a, b in itertools.pairwise(names) for edge in shape(names[0], a, b)]
    if pick.chance(10):
        where.append(("!=", col(names[0], "v"), col(names[-1], "v")))
    if pick.chance(10):
        where.append((">=", col(names[-1], "y"), lit(1)))
    kept = {name: {c: specs[c] for c in columns} for name in names}
    return queries.Made(streams, kept, where, None, False, "query")


def with_static(pick, made):
    """The query with one of its streams as a static relation, which its time column is an ordinary one of."""
    name = pick.choice(list(made.streams))
    specs = {c: evolve(spec, size=spec.size or 4) for c, spec in made.specs[name].items()}
    streams = {**made.streams, name: S(made.streams[name].columns, static=True)}
    return evolve(made, streams=streams, specs={**made.specs, name: specs}, door="query")


def draw(pick, limit=10_000):
    """A case of two to five streams; most are for the fast path, until a plan change leaves holes.

    Some are long enough that it is taken again after the change.
    """
    count, plain = pick.choice([2, 3, 3, 4, 5]), pick.chance(80)
    long = plain and pick.chance(8)
    made = plain_query(pick, list("ABCDE")[:count]) if plain else queries.make(pick, count)
    if pick.chance(5 if plain else 25):
        made = with_static(pick, made)
    odds = {
        "migrations": pick.choice([0, 0, 4, 12]),
        "settles": pick.choice([0, 4]),
        "restarts": pick.choice([0, 0, 0, 3]),
        "chunks": pick.choice([0, 0, 0, 10]),
    }
    sizes, events = strategies.SIZES[pick.choice(["small", "small", "runs", "slices"])], pick.integer(40, 200)
    if long:
        sizes, events, odds["migrations"] = [1, 2], 400, pick.choice([1, 2])
    doors = pick.choice([("push",), ("push", "push_all"), ("push_all",)])
    steps = strategies.steps(pick, made, events, sizes, doors, **odds)
    feedback = FEEDBACK if pick.chance(20 if plain else 50) else FEEDBACK[:1]
    case = strategies.make(pick, made, steps, limit, ANY_TECHNIQUE, feedback)
    return evolve(
        case,
        batch_size=pick.choice([3, 16, 64, 4096]),
        routing=Random(5) if pick.chance(10) else ROUTING[0],
        memory=None,
        threads=pick.choice([2, 3]),
    )
