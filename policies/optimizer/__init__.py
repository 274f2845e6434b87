"""The optimiser: from what is known of the streams to the cheapest plan.

Estimates, the cost model, and the search; its kernels are compiled when a policy first needs them.

May import: the modules of `policies` that are in no room.
"""

from __future__ import annotations

from policies.graph import Graph
from policies.optimizer.estimate import Estimate
from policies.optimizer.measure import estimate, verify
from policies.optimizer.model import CostModel
from policies.optimizer.search import best, cost_of

__all__ = ["CostModel", "Estimate", "Graph", "best", "cost_of", "estimate", "verify"]
