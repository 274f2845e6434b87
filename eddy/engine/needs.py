"""Which kernels an engine may need, under any plan: they are compiled when it is made, and never while it works."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eddy.engine.fast_path import is_plain
from policies.routing import OPTIMISED
from stairs.kernel import known
from stairs.probe_kernels import ARRIVING, FILLING, SCAN_ARRIVING, SCAN_FILLING

if TYPE_CHECKING:
    from eddy.state import EngineState

EVERY = (
    "eddy.intake.lowwater_kernels",
    "eddy.intake.merge",
    "eddy.store.payload_kernels",
    "eddy.store.row_number_kernels",
    "stairs.begin_kernels",
    "stairs.key_kernels",
    "stairs.program_kernels",
    "stairs.ring_kernels",
    "stairs.select_kernels",
    "stairs.sequence_kernels",
)
"""What every join needs: windows, arrival order, rows, rings, and the program of its plan."""
COMPOSITES = "stairs.hole_kernels", "stairs.sample_kernels", "eddy.steering.pair_kernels"
"""What there is to do where plans differ: three streams or more have composites, which may be holes, and samples."""

MANY, WIDE = 12, "wide_"
"""Beyond MANY streams the optimiser searches with kernels of these names."""


def kernels_of(state: EngineState) -> list[Any]:
    """The kernels that an engine may call from now on. The modules that they are in are loaded."""
    modules, many = set(_modules(state)), len(state.query.names) > MANY
    homes = {name: name.rpartition(".") for name in known}
    return [
        *(
            known[name]
            for name, (home, _, own) in homes.items()
            if home in modules and (many or WIDE not in own)
        ),
        *_joins(state),
    ]


def _joins(state: EngineState) -> list[Any]:
    """Probes or nested loops for every number of streams that a plan may join with another."""
    if state.query.base is not None:
        return []
    nested, several = state.options.joins == "nested", len(state.query.names) > 2
    arriving = [SCAN_ARRIVING] if nested else list(ARRIVING.values())
    return arriving + ([SCAN_FILLING if nested else FILLING] if several else [])


def _modules(state: EngineState) -> Iterator[str]:
    """The modules whose kernels it may call."""
    query, options, several = state.query, state.options, len(state.query.names) > 2
    yield from EVERY
    if several:
        yield from COMPOSITES
        yield from _optimizer(state)
    if is_plain(state):
        yield "eddy.fast.kernels"
    if any(of.is_coded for stream in options.query.streams.values() for of in stream.columns.values()):
        yield from ("eddy.values.string_kernels", "eddy.values.carried_kernels", "eddy.values.object_kernels")
    if options.disorder is not None:
        yield "eddy.reorder.order_kernels"
    if query.residuals:
        yield from ("stairs.band_kernels", "stairs.sorted_kernels")
    if query.base is not None:
        yield from _of("eddy.difference.", "eddy.difference.chain")
    if options.query.grouped:
        yield from _of("eddy.aggregate.", "eddy.aggregate.groups")
    if state.output.signed:
        yield from _of("eddy.results.", "eddy.results.withdrawals")
    if state.attached is not None:
        yield from _of("eddy.attachments.", "eddy.attachments.stage")
    if options.feedback.watches:
        yield from _of("stairs.feedback.", "eddy.feedback.suspension")
    if options.threads > 1 and query.base is None:
        yield from _of("eddy.threads.", "eddy.threads.fast", "eddy.threads.crew")


def _optimizer(state: EngineState) -> Iterator[str]:
    """Those of the optimiser, if the policy has it."""
    if type(state.options.routing).__module__ in OPTIMISED.values():
        yield from _of("policies.optimizer.")


def _of(room: str, *doors: str) -> Iterator[str]:
    """The modules of a room, which these load."""
    for door in doors:
        importlib.import_module(door)
    yield from {name.rpartition(".")[0] for name in known if name.startswith(room)}
