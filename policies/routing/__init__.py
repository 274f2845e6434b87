"""Routing policies: which plan to run from now on."""

from __future__ import annotations

from policies.routing.auto import Auto
from policies.routing.base import Choice, Routing
from policies.routing.card import Card
from policies.routing.fixed import Fixed
from policies.routing.greedy import Greedy
from policies.routing.lottery import Lottery
from policies.routing.once import Base
from policies.routing.pop import Pop
from policies.routing.random import Random
from policies.routing.skinner import Skinner
from policies.routing.view import Fan, Glance, StairView, StepView, View

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
