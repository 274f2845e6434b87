"""A forked child has the memory of its parent and none of its other threads: what becomes of engines there."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

from eddy.crews import is_crew
from eddy.errors import StateError

if TYPE_CHECKING:
    from eddy.engine import Eddy

_engines: weakref.WeakSet[Eddy] = weakref.WeakSet()


def watch(engine: Eddy) -> None:
    """See to it that a forked child can go on with the engine, as it was when it was forked."""
    _engines.add(engine)


def _in_child() -> None:
    for engine in list(_engines):
        if engine._inside.acquire(blocking=False):
            engine._inside.release()
            if is_crew(engine._router):
                engine._router.forked()
        else:  # whoever has the lock is not here to give it back, and has left the arrays in the middle of something
            engine._inside = threading.RLock()
            engine._broken = StateError("the process was forked while another thread was in the engine")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
