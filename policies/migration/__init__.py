"""Migration techniques: how an engine gets from one plan to another.

Each decides when the holes of new STAIRs are filled, and which plans run side by side; `base` has the contract.

What a change costs is in `costs` (the papers' equations) and `pricing` (our engine's).

May import: the optimizer's cost model, and the modules of `policies` that are in no room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.later import later
from policies.migration.base import Box, Change, Migration
from policies.migration.eager_stairs import EagerStairs
from policies.migration.ghm import Ghm
from policies.migration.gms import Gms
from policies.migration.gpt import Gpt
from policies.migration.hybmig import HybMig
from policies.migration.jisc import Jisc
from policies.migration.moving_state import MovingState
from policies.migration.parallel_track import ParallelTrack
from policies.migration.survey import JoinStep, Survey

PRICED = {"Cheapest": "policies.migration.cheapest"}
"""Techniques that need the optimiser's cost model, which is loaded when one of them is first asked for."""

if TYPE_CHECKING:
    from policies.migration.cheapest import Cheapest
else:
    __getattr__ = later(__name__, PRICED)

__all__ = [
    "Box",
    "Change",
    "Cheapest",
    "EagerStairs",
    "Ghm",
    "Gms",
    "Gpt",
    "HybMig",
    "Jisc",
    "JoinStep",
    "Migration",
    "MovingState",
    "ParallelTrack",
    "Survey",
]
