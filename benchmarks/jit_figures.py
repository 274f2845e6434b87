"""Goals by the defaults of JIT's experiments (section VI): engines that differ in their feedback, on the same feeds.

Figures 10 to 17 are in `benchmarks.papers.jit`.

Processor time is that of whole runs, from empty windows, as in the paper; peak memory is looked at between chunks of
two batches, outside the clock. The paper's rows come one at a time; here a batch has 1,024 events, for all sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

import eddy
from benchmarks.jit_workloads import BUSHY_DEFAULT, LEFT_DEEP_DEFAULT, Clique, Setting
from benchmarks.migration_workloads import Even
from benchmarks.ratio import Race
from benchmarks.report import Report
from benchmarks.sides import push_all
from benchmarks.stages import Arena, Middle, middle
from benchmarks.workloads import Workload
from policies import Doe, Feedback, Mns, NoFeedback

BATCH, BATCHES = 1024, 2
"""Events of a batch, and batches of a chunk."""

NONE, MNS, BLOOM, DOE, AGAIN = "NoFeedback", "Mns", "Mns(bloom)", "Doe", "NoFeedback again"
BOUND = "free of charge"
"""NoFeedback on a feed in which rows of all streams but the last two match nothing: their composites are spared without
anybody having judged them. That is about what feedback could do at best under the same plan, if it cost nothing."""
EVERY: Mapping[str, Feedback] = {
    MNS: Mns(),
    NONE: NoFeedback(),
    BLOOM: Mns(detect="bloom"),
    "Mns(levels=1)": Mns(levels=1),
    "Mns(restraint=False)": Mns(restraint=False),
    DOE: Doe(),
    BOUND: NoFeedback(),
}
RIVALS = {name: EVERY[name] for name in (MNS, NONE)}
TIMES = 3
"""Runs of each default setting, with other feeds."""


@define
class Peak:
    """The most that an engine has held at a time."""

    composites: int = 0
    """Bytes of composites, slack included."""
    bytes: int = 0
    """The same with blacklists and directories."""
    live: int = 0
    """Composites that are live."""
    engine: int = 0
    """Bytes of all that the engine has."""

    def look(self, engine: eddy.Eddy) -> None:
        found = engine.statistics()
        held = sum(stair.bytes for stair in found.stairs)
        own = 0 if found.feedback is None else found.feedback.bytes
        self.composites = max(self.composites, held)
        self.bytes = max(self.bytes, held + own)
        self.live = max(self.live, sum(stair.live for stair in found.stairs))
        self.engine = max(self.engine, found.bytes)


@frozen(eq=False)
class Run:
    """One run of all sides over the same feed."""

    seconds: Mapping[str, float]
    peaks: Mapping[str, Peak]
    results: int
    detection: Mapping[str, float] = field(factory=dict)
    """Seconds spent on judging, waking and bringing back; by the wall clock."""

    def faster(self, side: str) -> float:
        """How many times as long NoFeedback takes."""
        return self.seconds[NONE] / self.seconds[side]

    def saved(self, side: str, what: str = "bytes") -> float:
        """Per cent of NoFeedback's peak."""
        return 100 * (1 - getattr(self.peaks[side], what) / max(1, getattr(self.peaks[NONE], what)))


def run(setting: Setting, sides: Mapping[str, Feedback], size: int = BATCH, seed: int = 0) -> Run:
    """The whole run, chunk by chunk, the sides in turns."""
    work = evolve(setting.work(), seed=seed)
    query = setting.query(work)
    engines = {
        name: eddy.Eddy(query, plan=setting.text, joins=setting.joins, feedback=policy)
        for name, policy in sides.items()
    }
    peaks = {name: Peak() for name in sides}
    events = size * BATCHES

    def prepare() -> dict[str, Any]:
        chunk = work.batches(work.chunk(events), size)
        return dict.fromkeys(sides, chunk) | {BOUND: [work.barren(batch) for batch in chunk]}

    race = Race(
        {name: push_all(engine) for name, engine in engines.items()},
        prepare,
        alike=lambda name: name if name == BOUND else "all",
    )
    for _ in range(max(1, round(setting.events / events))):
        race.run(1)
        for name, engine in engines.items():
            peaks[name].look(engine)
    taken = {name: float(seconds.sum()) for name, seconds in race.timings(events).seconds.items()}
    spent = {name: e.statistics().feedback for name, e in engines.items()}
    return Run(taken, peaks, race.results, {n: f.seconds for n, f in spent.items() if f is not None})


