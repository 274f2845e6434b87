"""A forked child has the memory of its parent and none of its other threads: what becomes of engines there."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

from eddy.errors import StateError

if TYPE_CHECKING:
    from eddy.state import EngineState

_engines: weakref.WeakSet[EngineState] = weakref.WeakSet()


def watch(state: EngineState) -> None:
    """See to it that a forked child can go on with the engine, as it was when it was forked."""
    _engines.add(state)


def _in_child() -> None:
    for state in list(_engines):
        if (
            not state.access.whole_since_fork
        ):  # whoever was in it is not here, and has left it in the middle of something
            state.broken = StateError("the process was forked while another thread was in the engine")
        else:
            state.executor.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
