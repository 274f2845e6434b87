"""The plan changes only when the user changes it."""

from __future__ import annotations

from attrs import frozen

from policies.routing.base import Routing
from policies.view import View


@frozen
class Fixed(Routing):
    """Stay with the plan: the null policy, and the baseline of all others."""

    def choose(self, view: View) -> str | None:
        """Never another plan."""
        return None
