"""Changes of the plan, as a page tells of them."""

from __future__ import annotations

from typing import Any

from eddy.statistics import MigrationStatistics
from eddy.steering.decisions import Decision
from policies.optimizer.moving import same


def others_of(decision: Decision) -> list[list[Any]]:
    """The plans that came next, each with its cost; without the former one, in whatever order its sides are written,
    where it is known what that costs."""
    rivals, former = decision.alternatives, decision.former
    if decision.rivals is not None and decision.believed_cost is not None:
        graph = decision.rivals.estimate.graph
        rivals = tuple(other for other in rivals if not same(other.plan, former, graph))
    return [[other.plan, other.cost] for other in rivals]


def decided(decision: Decision, at: float | None, others: list[list[Any]]) -> dict[str, Any]:
    """A decision, as the page tells of it. Times are in seconds. ``at``: when it was carried out, where it was;
    ``others``: plans, and what they were reckoned to cost."""
    return {
        "t": at,
        "events": decision.events,
        "former": decision.former,
        "plan": decision.plan,
        "outcome": decision.outcome,
        "reason": decision.reason,
        "cost": decision.believed_cost,
        "gain": decision.believed_gain,
        "before": decision.before,
        "after": decision.after,
        "migration": decision.migration,
        "thinking": decision.thinking,
        "reckoned": None if decision.rivals is None else decision.rivals.cost,
        "alternatives": others,
    }


def asked_for(change: MigrationStatistics, at: float) -> dict[str, Any]:
    """A change that no policy has decided."""
    nothing = dict.fromkeys(("cost", "gain", "before", "after", "thinking", "reckoned"))
    return {
        **nothing,
        "t": at,
        "events": change.begun,
        "former": change.former,
        "plan": change.plan,
        "outcome": "changed",
        "reason": "asked for by migrate",
        "migration": change.seconds,
        "alternatives": [],
    }
