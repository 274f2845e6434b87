"""Compiling kernels ahead.

Those that every join needs are compiled by the first `import eddy`. Some serve only what few engines ask for: they are
compiled when the first such engine is made, never while one works.
"""

from __future__ import annotations

import importlib

from eddy.progress import Waiting

WITH_KERNELS = (
    "eddy.difference.chain",
    "eddy.threads.fast",
    "eddy.aggregate.groups",
    "eddy.partition.choice",
    "eddy.threads.crew",
    "eddy.results.withdrawals",
    "eddy.feedback.suspension",
    "policies.routing.auto",
    "policies.routing.card",
)
"""What is imported only where it is asked for: set differences, aggregates, partitions, threads, withdrawals, feedback
and the optimiser."""


def compile_kernels() -> None:
    """Compile every kernel of the library into the cache now, or load it from there.

    There is no need to call this: it is for those who would rather wait while they install than when they first ask for
    threads or feedback. In a terminal a bar shows how far it is.
    """
    with Waiting("Compiling kernels, once", len(WITH_KERNELS)) as waiting:
        for name in WITH_KERNELS:
            importlib.import_module(name)
            waiting.step()
