"""HybMig's experiments (section 5): output and work around a migration, for every technique.

Scaled: ten times the rows in a window and twenty times the keys, so that a row has 4.5 partners in each window in
place of 9, with the paper's selectivities relative to each other; the results of a migration are thousands in place
of millions, and joining, not Python, is still most of the work. A batch is a second of the paper's time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen

import eddy
from benchmarks.median_box import BoxContender
from benchmarks.migration_workloads import Shifting, bushy, last_two_first, left_deep, right_deep
from benchmarks.report import Report
from benchmarks.stages import Arena, Stage, middle, ratios
from policies import Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack

HYBRID, MOVING, TRACKS, HELD = "HybMig", "MovingState", "ParallelTrack", "ParallelTrack(pt)"
BACKGROUND = "HybMig(background)"
GHM = "Ghm(share=8)"
RIVALS: Mapping[str, Migration] = {
    HYBRID: HybMig(),
    MOVING: MovingState(),
    TRACKS: ParallelTrack(),
}
EVERY: Mapping[str, Migration] = {
    **RIVALS,
    BACKGROUND: HybMig(background=16),
    HELD: ParallelTrack(order="pt"),
    "Jisc": Jisc(),
    "Gms": Gms(),
    "Gpt": Gpt(),
    "Ghm": Ghm(),
}
ROWS, KEYS = 10, 400
"""Rows for one of the paper's, and keys for its 20."""

TIMES = 3
"""Migrations of each setting."""

Shape = Callable[[Sequence[str]], str]
SHAPES: Mapping[str, Shape] = {"right-deep": right_deep, "bushy": bushy}


@frozen
class Setting:
    """The paper's parameters, with its defaults: minutes, rows a second, streams."""

    w: int = 3
    rate: float = 1.0
    n: int = 6
    shape: str = "right-deep"
    joins: str = "hash"
    seconds: int = 1
    """Of a batch."""

    @property
    def rows(self) -> int:
        """Rows of a stream in a window."""
        return round(60 * self.w * self.rate * ROWS)

    @property
    def live(self) -> int:
        """Events of a window."""
        return self.rows * self.n

    @property
    def batch(self) -> int:
        """Events of a batch."""
        return round(self.rate * ROWS * self.n * self.seconds)

    def smaller(self) -> Setting:
        return evolve(self, w=1, n=4)

    def __str__(self) -> str:
        text = f"w = {self.w}, rate {self.rate}, {self.n} streams, {self.shape}"
        text += f", {self.joins}" if self.joins != "hash" else ""
        return text + (f", batches of {self.seconds} s" if self.seconds > 1 else "")


def stages(
    report: Report, setting: Setting, techniques: Mapping[str, Migration], new: Shape, times: int
) -> list[Stage]:
    """Migrations from the left-deep plan, which is best while the first stream is rare, when the last becomes so.

    A stage is 1.2 windows. Between two of them the engines go back to the left-deep plan, not timed.
    """
    work = Shifting(setting.n, setting.rows, KEYS)
    query = work.query(eddy.Range(setting.live))
    engines = {
        name: eddy.Eddy(query, plan=left_deep(work.names), migration=technique, joins=setting.joins)
        for name, technique in techniques.items()
    }
    arena = Arena.of(work, engines, held=(HELD,), size=setting.batch)
    return _turns(report, setting, arena, new, times, 1.2, filling=max(setting.batch, 512))


