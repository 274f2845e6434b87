"""What a feedback policy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eddy.intake import Arrivals


class Feedback(ABC):
    """Sees every batch before its rows are stored, and may hold rows back or bring held ones in again.

    Nobody has seen a row that is held back, so bringing it in later, as if it had just arrived, is exact.
    """

    @abstractmethod
    def sift(self, arrivals: Arrivals) -> Arrivals:
        """The batch to process now."""
