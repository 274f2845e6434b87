"""Random cases of signed results: queries with operators on top, and what is done to the engine meanwhile."""

from __future__ import annotations

from attrs import evolve
from hypothesis import strategies as st

from policies import Cheapest, EagerStairs, Ghm, Gms, Gpt, Jisc, MovingState
from tests import queries
from tests.cases import ANY_TECHNIQUE, S
from tests.naive import IN_ORDER, MORE
from tests.operator_cases import ONE_OF_THE_VALUES, OperatorCase, expected
from tests.own_aggregates import OWN
from tests.queries import Made, Spec
from tests.strategies import FIRST_ROWS, PACES, SIZES, Pick, plan, steps

REORDERING = [
    Jisc(),
    Jisc(background=1),
    Jisc(background=100),
    MovingState(),
    EagerStairs(),
    Gms(),
    Gpt(),
    Ghm(),
    Cheapest(),
]
"""Every technique that can reorder set differences."""

FUNCTIONS = ["COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", *OWN, *MORE, *IN_ORDER]


def difference_query(pick, count, sparse=False):
    """A random chain of differences of a base and ``count`` inner streams, as a `Made`, and its conditions."""
    names = pick.shuffled(list("ABCDEF"[: count + 1]))
    base, subtracted = names[0], names[1:]
    size = pick.choice([50, 300] if sparse else [1, 2, 3, 5, 8, 12])
    families = ["sparse", "sparse", "string"] if sparse else queries.FAMILIES
    attributes = {a: pick.choice(families) for a in "xyz"[: pick.integer(1, 3)]}
    nulls = pick.choice([0, 0, 10, 30])
    times, every = queries.time_columns(pick, names)
    specs = {}
    for name in names:
        owned = list(attributes) if name == base else pick.some(list(attributes))
        held = {a: queries.column(pick, attributes[a], size, nulls) for a in owned}
        if pick.chance(30):
            held["v"] = queries.column(pick, attributes[owned[0]], size, nulls)
        if name in times:
            column, kind = times[name]
            held[column] = Spec("int" if kind.startswith("int") else "time", kind, 0, 0)
        specs[name] = dict(pick.shuffled(list(held.items())))
    minus = []
    for name in pick.shuffled(subtracted):
        pairs = [
            (ours, theirs)
            for ours, left in specs[base].items()
            for theirs, right in specs[name].items()
            if left.family == right.family and not {ours, theirs} & queries.TIMES
        ]
        straight = [(ours, theirs) for ours, theirs in pairs if ours == theirs]
        chosen = pick.some(straight)[: pick.integer(1, 3)]
        if pick.chance(20):
            chosen = list(dict.fromkeys([*chosen, pick.choice(pairs)]))
        minus.append((name, tuple(chosen)))
    where = []
    for _ in range(pick.choice([0, 0, 1, 2])):
        name = pick.choice(names)
        column, spec = pick.choice(list(specs[name].items()))
        where.append(queries.single(pick, queries.col(name, column), spec))
    streams = {}
    for name in names:  # a subtracted stream that holds little lets much come back
        most = 60 if sparse else pick.choice([6, 12, 30] if name == base else [3, 3, 6, 12])
        kinds = {a: spec.type for a, spec in specs[name].items()}
        forgets = sparse or pick.chance(80)
        streams[name] = S(kinds, queries.window(pick, every, most, forgets), times.get(name, (None,))[0])
    items = [f"{base}.{a}" for a in specs[base]]
    select = pick.some(items) if pick.chance(20) else None
    door = "sql" if pick.chance(15) else "query"
    if door == "sql":
        streams = {name: streams[name] for name in [base, *(name for name, _ in minus)]}
    return Made(streams, specs, where, select, False, door), tuple(minus)


