"""Decisions: which plan to run (routing), how to get there (migration), what not to work for (feedback).

A policy sees STAIRs and frozen statistics; it moves no tuples itself. Policies are plain classes, passed as instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.feedback import Doe, Feedback, Mns, NoFeedback
from policies.later import later
from policies.migration import (
    PRICED,
    EagerStairs,
    Ghm,
    Gms,
    Gpt,
    HybMig,
    Jisc,
    Migration,
    MovingState,
    ParallelTrack,
)
from policies.routing import (
    OPTIMISED,
    Choice,
    Fixed,
    Greedy,
    Lottery,
    Random,
    Routing,
    Skinner,
    View,
)

if TYPE_CHECKING:
    from policies.migration import Cheapest
    from policies.routing import Auto, Base, Card, Pop
else:
    __getattr__ = later(__name__, {**OPTIMISED, **PRICED})


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Auto",
    "Base",
    "Card",
    "Cheapest",
    "Choice",
    "Doe",
    "EagerStairs",
    "Feedback",
    "Fixed",
    "Ghm",
    "Gms",
    "Gpt",
    "Greedy",
    "HybMig",
    "Jisc",
    "Lottery",
    "Migration",
    "Mns",
    "MovingState",
    "NoFeedback",
    "ParallelTrack",
    "Pop",
    "Random",
    "Routing",
    "Skinner",
    "View",
]
