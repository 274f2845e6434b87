"""A track: a plan with its STAIRs, run over every batch. Most of the time there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.plan.compiler import RoutingTable, StairId
from eddy.plan.plan import Plan
from eddy.tracks.binding import Halt
from eddy.tracks.program import Program
from eddy.tracks.role import ORDINARY, Role
from stairs import Ring, Stair
from stairs.begin_kernels import SCRATCH, STAIR, TABLE
from stairs.lowlevel.address import address_of


@define(eq=False)
class Track:
    """Tracks share the leaves; which rows a track sees, and what it makes of them, is said by its role."""

    plan: Plan
    table: RoutingTable
    stairs: dict[StairId, Stair]
    carriers: dict[StairId, StairId]
    halts: list[Halt]
    program: Program
    role: Role = ORDINARY
    """Set by whoever changes plans; after that the track is bound anew (`Tracks.bind`) where its steps, or its
    mirrors, are others."""
    rows: dict[int, int] = field(factory=dict)
    """Arrivals of each stream that went through it while there was another."""
    emitted: int = 0
    """Results made while there was another, or drawn in parts."""
    _rings: tuple[Program, Role, NDArray[np.int64]] | None = field(init=False, default=None)

    @property
    def places(self) -> list[Ring]:
        """Rings of its own for entries that are not stored."""
        return [*(halt.out for halt in self.halts[:-1] if halt.stair is None), *self.program.selected]

    @property
    def scratch(self) -> list[Ring]:
        """Rings that are emptied when a batch begins."""
        outbox = self.role.outbox
        return self.places if outbox is None else [*self.places, outbox]

    @property
    def rings(self) -> NDArray[np.int64]:
        """Its STAIRs and then its scratch rings, as a table for the kernel that begins a batch in them."""
        if self._rings is None or self._rings[0] is not self.program or self._rings[1] is not self.role:
            stairs = [(STAIR, stair.address, address_of(stair.streams)) for stair in self.every_stair]
            table = [*stairs, *((SCRATCH, ring.address, 0) for ring in self.scratch)]
            self._rings = self.program, self.role, np.array(table, np.int64).reshape(-1, TABLE)
        return self._rings[2]

    @property
    def every_stair(self) -> list[Stair]:
        """Its STAIRs, and those that mirror some of them."""
        mirrors = self.role.mirrors
        return [*self.stairs.values(), *mirrors.values()] if mirrors else [*self.stairs.values()]

    def count(self, arrivals: Sequence[int], results: int) -> None:
        """Count a batch: how many rows of each stream have arrived, and how many results it has made of them."""
        for stream, n in enumerate(arrivals):
            self.rows[stream] = self.rows.get(stream, 0) + n
        self.emitted += results

    def made(self) -> int:
        """Composites that this batch has put into STAIRs; where two plans are one, into those that began empty."""
        stairs = [halt.stair for halt in self.halts if halt.stair is not None]
        return sum(s.delta[1] - s.delta[0] for s in stairs if not self.role.scopes or s.partial)
