"""Migration techniques: how an engine gets from one plan to another.

Each decides when the holes of new STAIRs are filled, and which plans run side by side; `base` has the contract.

May import: the modules of `policies` that are in no room.
"""

from __future__ import annotations

from policies.migration.base import Box, Change, Migration
from policies.migration.eager_stairs import EagerStairs
from policies.migration.ghm import Ghm
from policies.migration.gms import Gms
from policies.migration.gpt import Gpt
from policies.migration.hybmig import HybMig
from policies.migration.jisc import Jisc
from policies.migration.moving_state import MovingState
from policies.migration.parallel_track import ParallelTrack

__all__ = [
    "Box",
    "Change",
    "EagerStairs",
    "Ghm",
    "Gms",
    "Gpt",
    "HybMig",
    "Jisc",
    "Migration",
    "MovingState",
    "ParallelTrack",
]
