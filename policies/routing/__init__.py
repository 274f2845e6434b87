"""Routing policies: which plan to run from now on.

Each looks at a `View` of the engine every ``period`` events and may name a better plan; `base` has the contract.

May import: the modules of `policies` that are in no room, and `policies.optimizer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.later import later
from policies.routing.base import Choice, Routing
from policies.routing.fixed import Fixed
from policies.routing.greedy import Greedy
from policies.routing.lottery import Lottery
from policies.routing.random import Random
from policies.routing.skinner import Skinner
from policies.view import Fan, Glance, StairView, StepView, View

OPTIMISED = {
    "Auto": "policies.routing.auto",
    "Base": "policies.routing.once",
    "Card": "policies.routing.card",
    "Pop": "policies.routing.pop",
}
"""Policies that need the optimiser, whose kernels are compiled when one of them is first asked for."""

if TYPE_CHECKING:
    from policies.routing.auto import Auto
    from policies.routing.card import Card
    from policies.routing.once import Base
    from policies.routing.pop import Pop
else:
    __getattr__ = later(__name__, OPTIMISED)

__all__ = [
    "Auto",
    "Base",
    "Card",
    "Choice",
    "Fan",
    "Fixed",
    "Glance",
    "Greedy",
    "Lottery",
    "Pop",
    "Random",
    "Routing",
    "Skinner",
    "StairView",
    "StepView",
    "View",
]
