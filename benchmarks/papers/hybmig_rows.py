"""What is measured for HybMig's figures: by the simulated clock, by counting, and in processor time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from benchmarks.hybmig_workloads import (
    BLACK_BOXES,
    EVERY,
    RIVALS,
    SHAPES,
    VARIANTS,
    Setting,
    box_stages,
    stages,
)
from benchmarks.median_box import Median
from benchmarks.migration_workloads import last_two_first, left_deep, right_deep
from benchmarks.papers.figure import Profile, Row
from benchmarks.simulated.clique import Clique
from benchmarks.simulated.compare import Side
from benchmarks.simulated.feed import MS
from benchmarks.simulated.server import Costs, Run
from benchmarks.simulated.subjects import BoxSubject
from benchmarks.simulated.techniques import IdleGhm, IdleHybMig
from benchmarks.stages import Stage, middle, ratios
from benchmarks.techniques import ALONE as NOT_SHARING
from benchmarks.techniques import HELD, HYBRID, HYBRID_AHEAD, MOVING, TECHNIQUES, TRACKS, named
from policies import Gms, Gpt, Migration

MS_, PT, HM, BSC = "Moving State", "Parallel Track", "HybMig", "HybMig with BSC"
GMS, GPT, GHM = "GMS", "GPT", "GHM"
SHARING, ALONE = "with sharing", "without sharing"
EVALUATIONS, AT_ONCE, TUPLES = "evaluations", "evaluations at the change", "peak of tuples in states"
SECONDS, BYTES = "processor seconds", "peak of MiB of states"
DURATION = "duration, simulated seconds"

TIMED = Clique(keys=90, costs=Costs(join=0.005))
"""What is timed: with 90 values the output is a few dozen results a second, as in the paper's Figure 15."""
BOXED = evolve(TIMED, windows=2.4)
COUNTED = Clique()
"""What is counted: the paper's selectivities, 0.05 and 0.0025."""

PRINTED = {MS_: MOVING, PT: HELD, HM: HYBRID}
"""The paper's names of techniques; results of Parallel Track are held back, as there."""


def sides(clique: Clique) -> dict[str, Side]:
    return {name: clique.side(TECHNIQUES[ours]) for name, ours in PRINTED.items()}


# -- over time: Figures 15, 16 and 22 --------------------------------------------------------------------------------


def over_time(profile: Profile, clique: Clique = TIMED, feeds: int | None = None) -> Iterator[Row]:
    """Second by second from the change on."""
    runs = []
    for i in range(feeds or (5 if profile.quick else 20)):
        profile.tell(f"feed {i + 1}")
        fed = evolve(clique, seed=profile.seed + i)
        runs.append(fed.runs(sides(fed), right_deep))
    yield from _seconds(runs, clique, 1.2)


def boxes_over_time(profile: Profile, clique: Clique = BOXED, feeds: int | None = None) -> Iterator[Row]:
    """The same with a median on top of each plan, as black boxes."""
    runs = []
    for i in range(feeds or (1 if profile.quick else 5)):
        profile.tell(f"feed {i + 1}")
        fed = evolve(clique, seed=profile.seed + i)
        runs.append(fed.runs(box_sides(fed), right_deep))
    yield from _seconds(runs, clique, clique.windows)


def box_sides(clique: Clique) -> dict[str, Side]:
    query, width = clique.query(), round(clique.window * MS)

    def side(technique: Migration, idles: bool = False) -> Side:
        make = lambda plan: Median(query, plan, width, "nested")  # noqa: E731
        return Side(lambda: BoxSubject.of(make, query, width, left_deep(clique.names), technique), idles)

    return {GMS: side(Gms()), GPT: side(Gpt()), GHM: side(IdleGhm(), idles=True)}


def _seconds(runs: Sequence[Mapping[str, Run]], clique: Clique, windows: float) -> Iterator[Row]:
    """Means of several runs; times count from the change."""
    start, count = clique.change, round(windows * clique.window / 1000)
    bins = start + 1000.0 * np.arange(count + 1)
    for technique in runs[0]:
        found = [run[technique] for run in runs]
        output = np.mean([run.output(bins) for run in found], axis=0)
        work = np.mean([run.evaluated(bins) for run in found], axis=0)
        held = np.mean([run.held(bins) for run in found], axis=0)
        queue = np.mean([run.waiting(bins) for run in found], axis=0)
        ended = float(np.mean([run.migration for run in found])) / 1000
        silent = float(np.mean([_silence(run, start) for run in found])) / 1000
        delay = max(run.delay for run in found) / 1000
        caught_up = float(np.mean([_caught_up(run) for run in found]) - start) / 1000
        for i in range(count):
            yield {
                "second": i + 1,
                "technique": technique,
                "results a second": float(output[i]),
                "results so far": float(output[: i + 1].sum()),
                "evaluations a second": float(work[i]),
                "tuples": float(held[i]),
                "queue": float(queue[i]),
                "migration, s": ended,
                "first output after, s": silent,
                "longest delay, s": delay,
                "caught up after, s": caught_up,
            }


def _silence(run: Run, start: float) -> float:
    """How long after the change the first result comes."""
    return min(job.ended for job in run.jobs if job.results) - start


def _caught_up(run: Run) -> float:
    """When, after the change was begun and what it takes at once was done, no row was waiting for the first time."""
    at_once = next(job.ended for job in run.jobs if job.kind == "change")
    rows = [job for job in run.jobs if job.kind == "row" and job.began >= at_once]
    return next((job.began for job in rows if job.began == job.due), run.finished)


# -- by a parameter: Figures 17 to 21 --------------------------------------------------------------------------------

