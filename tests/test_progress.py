"""Compiling shows itself in a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

SLOW = """
import time
from eddy import progress as waiting
waiting.PATIENCE = 0.05
with waiting.Waiting("Compiling", 2) as work:
    work.step()
    end = time.monotonic() + LONGEST
    while work not in waiting.shown and time.monotonic() < end:
        time.sleep(0.01)
    work.step()
"""
SEEN = SLOW.replace("LONGEST", "300")  # the bar is waited for, however busy the machine is
SLOW = SLOW.replace("LONGEST", "0.4")
QUICK = SLOW.replace("0.05", "300")
DRAWING = SLOW.replace("with waiting", "waiting.shown.add('a demo')\nwith waiting")
COMPILE = "import eddy; eddy.compile_kernels()"


def in_terminal(code, term="xterm"):
    """What a process writes to a terminal."""
    ours, its = pty.openpty()
    environment = {**os.environ, "TERM": term}
    with subprocess.Popen([sys.executable, "-c", code], stdout=its, stderr=its, env=environment) as process:
        os.close(its)
        told = b""
        try:
            while piece := os.read(ours, 4096):
                told += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, told
    return told.decode()


def test_slow_work_shows_a_bar_in_a_terminal_and_takes_it_away():
    """It is drawn on one line, which is erased when the work is done."""
    told = in_terminal(SEEN)
    assert "Compiling" in told and told.rstrip().endswith("\x1b[2K")


@pytest.mark.parametrize("code, term", [(QUICK, "xterm"), (DRAWING, "xterm"), (SLOW, "dumb")])
def test_nothing_is_shown_where_there_is_no_need_or_no_place(code, term):
    """Work that is done soon; a terminal in which something else is drawing; one that cannot draw."""
    assert in_terminal(code, term) == ""


@pytest.mark.parametrize("code", [SLOW, COMPILE], ids=["slow", "compile_kernels"])
def test_nothing_is_written_to_a_pipe(code):
    """Neither to standard output nor to standard error."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
