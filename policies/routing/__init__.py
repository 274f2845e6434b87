"""Routing policies: which plan to run from now on."""

from __future__ import annotations

from policies.routing.base import Routing
from policies.routing.fixed import Fixed

__all__ = ["Fixed", "Routing"]
