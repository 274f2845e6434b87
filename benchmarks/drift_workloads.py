"""Feeds that drift: five phases, each with another best plan than the one before.

A *phase* says how often each stream arrives and how the values of each join attribute are spread. Windows are spans
of time, so a stream that falls silent leaves its window empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from attrs import frozen

import eddy

Longs = npt.NDArray[np.int64]
Batch = dict[str, dict[str, Longs]]
RARE, FEW, MANY = 0.002, 1.0, 24.0
"""Partners of a row: hardly any, some, many."""


@frozen
class Spread:
    """How the values of a stream's attribute are spread."""

    values: int
    """Uniform over so many."""
    zipf: float = 0.0
    """Or by Zipf's law with this exponent."""
    hot: float = 0.0
    """The share of rows that have one and the same value."""

    def draw(self, random: np.random.Generator, n: int) -> Longs:
        if self.zipf:
            weights = np.arange(1, self.values + 1) ** -self.zipf
            drawn = np.searchsorted(np.cumsum(weights / weights.sum()), random.random(n)).astype(np.int64)
        else:
            drawn = random.integers(0, self.values, n)
        drawn[random.random(n) < self.hot] = 0
        return drawn


@frozen
class Phase:
    """What the feed is like for a while."""

    name: str
    rates: Mapping[str, float]
    """Of each stream, in proportion."""
    spreads: Mapping[str, Spread]
    """By attribute, "A.x" or "x" for all streams that have it."""

    def spread(self, stream: str, attribute: str) -> Spread:
        return self.spreads.get(f"{stream}.{attribute}") or self.spreads[attribute]


