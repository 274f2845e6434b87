"""The ordinary state of a router: kernels alone can take a batch in."""

from __future__ import annotations

from eddy.router.router import Router
from stairs.program_kernels import ASK, OPERATION


def can_run_in_kernels(router: Router) -> bool:
    """Whether kernels alone can begin, store and run batches of this router as things are now.

    Then one plan makes all results; it consists of probes, which kernels do to the end; there are no holes, nothing
    that waits, and no measures; and the leaves have their keys from the streams as they are. What the caller asks
    of rows and results besides is its own matter.
    """
    if not router.alone or not router.at_ease:
        return False
    (track,) = router.tracks
    return (
        all(stair.complete for stair in track.every_stair)
        and all(
            not stream.measures and all(len(key.classes) == 1 for key in stream.stairs)
            for stream in router.streams
        )
        and not (track.program.table[:, OPERATION] == ASK).any()
    )
