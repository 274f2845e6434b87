"""One caller at a time: an engine's arrays are in nobody's order while a push is under way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from eddy.errors import StateError

Door = TypeVar("Door", bound=Callable[..., Any])


def alone(door: Door) -> Door:
    """A method through which nobody may come while another thread has the engine's lock, ``_inside``."""

    @functools.wraps(door)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._inside.acquire(blocking=False):
            raise StateError(
                "another thread is in this engine, which takes one caller at a time: let one thread push, and hand it "
                "the batches of the others through a queue"
            )
        try:
            return door(self, *args, **kwargs)
        finally:
            self._inside.release()

    return cast(Door, guarded)
