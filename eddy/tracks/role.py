"""The role of a track: which rows it sees, what it makes of them, and where that goes.

Most of the time there is one track, and its role is `ORDINARY`. While a plan is being changed, a migration technique
gives the tracks other roles; whatever runs batches does as they say, and knows no technique.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from eddy.plan.routes import StairId
from eddy.plan.scope import Scope
from stairs import Ring, Stair


@frozen(eq=False)
class Role:
    """What a track is obliged to. A technique may keep more in a subclass of its own."""

    firsts: NDArray[np.int64] | None = None
    """The first row of each stream that it sees; None: all rows."""
    scopes: tuple[Scope, ...] = ()
    """What it makes for as long as another plan, beside it or in it, makes the rest. Its steps have them too."""
    outbox: Ring | None = None
    """Where its results wait until they may be given; None: they are given with the batch that makes them."""
    mirrors: Mapping[StairId, Stair] = field(factory=dict)
    """STAIRs that get the same entries as its STAIRs of these names, beside them."""
    ordinary: bool = field(init=False)
    """Whether it sees all rows, makes all results and gives them at once."""

    @ordinary.default
    def _is_ordinary(self) -> bool:
        return self.firsts is None and not self.scopes and self.outbox is None and not self.mirrors

    @property
    def fulfilled(self) -> bool:
        """Whether it had only a part to make, and nothing of that is left."""
        return bool(self.scopes) and not any(scope.entries for scope in self.scopes)

    def marks(self, marks: NDArray[np.int32]) -> NDArray[np.int32]:
        """The low-water rows at each event, by their low 32 bits, as the track sees them."""
        if self.firsts is None:
            return marks
        firsts = self.firsts.astype(np.int32)
        return np.where(firsts - marks > 0, firsts, marks)

    def lows(self, lows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The low-water row of each stream as the track sees it; ``lows`` itself if it sees all rows."""
        return lows if self.firsts is None else np.maximum(self.firsts, lows)


ORDINARY: Final = Role()
"""The role of a track that is alone, and whole."""
