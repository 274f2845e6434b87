"""The doors of an engine: who changes it comes alone, who asks waits, and some things are refused in between."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eddy.engine.drawing import hand_over, leave
from eddy.errors import StateError

if TYPE_CHECKING:
    from eddy.state import EngineState

Door = TypeVar("Door", bound=Callable[..., Any])


def alone(door: Door) -> Door:
    """A method of an engine that changes it, and that nobody may call while another such call is under way.

    If it returns a result, and the handler of a signal that has come meanwhile raises something, `pending` has it.
    """

    @functools.wraps(door)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        state, given = self._state, None
        access = state.access
        signals = access.enter()
        try:
            access.take()
            try:
                given = door(self, *args, **kwargs)
            finally:
                access.give()
        except BaseException:
            leave(state, signals)
            raise
        return hand_over(state, signals, given)

    return cast(Door, guarded)


def asked(door: Door) -> Door:
    """A method of an engine that reads its state, between two batches of whoever changes it."""

    @functools.wraps(door)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._state.access.ask(functools.partial(door, self, *args, **kwargs))

    return cast(Door, guarded)


def check_ready(state: EngineState, what: str) -> None:
    """Refuse what cannot be done in the middle of a push, or after one that has failed half-way."""
    if state.closed:
        raise StateError("the engine is closed: make a new one, or load a snapshot")
    if state.broken is not None:
        raise StateError(
            f"the engine stopped in the middle of a batch ({state.broken!r}), so its state is not to be trusted: "
            "make a new one, or load the last snapshot"
        ) from state.broken
    if state.drawing is not None and state.drawing.interrupted:
        raise StateError(
            "the last push was interrupted, and its results are not all drawn: draw engine.pending to its end "
            f"(its close() gives them up, but no row), then {what}"
        )
    if state.drawing is not None:
        raise StateError(
            "the results of the last push(..., max_rows=...) are not all drawn: draw the iterator, which is also "
            f"engine.pending, to its end, then {what}"
        )
