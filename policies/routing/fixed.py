"""The plan changes only when the user changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from policies.routing.base import Routing

if TYPE_CHECKING:
    from eddy.statistics import Statistics


@frozen
class Fixed(Routing):
    """Stay with the plan: the null policy, and the baseline of all others."""

    def choose(self, statistics: Statistics) -> str | None:
        """Never another plan."""
        return None