@frozen(eq=False)
class Drift:
    """A query and the phases of its feed. An event's number is its time."""

    name: str
    attributes: Mapping[str, tuple[str, ...]]
    """The join attributes of each stream; streams join on those that they have in common."""
    window: int
    """A span of time, in events."""
    phases: tuple[Phase, ...]
    seed: int = 0

    @property
    def still(self) -> bool:
        """Whether all phases are the same."""
        return len(set(map(id, self.phases))) == 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.attributes)

    def query(self) -> eddy.Query:
        streams = {
            name: eddy.Stream(
                {"ts": "int64"} | dict.fromkeys(columns, "int64"), window=eddy.Range(self.window)
            )
            for name, columns in self.attributes.items()
        }
        where = []
        for attribute in dict.fromkeys(itertools.chain(*self.attributes.values())):
            having = [name for name, columns in self.attributes.items() if attribute in columns]
            where += [f"{one}.{attribute} = {other}.{attribute}" for one, other in itertools.pairwise(having)]
        return eddy.Query(streams, where=where)

    def feed(self, events: int, size: int = 4096) -> Iterator[tuple[int, Batch]]:
        """Batches of `size` events with the number of their phase, so many events of each."""
        random = np.random.default_rng(self.seed)
        now = 0
        for number, phase in enumerate(self.phases):
            rates = np.array([phase.rates.get(name, 1.0) for name in self.names])
            for _ in range(events // size):
                streams = random.choice(len(self.names), size, p=rates / rates.sum())
                batch: Batch = {}
                for s, name in enumerate(self.names):
                    own = np.flatnonzero(streams == s)
                    batch[name] = {"ts": own + now}
                    for attribute in self.attributes[name]:
                        batch[name][attribute] = phase.spread(name, attribute).draw(random, len(own))
                now += size
                yield number, batch

    def connected_plans(self) -> list[str]:
        """All left-deep trees without cross products, and the bushy ones of up to six streams, each once."""
        graph = {
            frozenset((one, other))
            for one, other in itertools.combinations(self.names, 2)
            if set(self.attributes[one]) & set(self.attributes[other])
        }
        return sorted(_trees(frozenset(self.names), graph, len(self.names) <= 5))


def _trees(streams: frozenset[str], graph: set[frozenset[str]], bushy: bool) -> set[str]:
    """Trees over these streams, as text without outer parentheses."""
    if len(streams) == 1:
        return set(streams)
    first = min(streams)
    found = set()
    for size in range(1, len(streams)):
        for part in itertools.combinations(sorted(streams), size):
            left, right = frozenset(part), streams - frozenset(part)
            if first not in left or not (bushy or min(len(left), len(right)) == 1):
                continue
            if not any(frozenset((a, b)) in graph for a in left for b in right):
                continue
            for one in _trees(left, graph, bushy):
                for other in _trees(right, graph, bushy):
                    found.add(f"{_wrapped(one)} {_wrapped(other)}")
    return found


def _wrapped(plan: str) -> str:
    return f"({plan})" if " " in plan else plan


# -- the workloads -------------------------------------------------------------------------------------------------


def chain(window: int = 8_000) -> Drift:
    """Four streams on three attributes, A.x = B.x, B.y = C.y, C.z = D.z."""
    live = window // 4  # rows of a stream in its window

    def values(partners: float) -> Spread:
        return Spread(int(live / partners))

    def phase(name: str, x: float, y: float, z: float, **rates: float) -> Phase:
        return Phase(name, rates, {"x": values(x), "y": values(y), "z": values(z)})

    skewed = Phase(
        "A B is selective, the others are skewed",
        {},
        {"x": values(RARE), "y": Spread(live, zipf=0.7), "z": Spread(live, zipf=0.7)},
    )
    hot = Phase(
        "A B and C D are selective, B C has a hot value",
        {},
        {"x": values(10 * RARE), "y": Spread(live, hot=0.1), "z": values(10 * RARE)},
    )
    phases = (
        skewed,
        phase("D falls silent", MANY, FEW / 4, MANY, D=0.0003),
        hot,
        phase("B C is selective", MANY / 2, RARE, 2 * MANY),
        phase("C D is selective, A comes ten times as often", MANY / 2, 4 * FEW, 10 * RARE, A=10.0),
    )
    return Drift(
        "chain of 4", {"A": ("x",), "B": ("x", "y"), "C": ("y", "z"), "D": ("z",)}, window,
        phases,
    )  # fmt: skip


def star(window: int = 15_000) -> Drift:
    """A hub and five streams around it, each on an attribute of its own."""
    others = "BCDEF"
    live = window // 6
    names = dict(zip(others, "vwxyz", strict=True))

    def phase(name: str, selective: str, fans: float = 2.5, **rates: float) -> Phase:
        spreads = {names[s]: Spread(int(live / (RARE if s == selective else fans))) for s in others}
        return Phase(name, rates, spreads)

    skewed = phase("D is selective, E and F are skewed", "D")
    skewed = Phase(
        skewed.name,
        {},
        {
            **skewed.spreads,
            "y": Spread(2 * live, zipf=0.9),
            "z": Spread(2 * live, zipf=0.8),
            "v": Spread(live),
        },
    )
    hot = phase("E is selective, B has a hot value", "E", 1.5)
    hot = Phase(hot.name, {}, {**hot.spreads, "v": Spread(live, hot=0.01)})
    attributes = {"A": tuple(names.values()), **{s: (names[s],) for s in others}}
    phases = (
        phase("B is selective", "B"),
        phase("C is selective, the hub comes five times as often", "C", A=5.0),
        skewed,
        hot,
        phase("F falls silent", "", F=0.001),
    )
    return Drift("star of 6", attributes, window, phases)


def one_key(window: int = 20_000) -> Drift:
    """Five streams on one attribute, of which each phase has another that hardly matches."""
    names = "ABCDE"
    live = window // 5

    def phase(name: str, selective: str, fans: float = 4.0, **rates: float) -> Phase:
        spread = Spread(int(live / fans))
        apart = Spread(int(live / RARE))
        return Phase(name, rates, {"x": spread, **{f"{s}.x": apart for s in selective}})

    skewed = phase("B hardly matches, the others are skewed", "B")
    apart = Spread(40 * int(live / RARE))
    skewed = Phase(skewed.name, {}, {"x": Spread(live // 2, zipf=0.2), "B.x": apart})
    hot = phase("C hardly matches, A, D and E share a hot value", "C", 3.0)
    hot = Phase(hot.name, {}, {**hot.spreads, **{f"{s}.x": Spread(live // 3, hot=0.001) for s in "ADE"}})
    phases = (
        phase("A hardly matches", "A"),
        skewed,
        hot,
        phase("D hardly matches, A comes five times as often", "D", A=5.0),
        phase("E falls silent", "", 3.0, E=0.0003),
    )
    return Drift("one key, 5", dict.fromkeys(names, ("x",)), window, phases)


WORKLOADS = (chain, star, one_key)
