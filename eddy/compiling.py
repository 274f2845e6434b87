"""Compiling kernels ahead: those of an engine when it is made, or all of them when somebody asks.

Numba compiles one function at a time in a process. So where there are processors to spare, other processes compile into
the same cache: each takes the next kernel that nobody else has taken and whose callees are there.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from numba import config

from eddy.progress import Waiting
from stairs.kernel import Pending, called_by, compile_now, is_stored, known, name_of, try_compile

WITH_KERNELS = (
    "eddy.engine.eddy",
    "eddy.difference.chain",
    "eddy.threads.fast",
    "eddy.aggregate.groups",
    "eddy.aggregate.moments",
    "eddy.aggregate.quantiles",
    "eddy.aggregate.lists",
    "eddy.partition.choice",
    "eddy.threads.crew",
    "eddy.results.withdrawals",
    "eddy.attachments.stage",
    "eddy.feedback.suspension",
    "policies.routing.auto",
    "policies.routing.card",
)
"""What has kernels: engines, and what is imported only where it is asked for: set differences, aggregates, partitions,
threads, withdrawals, attachments, feedback and the optimiser."""

FEW = 4
"""Kernels to compile for which another process is not worth its start."""
MOST = 8
"""Processes that compile, at most."""
PAUSE = 0.02
"""Seconds until a process that has nothing to do looks again."""
HELPER = "import json, sys; given = json.load(sys.stdin); sys.path[:] = given['path']; \
from eddy.compiling import help_with; help_with(given['modules'], given['kernels'])"


def compile_kernels() -> None:
    """Compile every kernel of the library into the cache now, unless it is there.

    There is no need to call this: it is for those who would rather wait while they install than when they make their
    first engine. In a terminal a bar shows how far it is.
    """
    for name in WITH_KERNELS:
        importlib.import_module(name)
    store(known.values())


def ready(kernels: Iterable[Any]) -> None:
    """Have these kernels compiled, and loaded: from now on a call of them is nothing but a call."""
    pending = [kernel for kernel in kernels if isinstance(kernel, Pending)]
    store(pending)
    for kernel in pending:
        compile_now(kernel)


def store(kernels: Iterable[Any]) -> None:
    """Have these kernels, and those that they call, in the cache."""
    missing = _missing(kernels)
    if missing:
        with Waiting("Compiling kernels, once", len(missing)) as waiting, _helpers(missing):
            for _ in work(missing):
                waiting.step()


def _missing(kernels: Iterable[Any]) -> list[Any]:
    """Those of the kernels, and of what they call, that are not in the cache: what the longest way leads from first."""
    callers: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    left = [(kernel, "") for kernel in kernels]
    while left:
        kernel, caller = left.pop()
        name = name_of(kernel)
        if name not in callers:
            callers[name] = []
            if not is_stored(kernel):
                called, sizes[name] = called_by(kernel)
                left += [(one, name) for one in called]
        callers[name] += [caller] if caller else []
    ways: dict[str, int] = {}

    def way(name: str) -> int:
        if name not in ways:
            ways[name] = sizes[name] + max(map(way, callers[name]), default=0)
        return ways[name]

    return [known[name] for name in sorted(sizes, key=lambda name: (-way(name), name))]


def work(kernels: Sequence[Any]) -> Iterator[None]:
    """Compile kernels that no other process compiles, the first of them first, until all are there; a step for each."""
    left = {name_of(kernel): kernel for kernel in kernels}
    calls = {name: [name_of(one) for one in called_by(kernel)[0]] for name, kernel in left.items()}
    while left:
        for name, kernel in left.items():
            if left.keys().isdisjoint(calls[name]) and (is_stored(kernel) or try_compile(kernel)):
                break
        else:
            time.sleep(PAUSE)
            continue
        del left[name]
        yield


def help_with(modules: Iterable[str], kernels: Iterable[str]) -> None:
    """What a process does that was started to help: it loads the modules, and works on the kernels of these names."""
    for name in modules:
        importlib.import_module(name)
    for _ in work([known[name] for name in kernels if name in known]):
        pass


@contextlib.contextmanager
def _helpers(kernels: Sequence[Any]) -> Iterator[None]:
    """While other processes, as many as there are processors for, compile some of the kernels too."""
    count = min(_processors(), MOST, 1 + len(kernels) // FEW) - 1
    given = {
        "path": sys.path,
        "modules": sorted({kernel.py_func.__module__ for kernel in kernels}),
        "kernels": [name_of(kernel) for kernel in kernels],
    }
    environment = {**os.environ, "NUMBA_CACHE_DIR": config.CACHE_DIR}
    helpers = []
    with contextlib.suppress(OSError):  # where none can be started the work is done here
        for _ in range(count):
            none = subprocess.DEVNULL
            helper = subprocess.Popen(
                [sys.executable, "-c", HELPER],
                stdin=subprocess.PIPE,
                stdout=none,
                stderr=none,
                env=environment,
                text=True,
            )
            helpers.append(helper)
            assert helper.stdin is not None
            with helper.stdin:
                json.dump(given, helper.stdin)
    try:
        yield
    except BaseException:
        for helper in helpers:
            helper.terminate()
        raise
    finally:
        for helper in helpers:
            helper.wait()


def _processors() -> int:
    """How many processes may run at once; one where this is no Python that could start another."""
    if not Path(sys.executable or "").name.lower().startswith(("python", "pypy")):
        return 1
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