def join_query(pick, count, sparse=False):
    """A random join whose windows mostly forget, and soon."""
    made = queries.make(pick, count, sparse, bounded=pick.chance(80))
    if sparse or pick.chance(40):
        return made
    streams = {}
    for name, stream in made.streams.items():
        kind, *size = stream.window
        streams[name] = evolve(stream, window=(kind, *(max(min(2, width), width // 2) for width in size)))
    return evolve(made, streams=streams)


LISTS = ("ARRAY_AGG", "Joined")
"""Aggregates that cost what a group is long at every event: for small cases."""


def aggregation(pick, made, readable, lists):
    """Columns to group by, and aggregates, of the streams that may be read; ``lists``: with those of whole groups."""
    specs = {f"{name}.{a}": spec for name in readable for a, spec in made.specs[name].items()}
    comparable = [item for item, spec in specs.items() if spec.family != "opaque"]
    groups = pick.some(comparable)[: pick.integer(1, 2)] if comparable and pick.chance(75) else []
    computed = []
    for place in range(pick.integer(1, 4)):
        function = pick.choice([one for one in FUNCTIONS if lists or one not in LISTS])
        fitting = [item for item, spec in specs.items() if computable(function, spec)]
        item = None if not fitting or (function == "COUNT" and pick.chance(50)) else pick.choice(fitting)
        if function == "Weighted" and item is not None:
            item = f"{item}, {pick.choice(fitting)}"
        computed.append((f"value{place}", "COUNT" if item is None else function, item))
    return tuple(groups), tuple(computed)


def computable(function, spec):
    """Whether the function can be taken of a column, and, of whole numbers, is sure to fit."""
    if function in ("Variance", "Weighted", "BitOr"):
        return spec.family in ("int", "sparse", "bool") and spec.type != "uint64"
    if function.startswith("BOOL"):
        return spec.type == "bool"
    if spec.family in ("opaque", "uuid", "binary"):
        return function == "COUNT"
    if function == "COUNT" or spec.family not in ("string", *queries.SPECIAL, "time"):
        return True
    if function == "SUM":
        return spec.family in ("money", "span")
    if spec.family == "string":
        return function in ("ARRAY_AGG", "Joined", *ONE_OF_THE_VALUES)
    return function in ONE_OF_THE_VALUES


def subtraction_plan(pick, base, subtracted):
    """A plan of differences, with parentheses or without."""
    order = pick.shuffled(subtracted)
    if pick.chance(70):
        return " - ".join([base, *order])
    return "(" * (len(order) - 1) + f"{base} - " + ") - ".join(order)


def changed_steps(pick, done, new_plan, techniques):
    """The steps with plans of the case's own; some migrations are settled, some restarts change the engine."""
    changed = []
    for step in done:
        if step[0] == "migrate":
            changed.append(("migrate", new_plan()))
            if pick.chance(5):
                changed.append(("settle",))
        elif step[0] == "restart" and pick.chance(40):
            other = {
                "plan": new_plan(),
                "migration": pick.choice(techniques),
                "batch_size": pick.choice([1, 5, 4096]),
            }
            changed.append(("restart", other))
        else:
            changed.append(step)
    return changed


def make(pick, count, events, sizes, operators, limit, sparse=False, **odds):
    """A case of so many streams with these operators: some of "minus" and "aggregates"."""
    minus, subtracted = (), []
    if "minus" in operators:
        made, minus = difference_query(pick, count - 1, sparse)
        subtracted = [name for name, _ in minus]
    else:
        made = join_query(pick, count, sparse)
    readable = [name for name in made.streams if name not in subtracted]
    techniques = ANY_TECHNIQUE
    if minus:
        odds, techniques = {**odds, "demotes": 0, "hands": 0}, REORDERING

    def new_plan():
        if not minus:
            return plan(pick, list(made.streams))
        return subtraction_plan(pick, readable[0], subtracted)

    group_by, computed = (
        aggregation(pick, made, readable, limit <= 12_000) if "aggregates" in operators else ((), ())
    )
    case = OperatorCase(
        made.streams,
        made.where,
        changed_steps(pick, steps(pick, made, events, sizes, **odds), new_plan, techniques),
        plan=new_plan() if pick.chance(70) else None,
        select=None if computed else made.select,
        cross=made.cross,
        batch_size=pick.choice([1, 2, 3, 7, 64, 4096]),
        technique=pick.choice(techniques),
        joins="nested" if pick.chance(15) else "hash",
        door=made.door,
        form=pick.choice(["list", "numpy", "arrow"]),
        hold=pick.chance(25),
        first_row=pick.choice(FIRST_ROWS),
        minus=minus,
        retractions=True if not (minus or computed) else pick.chance(30),
        group_by=group_by,
        aggregates=computed,
    )
    answer = expected(case, limit)
    return evolve(case, steps=case.steps[: len(answer)], answer=answer)


def small(pick, operators=("aggregates",), limit=12_000, **odds):
    """A case of 40 to 150 events with small key domains: much comes and goes."""
    count = pick.choice([2, 3, 3, 4, 5]) if "minus" in operators else pick.choice([2, 2, 3, 3, 4])
    events = pick.integer(50, 150) if "minus" in operators else pick.integer(40, 130)
    sizes = SIZES[pick.choice(list(SIZES))]
    odds.setdefault("doors", pick.choice([("push",), ("push_all",), ("push", "push", "push_all")]))
    odds.setdefault("migrations", pick.choice([0, 10, 25, 60]))
    return make(pick, count, events, sizes, operators, limit, **odds)


def large(pick, operators=("aggregates",), limit=150_000):
    """A case with batches of up to 1,000 rows, sparse keys and small windows; the rows come from a seed."""
    rows = Pick(pick.integer(0, 2**32))
    count = pick.integer(2, 3)
    odds = {"migrations": 50, "chunks": 20, "rows": rows, "paces": PACES[2:]}
    return make(pick, count, 1_000, [1000, 300, 30, 1], operators, limit, sparse=True, **odds)


def long(pick, operators=("aggregates",), limit=300_000):
    """A case of hundreds of small pushes: stores come round, grow and shrink, and plans change now and then."""
    rows = Pick(pick.integer(0, 2**32))
    odds = {"migrations": 3, "demotes": 2, "restarts": pick.choice([0, 1]), "rows": rows, "paces": PACES[1:]}
    return make(pick, pick.integer(2, 4), 1_500, [1, 2, 7], operators, limit, **odds)


def cases(kind=small, **options):
    """Cases by their seeds: a feed has too many choices to be drawn, and `tests/fuzz_operators.py` makes it smaller."""
    return st.integers(0, 2**32 - 1).map(lambda seed: kind(Pick(seed), **options))
