"""Random queries: streams with typed columns, windows of every kind, and a join graph of every shape."""

from __future__ import annotations

from math import inf, nan

import numpy as np
from attrs import frozen

from stairs.key_kernels import mix_into
from tests.cases import S

INTEGERS = ["int64", "int64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
STRINGS = ["", "a", "b", "it's", "é", "日本語", "a longer string, past any inline form", "aa", "\U0001f600"]
BIG = {
    "int64": [0, 0, -1, 2**53, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "uint64": [0, 0, 2**53, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
    "float64": [0.0, -0.0, 1.5, -1.0, 2.0**53, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, inf, nan],
}


def colliding_with_one() -> int:
    """Which number gives 0 the key that 0 gives 1, mixed: the last step of mixing can be undone."""
    keys = np.array([0, 1])
    mix_into(keys, np.zeros(2, np.int64))
    zero, one = map(before_mixing, keys.tolist())
    found = (one - zero) % 2**64
    return found - 2**64 if found >= 2**63 else found


def before_mixing(number: int) -> int:
    """What `stairs.hashing.mixed` makes this number of."""
    for down, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        number = (number % 2**64) ^ (number % 2**64 >> down) ^ (number % 2**64 >> 2 * down)
        number = number * pow(factor, -1, 2**64) % 2**64
    return number


MIXING = colliding_with_one()
"""Two attributes are mixed into one key: the pairs (1, 0) and (0, MIXING) collide."""

TYPES = {
    "int": INTEGERS,
    "number": ["int64", "int32", "float64", "float64", "float32"],
    "float": ["float64", "float64", "float32"],
    "string": ["string"],
    "bool": ["bool"],
    "colliding": ["int64"],
    "big": list(BIG),
    "sparse": ["int64", "int64", "int32", "uint64", "int16"],
    "time": ["timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]"],
    "day": ["date"],
    "clock": ["time[s]", "time[ms]", "time[us]", "time[ns]"],
    "span": ["duration[s]", "duration[ms]", "duration[us]", "duration[ns]"],
    "money": ["decimal(10, 2)", "decimal(5, 3)", "decimal(18, 4)"],
    "uuid": ["uuid"],
    "binary": ["binary"],
}
SPECIAL = ("day", "clock", "span", "money", "uuid", "binary")
"""Families of which the oracle has whole numbers (`tests.kinds`)."""
FAMILIES = (
    ["int"] * 8
    + ["number"] * 4
    + ["float"] * 2
    + ["string"] * 4
    + ["bool", "big", "big", "time", "colliding"]
    + ["day", "day", "money", "money", "clock", "span", "uuid", "binary"]
)
TIMES = {"ts", "at"}
NOTES = [("string", "string")] * 3 + [("opaque", "decimal(30, 3)"), ("uuid", "uuid"), ("binary", "binary")]
"""What is carried, by family and type; the first is opaque to the engine."""
NUMERIC = ("int", "number", "float", "sparse")


@frozen
class Spec:
    """What a column holds: its family, its type, how many values, and how often it is NULL or NaN."""

    family: str
    type: str
    size: int
    nulls: int


@frozen
class Made:
    """A query as the oracle and the cases want it, with what is needed to make rows."""

    streams: dict
    specs: dict
    where: list
    select: list | None
    cross: bool
    door: str

    @property
    def time_windows(self):
        """Whether any window uses time."""
        return any(
            stream.window[0] in ("range", "sliding", "tumbling time") for stream in self.streams.values()
        )


def value(pick, spec):
    """A random value of a column."""
    if spec.nulls and pick.chance(spec.nulls):
        return nan if spec.type.startswith("float") and pick.chance(50) else None
    if spec.family == "string":
        number = pick.integer(0, spec.size - 1)
        return STRINGS[number] if spec.size <= len(STRINGS) else f"key {number}"
    if spec.family == "colliding":
        return pick.choice([0, 1, MIXING])
    if spec.family == "bool":
        return bool(pick.integer(0, 1))
    if spec.family == "big":
        return pick.choice(BIG[spec.type])
    number = pick.integer(0, spec.size - 1)
    if spec.type.startswith("float"):
        return number / 2 if spec.size > 3 else float(number)
    return number


def column(pick, family, size, nulls):
    """A column of a family."""
    return Spec(family, pick.choice(TYPES[family]), size, nulls if pick.chance(50) else 0)


def col(name, column):
    """A reference to a column."""
    return ("col", name, column)


def lit(number):
    """A literal."""
    return ("lit", number)


# Predicates


def theta(pick, left, right, numeric):
    """A predicate that is no plain equality, between two columns of one family."""
    order = pick.choice(["<", "<=", ">", ">=", "!="])
    if not numeric:
        return (order, left, right)
    number = lit(pick.integer(0, 3))
    return pick.choice(
        [
            (order, left, right),
            (order, left, right),
            ("<=", ("abs", ("-", left, right)), number),
            ("<=", ("abs", ("-", left, right)), number),
            ("<", ("abs", ("-", right, left)), lit(2)),
            ("=", ("+", left, lit(1)), right),
            (order, ("*", left, lit(2)), ("+", right, number)),
            ("between", left, ("-", right, lit(1)), ("+", right, number)),
            ("=", ("%", left, lit(3)), ("%", right, lit(3))),
            (order, ("/", left, lit(2)), right),
            ("or", ("=", left, right), ("<", left, lit(1))),
            ("not", ("=", left, right)),
            ("<", ("neg", left), ("-", right, lit(3))),
            ("<", ("-", left, right), lit(1)),
            ("and", ("<=", left, right), ("<=", right, ("+", left, lit(3)))),
        ]
    )


def single(pick, reference, spec):
    """A filter on one column."""
    if pick.chance(15):
        return pick.choice([("is not null", reference), ("=", reference, reference)])
    if spec.nulls and pick.chance(5):
        return ("is null", reference)
    if spec.family == "string":
        return pick.choice(
            [("!=", reference, lit("a")), (">=", reference, lit("b")), ("in", reference, ["", "a", "é"])]
        )
    if spec.family == "bool":
        return ("=", reference, lit(True))
    if spec.family == "time" or spec.family in SPECIAL:
        return ("=", reference, reference)
    if spec.family in ("big", "colliding"):
        return ("!=", reference, lit(2))
    return pick.choice(
        [
            (">=", reference, lit(min(1, spec.size // 2))),
            ("!=", reference, lit(2)),
            ("in", reference, [0, 1, 2]),
            ("between", reference, lit(0), lit(max(1, spec.size - 2))),
            ("or", ("<", reference, lit(1)), (">", reference, lit(1))),
            ("not", ("=", ("%", reference, lit(3)), lit(1))),
            ("=", ("+", reference, lit(0)), reference),
        ]
    )


def between(pick, specs, one, other, equal):
    """A predicate between two streams, or None if no columns fit. ``equal``: how often a plain equality."""
    pairs = [
        (a, b)
        for a, left in specs[one].items()
        for b, right in specs[other].items()
        if left.family == right.family and (a == b or (not {a, b} & TIMES and pick.chance(10)))
    ]
    plain = [(a, b) for a, b in pairs if a not in {"v", *TIMES}]
    if plain and pick.chance(equal):
        a, b = pick.choice(plain)
        return ("=", col(one, a), col(other, b))
    if not pairs:
        return None
    a, b = pick.choice(pairs)
    left, right = specs[one][a], specs[other][b]
    same = left.type == right.type == "int64"
    if same and left.family != "big" and pick.chance(5):
        return ("user", pick.choice(["sum is even", "within two"]), col(one, a), col(other, b))
    numeric = left.family in NUMERIC or (left.family == "big" and same)
    return theta(pick, col(one, a), col(other, b), numeric)


def spare(pick, specs, names):
    """One more predicate: another edge, a filter, three streams at once, or a constant."""
    kind = pick.integer(0, 9)
    if kind < 4:
        one, other = pick.shuffled(names)[:2]
        return between(pick, specs, one, other, 60)
    if kind < 8:
        name = pick.choice(names)
        return single(pick, *pick.choice([(col(name, a), spec) for a, spec in specs[name].items()]))
    if kind == 8:
        return pick.choice([("=", lit(1), lit(1)), ("<", lit(1), lit(2)), ("=", lit("a"), lit("a"))])
    numbers = [
        next((col(n, a) for a, spec in specs[n].items() if spec.family in NUMERIC), None) for n in names
    ]
    numbers = pick.shuffled([number for number in numbers if number is not None])
    return ("<=", ("+", numbers[0], numbers[1]), ("+", numbers[2], lit(3))) if len(numbers) > 2 else None


# Windows and streams


def window(pick, timed, most, bounded=False):
    """A window of any kind the stream can have."""
    kinds = ["rows", "rows", "tumbling rows"] + (
        ["range", "range", "sliding", "tumbling time"] if timed else []
    )
    kinds += [] if bounded else ["unbounded"]
    kind = pick.choice(kinds)
    if kind == "unbounded":
        return (kind,)
    if kind == "range":
        return (kind, pick.integer(most // 3, 2 * most) if pick.chance(85) else pick.integer(0, 1))
    if kind == "sliding":
        return (kind, pick.integer(0, most), pick.integer(1, max(1, most // 2)))
    return (kind, pick.integer(most // 3, most) if pick.chance(85) else pick.integer(1, 2))


def time_columns(pick, names):
    """The time column of each stream, as (name, type): none, some or all have one; all if windows use it."""
    mode = pick.choice(["none", "some", "all", "all", "all"])
    stamps = pick.chance(20)
    chosen = {}
    for name in names:
        if mode == "none" or (mode == "some" and pick.chance(50)):
            continue
        kind = pick.choice(TYPES["time"]) if stamps else pick.choice(["int64", "int64", "int32"])
        chosen[name] = ("at" if pick.chance(15) else "ts", kind)
    return chosen, mode == "all"


def make(pick, count, sparse=False, bounded=False):
    """A random query of so many streams, connected by equalities and other predicates.

    ``sparse``: many keys, and an equality between all streams; ``bounded``: every window forgets."""
    names = pick.shuffled(list("ABCDEF"[:count]))
    size = pick.choice(
        [20, 100, 500] if sparse else [1, 2, 2, 3, 3, 5, 8] if count < 4 else [1, 1, 2, 2, 3, 4]
    )
    attributes = {
        a: pick.choice(["sparse", "sparse", "string"] if sparse else FAMILIES)
        for a in "xyz"[: pick.integer(1, 3)]
    }
    if "colliding" in attributes.values():
        attributes = dict.fromkeys("xyz"[: pick.integer(2, 3)], "colliding")
    nulls = pick.choice([0, 0, 10, 10, 30])
    times, timed = time_columns(pick, names)
    specs = {}
    for name in names:
        held = {a: column(pick, attributes[a], size, nulls) for a in pick.some(list(attributes))}
        if pick.chance(50):
            held["v"] = column(pick, pick.choice(NUMERIC), 10, nulls)
        if name in times:
            column_name, kind = times[name]
            held[column_name] = Spec("int" if kind.startswith("int") else "time", kind, 0, 0)
        specs[name] = dict(pick.shuffled(list(held.items())))
    where = []
    cross = not sparse and pick.chance(5)
    for place, name in enumerate(names[1:], 1):
        if cross and place == 1:
            continue
        other = pick.choice(names[:place])
        edge = between(pick, specs, name, other, 100 if sparse else 75)
        if edge is None or (sparse and edge[0] != "="):
            attribute = next(a for a in specs[other] if a in attributes)
            specs[name].setdefault(attribute, column(pick, attributes[attribute], size, nulls))
            edge = ("=", col(name, attribute), col(other, attribute))
        where.append(edge)
    where += [
        extra
        for _ in range(pick.choice([0, 0, 0, 1, 1, 2, 3]))
        if (extra := spare(pick, specs, names)) is not None
    ]
    for name in names:
        if pick.chance(30):  # no predicate reads it
            family, kind = pick.choice(NOTES)
            specs[name]["note"] = Spec(family, kind, pick.choice([3, 1000]), nulls)
    most = 60 if sparse else {2: 40, 3: 20, 4: 12, 5: 10, 6: 8}[count]
    streams = {}
    for name in names:
        kinds = {a: spec.type for a, spec in specs[name].items()}
        streams[name] = S(kinds, window(pick, timed, most, sparse or bounded), times.get(name, (None,))[0])
    items = [f"{name}.{a}" for name in names for a in specs[name]]
    select = pick.some(items) if pick.chance(20) else None
    sql = not cross and all(tree[0] != "user" for tree in where) and pick.chance(15)
    return Made(streams, specs, pick.shuffled(where), select, cross, "sql" if sql else "query")
