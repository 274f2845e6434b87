"""Kernels that several threads need for the first time at once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

THREADS = """
import sys, threading
import numpy as np
from eddy.compiling import ready
from stairs.kernel import is_stored, known
import eddy.engine.eddy

sys.setswitchinterval(1e-6)
errors, barrier = [], threading.Barrier(6)

def work():
    try:
        barrier.wait()
        for kernel in list(known.values())[:60]:
            assert is_stored(kernel)
        ready(list(known.values())[:60])
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join(300)
assert not errors, errors
print("done")
"""


def test_each_becomes_ready_once_whoever_asks():
    """One thread loads a kernel while others look whether it is stored, or wait for it."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.stdout == "done\n", done.stderr[-2000:]
