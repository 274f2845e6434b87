"""The thesis' experiments (chapter 6) with our engine: `python -m benchmarks.thesis [--write] [--only words]`.

Each figure compares POP' and CARD with BASE, which keeps the orderings by chance that all begin with: how much less
time they take, in percent, for the tuples alone and in total, re-optimisation included. All take the same batches in
turns, by the processor's time of the thread, and must find as many results. Beside them "best kept" runs from the start
the orderings that are best once windows are full, and never looks: what there is to gain where nothing changes.

A time unit is 1,000 events, as in the thesis, and batches are as long as a period.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from benchmarks.report import Report, command
from benchmarks.thesis_workloads import ZIPF, DataSet
from eddy import Eddy
from policies import Base, Card, Fixed, Pop, Routing
from policies.optimizer import CostModel, best, estimate, verify

RESULTS = Path(__file__).with_name("results_routing.json")
UNIT = 1_000
BASE, POP, CARD, KEPT, LITERAL = "BASE", "POP'", "CARD", "best kept", "CARD as printed"
POLICIES: Mapping[str, Callable[[int], Routing]] = {
    BASE: lambda every: Fixed(),
    POP: lambda every: Pop(every=every),
    CARD: lambda every: Card(every=every),
    KEPT: lambda every: Fixed(),
    LITERAL: lambda every: Card(every=every, overhead=np.inf, gain=0.0, margin=0.0, absent="supersets"),
}


@define(eq=False)
class Side:
    """An engine, and where its time went."""

    engine: Eddy
    total: float = 0.0
    deciding: float = 0.0
    results: int = field(default=0)

    def __attrs_post_init__(self) -> None:
        steering: Any = self.engine._state.steering
        decide = steering.decide

        def timed() -> None:
            start = time.thread_time()
            decide()
            self.deciding += time.thread_time() - start

        steering.decide = timed

    def push(self, batch: Any) -> None:
        start = time.thread_time()
        self.results += len(self.engine.push_all(batch))
        self.total += time.thread_time() - start


def by_chance(data: DataSet) -> str:
    """The orderings that BASE chooses before anything is known."""
    base = Base()
    base.begin(tuple(data.names), data.seed)
    plan = base.choose(Eddy(data.query()).view())
    assert plan is not None
    return plan


def best_kept(data: DataSet, size: int) -> str:
    """The orderings that are best when windows are full, by sampling."""
    engine = Eddy(data.query(), plan="stems")
    for batch in data.batches(2 * data.window, size):
        engine.push_all(batch)
    view, model = engine.view(), CostModel()
    believed = estimate(view, counted=False)
    for _ in range(3):
        believed = verify(believed, view, best(believed, model, "orderings")[0])
    return best(believed, model, "orderings")[0]


def race(data: Callable[[], DataSet], sides: tuple[str, ...], rows: int, period: int) -> dict[str, Side]:
    """Run a draw of a data set under several policies, batch by batch in turns."""
    query, start = data().query(), by_chance(data())
    engines = {}
    for name in sides:
        plan = best_kept(data(), period) if name == KEPT else start
        engines[name] = Side(Eddy(query, plan, routing=POLICIES[name](period), seed=data().seed))
    turns = list(engines.values())
    gc.collect()
    gc.disable()
    try:
        for batch in data().batches(rows, period):
            for side in turns:
                side.push(batch)
            turns.append(turns.pop(0))
    finally:
        gc.enable()
    if len({side.results for side in turns}) != 1:
        raise AssertionError(f"different numbers of results: {[side.results for side in turns]}")
    return engines


def compare(
    report: Report,
    figure: str,
    what: tuple[Any, ...],
    head: tuple[str, ...],
    units: int,
    *sides: str,
    **data: Any,
) -> dict[str, float]:
    """A row of a figure: over several draws, percent of the time of BASE that each side saves."""
    draws, rows = (2, 20_000) if report.quick else (DRAWS, ROWS)
    totals = {name: np.zeros(2) for name in (BASE, *sides)}
    changes = dict.fromkeys(sides, 0)
    for seed in range(draws):
        report.tell(f"{figure} {what}, draw {seed}")
        made = race(lambda seed=seed: DataSet(seed=seed, **data), (BASE, *sides), rows, units * UNIT)
        for name, side in made.items():
            totals[name] += side.total - side.deciding, side.total
            if name in changes:
                changes[name] += side.engine.statistics().migrations
    saved = {name: 100 * (1 - totals[name] / totals[BASE]) for name in sides}
    cells: list[Any] = []
    for name in sides:
        cells += [f"{saved[name][0]:.1f}", f"{saved[name][1]:.1f}"]
    named = [part for name in sides for part in (f"{name}, tuples %", "total %")]
    events = draws * rows * data["streams"]
    rate = 1e6 * totals[BASE][1] / events
    report.row(figure, (*head, "BASE us an event", *named, "changes"), *what, rate, *cells, _changes(changes))
    return {name: float(values[1]) for name, values in saved.items()}


def _changes(found: Mapping[str, int]) -> str:
    return " ".join(str(number) for number in found.values())


DRAWS, ROWS = 3, 400_000
SIDES = (POP, CARD, KEPT)


def periods(report: Report, name: str) -> None:
    """Tables 6.4 and 6.5: streams and period lengths, windows of 10,000 rows."""
    for streams in (3, 6) if report.quick else (3, 4, 5, 6):
        for units in (1,) if report.quick else (1, 2, 3):
            figure = f"{'Table 6.4' if name == 'Uni-Set' else 'Table 6.5'}: {name}, windows of 10,000"
            saved = compare(
                report, figure, (streams, units), ("streams", "period"), units, *SIDES,
                name=name, streams=streams, window=_window(report, 10_000),
            )  # fmt: skip
            _nowhere_more(report, f"{name}, {streams} streams, period {units}", saved)


def windows(report: Report, name: str) -> None:
    """Tables 6.6 and 6.7: streams and windows, a period of one unit."""
    for window in (5_000, 15_000):
        for streams in (3,) if report.quick else (3, 4, 5, 6):
            figure = f"{'Table 6.6' if name == 'Uni-Set' else 'Table 6.7'}: {name}, a period of 1"
            saved = compare(
                report, figure, (window, streams), ("window", "streams"), 1, *SIDES,
                name=name, streams=streams, window=_window(report, window),
            )  # fmt: skip
            _nowhere_more(report, f"{name}, {streams} streams, windows of {window}", saved)


def zipf(report: Report, window: int) -> None:
    """Figure 6.9 and Table 6.8: six streams, by skew and window; and, where the thesis gained most, by period."""
    best = (10_000, 0.8)
    found = []
    for skew in (0.8,) if report.quick else ZIPF:
        for units in (1, 2, 3) if (window, skew) == best else (1,):
            saved = compare(
                report, "Table 6.8: Zipf-Set, 6 streams", (window, skew, units), ("window", "skew", "period"),
                units, *SIDES, name="Zipf-Set", streams=6, window=_window(report, window), skew=skew,
            )  # fmt: skip
            _nowhere_more(report, f"Zipf-Set {skew}, windows of {window}, period {units}", saved)
            if (window, skew) == best:
                found.append((saved[CARD], saved[KEPT]))
    if found:
        reached, possible = max(found)
        note = f"the best orderings, from the start on, save {possible:.1f} %"
        report.reach("CARD saves of BASE, Zipf-Set 0.8, windows of 10,000", reached, "%", 30.0, True, note)


def as_printed(report: Report) -> None:
    """What the thesis' way costs an engine that is a thousand times as fast."""
    for name, skew in (("Uni-Set", 0.0), ("pUni-Set", 0.0), ("Zipf-Set", 0.8)):
        compare(
            report, "CARD as printed: a look every 1,000 events, 6 streams, windows of 10,000", (name,), ("set",),
            1, CARD, LITERAL, name=name, streams=6, window=_window(report, 10_000), skew=skew,
        )  # fmt: skip


def _window(report: Report, rows: int) -> int:
    return rows // 10 if report.quick else rows


def _nowhere_more(report: Report, where: str, saved: Mapping[str, float]) -> None:
    if saved[CARD] < 0.0:
        report.reach(f"CARD takes more than BASE, {where}", -saved[CARD], "%", 2.0)


GROUPS: dict[str, Callable[[Report], None]] = {
    "Uni-Set periods": lambda report: periods(report, "Uni-Set"),
    "pUni-Set periods": lambda report: periods(report, "pUni-Set"),
    "Uni-Set windows": lambda report: windows(report, "Uni-Set"),
    "pUni-Set windows": lambda report: windows(report, "pUni-Set"),
    "Zipf-Set, windows of 5000": lambda report: zipf(report, 5_000),
    "Zipf-Set, windows of 10000": lambda report: zipf(report, 10_000),
    "Zipf-Set, windows of 15000": lambda report: zipf(report, 15_000),
    "as printed": as_printed,
}


if __name__ == "__main__":
    sys.exit(command("benchmarks.thesis", __doc__, GROUPS, RESULTS))
