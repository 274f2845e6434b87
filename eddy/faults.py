"""Errors of migration and feedback policies, which come in the middle of a batch.

What such a policy does or leaves undone never changes a result. So a batch goes on without it, and is whole. At the end
of the call, when its results are safe, the error is told by a `PolicyWarning`; and it is kept, and raised by the next
push, before that takes anything in. There may be no next one: so it is shown by `statistics` and `explain`, too.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from eddy.errors import PolicyError, PolicyWarning, StateError
from policies import Feedback

if TYPE_CHECKING:
    from policies.feedback.base import Edge

T = TypeVar("T")

OURS = ("eddy", "stairs")
"""Packages whose code a policy calls."""
LIBRARY = (*OURS, "policies")
"""Packages whose lines are not the caller's."""
WAY_OUT = {
    "routing": "after freeze() the engine goes on without it",
    "migration": "settle() finishes the plan change without it",
    "feedback": "it is asked again in time",
}


class Faults:
    """The first error since the last push, of any policy of an engine and its shards."""

    def __init__(self) -> None:
        self._error: PolicyError | None = None
        self._what = ""
        self.untold = False
        """Whether nobody was warned of it yet."""

    @property
    def waiting(self) -> str | None:
        """What there is, if the next push is going to raise it."""
        return self._what if self._error is not None else None

    def note(self, kind: str, policy: object, error: Exception) -> None:
        """Keep it for the next push."""
        if self._error is None:
            self._what = named(kind, policy, error)
            self._error = PolicyError(
                f"{self._what}. That was in the last call, and nothing is lost by it. This batch was not taken: "
                f"push it again; {WAY_OUT[kind]}"
            )
            self._error.__cause__ = error
            self.untold = True

    def warn(self) -> None:
        """Warn of it, once; to be called when a call is done, and nothing can be lost by what a warning may lead to."""
        if self._error is None or not self.untold:
            return
        self.untold = False
        warning = PolicyWarning(f"{self._what}. Nothing is lost by it; the next push raises it")
        warning.__cause__ = self._error.__cause__
        warn(warning)

    def tell(self) -> None:
        """Raise it, once. Nothing of the push may have been taken in."""
        if self._error is not None:
            error, self._error, self.untold = self._error, None, False
            raise error


def warn(warning: Warning) -> None:
    """Warn, at the line from which the library was called.

    Where warnings are errors the caller must still get his results: then it is shown as an error that nobody has
    caught.
    """
    try:
        warnings.warn(warning, stacklevel=_depth())
    except Exception as error:
        with contextlib.suppress(Exception):
            sys.excepthook(type(error), error, error.__traceback__)


def _depth() -> int:
    """How far from here the line is from which the library was called, as `warnings.warn` counts it in its caller."""
    depth, here = 0, inspect.currentframe()
    frame = None if here is None else here.f_back
    while frame is not None and frame.f_back is not None and _package(frame.f_globals) in LIBRARY:
        depth, frame = depth + 1, frame.f_back
    return depth + 1


def _package(names: dict[str, Any]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


def named(kind: str, policy: object, error: Exception) -> str:
    """Which policy it was, and what it raised."""
    return f"the {kind} policy {type(policy).__name__} raised {type(error).__name__}: {error}"


def is_own(error: BaseException) -> bool:
    """Whether it came in a policy's own code, and not in what that has called of the engine: to be asked where it is
    caught, in the function that has called the policy."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
        if _package(trace.tb_frame.f_globals) in OURS:
            return False
    return isinstance(error, Exception) and not isinstance(error, MemoryError)


def stopped(kind: str, policy: object, error: BaseException) -> StateError:
    """The error where it did not."""
    return StateError(
        f"the {kind} policy {type(policy).__name__} has asked something of the engine that failed ({error!r}), which "
        "stopped in the middle of it, so its state is not to be trusted: make a new one, or load the last snapshot"
    )


class Guarded(Feedback):
    """A feedback policy whose errors are noted. Then what it is asked about is not judged, or is as it was."""

    def __init__(self, policy: Feedback, faults: Faults) -> None:
        self.policy = policy
        self.watches = policy.watches  # type: ignore[misc]
        self._faults = faults
        self.pairs = self._ask(lambda: bool(policy.pairs), False)

    def _ask(self, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except Exception as error:
            self._faults.note("feedback", self.policy, error)
            return otherwise

    @property
    def filters(self) -> bool:
        return self._ask(lambda: bool(self.policy.filters), False)

    @property
    def bands(self) -> bool:
        return self._ask(lambda: bool(self.policy.bands), False)

    @property
    def hesitates(self) -> bool:
        return self._ask(lambda: bool(self.policy.hesitates), False)

    def judges(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        return self._ask(lambda: self._judged(components, attributes), None)

    def _judged(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        chosen = self.policy.judges(components, attributes)
        if chosen is not None and not set(chosen) <= set(attributes):
            raise ValueError(f"judges({components}, {attributes}) returned {chosen!r}")
        return chosen

    def waits(self, left: int, right: int, nested: bool) -> bool:
        usual = super().waits(left, right, nested)
        return self._ask(lambda: bool(self.policy.waits(left, right, nested)), usual)

    def rest(self, edge: Edge) -> int:
        return self._ask(lambda: max(0, int(self.policy.rest(edge))), 0)


def unguarded(policy: Any) -> Any:
    """A policy as it was given."""
    return policy.policy if isinstance(policy, Guarded) else policy
