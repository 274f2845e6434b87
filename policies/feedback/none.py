"""Every row is worked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen

from policies.feedback.base import Feedback


@frozen
class NoFeedback(Feedback):
    """Suspend nothing: the null policy, and the baseline of all others."""

    watches: ClassVar[bool] = False

    def judges(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        """Nothing."""
        return None
