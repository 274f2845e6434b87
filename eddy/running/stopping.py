"""Signals end a run after the push that is under way."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

BOTH = (signal.SIGINT, signal.SIGTERM)


class Stopped:
    """Ctrl-C, and a signal to terminate, end a run after the push that is under way; a second one ends it at once."""

    def __init__(self, signals: tuple[signal.Signals, ...] = BOTH) -> None:
        self._signals = signals
        self._loop: Any = None
        self._former: dict[int, Any] = {}

    def control(self, loop: Any) -> None:
        """The run that is to be stopped."""
        self._loop = loop

    def __enter__(self) -> Stopped:
        if threading.current_thread() is threading.main_thread():
            for number in self._signals:
                self._former[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._loop is None or self._loop.stopping:
            raise KeyboardInterrupt
        self._loop.stop()
