"""HybMig's experiments (section 5) in processor time: output and work around a migration, for every technique.

Scaled: ten times the rows in a window and twenty times the keys, so that a row has 4.5 partners in each window in
place of 9, with the paper's selectivities relative to each other; the results of a migration are thousands in place
of millions, and joining, not Python, is still most of the work. A batch is a second of the paper's time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

import eddy
from benchmarks.median_box import BoxContender
from benchmarks.migration_workloads import Shifting, bushy, left_deep, right_deep
from benchmarks.stages import Arena, Stage
from benchmarks.techniques import (
    GHM,
    GHM_AHEAD,
    GMS,
    GPT,
    HELD,
    HYBRID,
    HYBRID_AHEAD,
    JISC,
    MOVING,
    TRACKS,
    named,
)
from policies import Migration

RIVALS: Mapping[str, Migration] = named(HYBRID, MOVING, TRACKS)
EVERY: Mapping[str, Migration] = {**RIVALS, **named(HYBRID_AHEAD, HELD, JISC, GMS, GPT, GHM)}
ROWS, KEYS = 10, 400
"""Rows for one of the paper's, and keys for its 20."""

Shape = Callable[[Sequence[str]], str]
SHAPES: Mapping[str, Shape] = {"right-deep": right_deep, "bushy": bushy}
Tell = Callable[[str], None]


def quiet(what: str) -> None:
    """Tell nobody."""
    del what


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
    setting: Setting, techniques: Mapping[str, Migration], new: Shape, times: int, tell: Tell = quiet
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
    return _turns(setting, arena, new, times, 1.2, max(setting.batch, 512), tell)


def _turns(
    setting: Setting, arena: Arena, new: Shape, times: int, windows: float, filling: int, tell: Tell
) -> list[Stage]:
    """Migrations there, and back. ``filling``: events of a batch while windows are filled."""
    work, made = arena.work, []
    for turn in range(times):
        tell(f"{setting}: filling windows for stage {turn}")
        work.shift(0)
        if turn:
            for contender in arena.contenders.values():
                contender.step((left_deep(work.names), []))
            arena.settle()
        arena.warm(work.warm, size=filling)
        work.shift(setting.n - 1)
        plans = dict.fromkeys(arena.contenders, new(work.names))
        told = partial(_second, setting, turn, tell)
        made.append(arena.stage(plans, batches=round(windows * 60 * setting.w) // setting.seconds, tell=told))
    return made


def _second(setting: Setting, turn: int, tell: Tell, second: int) -> None:
    tell(f"{setting}: stage {turn}, batch {second}")


VARIANTS = {
    "hash": Setting(),
    "hash, batches of 10 s": Setting(seconds=10),
    "nested loops": Setting(rate=0.7, joins="nested"),
}
"""The default setting, and others to compare it with."""

SWEPT = {
    "windows": ("Figure 17", [Setting(w=w) for w in (1, 2, 3, 4, 5)]),
    "rates": ("Figure 18", [Setting(rate=rate) for rate in (0.4, 0.7, 1.0, 1.3, 1.6)]),
    "streams": ("Figure 19", [Setting(n=n) for n in (4, 5, 6, 7)]),
}
"""The paper's ranges: one parameter varies, the others have their defaults."""

BLACK_BOXES: Mapping[str, Migration] = named(GMS, GPT, GHM, GHM_AHEAD)


def box_stages(setting: Setting, times: int, tell: Tell = quiet) -> list[Stage]:
    """The default task, but with a median on top of each plan, over as long a time, so that each is one black box."""
    work = Shifting(setting.n, setting.rows, KEYS)
    query = work.query(eddy.Range(setting.live))
    contenders = {
        name: BoxContender.of(query, left_deep(work.names), setting.live, technique)
        for name, technique in BLACK_BOXES.items()
    }
    arena = Arena(work, contenders, setting.batch)
    return _turns(setting, arena, right_deep, times, 2.4, setting.batch, tell)
