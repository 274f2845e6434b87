"""A track: a plan with its STAIRs, run over every batch. Most of the time there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.binding import Halt
from eddy.duty import Duty
from eddy.hybrid import Hybrid
from eddy.itinerary import RoutingTable, StairId
from eddy.plan import Plan
from eddy.program import Program
from stairs import Ring, Stair
from stairs.address import address_of
from stairs.begin_kernels import SCRATCH, STAIR, TABLE


@define(eq=False)
class Track:
    """Tracks share the leaves; where one is younger, it does not see the rows from before it was born."""

    plan: Plan
    table: RoutingTable
    stairs: dict[StairId, Stair]
    carriers: dict[StairId, StairId]
    halts: list[Halt]
    program: Program
    born: NDArray[np.int64] | None = None
    """The first row of each stream that it sees; None: all rows."""
    duty: Duty | None = None
    """What it still owes at its root, where a younger track makes the rest."""
    hybrid: Hybrid | None = None
    """Two plans in one."""
    held: Ring | None = None
    """Where its results go if they are not to be emitted yet."""
    shadows: dict[StairId, Stair] = field(factory=dict)
    """STAIRs that are being completed, to take the place of those with the same name."""
    rows: dict[int, int] = field(factory=dict)
    """Arrivals of each stream that went through it while there was another."""
    emitted: int = 0
    """Results made while there was another, or drawn in parts."""
    _rings: tuple[Program, Ring | None, NDArray[np.int64]] | None = field(init=False, default=None)

    @property
    def places(self) -> list[Ring]:
        """Rings of its own for entries that are not stored."""
        return [halt.out for halt in self.halts[:-1] if halt.stair is None]

    @property
    def scratch(self) -> list[Ring]:
        """Rings that are emptied when a batch begins."""
        return self.places if self.held is None else [*self.places, self.held]

    @property
    def rings(self) -> NDArray[np.int64]:
        """Its STAIRs and then its scratch rings, as a table for the kernel that begins a batch in them."""
        if self._rings is None or self._rings[0] is not self.program or self._rings[1] is not self.held:
            stairs = [(STAIR, stair.address, address_of(stair.streams)) for stair in self.every_stair]
            table = [*stairs, *((SCRATCH, ring.address, 0) for ring in self.scratch)]
            self._rings = self.program, self.held, np.array(table, np.int64).reshape(-1, TABLE)
        return self._rings[2]

    @property
    def duties(self) -> list[Duty]:
        """All that it owes."""
        found = [] if self.duty is None else [self.duty]
        return found + ([] if self.hybrid is None else [task.duty for task in self.hybrid.tasks])

    @property
    def every_stair(self) -> list[Stair]:
        return [*self.stairs.values(), *self.shadows.values()] if self.shadows else [*self.stairs.values()]

    def count(self, arrivals: Sequence[int], results: int) -> None:
        """A batch with so many rows of each stream has given so many results."""
        for stream, n in enumerate(arrivals):
            self.rows[stream] = self.rows.get(stream, 0) + n
        self.emitted += results

    def made(self) -> int:
        """Composites that this batch has put into STAIRs; where two plans are one, into those that began empty."""
        stairs = [halt.stair for halt in self.halts if halt.stair is not None]
        return sum(s.delta[1] - s.delta[0] for s in stairs if self.hybrid is None or s.partial)

    def marks(self, marks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Low-water marks as this track sees them: what came before it is not live."""
        if self.born is None:
            return marks
        born = self.born.astype(np.int32)
        return np.where(born - marks > 0, born, marks)

    def lows(self, lows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for the low-water rows of all streams."""
        return lows if self.born is None else np.maximum(self.born, lows)