PARAMETERS = {"windows": "w", "rates": "rate", "streams": "n"}


def counted(profile: Profile, what: str, setting: Setting) -> Iterator[Row]:
    """Evaluations in 1.2 windows from the change on, and the most tuples in states."""
    profile.tell(f"{setting}: counting")
    clique = evolve(COUNTED, w=setting.w, rate=setting.rate, n=setting.n, seed=profile.seed)
    for technique, run in clique.runs(sides(clique), SHAPES[setting.shape]).items():
        row = _point(what, setting, technique)
        yield row | {"measure": EVALUATIONS, "value": run.evaluations}
        at_once = sum(job.evaluations for job in run.jobs if job.kind == "change")
        yield row | {"measure": AT_ONCE, "value": float(at_once)}
        yield row | {"measure": TUPLES, "value": float(run.peak)}


def _point(what: str, setting: Setting, technique: str) -> dict[str, Any]:
    x = PARAMETERS[what]
    return {"shape": setting.shape, x: getattr(setting, x), "technique": technique}


NAMES = {MOVING: MS_, TRACKS: PT, HYBRID: HM, HYBRID_AHEAD: BSC}


def processed(profile: Profile, what: str, setting: Setting) -> Iterator[Row]:
    """Processor seconds of the engine with hash joins, and the most memory of states; scaled sizes."""
    made = stages(setting, RIVALS, SHAPES[setting.shape], _times(profile), profile.tell)
    for name in (MOVING, TRACKS, HYBRID):
        row = _point(what, setting, NAMES[name])
        yield row | {"measure": SECONDS, "value": middle([stage.total(name) for stage in made]).median}
        yield row | {"measure": BYTES, "value": made[0].changes[name].peak_bytes / 2**20}


def _times(profile: Profile) -> int:
    return 1 if profile.quick else 3


def sharing_counted(profile: Profile) -> Iterator[Row]:
    for n in _streams(profile):
        profile.tell(f"{n} streams: counting")
        clique = evolve(COUNTED, n=n, seed=profile.seed)
        both = {SHARING: clique.side(TECHNIQUES[HYBRID]), ALONE: clique.side(TECHNIQUES[NOT_SHARING])}
        for name, run in clique.runs(both, last_two_first).items():
            yield {"n": n, "technique": name, "measure": EVALUATIONS, "value": run.evaluations}


def sharing_processed(profile: Profile) -> Iterator[Row]:
    both = {SHARING: TECHNIQUES[HYBRID], ALONE: TECHNIQUES[NOT_SHARING]}
    for n in _streams(profile):
        made = stages(Setting(n=n), both, last_two_first, _times(profile), profile.tell)
        for name in both:
            seconds = middle([stage.total(name) for stage in made]).median
            yield {"n": n, "technique": name, "measure": SECONDS, "value": seconds}


def _streams(profile: Profile) -> Sequence[int]:
    return (4, 5) if profile.quick else (4, 5, 6, 7)


RATES = (0.4, 0.7, 1.0, 1.3, 1.6)


def background_timed(profile: Profile, rates: Sequence[float] = RATES) -> Iterator[Row]:
    """How long migrations take, and evaluations in 1.2 windows, where idle time is used."""
    for rate in rates:
        profile.tell(f"rate {rate}")
        found = []
        for i in range(1 if profile.quick else 5):
            clique = evolve(TIMED, rate=rate, seed=profile.seed + i)
            all_sides = sides(clique) | {BSC: clique.side(IdleHybMig(), idles=True)}
            found.append(clique.runs(all_sides, right_deep))
        for name in found[0]:
            row = {"rate": rate, "technique": name}
            seconds = float(np.mean([runs[name].migration for runs in found])) / 1000
            yield row | {"measure": DURATION, "value": seconds}
            work = float(np.mean([runs[name].evaluations for runs in found]))
            yield row | {"measure": EVALUATIONS, "value": work}


def background_processed(profile: Profile) -> Iterator[Row]:
    """Processor seconds; the library computes 16 keys after every batch."""
    techniques = named(MOVING, TRACKS, HYBRID, HYBRID_AHEAD)
    for rate in RATES[:2] if profile.quick else RATES:
        made = stages(Setting(rate=rate), techniques, right_deep, _times(profile), profile.tell)
        for name in techniques:
            seconds = middle([stage.total(name) for stage in made]).median
            yield {"rate": rate, "technique": NAMES[name], "measure": SECONDS, "value": seconds}


# -- totals in processor time ----------------------------------------------------------------------------------------


def totals(profile: Profile, variant: str) -> Iterator[Row]:
    """Every technique of the library at the default setting."""
    setting = VARIANTS[variant]
    made = stages(setting, EVERY, right_deep, _times(profile), profile.tell)
    yield from _totals(made, setting, variant, EVERY, HYBRID)


def box_totals(profile: Profile) -> Iterator[Row]:
    """Black boxes with a median on top, whose rows count for two windows."""
    setting = Setting().smaller() if profile.quick else Setting()
    made = box_stages(setting, 1, profile.tell)
    yield from _totals(made, setting, "median on top", BLACK_BOXES, "Gpt")


def _totals(
    made: Sequence[Stage], setting: Setting, variant: str, names: Iterable[str], reference: str
) -> Iterator[Row]:
    for name in names:
        of = ratios(made, reference, name)
        yield {
            "variant": variant,
            "technique": name,
            SECONDS: middle([stage.total(name) for stage in made]).median,
            "of": reference,
            "times": of.median,
            "low": of.low,
            "high": of.high,
            "longest pause, batches": middle([stage.pause(name) for stage in made]).median,
            "migration, windows": made[0].windows(name, setting.live),
        }
