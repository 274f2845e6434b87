"""Routing policies: which plan to run from now on."""

from __future__ import annotations

from policies.routing.base import Choice, Routing
from policies.routing.fixed import Fixed
from policies.routing.view import StairView, StepView, View

__all__ = ["Choice", "Fixed", "Routing", "StairView", "StepView", "View"]
