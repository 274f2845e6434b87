"""Every row is worked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from policies.feedback.base import Feedback

if TYPE_CHECKING:
    from eddy.intake import Arrivals


@frozen
class NoFeedback(Feedback):
    """Hold nothing back: the null policy, and the baseline of all others."""

    def sift(self, arrivals: Arrivals) -> Arrivals:
        """The batch as it is."""
        return arrivals
