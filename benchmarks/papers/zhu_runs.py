"""What is measured for Zhu's figures, by the simulated clock (`benchmarks.simulated`) and the paper's Table 2.

The paper does not print what an evaluation took: sections 6.2 and 6.3 have the times that make true what it says of the
load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from attrs import evolve

from benchmarks.papers.figure import Profile, Row
from benchmarks.papers.zhu_claims import EQUATION, PRINTED, TWICE
from benchmarks.simulated.chain import EXACT, MOVING, PURGED, Chain
from benchmarks.simulated.server import Costs, Run

SUFFICIENT = Costs(join=0.005, insert=0.01)
"""Section 6.2: the old plan keeps up in sets 1 and 2. Chosen, as is the other, after runs with several values."""
SCARCE = Costs(join=0.02, insert=0.04)
"""Section 6.3: with the high configuration the old plan does not keep up, and the new one does."""

SET_1 = Chain(1000, (100, 100, 100, 100), (0.1, 0.05, 0.02), SUFFICIENT)
SET_2 = Chain(1000, (50, 50, 50, 50), (0.1, 0.05, 0.02), SUFFICIENT)
SET_3 = Chain(1000, (100, 12, 12, 12), (0.1, 0.1, 0.1), SUFFICIENT)
LOW = Chain(1000, (100, 100, 100, 100), (0.1, 0.02, 0.02), SCARCE)
HIGH = Chain(2000, (50, 50, 50, 50), (0.2, 0.05, 0.05), SCARCE)


def durations(
    profile: Profile,
    x: str,
    points: Callable[[Profile], Sequence[tuple[float, Chain]]],
    told: Sequence[str],
    several: Mapping[str, int] = MappingProxyType({"quick": 3, "full": 5}),
) -> Iterator[Row]:
    """How long migrations take, in simulated milliseconds: the mean of several feeds, and the least and the most.

    ``told``: the techniques and the estimates that the figure has.
    """
    for at, chain in points(profile):
        profile.tell(f"{x} {at:g}")
        feeds = [evolve(chain, seed=profile.seed + i) for i in range(several[profile.name])]
        runs = [feed.runs() for feed in feeds]
        for technique in (name for name in told if name in runs[0]):
            taken = [run[technique].migration for run in runs]
            yield {
                x: at,
                "technique": technique,
                "ms": float(np.mean(taken)),
                "least": min(taken),
                "most": max(taken),
                "evaluations": float(np.mean([_during(run[technique]) for run in runs])),
                "busy": float(np.mean([_load(run[technique]) for run in runs])),
            }
        estimates = {
            TWICE: 2 * chain.window,
            EQUATION: chain.estimate(),
            PRINTED: chain.estimate(printed=True),
        }
        for name, ms in estimates.items():
            if name in told:
                row = {x: at, "technique": name, "ms": ms, "least": ms, "most": ms}
                yield row | {"evaluations": None, "busy": None}


def _during(run: Run) -> float:
    """Predicates evaluated while the migration was under way."""
    assert run.began is not None and run.ended is not None
    return float(run.evaluated(np.array([run.began, run.ended])).sum())


def _load(run: Run) -> float:
    """How long the rows before the change took to serve, over the time in which they came: above 1 they pile up."""
    assert run.requested is not None
    rows = [job for job in run.jobs if job.kind == "row" and job.due < run.requested]
    return sum(job.ended - job.began for job in rows) / run.requested


def by_window(profile: Profile) -> list[tuple[float, Chain]]:
    windows = (1000, 3000, 7000) if profile.quick else range(500, 7001, 500)
    return [(w, evolve(SET_1, window=w)) for w in windows]


def by_rate(profile: Profile) -> list[tuple[float, Chain]]:
    gaps = (100, 25) if profile.quick else (100, 50, 33, 25, 20, 14, 12, 10)
    return [(round(1000 / gap, 1), evolve(SET_2, gaps=(50, gap, 50, 50))) for gap in gaps]


def by_window_high(profile: Profile) -> list[tuple[float, Chain]]:
    windows = (250, 1000) if profile.quick else (100, 250, 375, 500, 625, 750, 1000, 1250, 1500)
    return [(w, evolve(SET_3, window=w)) for w in windows]


def over_time(profile: Profile, chain: Chain, bin_ms: float = 1000.0) -> Iterator[Row]:
    """Output, intermediate tuples, work and the queue, second by second: the mean of several feeds."""
    feeds = [evolve(chain, seed=profile.seed + i) for i in range(2 if profile.quick else 10)]
    runs = []
    for i, feed in enumerate(feeds):
        profile.tell(f"feed {i + 1} of {len(feeds)}")
        runs.append(feed.runs(alone=True))
    last = max(run.finished for found in runs for run in found.values())
    bins = np.arange(0, last + bin_ms, bin_ms)
    per_second = bin_ms / 1000
    for technique in (MOVING, PURGED, EXACT, "Old", "New"):
        found = [run[technique] for run in runs]
        output = np.mean([run.output(bins) for run in found], axis=0) / per_second
        work = np.mean([run.evaluated(bins) for run in found], axis=0) / per_second
        held = np.mean([run.held(bins) for run in found], axis=0)
        queue = np.mean([run.waiting(bins) for run in found], axis=0)
        began, ended = (_mean([getattr(run, name) for run in found]) for name in ("began", "ended"))
        for i, end in enumerate(bins[1:]):
            yield {
                "ms": float(end),
                "technique": technique,
                "results a second": float(output[i]),
                "intermediate tuples": float(held[i]),
                "evaluations a second": float(work[i]),
                "queue": float(queue[i]),
                "began": began,
                "ended": ended,
            }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
