"""A bound routing table as instructions for one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from eddy.tracks.binding import Halt, Hop, Pick
from stairs import Ring
from stairs.lowlevel.address import address_of
from stairs.program_kernels import (
    ASK,
    BEGIN,
    END,
    FETCH,
    INSTRUCTION,
    JOIN,
    LINK,
    MATCHES,
    NESTED,
    NUMBER,
    PROBES,
    SELECT,
    TRIED,
    WHOLE,
)

ROWS_OF = [Struct(f"{fields}q{8 * (INSTRUCTION - fields)}x") for fields in range(INSTRUCTION + 1)]
"""Instructions with so many fields, as bytes; the other fields are 0."""

COUNTED = [PROBES, MATCHES, TRIED]
"""Where a hop is counted, among the fields of its instruction."""

Assist = Callable[[], int]
"""Does what an ASK is for; 0 if the instruction is to be followed once more."""


@frozen(eq=False)
class Visit:
    """Something to do in the middle of a batch: an ASK of some kind, with what a kernel needs that can follow it, and
    what to call where it cannot."""

    assist: Assist
    kind: int = 0
    source: int = 0
    target: int = 0


@frozen(eq=False)
class Program:
    """Instructions, and behind each the halt, and the hop, that it was made of: they keep its addresses alive. Or
    what is to be called there."""

    table: NDArray[np.int64]
    sources: list[tuple[Halt, Hop | None, Assist | None]]
    last: int
    """Where the last stop begins, whose entries are results."""
    selected: tuple[Ring, ...] = ()
    """Rings for rows that are selected for one of several ways."""
    hops: dict[Hop, int] = field(init=False, repr=False)
    """Where each hop is."""
    _places: NDArray[np.int64] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        hops = {hop: at for at, (_, hop, _) in enumerate(self.sources) if hop is not None}
        object.__setattr__(self, "hops", hops)
        object.__setattr__(self, "_places", np.array(list(hops.values()), np.int64))

    def count(self, hop: Hop, probes: int, matches: int, tried: int) -> None:
        """Count a hop that the kernel did not make: ``probes`` entries took it, and gave ``matches`` of those that were
        ``tried``."""
        self.table[self.hops[hop], COUNTED] += probes, matches, tried

    def begin_counting(self) -> None:
        """Forget what was counted so far."""
        self.table[:, COUNTED] = 0

    @property
    def tally(self) -> NDArray[np.int64]:
        """What `counts` is made of, as it is now, at less cost."""
        return self.table[:, COUNTED]

    def counts(self, since: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Entries that have taken each hop, in the order of ``hops``, matches, and those that were tried; ``since`` a
        tally, if there is one. A copy."""
        counted = self.table[:, COUNTED]
        return (counted if since is None else counted - since)[self._places]


def compile_program(schedule: Sequence[Halt | Visit]) -> Program:
    """The instructions of these halts, the last of which makes the results, and calls between them.

    A hop that is more than a probe is left to the router. Rows are selected before the first halt that wants them, and
    outside of it: the last one may be left to be run by others.
    """
    rows: list[bytes] = []
    sources: list[tuple[Halt, Hop | None, Assist | None]] = []
    halts = [item for item in schedule if isinstance(item, Halt)]
    final, last = halts[-1] if halts else None, 0
    picked: dict[Pick, None] = {}

    def add(halt: Halt, hop: Hop | None, *fields: int, call: Assist | None = None) -> None:
        """An instruction: these fields, and 0 in the others."""
        rows.append(ROWS_OF[len(fields)].pack(*fields))
        sources.append((halt, hop, call))

    for halt in schedule:
        if not isinstance(halt, Halt):
            add(halts[-1], None, ASK, 0, halt.source, halt.target, halt.kind, call=halt.assist)
            continue
        for pick in dict.fromkeys(hop.pick for hop in halt.hops):
            if pick is not None and pick not in picked:
                picked[pick] = None
                add(halt, None, SELECT, *pick.fields, call=pick.make_room)
        last = len(rows)
        out = 0 if halt is final else halt.out.address
        add(halt, None, BEGIN, out)
        for hop in halt.hops:
            scope = hop.step.scope
            if scope is not None and scope.excludes(hop.step.source.streams):
                continue
            if hop.plain:
                add(
                    halt,
                    hop,
                    JOIN,
                    out,
                    hop.arriving.address,
                    hop.target.address,
                    hop.kind,
                    address_of(hop.place),
                    address_of(hop.target.streams),
                    hop.kind != NESTED
                    and halt.recipe is None
                    and not halt.visits
                    and halt.stair is not None
                    and not hop.verified,
                    *(hop.step.share if hop.pick is None else (0, WHOLE)),
                    0,
                    0,
                    address_of(hop.checks),
                    len(hop.checks),
                )
            else:
                add(halt, hop, ASK, out)
        add(halt, None, END, out)
        if isinstance(halt.recipe, int):
            add(halt, None, NUMBER, out, halt.recipe)
        elif halt.recipe is not None:
            for i, (component, leaf) in enumerate(halt.recipe):
                add(halt, None, FETCH, out, component, leaf.address, 0, 0, 0, i)
        for visit in halt.visits:
            add(halt, None, ASK, out, visit.source, visit.target, visit.kind, call=visit.assist)
        if halt.stair is not None:
            add(halt, None, LINK, out)
            if halt.mirror is not None:
                add(halt, None, ASK, out)
        for visit in halt.additions:
            add(halt, None, ASK, out, visit.source, visit.target, visit.kind, call=visit.assist)
    table = np.frombuffer(b"".join(rows), np.int64).reshape(-1, INSTRUCTION)
    return Program(table.copy(), sources, last, tuple(pick.ring for pick in picked))
