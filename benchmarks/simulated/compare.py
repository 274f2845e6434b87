"""Several subjects through the same rows: all must find the same results, or none of what they took is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from benchmarks.simulated.feed import Feed
from benchmarks.simulated.server import Costs, Run, Server
from benchmarks.simulated.subjects import Subject


@frozen(eq=False)
class Side:
    """A subject, and how it is served."""

    make: Callable[[], Subject]
    idles: bool = False
    """It works in idle time."""
    held: bool = False
    """Its results may come later than others', but not others in the end."""
    changes: bool = True
    """Its plan is changed."""


def compare(
    sides: Mapping[str, Side],
    feed: Feed,
    costs: Costs,
    change: tuple[float, str],
    warm: int = 0,
    size: int = 64,
) -> dict[str, Run]:
    """Serve each side, and change its plan; the first ``warm`` rows go by in pushes of ``size`` and take no time.

    Raises an error unless all sides find as many results for every row, or, where they are held, for all together.
    """
    runs: dict[str, Run] = {}
    for name, side in sides.items():
        subject = side.make()
        before = sum(subject.push(batch) for batch in feed.batches(0, warm, size))
        run = Server(subject, costs, side.idles).serve(feed, warm, change=change if side.changes else None)
        run.results.insert(0, before)
        runs[name] = run
    steady = {name: run.results for name, run in runs.items() if not sides[name].held}
    totals = {name: sum(run.results) for name, run in runs.items()}
    first = next(iter(steady.values()), None)
    if len(set(totals.values())) > 1 or any(results != first for results in steady.values()):
        raise AssertionError(f"the sides have different results: {totals}")
    return runs
