"""Who may come into an engine: one caller at a time, and none while its arrays are in nobody's order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eddy.errors import StateError

if TYPE_CHECKING:
    from eddy.engine import Eddy

Door = TypeVar("Door", bound=Callable[..., Any])


def alone(door: Door) -> Door:
    """A method, or a function of an engine, through which nobody may come while another thread has the engine's lock,
    ``_inside``."""

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


def check_ready(engine: Eddy, what: str) -> None:
    """Refuse what cannot be done in the middle of a push, or after one that has failed half-way."""
    if engine._broken is not None:
        raise StateError(
            f"the engine stopped in the middle of a batch ({engine._broken!r}), so its state is not to be trusted: "
            "make a new one, or load the last snapshot"
        ) from engine._broken
    if engine._drawing is not None:
        raise StateError(
            "the results of the last push(..., max_rows=...) are not all drawn: draw the iterator, which is also "
            f"engine.pending, to its end, then {what}"
        )