def _turns(
    report: Report, setting: Setting, arena: Arena, new: Shape, times: int, windows: float, filling: int
) -> list[Stage]:
    """Migrations there, and back. ``filling``: events of a batch while windows are filled."""
    work, made = arena.work, []
    for turn in range(times):
        report.tell(f"HybMig, {setting}: filling windows for stage {turn}")
        work.shift(0)
        if turn:
            for contender in arena.contenders.values():
                contender.step((left_deep(work.names), []))
            arena.settle()
        arena.warm(work.warm, size=filling)
        work.shift(setting.n - 1)
        plans = dict.fromkeys(arena.contenders, new(work.names))
        told = report.telling(f"HybMig, {setting}: stage {turn}, second")
        made.append(arena.stage(plans, batches=round(windows * 60 * setting.w) // setting.seconds, tell=told))
    return made


# -- Figures 15 and 16; 22 without its median -------------------------------------------------------------------------


VARIANTS = {
    "hash": Setting(),
    "hash, batches of 10 s": Setting(seconds=10),
    "nested loops": Setting(rate=0.7, joins="nested"),
}


def output(report: Report, variant: str) -> None:
    """Output over time, and what it costs, at the default setting; the generalised techniques too."""
    setting = VARIANTS[variant].smaller() if report.quick else VARIANTS[variant]
    made = stages(report, setting, EVERY, right_deep, 1 if report.quick else TIMES)
    _rates(report, f"Figures 15 and 22: results by tenth of a window, {variant}", setting, made[0])
    measures = ("CPU, s", "of HybMig's", "longest pause, batches", "silent batches")
    head = ("technique", *measures, "ended after, windows", "results held", "peak MiB")
    for name in EVERY:
        change = made[0].changes[name]
        report.row(
            f"Figures 16 and 22: migration at the default setting, {variant}",
            head,
            name,
            middle([stage.total(name) for stage in made]).median,
            ratios(made, HYBRID, name),
            middle([stage.pause(name) for stage in made]),
            max(stage.silent(name, MOVING) for stage in made),
            made[0].windows(name, setting.live),
            change.results_held,
            change.peak_bytes / 2**20,
        )
    for name in (HYBRID, BACKGROUND):
        silent = max(stage.silent(name, MOVING) for stage in made)
        note = f"longest pause {middle([stage.pause(name) for stage in made])} batches"
        what = f"{variant}: batches in a row in which only {name} is silent"
        report.reach(what, silent, "batches", 1, note=note)
    for name in (MOVING, TRACKS, HELD):
        _less(report, variant, name, made)


def _rates(report: Report, figure: str, setting: Setting, stage: Stage) -> None:
    tenth = 6 * setting.w // setting.seconds
    if tenth == 0:
        return
    head = ("technique", *(f"{10 * (i + 1)} %" for i in range(12)))
    for name, found in stage.outputs.items():
        report.row(figure, head, name, *(sum(found[i * tenth : (i + 1) * tenth]) for i in range(12)))


def _less(report: Report, where: str, other: str, made: Sequence[Stage]) -> None:
    """HybMig works less."""
    ratio = ratios(made, HYBRID, other)
    note = f"quartiles {ratio.low:.2f}-{ratio.high:.2f}"
    report.reach(f"{where}: work of {other}, of HybMig's", ratio.median, "times", 1.0, True, note)


# -- Figure 22 -------------------------------------------------------------------------------------------------------


BLACK_BOXES: Mapping[str, Migration] = {"Gms": Gms(), "Gpt": Gpt(), "Ghm": Ghm(), GHM: Ghm(share=8.0)}


def box_stages(report: Report, setting: Setting, times: int) -> list[Stage]:
    """The default task, but with a median on top of each plan, over as long a time, so that each is one black box."""
    work = Shifting(setting.n, setting.rows, KEYS)
    query = work.query(eddy.Range(setting.live))
    contenders = {
        name: BoxContender.of(query, left_deep(work.names), setting.live, technique)
        for name, technique in BLACK_BOXES.items()
    }
    arena = Arena(work, contenders, setting.batch)
    return _turns(report, setting, arena, right_deep, times, 2.4, filling=setting.batch)


def median(report: Report) -> None:
    """Black boxes with a sliding-window median on top of the join: output and work over time (Figure 22).

    Rows count for two windows here, one of their own and one of the median: these are the durations of `Gpt`.
    """
    setting = Setting().smaller() if report.quick else Setting()
    made = box_stages(report, setting, 1 if report.quick else TIMES)
    head = ("technique", *(f"{20 * (i + 1)} %" for i in range(12)))
    for name in BLACK_BOXES:
        count = 144 * setting.w
        seconds = np.median([stage.seconds[name][:count] for stage in made], axis=0).reshape(12, -1).sum(1)
        found = np.reshape(made[0].outputs[name][:count], (12, -1)).sum(1)
        over = "median on top: by fifth of a window"
        report.row(f"Figure 22a, {over}, medians a ms of CPU", head, name, *(found / seconds / 1000).tolist())
        report.row(f"Figure 22b, {over}, ms of CPU", head, name, *(1000 * seconds).tolist())
        report.row(
            "Figure 22, median on top: migration at the default setting",
            ("technique", "CPU, s", "of Gpt's", "longest pause, batches", "old rows", "ended after, windows"),
            name,
            middle([stage.total(name) for stage in made]).median,
            ratios(made, "Gpt", name),
            middle([stage.pause(name) for stage in made]),
            made[0].changes[name].rows,
            made[0].windows(name, setting.live),
        )
    for name in ("Gms", GHM):
        share = made[0].windows(name, setting.live) / made[0].windows("Gpt", setting.live)
        report.reach(f"Figure 22, median on top: how long {name} takes, of Gpt", share, "times", 0.25)
    paused = middle([stage.pause(GHM) / stage.pause("Gms") for stage in made])
    what = f"Figure 22, median on top: longest pause of {GHM}, of Gms's"
    report.reach(what, paused.median, "times", 0.1, note=f"quartiles {paused.low:.3f}-{paused.high:.3f}")


# -- Figures 17 to 19 ------------------------------------------------------------------------------------------------


SWEPT = {
    "windows": ("Figure 17", [Setting(w=w) for w in (1, 2, 3, 4, 5)]),
    "rates": ("Figure 18", [Setting(rate=rate) for rate in (0.4, 0.7, 1.0, 1.3, 1.6)]),
    "streams": ("Figure 19", [Setting(n=n) for n in (4, 5, 6, 7)]),
}


def sweep(report: Report, what: str, shape: str) -> None:
    """Work and memory by window, rate or number of streams, for a right-deep or a bushy new plan."""
    figure, chosen = SWEPT[what]
    for setting in chosen[:1] if report.quick else chosen:
        setting = evolve(setting.smaller() if report.quick else setting, shape=shape)
        made = stages(report, setting, RIVALS, SHAPES[shape], 1 if report.quick else TIMES)
        head = ("w", "rate", "streams", "HybMig, s", "MovingState", "ParallelTrack")
        report.row(
            f"{figure}: {what}, {shape}: work in HybMig's, and peak MiB",
            (*head, "HybMig, MiB", "MovingState, MiB", "ParallelTrack, MiB"),
            setting.w,
            setting.rate,
            setting.n,
            middle([stage.total(HYBRID) for stage in made]).median,
            ratios(made, HYBRID, MOVING),
            ratios(made, HYBRID, TRACKS),
            *(made[0].changes[name].peak_bytes / 2**20 for name in RIVALS),
        )
        for other in (MOVING, TRACKS):
            _less(report, str(setting), other, made)


# -- Figures 20 and 21 -----------------------------------------------------------------------------------------------


def sharing(report: Report) -> None:
    """Subquery sharing, where all but the top is shared (Figure 20)."""
    techniques = {"sharing": HybMig(), "rows alone": HybMig(sharing=False)}
    for n in (4,) if report.quick else (4, 5, 6, 7):
        setting = Setting(n=n).smaller() if report.quick else Setting(n=n)
        made = stages(report, setting, techniques, last_two_first, 1 if report.quick else TIMES)
        head = ("streams", "HybMig, s", "without sharing")
        seconds = middle([stage.total("sharing") for stage in made]).median
        gained = ratios(made, "sharing", "rows alone")
        report.row("Figure 20: sharing subqueries", head, n, seconds, gained)
        note = f"quartiles {gained.low:.2f}-{gained.high:.2f}"
        report.reach(f"Figure 20, {n} streams: sharing saves", gained.median, "times", 1.0, True, note)


def background(report: Report) -> None:
    """Background computation: how soon it ends, and what it costs (Figure 21)."""
    techniques = {**RIVALS, BACKGROUND: HybMig(background=16)}
    for rate in (1.0,) if report.quick else (0.4, 0.7, 1.0, 1.3, 1.6):
        setting = Setting(rate=rate).smaller() if report.quick else Setting(rate=rate)
        made = stages(report, setting, techniques, right_deep, 1 if report.quick else TIMES)
        ended = {name: made[0].windows(name, setting.live) for name in techniques}
        head = ("rate", *(f"{name}, windows" for name in ended))
        head = (*head, "CPU: HybMig, s", *(f"{name}, of HybMig's" for name in list(techniques)[1:]))
        seconds = middle([stage.total(HYBRID) for stage in made]).median
        report.row(
            "Figure 21: background computation, duration and work",
            head,
            rate,
            *ended.values(),
            seconds,
            *(ratios(made, HYBRID, name) for name in list(techniques)[1:]),
        )
        for other in (MOVING, TRACKS):
            ratio = ratios(made, BACKGROUND, other)
            what = f"Figure 21, rate {rate}: work of {other}, of HybMig(background)'s"
            note = f"quartiles {ratio.low:.2f}-{ratio.high:.2f}"
            report.reach(what, ratio.median, "times", 1.0, True, note)
