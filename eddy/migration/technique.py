"""Calling a migration technique: what becomes of the errors that it raises."""

from __future__ import annotations

from collections.abc import Callable

from eddy.errors import PolicyError
from eddy.faults import Faults, is_own, named, stopped
from eddy.migration.change import Change
from policies import Migration


class Technique:
    """A migration technique and the faults of it that are kept for the next push."""

    def __init__(self, policy: Migration, faults: Faults) -> None:
        self._policy, self._faults = policy, faults

    def of(self, change: Change) -> Migration:
        """Who goes on with a change."""
        return self._policy if change.technique is None else change.technique

    def call(
        self, change: Change, step: Callable[[Change], None], unchanged: Callable[[], bool], so: str
    ) -> None:
        """Let the technique take a ``step`` of a change.

        An error of its own is kept for the next push; but where ``unchanged`` tells that nothing has changed so far it
        is raised, and ``so`` says what that means.
        """
        try:
            step(change)
        except Exception as error:
            if not is_own(error):
                raise error if unchanged() else stopped("migration", self._policy, error) from error
            if unchanged():
                raise PolicyError(f"{named('migration', self._policy, error)}. {so}") from error
            self._faults.note("migration", self._policy, error)

    def begin_anyway(self, change: Change, unchanged: Callable[[], bool]) -> None:
        """Begin a change, without the technique if it fails before anything has changed."""
        try:
            self._policy.begin(change)
        except Exception as error:
            if not is_own(error):
                raise
            self._faults.note("migration", self._policy, error)
            if unchanged():
                change.shift()

    def is_done(self, change: Change) -> bool:
        """Whether the technique says that a change is over; if it cannot say, whether nothing is left to be done."""
        try:
            return self.of(change).done(change)
        except Exception as error:
            self._faults.note("migration", self._policy, error)
            return not change.running