def runs(
    report: Report, setting: Setting, sides: Mapping[str, Feedback], times: int, size: int = BATCH
) -> list[Run]:
    """Some runs of one setting, after a short one that does not count: what is compiled or loaded, is so by then."""
    if report.quick:
        setting, times, size = setting.smaller(), 1, 64
    else:
        run(evolve(setting.smaller(), hours=0.05), sides, 64)
    made = []
    for turn in range(times):
        report.tell(f"JIT, {setting}: run {turn}")
        made.append(run(setting, sides, size, seed=turn))
    return made


def over(made: Iterable[Run], what: str, *arguments: str) -> Middle:
    """A number of every run: the median and the quartiles."""
    return middle([getattr(each, what)(*arguments) for each in made])


# -- the defaults ----------------------------------------------------------------------------------------------------


LESS = 1.0
"""Per cent: less memory, by anything that counts."""

DEFAULTS = {
    "bushy, nested": (BUSHY_DEFAULT, TIMES, 10.0, 62.0),
    "bushy, hash": (evolve(BUSHY_DEFAULT, joins="hash"), TIMES, None, None),
    "bushy, hash, 10 times the size": (
        evolve(BUSHY_DEFAULT, joins="hash", scale=10, hours=2),
        TIMES,
        1.5,
        62.0,
    ),
    "left-deep, nested": (LEFT_DEEP_DEFAULT, TIMES, 1.0, LESS),
    "left-deep, hash": (evolve(LEFT_DEEP_DEFAULT, joins="hash"), TIMES, 1.0, LESS),
    "left-deep, hash, 10 times the size": (
        evolve(LEFT_DEEP_DEFAULT, joins="hash", scale=10, hours=2),
        TIMES,
        1.0,
        LESS,
    ),
}
"""For each its runs, and what to reach: times less processor time, per cent less memory."""


def defaults(report: Report, name: str) -> None:
    """Every policy at the default setting."""
    setting, times, speed, memory = DEFAULTS[name]
    made = runs(report, setting, EVERY, times)
    _rows(report, f"Defaults, {name}", made)
    found = over(made, "faster", MNS)
    note = f"quartiles {found.low:.2f}-{found.high:.2f}; NoFeedback {_seconds(made, NONE):.3g} s a run"
    note += f", Mns {_seconds(made, MNS):.3g} s"
    note += f", of it judging {middle([each.detection[MNS] for each in made]).median:.3g} s"
    note += f"; {BOUND} {over(made, 'faster', BOUND).median:.3g} times"
    if speed is not None:
        report.reach(f"{name}: less processor time", found.median, "times", speed, True, note)
    if memory is not None:
        for what, text in WEIGHED.items():
            saved = over(made, "saved", MNS, what)
            bloom = over(made, "saved", BLOOM, what).median
            note = f"{_kib(made, MNS, what)}, NoFeedback {_kib(made, NONE, what)}; with Bloom filters {bloom:.3g} %"
            note += f"; {BOUND} {over(made, 'saved', BOUND, what).median:.3g} %"
            report.reach(f"{name}: {text}", saved.median, "%", memory, True, note)


WEIGHED = {
    "composites": "fewer composite bytes",
    "bytes": "fewer bytes of composites, blacklists and directories",
}


def _rows(report: Report, figure: str, made: Sequence[Run]) -> None:
    head = ("policy", "CPU, s", "NoFeedback's, of it", "of it judging, s")
    head = (*head, "peak composites", "KiB", "KiB with blacklists", "saved, %", "results")
    for side in made[0].seconds:
        report.row(
            figure,
            head,
            side,
            _seconds(made, side),
            over(made, "faster", side),
            middle([each.detection.get(side, 0.0) for each in made]).median,
            _middle_of(made, side, "live"),
            _middle_of(made, side, "composites") // 1024,
            _middle_of(made, side, "bytes") // 1024,
            over(made, "saved", side).median,
            made[0].results,
        )


def _seconds(made: Sequence[Run], side: str) -> float:
    return middle([each.seconds[side] for each in made]).median


