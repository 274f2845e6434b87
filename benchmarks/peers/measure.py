"""Compares contenders with Eddy on one workload: first the results, then, run by run in turns, the time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from benchmarks.goals import ENGINE
from benchmarks.papers.record import Record, keep
from benchmarks.peers.child import Broken, Child, TooLong, data_folder
from benchmarks.peers.contenders import Contender, rival
from benchmarks.peers.spec import Spec
from benchmarks.peers.workloads import Workload
from benchmarks.stamp import load, stamp

PROFILE = "peers"
ROUNDS = 3
MANY = 15
"""Runs at most, where they are so short that there are more than `ROUNDS`."""
ENOUGH = 2.0
"""Seconds of runs after which there need be no more than `ROUNDS`."""
SLOW, SLOWEST = 20.0, 60.0
"""After a first run that took longer than the one there is but one that counts; than the other, it counts itself."""
CODE = (
    *(*ENGINE, "eddy/query", "eddy/steering", "eddy/migration", "eddy/tracks", "eddy/threads", "policies"),
    *("benchmarks/peers/workloads.py", "benchmarks/peers/nexmark.py", "benchmarks/drift_workloads.py"),
)
"""What a push runs through under a plan that changes by itself, and the data."""
Row = dict[str, Any]


def code_of(contender: Contender) -> tuple[str, ...]:
    """The code whose change makes what was measured of a contender stale: ours, the data, and its own module."""
    built = ("benchmarks/peers/fixed.cpp", "benchmarks/limit.cpp") if contender.runner == "cpp" else ()
    return (*CODE, f"benchmarks/peers/{contender.runner}.py", *built)


@frozen
class Options:
    """How it is measured."""

    bound: float = 600.0
    """Seconds after which a contender that has not answered is ended."""
    rounds: int = ROUNDS
    seed: int = 0
    events: int | None = None
    """Fewer than the workload has: then nothing is kept."""

    @property
    def given(self) -> str:
        """The options that are not as usual, as they are written after a command."""
        usual = Options()
        told = {"bound": f"{self.bound:g}", "rounds": self.rounds, "seed": self.seed}
        named = (
            f" --{name} {value}"
            for name, value in told.items()
            if getattr(self, name) != getattr(usual, name)
        )
        return "".join(named)


@define(eq=False)
class Match:
    """One workload: Eddy's processes, which stay, and one contender after the other."""

    workload: Workload
    options: Options
    spec: Spec = field(init=False)
    _ours: dict[str, Child] = field(init=False, factory=dict)
    _found: tuple[int, str] | None = field(init=False, default=None)
    """The number and the checksum of Eddy's results."""

    def __attrs_post_init__(self) -> None:
        self.spec = self.workload.write(data_folder(), self.options.events, self.options.seed)

    def compare(self, contender: Contender) -> Row:
        """What is to be said of a contender."""
        row: Row = {"title": contender.title, "goal": contender.goal(self.spec)}
        why = contender.unable(self.spec)
        if why is not None:
            return row | {"status": "unable", "why": why}
        if not contender.installed:
            return row | {"status": "not installed", "why": f"{contender.needs} is not installed"}
        side = rival(contender)
        ours = self._eddy(side)
        child = None
        try:
            child = Child(contender, self.spec, self.options.bound)
            first = child.run(check=True)
            row |= {"startup": child.startup, "first": first["seconds"], "facts": first["facts"]}
            if (first["count"], first["checksum"]) != self._found:
                expected = self._found[0] if self._found else 0
                why = f"its results differ: {first['count']:,} where there are {expected:,}"
                return row | {"status": "wrong", "why": why}
            return row | self._timed(contender, child, ours, first) | {"against": side.title}
        except TooLong as error:
            if child is None:
                return row | {"status": "failed", "why": f"{error}, before it had read the data"}
            so_far = {"seconds": self.options.bound, "processor": error.processor}
            own = [ours.run(check=False) for _ in range(self.options.rounds)]
            clock, least = _ratio(contender, own, [so_far])
            return row | so_far | {"status": "ended", "why": str(error), "ratio": least, "clock": clock}
        except Broken as error:
            return row | {"status": "failed", "why": str(error)}
        finally:
            if child is not None:
                child.close()

    def _timed(self, contender: Contender, child: Child, ours: Child, first: Row) -> Row:
        """Both in turns, whose results must be the same every time."""
        theirs, mine = [], []
        if first["seconds"] > SLOW:
            mine.append(ours.run(check=False))
            theirs.append(first if first["seconds"] > SLOWEST else child.run(check=False))
            mine += [ours.run(check=False) for _ in range(self.options.rounds - 1)]
        begun = time.perf_counter()
        while len(mine) < self.options.rounds or (
            first["seconds"] <= SLOW and time.perf_counter() - begun < ENOUGH and len(mine) < MANY
        ):
            mine.append(ours.run(check=False))
            theirs.append(child.run(check=False))
        for run in (*theirs, *mine):
            if self._found is not None and "count" in run and run["count"] != self._found[0]:
                raise Broken(f"a run had {run['count']:,} results instead of {self._found[0]:,}")
            if self._found is not None and run.get("checksum", self._found[1]) != self._found[1]:
                raise Broken("a run had other results")
        clock, ratio = _ratio(contender, mine, theirs)
        count, digest = self._found or (0, "")
        return {
            "status": "timed",
            "runs": len(theirs),
            "clock": clock,
            "ratio": ratio,
            "turns": [b["processor"] / a["processor"] for a, b in zip(mine, theirs, strict=False)],
            "events": self.spec.events,
            "results": count,
            "checksum": digest,
            "seconds": statistics.median(run["seconds"] for run in theirs),
            "processor": statistics.median(run["processor"] for run in theirs),
            "eddy seconds": statistics.median(run["seconds"] for run in mine),
            "eddy processor": statistics.median(run["processor"] for run in mine),
            "peak": child.peak(),
            "eddy peak": ours.peak(),
            "eddy facts": mine[-1]["facts"],
        }

    def _eddy(self, side: Contender) -> Child:
        """The process of ours, whose results are known and the same as those of any other of ours."""
        if side.name not in self._ours:
            child = Child(side, self.spec, self.options.bound)
            first = child.run(check=True)
            found = (first["count"], first["checksum"])
            if self._found is None:
                self._found = found
            assert found == self._found, f"Eddy has two answers: {found} and {self._found}"
            self._ours[side.name] = child
        return self._ours[side.name]

    def close(self) -> None:
        for child in self._ours.values():
            child.close()


