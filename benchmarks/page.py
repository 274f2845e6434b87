"""What the live page costs a run: `python -m benchmarks.page [seconds]`.

An engine takes the batches of a drifting feed; a page of it is served, with a browser's connection open, and it is
read as a run does, after each push. What readings take of the time of pushes and readings together is told, and what
all other threads take of the processor, which is the server's: each reading is written out anew for who looks.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import urllib.request

from benchmarks.drift_workloads import chain
from eddy import Eddy
from policies import Auto

SIZE = 4096


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 20.0
    drift = chain()
    batches = [batch for _, batch in drift.feed(100_000, SIZE)]
    engine, spent, pushed, readings = Eddy(drift.query(), routing=Auto()), 0.0, 0.0, 0
    width = len(batches) * SIZE
    with engine.watch() as page:
        over = threading.Event()

        def follow() -> None:
            with urllib.request.urlopen(page.url + "events") as answer:
                while not over.is_set() and answer.readline():
                    pass

        threading.Thread(target=follow, daemon=True).start()
        others, begun = -time.process_time() + time.thread_time(), time.perf_counter()
        for turn in itertools.count():
            for batch in batches:
                moved = {
                    name: {**columns, "ts": columns["ts"] + turn * width} for name, columns in batch.items()
                }
                start = time.perf_counter()
                engine.push_all(moved)
                middle = time.perf_counter()
                readings += page.recorder.read()
                pushed += middle - start
                spent += time.perf_counter() - middle
            if time.perf_counter() - begun > seconds:
                break
        others += time.process_time() - time.thread_time()
        over.set()
    print(f"{readings} readings took {spent:.3f} s, {spent / (pushed + spent):.2%} of {pushed + spent:.1f} s")
    print(f"all other threads took {others:.2f} s of the processor in {time.perf_counter() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
