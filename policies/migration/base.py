"""What a migration technique is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stairs import Stair


class Migration(ABC):
    """Long work that is pumped: ``begin`` at a plan change, then ``work`` after every batch until all is done.

    A plan change keeps the STAIRs that both plans have and makes the others with nothing but holes. Whatever a
    technique does or leaves undone, results are the same: a hole that is probed is filled first.
    """

    def begin(self, created: Sequence[Stair]) -> None:  # noqa: B027 - a hook that may be left alone
        """The plan has changed; these STAIRs are new and consist of holes, each after those below it."""

    @abstractmethod
    def work(self, incomplete: Sequence[Stair]) -> None:
        """A batch is done; these STAIRs still have holes. Fill some, within a budget."""
