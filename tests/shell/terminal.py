"""A process at a terminal: what somebody types, and what the screen has shown."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from eddy.cli import main; raise SystemExit(main())"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>78]|\x1b\][^\x07]*\x07|\r")
PATIENCE = 20.0
"""Seconds after which what was expected is said to be missing."""


def environment(**more):
    """That of a child which runs this code."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


class Terminal:
    """A terminal of 100 columns and 30 lines with a command in it."""

    def __init__(self, *arguments, cwd, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=environment(TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", **more),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=self._own,
        )
        os.close(slave)
        self.seen, self.passed = "", 0

    def _own(self):
        """The terminal is the child's own, so that Ctrl-C reaches it."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def type(self, text):
        """Keys."""
        os.write(self.master, text.encode())

    def expect(self, text):
        """Wait until this is shown, behind what was expected before; all that was shown up to it."""
        end = time.monotonic() + PATIENCE
        while (found := self.seen.find(text, self.passed)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.seen[self.passed :]!r}"
            if not self._read(end):
                raise AssertionError(f"it ended before {text!r}: {self.seen[self.passed :]!r}")
        shown, self.passed = self.seen[self.passed : found], found + len(text)
        return shown

    def ends(self):
        """Wait for its end; the exit status."""
        end = time.monotonic() + PATIENCE
        while self._read(end):
            assert time.monotonic() < end, f"it does not end: {self.seen[self.passed :]!r}"
        return self.process.wait(PATIENCE)

    def _read(self, end):
        """Something more; nothing at the end."""
        ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
        if not ready:
            return True
        try:
            got = os.read(self.master, 1 << 16).decode("utf-8", "replace")
        except OSError:  # Linux says so when the last one at the terminal has gone
            return False
        self.seen += ESCAPES.sub("", got)
        return bool(got)
