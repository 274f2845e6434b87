"""What adaptive means, in one picture: one engine on a feed that drifts, and beside it one whose plan stays.

Clicks meet orders by customer, orders meet stock by product, stock meets trucks by depot; in each phase another of the
three is seldom in common. Both engines begin with the plan that is best in the first phase. They take slices in turns,
and give as many results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.page.recorder import Recorder
from eddy.query.query import Query
from eddy.query.sql import sql
from policies import Auto, Jisc

QUERY = """
    SELECT clicks.id AS click, orders.id AS "order", stock.id AS item, trucks.id AS truck
    FROM clicks [ROWS {rows}], orders [ROWS {rows}], stock [ROWS {rows}], trucks [ROWS {rows}]
    WHERE clicks.customer = orders.customer AND orders.product = stock.product AND stock.depot = trucks.depot
"""
KEYS = {
    "clicks": ("customer",),
    "orders": ("customer", "product"),
    "stock": ("product", "depot"),
    "trucks": ("depot",),
}
PHASES = (
    {"customer": 0.02, "product": 4.0, "depot": 4.0},
    {"customer": 4.0, "product": 4.0, "depot": 0.02},
    {"customer": 6.0, "product": 0.02, "depot": 6.0},
    {"customer": 0.05, "product": 0.5, "depot": 8.0},
    {"customer": 4.0, "product": 4.0, "depot": 0.02},
)
"""For each phase how many partners a row finds by each key in a window, on average."""
ROWS, SLICES, SLICE, GROUP = 8_000, 100, 1_024, 5
"""Rows of a window, slices of a phase, rows of each stream in one, and how many slices make a point of the picture."""
FIXED, EDDY = "fixed", "eddy"
Slice = dict[str, dict[str, Any]]


def feed(seed: int, slices: int, phases: Sequence[dict[str, float]] = PHASES) -> Iterator[Slice]:
    """The slices of all phases. The same seed gives the same, whatever the machine."""
    random, first = np.random.default_rng(seed), 0
    for phase in phases:
        for _ in range(slices):
            ids = np.arange(first, first + SLICE)
            first += SLICE
            yield {
                stream: {
                    "ts": ids,
                    "id": ids,
                    **{key: random.integers(0, max(1, int(ROWS / phase[key])), SLICE) for key in keys},
                }
                for stream, keys in KEYS.items()
            }


@define(eq=False)
class Drift:
    """One run of both."""

    seed: int = 7
    slices: int = SLICES
    query: Query = field(init=False)
    busy: dict[str, list[float]] = field(init=False, factory=lambda: {FIXED: [], EDDY: []})
    """Seconds of each group of slices."""
    looked_at: dict[str, int] = field(init=False, factory=dict)
    """Entries that each has looked at, to join and to make states: what it takes, whatever the clock says."""
    results: list[int] = field(init=False, factory=list)
    at: list[float] = field(init=False, factory=list)
    bytes: list[int] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        schemas = {stream: dict.fromkeys(("ts", "id", *keys), "int64") for stream, keys in KEYS.items()}
        self.query = sql(QUERY.format(rows=ROWS), schemas=schemas)

    def run(self, show: Callable[[int, int], object] = lambda done, all: None) -> dict[str, Any]:
        """Run it; what a page shows of it."""
        plan = self._at_first()
        engines = {EDDY: self._engine(plan), FIXED: Eddy(self.query, plan)}
        start, all_slices = time.monotonic(), len(PHASES) * self.slices
        recorder = Recorder(engines[EDDY], "eddy demo: one engine on a feed that drifts")
        recorder.read()
        for number, batch in enumerate(feed(self.seed, self.slices)):
            self._push(engines, batch, number, start)
            recorder.read()
            show(number + 1, all_slices)
        self.bytes += [engines[EDDY].statistics().bytes] * (len(self.at) - len(self.bytes))
        self.looked_at = {name: engine.statistics().probed for name, engine in engines.items()}
        recorder.end("the feed has ended")
        return self._told(recorder, plan)

    @property
    def gain(self) -> float:
        """How many times as long the fixed plan took."""
        return sum(self.busy[FIXED]) / sum(self.busy[EDDY])

    def _at_first(self) -> str:
        """The plan that is best in the first phase."""
        engine = self._engine(None)
        for batch in feed(self.seed, self.slices, PHASES[:1]):
            engine.push_all(batch)
        return engine.plan

    def _engine(self, plan: str | None) -> Eddy:
        routing = Auto(every=8 * SLICE, shape="bushy")
        return Eddy(self.query, plan, routing=routing, migration=Jisc(background=256))

    def _push(self, engines: dict[str, Eddy], batch: Slice, number: int, start: float) -> None:
        first = number % GROUP == 0
        if first:
            self.at.append(time.monotonic() - start)
            self.results.append(0)
            self.bytes.append(engines[EDDY].statistics().bytes)
        counts = {}
        for name in sorted(engines, reverse=bool(number % 2)):
            begun = time.thread_time()
            counts[name] = len(engines[name].push_all(batch))
            took = time.thread_time() - begun
            if first:
                self.busy[name].append(0.0)
            self.busy[name][-1] += took
        assert counts[EDDY] == counts[FIXED]
        self.results[-1] += counts[EDDY]

    def _told(self, recorder: Recorder, plan: str) -> dict[str, Any]:
        """What a page shows of the run: rates by what the engine itself took, not by a clock that counts both."""
        told, busy = recorder.told() | {"series": self._series(plan)}, sum(self.busy[EDDY])
        now = told["now"] = dict(told["now"], average=told["now"]["events"] / busy)
        now["streams"] = [stream | {"average": stream["rows"] / busy} for stream in now["streams"]]
        return told

    def _series(self, plan: str) -> dict[str, Any]:
        """Rows a second of both, by the processor's time that each took for them."""
        rows = GROUP * SLICE * len(KEYS)

        def rates(counts: Sequence[int]) -> list[float]:
            return [round(count / seconds, 1) for count, seconds in zip(counts, self.busy[EDDY], strict=True)]

        return {
            "t": [round(at, 3) for at in self.at],
            "events": rates([rows] * len(self.at)),
            "fixed": [round(rows / seconds, 1) for seconds in self.busy[FIXED]],
            "fixed_label": f"with the plan {plan} throughout",
            "results": rates(self.results),
            "latency": [round(1e3 * seconds / GROUP, 4) for seconds in self.busy[EDDY]],
            "bytes": self.bytes,
        }
