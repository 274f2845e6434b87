"""Processes that are forked from the one that runs the tests, and end."""

from __future__ import annotations

import os
import signal

PATIENCE = 300
"""Seconds after which a child is ended that does not end by itself, so that a test fails and does not hang."""


def fork():
    """As `os.fork`."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
    return child
