"""Random cases: queries, windows, feeds, how they are pushed, and plan changes on the way.

Everything is decided through a `Pick`, so that hypothesis and `tests/fuzz.py` draw from one generator.
"""

from __future__ import annotations

import itertools
import random

from attrs import define, field
from hypothesis import strategies as st

from eddy.plan.compiler import Compiler
from policies import Jisc
from tests import queries
from tests.cases import ANY_TECHNIQUE, FEEDBACK, ROUTING, Case, cut, make_query
from tests.checks import BAD

LAZY = [Jisc(), Jisc(), Jisc(), Jisc(1), Jisc(2), Jisc(100)]
"""The technique that most tests use: the default, and with a budget."""


class Pick:
    """Choices made by a seeded generator."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def integer(self, low, high):
        """A number from low to high, both included."""
        return self._random.randint(low, high)

    def choice(self, values):
        """One of the values."""
        return self._random.choice(values)

    def chance(self, percent):
        """True so often."""
        return self._random.randrange(100) >= 100 - percent

    def shuffled(self, values):
        """The values in another order."""
        return self._random.sample(list(values), len(values))

    def some(self, values, least=1):
        """A subset, in the order given."""
        kept = set(self.shuffled(range(len(values)))[: self.integer(least, len(values))])
        return [value for place, value in enumerate(values) if place in kept]


class Drawn(Pick):
    """The same choices made by hypothesis, which shrinks them."""

    def __init__(self, draw):
        self._draw = draw

    def integer(self, low, high):
        """A number from low to high, both included."""
        return self._draw(st.integers(low, high))

    def choice(self, values):
        """One of the values."""
        return self._draw(st.sampled_from(values))

    def chance(self, percent):
        """True so often."""
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def shuffled(self, values):
        """The values in another order."""
        return self._draw(st.permutations(list(values)))


# Plans


def tree(pick, names):
    """A random binary tree: left-deep, or split anywhere."""
    if len(names) == 1:
        return names[0]
    middle = len(names) - 1 if pick.chance(40) else pick.integer(1, len(names) - 1)
    return f"({tree(pick, names[:middle])} {tree(pick, names[middle:])})"


def plan(pick, names, shape=None, keys=None):
    """A random plan: a tree, an ordering for each stream that may visit composites ("mixed"), or "stems".

    With the key columns of each stream rows may also be split by some of their values.
    """
    names = pick.shuffled(names)
    if shape is None and pick.chance(60):
        return tree(pick, names)[1:-1]
    if shape is None and pick.chance(20):
        return "stems"
    kept = composites(pick, names) if len(names) > 2 and pick.chance(70) else []
    routes = []
    for name in names:
        split = heads(pick, (keys or {}).get(name, ())) if pick.chance(30) else [""]
        routes += [f"{name}{head}: {' '.join(ordering(pick, name, names, kept))}" for head in split]
    return " | ".join(routes)


def heads(pick, columns):
    """What says which rows of a stream take each of two or three ways."""
    count, kind = (
        pick.integer(2, 3),
        pick.choice(["ranges", "drawn", "values"] if columns else ["ranges", "drawn"]),
    )
    if kind == "values":
        column, values = pick.choice(list(columns)), pick.shuffled(range(-1, 8))
        ends = [0, pick.integer(1, 4), pick.integer(5, 9)][:count]
        sets = [", ".join(map(str, values[a:b])) for a, b in itertools.pairwise(ends)]
        return [*(f" {column} in ({some})" for some in sets), ""]
    seed = pick.choice([" drawn", " drawn 5", f" drawn {2**62}"]) if kind == "drawn" else ""
    return [f" {pick.integer(1, 3)}{seed}" for _ in range(count)]


def key_columns(made):
    """The columns of each stream by which it is joined and its rows may be split."""
    query = make_query(Case(made.streams, made.where, [], cross=True))
    return Compiler(query).columns if len(made.streams) > 2 else {}


def composites(pick, names):
    """Some sets of these names, none of all, of which no two overlap but where one is inside the other."""
    if len(names) < 2:
        return []
    found = [names] if pick.chance(60) else []
    middle = pick.integer(1, len(names) - 1)
    return [*composites(pick, names[:middle]), *composites(pick, names[middle:]), *found][: len(names)]


def ordering(pick, name, names, kept):
    """The others in some order that comes through all composites which have the name, and may visit the rest."""
    own = sorted((c for c in kept if name in c and len(c) < len(names)), key=len)
    order, seen = [], [name]
    for goal in [*own, names]:
        left = [other for other in goal if other not in seen]
        while left:
            fits = [c for c in kept if set(c) <= set(left)]
            if fits and pick.chance(60):
                visit = pick.choice(fits)
                order.append(f"({' '.join(pick.shuffled(visit))})")
            else:
                visit = [pick.choice(left)]
                order += visit
            seen += visit
            left = [other for other in left if other not in visit]
    return order


# Feeds


@define
class Feed:
    """Rows for the streams of a query, with a clock that never goes back, or is wild if that is allowed."""

    pick: Pick
    query: queries.Made
    wild: bool
    now: int = field(default=0)
    pace: tuple = (0, 1)

    def row(self, name):
        """The next row of a stream."""
        self.now += self.pick.choice(self.pace)
        return tuple(
            (self.pick.integer(-20, 20) if self.wild else self.now)
            if column == self.query.streams[name].time
            else queries.value(self.pick, spec)
            for column, spec in self.query.specs[name].items()
        )

    def slice(self, names, size):
        """A batch for `push_all`: rows that arrive in the order of time, by stream."""
        batches = {name: [] for name in names}
        for _ in range(size):
            name = self.pick.choice(names)
            batches[name].append(self.row(name))
        return batches


PACES = [(0,), (0, 0, 0, 1), (0, 1), (0, 1, 2, 7), (1,), (3, 20)]
FIRST_ROWS = [0, 0, 0, 0, 2**31 - 30, 2**32 - 30, 2**32 + 2**31 - 30]
EMPTY = 4
"""How often a push without a row comes in between, in percent."""
SIZES = {"single": [1], "small": [1, 2, 3, 5], "runs": [1, 4, 12, 25], "slices": [2, 6, 20, 40]}


def load(pick, feed, static):
    """Steps that load the static streams, one after the other or all at once."""
    batches = {name: [feed.row(name) for _ in range(pick.choice([1, 3, 8]))] for name in static}
    if len(batches) > 1 and pick.chance(50):
        return [("push_all", batches)]
    return [("push", name, rows) for name, rows in batches.items()]


def steps(pick, made, events, sizes, doors=("push", "push_all"), rows=None, paces=PACES, **odds):
    """A list of steps that adds up to about so many events.

    ``odds`` of migrations, settles, demotes, hands, restarts, rejects and chunks are in percent of the steps.
    """
    every = ("migrations", "settles", "demotes", "hands", "restarts", "rejects", "chunks")
    odds = dict.fromkeys(every, 0) | odds
    joined = list(made.streams)
    keys = key_columns(made) if odds["migrations"] else {}
    names = [name for name in joined if not made.streams[name].static]
    wild = not made.time_windows and "push_all" not in doors and pick.chance(50)
    start = pick.choice([0, 0, -13, 10**6])
    feed = Feed(rows or pick, made, wild, start, pick.choice(paces))
    done = load(pick, feed, [name for name in joined if name not in names])
    count = 0
    while count < events:
        if odds["migrations"] and pick.chance(odds["migrations"]):
            done.append(("migrate", plan(pick, joined, keys=keys)))
        if odds["settles"] and pick.chance(odds["settles"]):
            done.append(("settle",))
        if odds["demotes"] and pick.chance(odds["demotes"]):
            done.append(("demote", pick.integer(0, 9)))
        if odds["hands"] and pick.chance(odds["hands"]):
            done.append(("by hand", pick.integer(0, 999)))
        if odds["restarts"] and pick.chance(odds["restarts"]):
            done.append(("restart",))
        if odds["rejects"] and pick.chance(odds["rejects"]):
            done.append(("reject", pick.choice(list(BAD)), pick.choice(names)))
        if pick.chance(EMPTY):
            done.append(("push", pick.choice(names), []))
        size = pick.choice(sizes)
        if pick.choice(doors) == "push_all":
            done.append(("push_all", feed.slice(pick.some(names), size)))
        else:
            name = pick.choice(names)
            step = ("push", name, [feed.row(name) for _ in range(size)])
            chunked = odds["chunks"] and pick.chance(odds["chunks"])
            done.append((*step, pick.choice([7, 100, 2, 1])) if chunked else step)
        count += size
    return done


# Cases


def make(pick, made, done, limit, techniques=ANY_TECHNIQUE, feedback=FEEDBACK):
    """The case of a query and its steps, with an engine set up in some way; cut where the oracle would take long."""
    case = Case(
        made.streams,
        made.where,
        done,
        plan=plan(pick, list(made.streams), keys=key_columns(made)) if pick.chance(80) else None,
        select=made.select,
        cross=made.cross,
        batch_size=pick.choice([1, 2, 3, 7, 64, 4096]),
        technique=pick.choice(techniques),
        feedback=pick.choice(feedback),
        routing=pick.choice(ROUTING) if pick.chance(20) else ROUTING[0],
        joins="nested" if pick.chance(15) else "hash",
        door=made.door,
        form=pick.choice(["list", "numpy", "arrow"]),
        hold=pick.chance(25),
        first_row=pick.choice(FIRST_ROWS),
        memory=pick.choice([1, 20_000, 100_000]) if pick.chance(15) else None,
        threads=pick.choice([2, 3]) if pick.chance(15) else 1,
    )
    return cut(case, limit)


def small(pick, limit=30_000, techniques=LAZY, **options):
    """A case of 20 to 150 events with small key domains: many matches, many ties."""
    made = queries.make(pick, pick.choice([2, 3, 3, 3, 4, 4, 5, 6]))
    sizes = SIZES[pick.choice(list(SIZES))]
    events = max(pick.integer(20, 150), min(150, 3 * len(made.streams) * sum(sizes) // len(sizes)))
    options.setdefault("doors", pick.choice([("push",), ("push_all",), ("push", "push", "push_all")]))
    options.setdefault("migrations", pick.choice([0, 10, 25, 60]))
    return make(pick, made, steps(pick, made, events, sizes, **options), limit, techniques)


def migrating(pick, limit=6_000, **odds):
    """A case whose plan changes often enough that changes overlap, or seldom enough that they come to their end."""
    sizes = SIZES[pick.choice(["single", "small", "small", "runs"])]
    made = queries.make(pick, pick.choice([3, 3, 4, 4, 5]), bounded=pick.chance(80))
    odds = {
        "settles": pick.choice([0, 0, 5]),
        "restarts": pick.choice([0, 0, 3]),
        "rejects": 3,
        "chunks": 10,
    } | odds
    odds["migrations"] = pick.choice([4, 12, 35])
    return make(pick, made, steps(pick, made, pick.integer(60, 200), sizes, **odds), limit)


def large(pick, limit=600_000):
    """A case with batches of up to 5,000 rows, sparse keys and small windows."""
    made = queries.make(pick, pick.integer(2, 3), sparse=True)
    doors = pick.choice([("push",), ("push_all",), ("push_all",), ("push", "push_all")])
    sizes = [5000, 300, 30, 1] if doors == ("push",) else pick.choice([[5000], [5000, 300, 1]])
    rows = Pick(pick.integer(0, 2**32))
    done = steps(pick, made, 8_000, sizes, doors, rows, PACES[2:], migrations=50, chunks=20)
    return make(pick, made, done, limit)


def long(pick, limit=200_000):
    """A case of a thousand small pushes: rings come round, grow and shrink, and plans change now and then."""
    made = queries.make(pick, pick.integer(2, 4), bounded=True)
    rows = Pick(pick.integer(0, 2**32))
    odds = {"migrations": 2, "demotes": pick.choice([0, 2]), "restarts": pick.choice([0, 0, 1])}
    done = steps(pick, made, 3_000, [1, 2, 7], rows=rows, paces=PACES[1:], **odds)
    return make(pick, made, done, limit)


@st.composite
def small_cases(draw, **options):
    """Cases of `small`, shrunk by hypothesis."""
    return small(Drawn(draw), **options)


@st.composite
def migrating_cases(draw, **options):
    """Cases of `migrating`, shrunk by hypothesis."""
    return migrating(Drawn(draw), **options)


@st.composite
def large_cases(draw):
    """Cases of `large`: the query and the steps shrink, the rows come from a seed."""
    return large(Drawn(draw))
