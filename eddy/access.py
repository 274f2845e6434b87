"""Who may be in an engine, and when: one caller who changes it, and readers between its batches.

Kernels work on an engine's arrays without the interpreter lock, so nobody else may look at them meanwhile. A *caller*
(a push, a plan change, a save) is in the engine alone: a second one is refused. A *reader* (of a result that was handed
out, of statistics) waits, at the most for the batch at hand; and a caller waits for readers, who are quick.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TypeVar

from eddy.errors import StateError
from eddy.signals import DeferredSignals

T = TypeVar("T")

OCCUPIED = (
    "somebody is in this engine, which takes one caller at a time: let one thread push, and hand it the batches of the "
    "others through a queue; a policy, a signal handler or a finaliser cannot push, change the plan or save while a "
    "push is under way"
)
WITHIN = (
    "this was asked from within a batch, whose arrays are in no order until it is done: policies for migration and "
    "feedback, signal handlers and finalisers cannot read results or ask the engine; do so after the push"
)

_all: weakref.WeakSet[Access] = weakref.WeakSet()


class Access:
    """The locks of one engine. Whoever holds `_state` may read or change its arrays.

    `_turn` makes them take turns: who wants `_state` waits for it with `_turn` in hand. So a caller that gives it away
    between two batches does not get it back before a reader who has waited. And nobody who has `_state` may ask for
    `_turn`: he would wait for a reader who waits for him.
    """

    def __init__(self) -> None:
        self.lost: StateError | None = None
        """Why nothing can be read any more, if so."""
        self.whole_since_fork = True
        """Whether nobody else was in the engine when this process was forked."""
        self._visitor = self._changer = 0
        """The thread that is in the engine as its caller, and the one that holds the state to change it."""
        self._half = False
        """Whether a push is half done, and given away: then results can be read, and nothing else."""
        self._make_locks()
        _all.add(self)

    def _make_locks(self) -> None:
        self._caller = threading.Lock()
        self._turn, self._state = threading.RLock(), threading.RLock()
        self._whole = threading.Event()
        """Set when a push is no longer half done, for those who wait for that."""

    # -- callers ---------------------------------------------------------------------------------------------------

    def enter(self) -> DeferredSignals:
        """A caller comes in, who must `leave`; StateError if there is one already."""
        signals = DeferredSignals()
        if not self._caller.acquire(blocking=False):
            signals.release()
            raise StateError(OCCUPIED)
        self._visitor = get_ident()
        return signals

    def leave(self, signals: DeferredSignals) -> None:
        """The caller goes. Raises what the handlers of signals raise that have come meanwhile."""
        self._visitor = 0
        self._caller.release()
        signals.release()

    def take(self) -> None:
        """The caller begins to change the state; readers wait until `give`. Who has it already may not ask for it."""
        if self._changer == get_ident():
            raise RuntimeError("this thread changes the engine already: to take it again waits for ever")
        with self._turn:
            try:
                self._state.acquire()
                self._changer = get_ident()
            except BaseException:  # of a signal that is not put off
                self._changer = 0
                with contextlib.suppress(RuntimeError):  # it has come before the lock was there
                    self._state.release()
                raise

    def give(self) -> None:
        """The state is whole again."""
        self._changer = 0
        if self._half:
            self._half = False
            self._whole.set()
        self._state.release()

    def pause(self) -> None:
        """Let those in who wait to read a result, while a push is half done."""
        with self.open_to_results():
            pass

    @contextmanager
    def open_to_results(self) -> Iterator[None]:
        """While this lasts results can be read: whoever changes the engine moves and overwrites nothing of theirs."""
        self._half = True
        self._whole.clear()
        self._changer = 0
        self._state.release()
        try:
            yield
        finally:
            self.take()

    def outside(self, ask: Callable[[], T]) -> T:
        """Call a policy between two batches, when the state is whole: everybody may read it meanwhile."""
        self.give()
        try:
            return ask()
        finally:
            self.take()

    # -- readers ---------------------------------------------------------------------------------------------------

    def read(self, function: Callable[[], T]) -> T:
        """What a function reads of results that were handed out. It waits for a batch, or a portion, at the most."""
        if self._changer == get_ident():
            raise StateError(WITHIN)
        with self._turn, self._state:  # nothing may come between: a signal can raise at any call
            return self._undisturbed(function)

    def ask(self, function: Callable[[], T]) -> T:
        """What a function reads of the whole state. It waits for a batch, or a push that kernels take in at once."""
        while True:
            if self._changer == get_ident() or (self._half and self._visitor == get_ident()):
                raise StateError(WITHIN)
            with self._turn, self._state:
                if not self._half:
                    return self._undisturbed(function)
            self._whole.wait()

    def _undisturbed(self, function: Callable[[], T]) -> T:
        """Readers remember what they have found: that is not to be cut in two either."""
        if self.lost is not None:
            raise self.lost
        signals = DeferredSignals()
        try:
            return function()
        finally:
            signals.release()

    # -- forks -----------------------------------------------------------------------------------------------------

    def after_fork(self) -> None:
        """This is a forked child, in which no other thread is: its locks are free, but for what the forking thread has
        itself."""
        here = (0, get_ident())
        self.whole_since_fork = self._visitor in here
        if self._changer not in here:
            self.lost = StateError(
                "the process was forked in the middle of a batch: results are in the parent only"
            )
        own_visit, own_change = self._visitor == get_ident(), self._changer == get_ident()
        self._make_locks()
        if own_visit:
            self._caller.acquire()
        else:
            self._visitor, self._half = 0, False
        if own_change:
            self._state.acquire()
        else:
            self._changer = 0


def _after_fork() -> None:
    for access in list(_all):
        access.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
