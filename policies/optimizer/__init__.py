"""The optimiser: from what is known of the streams to the cheapest plan."""

from __future__ import annotations

from policies.optimizer.graph import Graph

__all__ = ["Graph"]
