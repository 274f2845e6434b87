"""HybMig's experiments (section 5): output and work around a migration, for every technique.

Scaled: ten times the rows in a window and twenty times the keys, so that a row has 4.5 partners in each window in
place of 9, with the paper's selectivities relative to each other; the results of a migration are thousands in place
of millions, and joining, not Python, is still most of the work. A batch is a second of the paper's time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

import eddy
from benchmarks.migration_workloads import Shifting, bushy, last_two_first, left_deep, right_deep
from benchmarks.report import Report
from benchmarks.stages import Arena, Stage, middle, ratios
from policies import Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack

HYBRID, MOVING, TRACKS, HELD = "HybMig", "MovingState", "ParallelTrack", "ParallelTrack(pt)"
BACKGROUND = "HybMig(background)"
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
    query = work.query(eddy.Range(setting.rows * setting.n))
    engines = {
        name: eddy.Eddy(query, plan=left_deep(work.names), migration=technique, joins=setting.joins)
        for name, technique in techniques.items()
    }
    arena = Arena.of(work, engines, held=(HELD,), size=setting.batch)
    made = []
    for turn in range(times):
        report.tell(f"HybMig, {setting}: filling windows for stage {turn}")
        work.shift(0)
        if turn:
            for engine in engines.values():
                engine.migrate(left_deep(work.names))
            arena.settle()
        arena.warm(work.warm, size=max(setting.batch, 512))
        work.shift(setting.n - 1)
        plans = dict.fromkeys(engines, new(work.names))
        told = report.telling(f"HybMig, {setting}: stage {turn}, second")
        made.append(arena.stage(plans, batches=72 * setting.w // setting.seconds, tell=told))
    return made


# -- Figures 15, 16 and 22 -------------------------------------------------------------------------------------------


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
            made[0].windows(name, setting.n * setting.rows),
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
        ended = {name: made[0].windows(name, setting.n * setting.rows) for name in techniques}
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
