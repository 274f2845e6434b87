"""What a routing policy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eddy.statistics import Statistics


class Routing(ABC):
    """Looks at the statistics every ``period`` events and may name a better plan.

    The engine owns the clock and the change: a policy only decides. It must give the same answers for the same
    statistics and seed, and may keep what it learned in its own attributes.
    """

    period: int | None = None
    """Events between two decisions; None: never asked."""

    def begin(self, names: tuple[str, ...], seed: int) -> None:  # noqa: B027 - a hook that may be left alone
        """An engine over these streams starts; ``seed`` is for policies that choose at random."""

    @abstractmethod
    def choose(self, statistics: Statistics) -> str | None:
        """A plan to change to, in the notation of ``engine.plan``, or None to stay."""
