"""The migration techniques that are compared, by name: one table for all races, and for the tests of their results."""

from __future__ import annotations

from collections.abc import Mapping

from policies import Cheapest, EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack

JISC, MOVING, EAGER, HYBRID, CHEAPEST = "Jisc", "MovingState", "EagerStairs", "HybMig", "Cheapest"
TRACKS, HELD = "ParallelTrack", "ParallelTrack(pt)"
"""Without and with the paper's order of results, for which the new plan's are held back."""
GMS, GPT, GHM, GHM_AHEAD = "Gms", "Gpt", "Ghm", "Ghm(share=8)"
JISC_AHEAD, HYBRID_AHEAD, HYBRID_SOON = "Jisc(background)", "HybMig(background)", "HybMig(background=256)"
"""With background computation: with a budget that ends a change soon, 16 keys a batch, and 256."""
ALONE = "HybMig(sharing=False)"

TECHNIQUES: Mapping[str, Migration] = {
    JISC: Jisc(),
    JISC_AHEAD: Jisc(background=10_000),
    MOVING: MovingState(),
    EAGER: EagerStairs(),
    TRACKS: ParallelTrack(),
    HELD: ParallelTrack(order="pt"),
    HYBRID: HybMig(),
    HYBRID_AHEAD: HybMig(background=16),
    HYBRID_SOON: HybMig(background=256),
    ALONE: HybMig(sharing=False),
    GMS: Gms(),
    GPT: Gpt(),
    GHM: Ghm(),
    GHM_AHEAD: Ghm(share=8.0),
    CHEAPEST: Cheapest(),
}


def named(*names: str) -> dict[str, Migration]:
    """Some of them, in this order."""
    return {name: TECHNIQUES[name] for name in names}