def _ratio(contender: Contender, mine: Sequence[Row], theirs: Sequence[Row]) -> tuple[str, float]:
    """How many times as fast we are, and by which clock.

    A single thread is compared by the time of the processor, which other processes on the machine do not disturb. With
    more threads it is the lower of both: the wall is what counts, and what others do to it must not help us.
    """
    ratios = {
        clock: statistics.median(run[key] for run in theirs) / statistics.median(run[key] for run in mine)
        for clock, key in (("processor", "processor"), ("wall", "seconds"))
    }
    clock = "processor" if contender.threads == 1 else min(ratios, key=ratios.__getitem__)
    return clock, ratios[clock]


def run(
    workload: Workload, contenders: Sequence[Contender], options: Options
) -> Iterator[tuple[Contender, Row]]:
    """Compare them one after the other; each has a record of its own, which is kept at once."""
    match = Match(workload, options)
    try:
        for contender in contenders:
            before, begun = load(), time.perf_counter()
            row = match.compare(contender)
            if options.events is None and row["status"] != "not installed":
                command = (
                    f'make peers ARGS="--only {contender.name} --workload {workload.name}{options.given}"'
                )
                made = stamp(code_of(contender), options.seed, command, before, time.perf_counter() - begun)
                keep(workload.name, PROFILE, contender.name, Record([row], made))
            yield contender, row
    finally:
        match.close()
