"""What a migration technique is, and what the engine offers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from policies.migration.survey import Survey


class State(Protocol):
    """A state of a plan as a technique sees it: a STAIR, or of a set difference all that it has instead."""

    @property
    def holes(self) -> object | None:
        """Where its holes are; None when there are none."""

    @property
    def rows_before(self) -> int:
        """Rows that may be holes, or of which some keys may be."""

    @property
    def keys_filled(self) -> int:
        """Holes filled so far."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""

    def settle(self, budget: int) -> int:
        """Fill up to ``budget`` holes, newest rows first; how many were filled."""

    def fill(self) -> None:
        """Fill every hole."""

    def fill_up_to(self, composites: int) -> None:
        """Fill every hole, but stop when more composites than these have come of it."""

    def promote_all(self) -> None:
        """Fill every hole entry by entry, oldest rows first."""


class Box(Protocol):
    """The new plan as a black box: it takes the batches that come in, and what it makes of them is dropped."""

    @property
    def behind(self) -> int:
        """Events that it was given and has not processed."""

    def drain(self, events: int | None = None) -> None:
        """Process what it was given, until at least ``events`` of them are done; None: all of them."""


class Change(Protocol):
    """A plan change under way. `shift`, `fork`, `split` or `box` starts it; whatever follows, results are exact."""

    def demote(self) -> None:
        """Before `shift`: take all composites of the old plan apart that the new one has no STAIR for, the largest
        first. What is left of each are its parts in the STAIRs below, and the rows of its streams, in one copy."""

    def survey(self) -> Survey | None:
        """What can be told of the change before it begins: both plans, and how large all is that they keep. A few
        hundred rows are sampled for it. None for a set difference, where nothing of that is known."""

    def delegate(self, technique: Migration, predicted: Mapping[str, float]) -> None:
        """From now on ``technique`` goes on with the change: its `work` and its `done` are called. It is told as the
        technique of the change, and ``predicted``, what the change was said to take under each, beside it."""

    def shift(self) -> Sequence[State]:
        """The new plan takes over. STAIRs that both plans have are kept; returns the others, which consist of holes,
        each after those below it. A hole that is probed is filled first. A technique may `fill()` a STAIR, or
        `settle(budget)` holes of it, which returns how many it has filled, or leave it alone."""

    def fork(self, held: bool) -> None:
        """The new plan starts beside the old one, empty, with the rows to come; the old one goes on for whatever has
        a row from before. ``held``: results of the new one wait until the old one has gone. Where the old one is
        itself two plans in one (`split`), this is `finish`."""

    def split(self, sharing: bool) -> None:
        """The new plan takes over with empty STAIRs where the old one has none; of the old one goes on what they
        lack. Without ``sharing`` the plans have only the rows in common. While other changes that were begun so are
        running, all their plans go on for what later ones lack. This is `finish` where that cannot be: STAIRs have
        holes, there are several tracks, the new plan is one of orderings, or there are too many cases to tell apart."""

    def box(self, replay: bool) -> Box:
        """The new plan starts as a black box that shares nothing with the old one, which goes on as it was. With
        ``replay`` it is given all live rows first."""

    def swap(self) -> None:
        """The black box takes over, when it has processed what it was given. Where it lacks rows that are still live
        this is `finish`."""

    @property
    def boxed(self) -> Box | None:
        """The new plan while it is a black box."""

    @property
    def turned_over(self) -> bool:
        """Whether all rows from before the change have left their windows."""

    @property
    def last(self) -> int:
        """Events of the last batch."""

    @property
    def batch(self) -> float:
        """Events of a batch, on average."""

    @property
    def running(self) -> bool:
        """Whether another plan runs beside, or holes are left."""

    @property
    def incomplete(self) -> Sequence[State]:
        """STAIRs of the new plan that have holes, each after those below it."""

    @property
    def asked(self) -> tuple[int, int]:
        """Holes that the last batch has filled, since it probed them or rows of theirs have left, and the composites
        that came of it."""

    @property
    def built(self) -> int:
        """Composites that came of filling holes so far, in the engine's life."""

    @property
    def age(self) -> float:
        """Events since the oldest change under way, in windows: 1 when as many rows have come as were live then."""

    def expire(self) -> None:
        """Stop whatever goes on only for rows that have left their windows."""

    def promote(self, state: State) -> None:
        """After `shift`: put the composites of a STAIR of the new plan together entry by entry, those of the oldest
        rows first (`State.promote_all`), and count them."""

    def compute(self, budget: int) -> None:
        """Complete the lowest STAIR that began empty, up to ``budget`` keys, newest rows first; a complete one takes
        work off the old plan."""

    def finish(self) -> None:
        """Complete all STAIRs of the new plan now, and stop everything else."""


class Migration(ABC):
    """Long work that is pumped: ``begin`` at a plan change, then ``work`` after every batch until ``done``.

    A subclass writes `work`, and `begin` where the new plan is not simply to take over; `docs/extending.md` has one.
    Whatever a technique does or leaves undone, results are the same. An engine works with a deep copy of it. An error
    that it raises in a batch does not stop that: it is told by a `PolicyWarning`, and raised by the next push.
    """

    joins_only: ClassVar[bool] = False
    """It tells results apart by their old and new rows. What a set difference gives depends on rows that are not in
    the result, so there it cannot be used."""
    beside: ClassVar[float] = 0.0
    """Which part of the old plan's work goes on beside that of the new one until the windows have turned over: what a
    change costs, as `policies.Auto` weighs it. With 0 the states that the new plan lacks are made once instead."""

    at_once: float = 0.0
    """How large a state may be, in events of a batch, to be made at the change; what is larger is made when it is asked
    for. This too tells `policies.Auto` what a change costs."""

    literal: bool = False
    """It is the technique as its paper prints it, which an engine refuses: `eddy.AsPrinted` runs it."""

    @property
    def holds(self) -> bool:
        """Whether it holds results back, so that they come in another order than that of their events."""
        return False

    def begin(self, change: Change) -> None:
        """A plan is to be changed; another change may still be under way. `shift`, `fork`, `split` or `box` of
        ``change`` starts it; what is inherited is `shift`."""
        change.shift()

    @abstractmethod
    def work(self, change: Change) -> None:
        """A batch is done (``change.last`` events). Go on, within a budget: the next batch waits for this."""

    def resume(self, change: Change) -> None:  # noqa: B027 - a hook that may be left alone
        """A snapshot was loaded, in which composites are holes: as after a change that kept no STAIR."""

    def done(self, change: Change) -> bool:
        """Whether nothing is left to do."""
        return not change.running
