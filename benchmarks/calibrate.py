"""What each thing costs that our kernels do: `python -m benchmarks.calibrate [--write]`.

Engines with all kinds of steps run in a steady state; how often each thing happens is counted by the engine itself,
and the seconds per thing are fitted to the measured times, none below zero. `--write` keeps them as
`policies/optimizer/calibrated.py`, where the optimiser's cost model takes them from.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

import eddy
from benchmarks.drift_workloads import Drift, chain, one_key, star
from benchmarks.ratio import table
from benchmarks.workloads import Workload
from policies.optimizer import calibrated

TARGET = Path(calibrated.__file__)
NAMES = (
    "probe",
    "miss",
    "match",
    "byte",
    "insert",
    "rekey",
    "verify",
    "seek",
    "compare",
    "step",
    "batch",
    "event",
    "mark",
)
LIKELY = (5e-9, 1e-9, 4e-9, 2e-10, 1e-8, 5e-9, 5e-9, 5e-8, 6e-10, 1e-6, 3e-5, 1e-8, 4e-9)
"""What is near where the measurements say nothing: things that always happen together cannot be told apart."""
WEIGHT = 0.05
"""How much that counts, of one case."""
CACHE, HEAD, COMPONENT = 32768, 12, 4
BATCH = 4096
ROUNDS = 30


@frozen(eq=False)
class Case:
    """A query, a plan, and batches of events for it."""

    name: str
    query: Any
    plan: str
    batches: Iterator[dict[str, dict[str, npt.NDArray[np.int64]]]]
    warm: int
    joins: str = "hash"
    times: int = 8
    """Batches at a time."""


def _workload(work: Workload, name: str, plan: str | None = None, size: int = BATCH) -> Case:
    def batches() -> Iterator[Any]:
        while True:
            yield from work.batches(work.chunk(size), size)

    return Case(name, work.query(), plan or work.plan, batches(), work.warm, times=8 * BATCH // size)


def _custom(name: str, names: str, where: list[str], window: int, keys: dict[str, int], **more: Any) -> Case:
    """Streams with the columns x, y and z, each uniform over its keys."""
    random = np.random.default_rng(1)
    columns = dict.fromkeys(keys, "int64")
    query = eddy.Query({n: eddy.Stream(columns, window=eddy.Rows(window)) for n in names}, where=where)
    size = more.pop("size", BATCH)

    def batches() -> Iterator[Any]:
        while True:
            share = size // len(names)
            yield {n: {c: random.integers(0, k, share) for c, k in keys.items()} for n in names}

    return Case(name, query, more.pop("plan"), batches(), 2 * len(names) * window, **more)


def _timed(make: Callable[[], Drift], plans: tuple[str, ...]) -> Iterator[Case]:
    """Windows of time that hold few rows."""

    def batches(drift: Drift) -> Iterator[Any]:
        for _, batch in drift.feed(1 << 40):
            yield batch

    for plan in plans:
        drift = make()
        drift = evolve(drift, phases=drift.phases[3:4])
        yield Case(f"{drift.name}, {plan}", drift.query(), plan, batches(drift), 4 * drift.window)


def cases() -> Iterator[Case]:
    """Hash joins of all kinds, then sorted and nested ones."""
    yield from _timed(chain, ("A ((B C) D)", "stems"))
    yield from _timed(star, ("((((A E) B) D) F) C", "((((A B) E) D) F) C", "stems"))
    yield from _timed(one_key, ("((A (B D)) C) E", "stems"))
    for window in (1_000, 10_000, 100_000):
        for keys in (window // 4, window, 4 * window):
            yield _workload(Workload(2, window, keys), f"2 streams, {window} rows, {keys} keys")
    small = Workload(6, 10_000, 20_000)
    yield _workload(small, "6 streams, batches of 512, tree", size=512)
    yield _workload(small, "6 streams, batches of 512, orderings", "stems", 512)
    for streams in (3, 4, 6):
        for shape in ("one key", "chain", "star"):
            work = Workload(streams, 10_000, 10_000, shape)
            yield _workload(work, f"{streams} streams, {shape}, tree")
            yield _workload(work, f"{streams} streams, {shape}, orderings", "stems")
    for keys in (5_000, 20_000):
        yield _workload(Workload(4, 10_000, keys), f"4 streams, {keys} keys, tree")
        yield _workload(Workload(4, 10_000, keys), f"4 streams, {keys} keys, orderings", "stems")
    yield _workload(Workload(4, 10_000, 10_000), "4 streams, bushy", "(A B) (C D)")
    two = {"x": 100, "y": 100}
    for plan in ("(A B) C", "stems"):
        both = ["A.x = B.x", "A.y = B.y", "B.x = C.x", "B.y = C.y"]
        yield _custom(f"two attributes, {plan}", "ABC", both, 10_000, two, plan=plan)
    for window in (1_000, 10_000):
        near = [f"ABS(A.x - B.x) <= {20_000 // window}"]
        yield _custom(f"band, {window} rows", "AB", near, window, {"x": 10_000}, plan="A B", times=1)
    nested = {"joins": "nested", "plan": "A B", "times": 1, "size": 1024}
    for window in (500, 2_000):
        yield _custom(f"nested loops, {window} rows", "AB", ["A.x = B.x"], window, {"x": 1_000}, **nested)


def measure(found: list[Case]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """For each case how often each thing happens per event, and the seconds per event.

    The cases take turns, batch by batch, so that a slow moment of the machine is one for all; the faster half counts.
    """
    engines = []
    for case in found:
        engine = eddy.Eddy(case.query, plan=case.plan, joins=case.joins)
        while engine.statistics().events < case.warm:
            engine.push_all(next(case.batches))
        engine._state.steering.take_view()
        engines.append(engine)
    seconds: list[list[float]] = [[] for _ in found]
    events, pushed = np.zeros(len(found)), np.zeros(len(found))
    for _ in range(ROUNDS):
        for i, (case, engine) in enumerate(zip(found, engines, strict=True)):
            batches = [next(case.batches) for _ in range(case.times)]
            size = sum(len(next(iter(c.values()))) for batch in batches for c in batch.values())
            start = time.thread_time()
            for batch in batches:
                engine.push_all(batch)
            seconds[i].append((time.thread_time() - start) / size)
            events[i] += size
            pushed[i] += len(batches)
    things = [counts(e, n, k) for e, n, k in zip(engines, events, pushed, strict=True)]
    return np.array(things), np.array([np.percentile(s, 25) for s in seconds])


def counts(engine: eddy.Eddy, events: float, batches: float) -> npt.NDArray[np.float64]:
    """How often each thing has happened since the engine was last looked at, per event."""
    view = engine._state.steering.take_view()
    stored = {frozenset(stair.streams): stair.live for stair in view.stairs}
    found = dict.fromkeys(NAMES, 0.0)
    for step in view.steps:
        source, target = frozenset(step.source), frozenset(step.target)
        entries = stored[target] if target in stored else min(view.live[s] for s in target)
        common = sum(1 for c in view.graph.classes if source & c and target & c)
        foreign = any(len(source & c) > 1 and not target & c for c in view.graph.classes)
        size = HEAD + COMPONENT * len(source | target)
        found["match"] += step.matches
        found["byte"] += step.matches * size
        found["insert"] += step.matches * ((source | target) in stored)
        if common and engine.joins == "nested":
            found["compare"] += step.probes * entries
            continue
        found["probe"] += step.probes
        if not common:
            found["seek"] += step.probes * np.log2(2 + entries)
            continue
        width = HEAD + COMPONENT * len(target)
        found["miss"] += step.probes * np.log2(1 + entries * width / CACHE)
        found["rekey"] += step.probes * common * (foreign or common > 1)
        found["verify"] += step.matches * common * (common > 1)
    found["step"] = len(view.steps) * batches
    found["batch"] = batches
    found["event"] = events
    found["mark"] = events * (len(view.graph.names) - len(view.lengths))
    return np.array([found[name] for name in NAMES]) / events


def fit(things: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Least squares of relative errors with no parameter below zero, by leaving out what would be (Lawson, Hanson)."""
    rows = np.vstack((things / seconds[:, None], np.diag(WEIGHT / np.array(LIKELY))))
    ones = np.concatenate((np.ones(len(things)), np.full(len(LIKELY), WEIGHT)))
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    rows = rows / scale
    found, active = np.zeros(rows.shape[1]), np.zeros(rows.shape[1], bool)
    for _ in range(10 * rows.shape[1]):
        gradient = rows.T @ (ones - rows @ found)
        gradient[active] = -np.inf
        if gradient.max() <= 1e-9:
            break
        active[int(np.argmax(gradient))] = True
        while True:
            trial = np.zeros_like(found)
            trial[active] = np.linalg.lstsq(rows[:, active], ones, rcond=None)[0]
            below = active & (trial <= 0)
            if not below.any():
                break
            step = min(found[i] / (found[i] - trial[i]) for i in np.flatnonzero(below))
            found += step * (trial - found)
            active &= found > 1e-12
            found[~active] = 0.0
        found = trial
    return found / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep what was fitted in the library")
    options = parser.parse_args()
    every = list(cases())
    things, seconds = measure(every)
    found = fit(things, seconds)
    times = zip(every, seconds * 1e9, things @ found * 1e9, strict=True)
    rows = [(case.name, taken, by, by / taken) for case, taken, by in times]
    print(table(("case", "ns an event", "by the model", "ratio"), rows))
    print("\n" + table(("thing", "ns"), [(n, f * 1e9) for n, f in zip(NAMES, found, strict=True)]))
    if options.write:
        fitted = {name: max(float(f), 1e-12) for name, f in zip(NAMES, found, strict=True)}
        lines = [f'    "{n}": {f:.3g},' for n, f in (calibrated.SECONDS | fitted).items()]
        head = (
            '"""Seconds per operation of our kernels. Written by `python -m benchmarks.calibrate --write`."""'
        )
        TARGET.write_text("\n".join([head, "", "SECONDS = {", *lines, "}", ""]))


if __name__ == "__main__":
    main()
