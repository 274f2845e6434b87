"""How the command and a runner talk: one line of JSON each way, on the runner's standard input and output.

The command writes ``{"check": true}`` or ``{"check": false}``; the runner runs the whole join once and answers with its
seconds and, where it has the results in hand, their number and their checksum. Whatever a contender prints itself goes
to the standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.peers.processes import processor_seconds
from benchmarks.peers.spec import Spec


class Side(Protocol):
    """A contender that has the data of one workload."""

    facts: dict[str, Any]
    """What a reader must know of a run: version, settings, where the data is when the clock starts."""

    def run(self, check: bool) -> tuple[Clock, Any]:
        """Run the join from its beginning; what it took, and the results as an Arrow table or their number.

        Results that only a sink saw are written to files and read again if ``check``, outside the clock.
        """


def serve(make: Callable[[Spec, dict[str, Any]], Side]) -> None:
    """Answer the command until it closes the pipe. Arguments: the folder of the workload, and settings as JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    start = time.perf_counter()
    side = make(Spec.read(sys.argv[1]), json.loads(sys.argv[2]))
    answer({"startup": time.perf_counter() - start})
    for line in sys.stdin:
        check = json.loads(line)["check"]
        gc.collect()
        clock, results = side.run(check)
        found: dict[str, Any] = {"seconds": clock.seconds, "processor": clock.processor}
        if isinstance(results, int):
            found["count"] = results
        elif results is not None:
            from benchmarks.peers.checksum import checksum

            found["count"], found["checksum"] = results.num_rows, checksum(results)
        del results
        answer(found | {"facts": side.facts})


class Clock:
    """Wall and processor seconds of a stretch; with ``children`` those of other processes that were started too."""

    def __init__(self, children: bool = False) -> None:
        self._used = processor_seconds if children else time.process_time
        self.seconds = self.processor = 0.0

    def __enter__(self) -> Clock:
        self._begun = self._used()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self.processor = self._used() - self._begun
