"""What a routing policy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from attrs import field, frozen

from policies.optimizer.rivals import Rivals
from policies.view import Glance, View


@frozen
class Choice:
    """A plan and why, for the log of decisions. A policy with nothing to say about it may return the plan alone."""

    plan: str
    reason: str = ""
    believed_cost: float | None = None
    """What the policy thinks that the plan in use costs, in its own unit."""
    believed_gain: float | None = None
    """How much of it the change would save, in the same unit."""
    rivals: Rivals | None = field(default=None, eq=False, repr=False)
    """From what it can be told which plans come next, where the policy reckons in seconds of our cost model."""


class Routing(ABC):
    """Looks at a view of the engine every ``period`` events and may name a better plan.

    A subclass sets ``period``, without which it is never asked, and writes `choose`; `docs/extending.md` has one. The
    engine owns the clock and the change: a policy only decides, between two pushes or in the middle of a large one. It
    must give the same answers for the same views and seed, and may keep what it learned in its own attributes; an
    engine works with a deep copy of it. An error that it raises is raised by the push as `PolicyError`, and nothing of
    that push was taken in; in the middle of a push, by the next one, with a `PolicyWarning` at the end of this.
    """

    period: int | None = None
    """Events between two decisions; None: never asked."""
    work: tuple[float, float] | None = None
    """(matches, matches an event): it is asked before ``period`` is over as soon as the plan has made more matches than
    the first number, and the second for each event since it was last asked. None: it is not."""
    joins_only: ClassVar[bool] = True
    """It plans joins. Set to False for one that orders the subtractions of a set difference as well."""

    def begin(self, names: tuple[str, ...], seed: int) -> None:  # noqa: B027 - a hook that may be left alone
        """An engine over these streams starts; ``seed`` is for policies that choose at random."""

    def wants(self, glance: Glance) -> bool:
        """Whether it is worth while to look closer when it is asked: a view costs some ten microseconds."""
        return True

    @abstractmethod
    def choose(self, view: View) -> str | Choice | None:
        """A plan to change to, in the notation of ``engine.plan`` (``view.plan`` is the one in use), or None to stay.

        To name the plan in use is to stay. A plan that cannot be, since it is not one of the query's or breaks a pin,
        is logged as refused in ``engine.decisions``, and the engine goes on with the one it has.
        """
