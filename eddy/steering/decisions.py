"""The log of decisions: what was believed, what was done, and what came of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from attrs import define, evolve, field, frozen

from eddy.shown import html_table
from policies import Choice
from policies.optimizer.rivals import Rival, Rivals

LOGGED = 256
"""Decisions that are remembered."""


@frozen
class Decision:
    """One time that the routing policy wanted another plan."""

    events: int
    """Events before it."""
    former: str
    plan: str
    outcome: str
    """"changed"; "advised", if the engine only takes advice; or "refused"."""
    reason: str
    """In the policy's words; of a refused plan, why."""
    believed_cost: float | None
    believed_gain: float | None
    """What the policy thought that the former plan costs, and would save; in its own unit."""
    thinking: float = field(eq=False)
    """Seconds that the policy took to decide."""
    before: float | None = field(eq=False)
    """Measured seconds an event, from the last time that the policy was asked to this one."""
    after: float | None = field(default=None, eq=False)
    """Measured seconds an event from the change to the next one, or to now; what the migration takes is part of it."""
    migration: float | None = field(default=None, eq=False)
    """Seconds that the migration technique took for itself."""
    rivals: Rivals | None = field(default=None, eq=False, repr=False)
    """What was known of other plans."""

    @property
    def alternatives(self) -> tuple[Rival, ...]:
        """The plans that came next, each with what it was believed to cost, where the policy can tell. They are
        reckoned when they are asked for, from what was known when this was decided."""
        return () if self.rivals is None else self.rivals.plans

    def _repr_html_(self) -> str:
        rows = [
            ("after", f"{self.events:,} events"),
            (self.outcome, f"{self.former} → {self.plan}"),
            ("why", self.reason),
            ("before", f"{_nanoseconds(self.before)} an event"),
            ("after it", f"{_nanoseconds(self.after)} an event"),
            *(
                ("instead", f"{other.plan}: {_nanoseconds(other.cost)} reckoned")
                for other in self.alternatives
            ),
        ]
        return html_table(("decision", ""), rows)

    @property
    def gain(self) -> float | None:
        """Seconds an event that the change has saved, as measured. The data may have changed as well."""
        return None if self.before is None or self.after is None else self.before - self.after


def _nanoseconds(seconds: float | None) -> str:
    return "not measured" if seconds is None else f"{1e9 * seconds:,.0f} ns"


@define(eq=False)
class _Entry:
    """A decision and how to measure what comes of it."""

    decision: Decision
    cost: Callable[[], float] | None
    seconds: float
    """Time spent on batches up to then."""


class Ledger:
    """The last decisions."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque(maxlen=LOGGED)
        self._open: _Entry | None = None
        """The last change, which is still being measured."""

    def note(self, decision: Decision, seconds: float, cost: Callable[[], float] | None = None) -> None:
        """A decision, when so much time had been spent on batches; ``cost`` tells what its migration takes."""
        entry = _Entry(decision, cost, seconds)
        self._entries.append(entry)
        if cost is not None:
            self.close(decision.events, seconds)
            self._open = entry

    def close(self, events: int, seconds: float) -> None:
        """The plan is another from here on: what the last decision has brought is known."""
        if self._open is not None:
            self._open.decision = self._measured(self._open, events, seconds)
            self._open.cost = None
            self._open = None

    @property
    def last(self) -> Decision | None:
        """The newest one, as it was decided."""
        return self._entries[-1].decision if self._entries else None

    def told(self, events: int, seconds: float) -> tuple[Decision, ...]:
        """The decisions, oldest first, with what is known of them by now."""
        return tuple(
            self._measured(entry, events, seconds) if entry is self._open else entry.decision
            for entry in self._entries
        )

    @staticmethod
    def _measured(entry: _Entry, events: int, seconds: float) -> Decision:
        since = events - entry.decision.events
        after = (seconds - entry.seconds) / since if since else None
        cost = entry.cost() if entry.cost is not None else None
        return evolve(entry.decision, after=after, migration=cost)


def as_choice(given: object) -> Choice:
    """What a policy returned, as a choice; ValueError if it is none."""
    if isinstance(given, str):
        return Choice(given)
    if not isinstance(given, Choice) or not isinstance(given.plan, str):
        raise ValueError(f"the policy returned {given!r}: choose returns a plan as text, a Choice, or None")
    return given
