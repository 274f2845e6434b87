"""A contender in a process of its own: it is started, asked, measured and, if it takes too long, ended by its id."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.contenders import Contender
from benchmarks.peers.processes import peak_bytes, processor_seconds, tree
from benchmarks.peers.spec import Spec
from benchmarks.stamp import ROOT


class TooLong(Exception):
    """It has not answered within its bound, and has been ended."""

    def __init__(self, bound: float, processor: float) -> None:
        super().__init__(f"ended after {bound:.0f} s")
        self.processor = processor
        """Seconds of processor time that it had used for the run."""


class Broken(Exception):
    """It has ended by itself; the text is the end of what it wrote."""


class Child:
    """The process of a contender, with the data of one workload."""

    def __init__(self, contender: Contender, spec: Spec, bound: float) -> None:
        self.contender, self.bound = contender, bound
        self._log = tempfile.TemporaryFile("w+")
        self._scratch = tempfile.TemporaryDirectory(prefix="eddy-peers-", ignore_cleanup_errors=True)
        settings = json.dumps(dict(contender.settings))
        command = [
            contender.python,
            "-m",
            f"benchmarks.peers.{contender.runner}",
            str(spec.folder),
            settings,
        ]
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=self._scratch.name,  # what a contender spills or forgets goes with the folder
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "TMPDIR": self._scratch.name,
                **contender.environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._buffer = b""
        try:
            self._answer()
        except BaseException:
            self.close()
            raise
        self.startup = time.perf_counter() - begun
        """Seconds from the start of the process to the data being there: imports, the JVM, loading."""

    def run(self, check: bool) -> dict[str, Any]:
        """One run of the join."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"check": check}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._broken() from None
        return self._answer()

    def peak(self) -> int:
        """Bytes of resident memory at most so far, of the process and all that it has started."""
        return peak_bytes(self._process.pid)

    def close(self) -> None:
        """Let it end; what has not ended after a while is ended."""
        processes = set(tree(self._process.pid))
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._end(processes)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()
        self._scratch.cleanup()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        until = time.monotonic() + self.bound
        before = processor_seconds(self._process.pid)
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                used = processor_seconds(self._process.pid) - before
                self._end(set(tree(self._process.pid)))
                raise TooLong(self.bound, used)
            part = os.read(pipe, 1 << 16)
            if not part:
                raise self._broken()
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _broken(self) -> Broken:
        self._process.wait(20)
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        told = [line for line in lines if "Error" in line or "Exception" in line]
        return Broken((told or lines or [f"it ended with {self._process.returncode}"])[-1][:200])

    def _end(self, processes: set[int]) -> None:
        """End these processes: the contender and what it has started, each by its id."""
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait(20)


def data_folder() -> Path:
    """Where the data of workloads lie: among what is built, which git does not keep."""
    return ROOT / "benchmarks" / "build" / "peers"
