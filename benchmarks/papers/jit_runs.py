"""What JIT's figures measure: runs without feedback (the paper's REF) and with `Mns` (its JIT) over the same feeds."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from attrs import evolve, frozen

import eddy
from benchmarks.jit_figures import BATCH, Run, run
from benchmarks.jit_workloads import Setting
from benchmarks.papers.figure import Profile, Row
from policies import Feedback, Mns, NoFeedback

REF, JIT, PAIRS = "REF", "JIT", "JIT, pairs"
SIDES: Mapping[str, Feedback] = {"NoFeedback": NoFeedback(), "Mns": Mns()}
SHOWN = {"NoFeedback": REF, "Mns": JIT}
JOINS = ("nested", "hash")


@frozen
class Sizes:
    """How much is measured."""

    feeds: int
    """Runs of each point, with other values."""
    windows: float | None
    """How many windows a feed is long; None: five hours, as in the paper."""
    pushes: int
    """Of Figure 5's plan."""
    smaller: bool = False
    """Whether windows and dmax are a twentieth of the paper's."""


SIZES = {"quick": Sizes(1, 6.0, 100), "full": Sizes(3, None, 400)}

# -- Figures 10 to 17 ------------------------------------------------------------------------------------------------


def point(profile: Profile, default: Setting, x: str, value: float) -> Iterator[Row]:
    """One point of a sweep: `x` is the parameter, by both ways to join."""
    sizes = SIZES[profile.name]
    for joins in JOINS:
        setting = evolve(default, joins=joins, **{x: value})
        profile.tell(str(setting))
        if sizes.windows is not None:
            setting = evolve(setting, hours=sizes.windows * setting.w / 60)
        size = BATCH
        if sizes.smaller:
            setting, size = setting.smaller(), 64
        else:  # what is compiled or loaded is so by then
            run(evolve(setting.smaller(), hours=0.05), SIDES, 64)
        runs = [run(setting, SIDES, size, seed=profile.seed + feed) for feed in range(sizes.feeds)]
        for side in SIDES:
            yield {x: value, "joins": joins, "side": SHOWN[side], **_columns(runs, side)}


def _columns(runs: Sequence[Run], side: str) -> dict[str, Any]:
    """Medians over the feeds; results of the first."""
    peaks = [each.peaks[side] for each in runs]
    return {
        "seconds": median(each.seconds[side] for each in runs),
        "KiB": median(peak.bytes / 1024 for peak in peaks),
        "composites, KiB": median(peak.composites / 1024 for peak in peaks),
        "engine, KiB": median(peak.engine / 1024 for peak in peaks),
        "composites": median(peak.live for peak in peaks),
        "results": runs[0].results,
    }


# -- Figure 5 --------------------------------------------------------------------------------------------------------

COLUMNS = {"A": "x a", "B": "x y", "C": "y z c", "D": "z", "E": "a c"}
WHERE = ["A.x = B.x", "B.y = C.y", "C.z = D.z", "A.a = E.a", "C.c = E.c"]
PLAN = "((A B) (C D)) E"
ROWS, EVERY = 51, 10
"""Rows of each stream in a push; pushes after which memory is looked at."""
POLICIES: Mapping[str, Feedback] = {REF: NoFeedback(), JIT: Mns(), PAIRS: Mns(pairs=True)}
FOUND = re.compile(r"^(.+) → (.+): ([\d,]+) match")


@frozen
class Five:
    """How it joins, rows of a window, and values of the columns within each half and of those that E has."""

    joins: str
    window: int
    keys: int
    values: int

    def __str__(self) -> str:
        return f"{self.joins}, {self.values} values"


FIVE = [
    Five("hash", 1000, 200, 300),
    Five("hash", 1000, 200, 60),
    Five("hash", 1000, 200, 15),
    Five("nested", 400, 150, 60),
]
"""With many values no row of E has what a pair needs; with 60 one in four has; with 15 nearly all."""


def five(profile: Profile, setting: Five) -> Iterator[Row]:
    """Figure 5's plan, the sides in turns: composites that were stored, time and memory."""
    sizes = SIZES[profile.name]
    told: list[dict[str, dict[str, Any]]] = []
    for feed in range(sizes.feeds):
        profile.tell(f"{setting}, feed {feed + 1}")
        told.append(_five(setting, sizes.pushes, profile.seed + feed))
    for side in POLICIES:
        values = {name: median(each[side][name] for each in told) for name in told[0][side]}
        yield {"setting": str(setting), "side": side, **values}


def _five(setting: Five, pushes: int, seed: int) -> dict[str, dict[str, Any]]:
    streams = {
        name: eddy.Stream(dict.fromkeys(columns.split(), "int64"), window=eddy.Rows(setting.window))
        for name, columns in COLUMNS.items()
    }
    query = eddy.Query(streams, where=WHERE)
    engines = {
        side: eddy.Eddy(query, PLAN, feedback=policy, joins=setting.joins)
        for side, policy in POLICIES.items()
    }
    rng = np.random.default_rng(seed)
    seconds, most = dict.fromkeys(engines, 0.0), dict.fromkeys(engines, 0)
    for push in range(pushes):
        batch = {
            name: {
                c: rng.integers(0, setting.values if c in "ac" else setting.keys, ROWS)
                for c in columns.split()
            }
            for name, columns in COLUMNS.items()
        }
        found = set()
        for side, engine in engines.items():
            begun = time.process_time()
            found.add(len(engine.push_all(batch)))
            seconds[side] += time.process_time() - begun
        assert len(found) == 1, "all sides must find the same results"
        if push % EVERY == EVERY - 1:
            most = {side: max(most[side], engine.statistics().bytes) for side, engine in engines.items()}
    return {
        side: {
            "seconds": seconds[side],
            "engine, KiB": most[side] / 1024,
            "composites stored": _stored(engine),
            "results": engine.statistics().results,
        }
        for side, engine in engines.items()
    }


def _stored(engine: eddy.Eddy) -> int:
    """Composites so far that were stored: the matches of all steps below the results, less those that were left out."""
    steps = (FOUND.match(line) for line in engine.explain().splitlines())
    made = sum(
        int(step[3].replace(",", ""))
        for step in steps
        if step is not None and len(f"{step[1]} {step[2]}".split()) < len(COLUMNS)
    )
    told = engine.statistics().feedback
    return made if told is None else made - told.pairs_suppressed + told.pairs_restored
