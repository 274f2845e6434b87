"""The code that figures are about: a record is stale when it has changed."""

from __future__ import annotations

from benchmarks.goals import ENGINE

_MIGRATION = ("eddy/migration", "eddy/tracks", "policies/migration")
_CLOCK = ("benchmarks/ratio.py", "benchmarks/stages.py")
_FEEDS = ("benchmarks/workloads.py", "benchmarks/migration_workloads.py", "benchmarks/hybmig_workloads.py")

COUNTED = ("stairs", "eddy/router", *_MIGRATION, "benchmarks/simulated")
"""Evaluations and states, by the simulated clock: what rows come from and what results are put into does not matter."""
BOXES = ("eddy/boxes", "benchmarks/median_box.py")
TABLE = "benchmarks/techniques.py"
TIMED_MIGRATION = (*ENGINE, *_MIGRATION, *_CLOCK, *_FEEDS, TABLE)
TIMED_FEEDBACK = (*ENGINE, "eddy/feedback", "policies/feedback", "benchmarks/jit_workloads.py", *_CLOCK)
TIMED_ROUTING = (*ENGINE, "eddy/steering", "policies/optimizer", "policies/routing", *_CLOCK)
