"""Everything that Eddy raises on purpose. A message says what was wrong and what to do about it."""

from __future__ import annotations


class EddyError(Exception):
    """The root of all errors of this library."""


class QueryError(EddyError):
    """The query cannot be built: a type, a name, a predicate or a window does not fit."""

    place: tuple[str, int, int] | None = None
    """The text that it is about, and from where to where in it, the end excluded; None if it is about no text."""


class PlanError(EddyError):
    """The plan cannot be parsed, or does not cover each stream of the query exactly once."""


class BatchError(EddyError):
    """A batch was refused. The engine is as it was before the call."""


class OrderError(BatchError):
    """The same, since time goes back: the first argument says where, the second what to do about it."""

    late: tuple[str, int, str] | None = None
    """Of a late row: its stream, its place in the batch, and what is said of it; None if it is about something else."""

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class StateError(EddyError):
    """The call does not fit the engine's state, for example a push while results are still being drawn."""


class PolicyError(EddyError):
    """A policy raised an error, which is the cause of this one. The engine is as it was before the call."""


class LossyWindow(UserWarning):
    """A window is shorter than what the predicates allow: results are lost that the one it names would give."""


class CheckpointWarning(UserWarning):
    """The newest checkpoint of a run cannot be read: the one before it is used."""


class PolicyWarning(RuntimeWarning):
    """A migration or feedback policy raised an error in the middle of a batch, which is whole all the same. The next
    push raises it as `PolicyError`; but there need not be one."""