def _kib(made: Sequence[Run], side: str, what: str) -> str:
    return f"{_middle_of(made, side, what) // 1024:,} KiB"


def _middle_of(made: Sequence[Run], side: str, what: str) -> int:
    """Of the peaks of all runs the one in the middle."""
    return sorted(getattr(each.peaks[side], what) for each in made)[len(made) // 2]


def large_nested(report: Report) -> None:
    """Nested loops at ten times the size, for two windows: each of NoFeedback's takes half a minute."""
    setting = evolve(BUSHY_DEFAULT, scale=10, hours=2 * BUSHY_DEFAULT.w / 60)
    made = runs(report, setting, RIVALS, 1)
    _rows(report, "Defaults, bushy, nested, 10 times the size, two windows", made)
    name = "bushy, nested, 10 times the size, two windows"
    report.reach(f"{name}: less processor time", made[0].faster(MNS), "times", 10.0, True, "one run")
    for what, text in WEIGHED.items():
        note = f"{_kib(made, MNS, what)}, NoFeedback {_kib(made, NONE, what)}"
        report.reach(f"{name}: {text}", made[0].saved(MNS, what), "%", 0.0, True, note)


def batches(report: Report) -> None:
    """The bushy defaults by size of batch."""
    head = ("events of a batch", "NoFeedback, s", "Mns, s", "times less", f"{BOUND}, times less", "saved, %")
    for name in ("bushy, nested", "bushy, hash, 10 times the size"):
        for size in (64,) if report.quick else (64, 256, 1024, 4096):
            sides = {side: EVERY[side] for side in (MNS, NONE, BOUND)}
            (made,) = runs(report, DEFAULTS[name][0], sides, 1, size)
            taken = (made.seconds[NONE], made.seconds[MNS], made.faster(MNS), made.faster(BOUND))
            report.row(f"Defaults, {name}, by size of batch", head, size, *taken, made.saved(MNS))
            what = f"{name}: less processor time, batches of {size:,}"
            report.reach(what, made.faster(MNS), "times", DEFAULTS[name][2] or 1.0, True, "one run")


# -- where every row has partners ------------------------------------------------------------------------------------


def partners(report: Report) -> None:
    """Every row has partners everywhere, so there is nothing to suspend."""
    window = 200 if report.quick else 10_000
    even = Even(4, window, window)
    _partners(report, "one key, hash", even, even.plan, "hash", 64 if report.quick else 4096)
    _partners(report, "one key, hash, bushy", even, "(A B) (C D)", "hash", 64 if report.quick else 4096)
    clique = Clique(3, 60 if report.quick else 600, 6 if report.quick else 30)
    for joins in ("hash", "nested"):
        _partners(report, f"clique, {joins}", clique, clique.plan, joins, 64 if report.quick else BATCH)


def _partners(report: Report, name: str, work: Workload, plan: str, joins: str, size: int) -> None:
    work = evolve(work)
    policies: Mapping[str, Feedback] = {
        NONE: NoFeedback(),
        MNS: Mns(),
        AGAIN: NoFeedback(),
        BLOOM: Mns(detect="bloom"),
        DOE: Doe(),
    }
    engines = {
        side: eddy.Eddy(work.query(), plan=plan, joins=joins, feedback=policy)
        for side, policy in policies.items()
    }
    report.tell(f"JIT, every row has partners, {name}")
    arena = Arena.of(work, engines, size=size)
    arena.warm()
    timings = arena.steady(4 if report.quick else 60, batches=4)
    more = {side: _slower(timings.seconds[NONE], timings.seconds[side]) for side in policies if side != NONE}
    head = ("joins", "NoFeedback, million events/s", *(f"{side}, % slower" for side in more), "results")
    figure = "Where every row has partners"
    report.row(figure, head, name, timings.rate(NONE), *more.values(), timings.results)
    note = f"quartiles {more[MNS].low:.2f} to {more[MNS].high:.2f}; NoFeedback again {more[AGAIN].median:.2f}"
    what = f"every row has partners, {name}: Mns slower by"
    report.reach(what, more[MNS].median, "%", 3.0, note=note)


def _slower(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> Middle:
    """Per cent by which the other takes longer."""
    return middle(100 * (other / one - 1))
