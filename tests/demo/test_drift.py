"""The picture at the end of the demo: one engine on a drifting feed, and a fixed plan beside it."""

from __future__ import annotations

import pytest

from eddy.demo.drift import PHASES, SLICE, Drift, feed


def test_both_engines_are_shown_and_the_plan_follows_the_feed():
    """Points of both, a change for a phase in which the first plan is bad, the same results: else it raises."""
    drift, told = Drift(seed=3, slices=25), []
    run = drift.run(lambda done, all: told.append((done, all)))
    series = run["series"]
    lengths = {len(series[name]) for name in ("t", "events", "fixed", "results", "latency", "bytes")}
    assert lengths == {25 * len(PHASES) // 5}
    assert told[-1] == (25 * len(PHASES), 25 * len(PHASES))
    assert any(change["outcome"] == "changed" for change in run["changes"])
    assert run["now"]["fans"] and run["now"]["stairs"]
    assert run["ended"] and sum(drift.results) > 0
    assert (
        sum(one["rows"] for one in run["now"]["streams"])
        == run["now"]["events"]
        == 4 * 25 * len(PHASES) * SLICE
    )
    assert run["now"]["average"] == pytest.approx(run["now"]["events"] / sum(drift.busy["eddy"]))


def test_changing_the_plan_spares_work_whatever_the_clock_says():
    """By what is counted: over the whole feed, the engine that changes its plan looks at fewer than half the entries
    that the fixed plan looks at, what making its states takes included."""
    drift = Drift(seed=3, slices=25)
    drift.run()
    assert 0 < 2 * drift.looked_at["eddy"] < drift.looked_at["fixed"]


def test_the_same_seed_gives_the_same_feed():
    """Whatever the machine."""
    one, other = (list(feed(5, 2)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert all((a[s][c] == b[s][c]).all() for s in a for c in a[s])
