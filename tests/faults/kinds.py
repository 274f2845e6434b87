"""Kinds of worlds. Each has a process of its own, since processes are forked in it: python -m tests.faults.kinds KIND

It is told seeds, a line each, and answers each with a line of JSON: the faults that its world has come through, or that
it has failed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import eddy

KINDS = {
    "files": "world",
    "steps": "steps",
    "delta": "lakes",
    "iceberg": "lakes",
    "kafka": "topics",
    "redis": "streams",
    "postgresql": "tables",
}
"""The module of each."""
TURNS = tuple(kind for other in list(KINDS)[1:] for kind in ("files", other))
"""The order in which they come."""


class Trying:
    """Tries worlds of one kind, until it is stopped."""

    def __init__(self, kind):
        self.kind, self.next = kind, 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kinds", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tried(self, seed):
        """The faults of a world by their kinds; None if it has failed."""
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def stop(self):
        """End it."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def serve(kind):
    """Answer what is asked."""
    module = importlib.import_module(f"tests.faults.{KINDS[kind]}")
    answers, sys.stdout = sys.stdout, sys.stderr
    eddy.compile_kernels()
    given = [kind] if KINDS[kind] == "lakes" else []
    with tempfile.TemporaryDirectory() as folder, module.trying(*given) as tried:
        gc.freeze()
        for line in sys.stdin:
            made = Path(folder) / line.strip()
            made.mkdir()
            try:
                found = dict(tried(made, int(line)))
                shutil.rmtree(made)
            except Exception:
                traceback.print_exc()
                found = None
            answers.write(json.dumps(found) + "\n")
            answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
