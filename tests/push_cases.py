"""Random cases of pushes that are far longer than the windows: whole files, few keys, plans that change in between."""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

from attrs import define, evolve, field

import eddy.engine.fast_path
from policies import Auto, Routing
from tests import checks, queries, strategies
from tests.cases import ANY_TECHNIQUE, FEEDBACK
from tests.forms import AS
from tests.strategies import Pick
from tests.way_cases import plain_query

WINDOWS = [("rows", 1), ("rows", 2), ("rows", 4), ("tumbling rows", 3)]
TIME_WINDOWS = [("range", 0), ("range", 3), ("range", 6), ("tumbling time", 5)]
"""Short, so that the oracle has few rows to try, however long a push is."""
ZONES = ["UTC", "Europe/Berlin", "America/New_York"]


@define(eq=False)
class Turning(Routing):
    """Names the next of its plans each time it is asked."""

    plans: tuple[str, ...]
    period: int = 1
    asked: int = field(init=False, default=0)

    def choose(self, view):
        self.asked += 1
        return self.plans[self.asked % len(self.plans)]


@contextmanager
def short_segments():
    """The fast path asks a policy after every portion that it is due in, as the long way does after every batch."""
    with mock.patch.object(eddy.engine.fast_path, "SEGMENT", 1):
        yield


def check(case, **options):
    """As `checks.check`, with policies that are asked as often as can be."""
    with short_segments():
        return checks.check(case, **options)


def short_windows(pick, made):
    """The query with windows that hold a few rows each."""
    timed = all(stream.time is not None or stream.static for stream in made.streams.values())
    kinds = WINDOWS + (TIME_WINDOWS if timed else [])
    streams = {name: evolve(stream, window=pick.choice(kinds)) for name, stream in made.streams.items()}
    return evolve(made, streams=streams)


def with_zones(pick, made):
    """The query with a zone for each column of timestamps, not the same for all."""
    zones = {}

    def zoned(name, column, kind):
        if not kind.startswith("timestamp"):
            return kind
        chosen = zones.setdefault((name, column), pick.choice(ZONES))
        return f"{kind[:-1]}, {chosen}]"

    streams = {
        name: evolve(stream, columns={c: zoned(name, c, kind) for c, kind in stream.columns.items()})
        for name, stream in made.streams.items()
    }
    specs = {
        name: {c: evolve(spec, type=zoned(name, c, spec.type)) for c, spec in held.items()}
        for name, held in made.specs.items()
    }
    return evolve(made, streams=streams, specs=specs)


def with_one_key(made):
    """The query over rows that have one value in all columns but those of times."""
    specs = {
        name: {
            c: evolve(spec, family="int", size=1, nulls=0) if spec.family in queries.NUMERIC else spec
            for c, spec in held.items()
        }
        for name, held in made.specs.items()
    }
    return evolve(made, specs=specs)


def query(pick, one_key):
    """A query of two to four streams with short windows: half of them for the fast path."""
    names = list("ABCD")[: pick.choice([2, 3, 3] if one_key else [2, 3, 3, 4])]
    if one_key or pick.chance(50):
        made = plain_query(pick, names)
    else:
        made = queries.make(pick, min(len(names), 3), sparse=pick.chance(50), bounded=True)
    made = short_windows(pick, with_zones(pick, made) if pick.chance(50) else made)
    return with_one_key(made) if one_key else made


def steps(pick, made, rows):
    """A few short pushes, long ones, and short ones again."""
    names = list(made.streams)
    feed = strategies.Feed(
        rows, made, False, pick.choice([0, -13, 10**6]), pick.choice([(0, 1), (1,), (0, 1, 7)])
    )
    done = []
    for size in (7, 7, pick.integer(1500, 4000), pick.choice([3, 40]), pick.integer(600, 1500), 5):
        if pick.chance(70):
            done.append(("push_all", feed.slice(names, size)))
        else:
            name = pick.choice(names)
            step = ("push", name, [feed.row(name) for _ in range(size)])
            done.append((*step, pick.choice([1000, 90, 7])) if pick.chance(50) else step)
    return done


def file(pick, limit=120_000, one_key=None, **options):
    """A case of long pushes under a policy that may change the plan in the middle of them."""
    made = query(pick, pick.chance(25) if one_key is None else one_key)
    done = steps(pick, made, Pick(pick.integer(0, 2**32)))
    case = strategies.make(pick, made, done, limit, ANY_TECHNIQUE, FEEDBACK[:2])
    return evolve(
        case,
        **{
            "routing": Auto(every=pick.choice([50, 700, 65_536])),
            "plan": None if pick.chance(50) else case.plan,
            "batch_size": pick.choice([16, 64, 512, 4096, 1 << 16]),
            "form": pick.choice(list(AS)),
            "first_row": 0,
            "memory": None,
            "threads": pick.choice([1, 1, 2]),
            **options,
        },
    )


def turning(pick, **options):
    """A long case whose policy names another plan each time it is asked."""
    case = file(pick, **options)
    plans = tuple(strategies.plan(pick, list(case.streams)) for _ in range(pick.integer(2, 4)))
    period = pick.choice([1, 100, 1000])
    return evolve(case, routing=Turning(plans, period), batch_size=pick.choice([16, 64, 256]))
