"""Signals that wait: a batch is never cut in two by what a handler raises, such as KeyboardInterrupt.

Python runs the handlers of signals in the main thread, between any two of its instructions. In the middle of a batch
that would leave an engine in nobody's order. So while the main thread changes an engine, handlers are put off.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
from collections.abc import Callable
from threading import get_ident
from types import FrameType
from typing import Any

DEFERRED = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)
)
"""Signals by which people and supervisors stop a program, and time-outs."""

_handler_of: Callable[[int], Any] = signal.getsignal
_set_handler: Callable[[int, Any], Any] = signal.signal
with contextlib.suppress(ImportError):  # the same without enumerations around the numbers: 15 times as fast
    _plain = importlib.import_module("_signal")
    _handler_of, _set_handler = _plain.getsignal, _plain.signal

_main_thread = threading.main_thread().ident
_held: list[DeferredSignals] = []
"""Those that are held now, the outermost first."""


class DeferredSignals:
    """While it is held, signals with a handler in Python are noted; `release` has them handled.

    Does nothing outside the main thread, where no handler ever runs. May be held several times over: what an inner one
    has noted, its `release` hands to the outer one. An exception may come at any call here, raised by the handler of a
    signal that is not put off yet, or no longer: whatever comes, no handler is lost.
    """

    __slots__ = ("_handlers", "_note", "_replaced", "noted")

    def __init__(self) -> None:
        self.noted: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Any] = {}
        self._replaced: list[int] = []
        """Signals whose handlers are to be put back."""
        if get_ident() != _main_thread:
            return
        noted = self.noted
        self._note = lambda number, frame: noted.append((number, frame))
        try:
            _held.append(self)
            for number in DEFERRED:
                handler = _handler_of(number)
                if callable(handler):
                    self._handlers[number] = handler
                    self._replaced.append(number)
                    _set_handler(number, self._note)
        except BaseException:
            self.release()
            raise

    def handle(self) -> None:
        """Call the handlers of what was noted so far, where nothing would be cut in two. Raises what they raise."""
        try:
            while self.noted:
                number, frame = self.noted[0]
                del self.noted[0]
                self._handlers[number](number, frame)
        finally:
            if self.noted:
                self.handle()

    def release(self) -> None:
        """Put the handlers back, and call those whose signals have come. Raises what they raise."""
        try:
            self.put_back()
        finally:
            self.handle()

    def put_back(self) -> None:
        """Put the handlers back, but for those that somebody has replaced meanwhile."""
        try:
            while self._replaced:
                number = self._replaced[-1]
                if _handler_of(number) is self._note:
                    _set_handler(number, self._handlers[number])
                del self._replaced[-1]
            if self in _held:
                _held.remove(self)
        finally:
            if self._replaced:
                self.put_back()


def _after_fork() -> None:
    """In a child that another thread has forked, nobody is there to release what the main thread has held."""
    global _main_thread
    elsewhere, _main_thread = get_ident() != _main_thread, threading.main_thread().ident
    while elsewhere and _held:
        _held[-1].put_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
