"""Compiling takes a minute, once: it shows itself in a terminal, and in a pipe or a log nothing is ever written."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

PATIENCE = 3.0
"""Seconds before anything is shown: what comes from the cache is there sooner."""

shown: set[object] = set()
"""What is drawing in the terminal now: two cannot."""


class Waiting:
    """A context in which something is done, in ``steps`` if their number is known."""

    def __init__(self, title: str, steps: int | None = None) -> None:
        self._title, self._steps, self._done = title, steps, 0
        self._bars: Any = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Waiting:
        if not shown and _is_terminal():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bars is not None:
                self._bars.stop()
                shown.discard(self)

    def step(self) -> None:
        """One more is done."""
        with self._lock:
            self._done += 1
            if self._bars is not None:
                self._bars.update(0, completed=self._done)

    def _show(self) -> None:
        """In the timer's thread. The bar goes when the work is done."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn()
        with self._lock:
            if self._timer is None or shown:  # it was just done
                return
            shown.add(self)
            self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bars.add_task(self._title, total=self._steps, completed=self._done)
            self._bars.start()


def _is_terminal() -> bool:
    """Whether standard error is a terminal that can draw."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "dumb")
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
