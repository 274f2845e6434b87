"""A bound routing table as instructions for one kernel."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.binding import Halt, Hop
from stairs.program_kernels import (
    ASK,
    BEGIN,
    END,
    FETCH,
    INSTRUCTION,
    JOIN,
    LINK,
    NUMBER,
)


@frozen(eq=False)
class Program:
    """Instructions, and behind each the halt, and the hop, that it was made of: they keep its addresses alive."""

    table: NDArray[np.int64]
    sources: list[tuple[Halt, Hop | None]]
    last: int
    """Where the last stop begins, whose entries are results."""


def compile_program(halts: list[Halt]) -> Program:
    """The instructions of these halts; a hop that is more than a probe is left to the router."""
    rows: list[tuple[int, ...]] = []
    sources: list[tuple[Halt, Hop | None]] = []
    last = 0

    def add(halt: Halt, hop: Hop | None, operation: int, *rest: int) -> None:
        out = 0 if halt is halts[-1] else halt.out.address
        rows.append((operation, out, *rest, *([0] * (INSTRUCTION - 2 - len(rest)))))
        sources.append((halt, hop))

    for halt in halts:
        last = len(rows)
        add(halt, None, BEGIN)
        for hop in halt.hops:
            duty = hop.step.duty
            if duty is not None and duty.skips(hop.step.source.streams):
                continue
            if hop.plain:
                arrays = (hop.place.ctypes.data, hop.target.streams.ctypes.data)
                add(halt, hop, JOIN, hop.source.address, hop.target.address, hop.kind, *arrays)
            else:
                add(halt, hop, ASK)
        add(halt, None, END)
        if isinstance(halt.recipe, int):
            add(halt, None, NUMBER, halt.recipe)
        elif halt.recipe is not None:
            for i, (component, leaf) in enumerate(halt.recipe):
                add(halt, None, FETCH, component, leaf.address, 0, 0, 0, i)
        if halt.stair is not None:
            add(halt, None, LINK)
            if halt.shadow is not None:
                add(halt, None, ASK)
    return Program(np.array(rows, np.int64), sources, last)
