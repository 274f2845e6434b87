"""A change from one black box to another: what a migration technique is offered, and what is remembered of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from attrs import define, field, frozen

from eddy.boxes.history import History, Int64s, Pushed
from eddy.errors import EddyError, PolicyWarning
from eddy.faults import warn
from eddy.shown import shown
from policies import Migration
from policies.migration.base import State

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class UserBox(Protocol[R_co]):
    """A black box: whatever takes the batches of a push and gives results. An `Eddy` is one.

    What it gives depends on the rows that it has taken, their order and their times, and on no more of them than
    `Boxes` is told; two boxes that may replace each other give the same for the same rows. It may have a ``close``
    too, which is called when it is let go.
    """

    def push_all(self, batches: Mapping[str, Any], /) -> R_co:
        """Rows of some streams arrive, as they were pushed, not to be written to; returns what they bring. An error
        means that they were not taken in."""


@frozen
class BoxMigration:
    """What a change from one black box to another was like."""

    technique: str
    begun: int
    """Events before it began."""
    rows: int
    """Old rows that were replayed, or are to be."""
    replayed: int | None
    """Events before the new box had processed them; None while it has not."""
    ended: int | None
    """Events before the new box took over; None while it has not."""
    behind: int
    """Events that the new box has still to process."""
    seconds: float = field(eq=False)
    """Time that the technique took for itself, the new box included."""
    fault: str | None
    """What was raised, where the change was given up."""


@define(eq=False)
class NewBox(Generic[R]):
    """A box that is to take over. What it is given waits in a queue until it is drained; what it gives is dropped.

    HybMig has a queue for each stream (Figure 14); here there is one, of whole pushes, since these are in order.
    """

    box: UserBox[R]
    firsts: Int64s
    """The first row of each stream that it is given."""
    old: int = field(default=0, init=False)
    """Events from before the change that it has not processed."""
    behind: int = field(default=0, init=False)
    _queue: deque[Pushed] = field(factory=deque, init=False)

    def replay(self, pushed: Pushed) -> None:
        """Old rows, before all others."""
        self.feed(pushed)
        self.old += pushed.events

    def feed(self, pushed: Pushed) -> None:
        self._queue.append(pushed)
        self.behind += pushed.events

    def drain(self, events: int | None = None) -> None:
        """Process what is queued, push by push, until at least ``events`` are done (None: all)."""
        done = 0
        while self._queue and (events is None or done < events):
            pushed = self._queue.popleft()
            given = self.box.push_all(pushed.batches)
            if isinstance(given, Iterator):  # what is drawn from it may be what does the work
                deque(given, maxlen=0)
            done += pushed.events
            self.behind -= pushed.events
            self.old = max(0, self.old - pushed.events)


@define(eq=False)
class BoxChange(Generic[R]):
    """From one black box to another; see `policies.migration.Change`, of which this has what boxes can do.

    Whatever a technique does or leaves undone, results are the same: the old box gives them until the new one has taken
    every row that they depend on.
    """

    technique: str
    begun: int
    _make: Callable[[], UserBox[R]]
    _history: History
    batch: float
    """Events of a push, on average."""
    since: tuple[int, int]
    """When the oldest change under way began, and how many rows counted then."""
    counts: Int64s = field(init=False)
    """The next row of each stream when it began."""
    boxed: NewBox[R] | None = field(default=None, init=False)
    adopted: UserBox[R] | None = field(default=None, init=False)
    """The new box, when it is to take over."""
    last: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    ended: int | None = field(default=None, init=False)
    fault: str | None = field(default=None, init=False)
    _events: int = field(init=False)
    _rows: int = field(default=0, init=False)
    _replayed: int | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.counts = self._history.counts.copy()
        self._events = self.begun

    # -- starting --------------------------------------------------------------------------------------------------

    def box(self, replay: bool) -> NewBox[R]:
        self.let_go()
        firsts = self._history.firsts if replay else self._history.counts
        self.boxed = NewBox(new_box(self._make), firsts.copy())
        for pushed in self._history.pushes() if replay else ():
            self.boxed.replay(pushed.copied())
        self._rows, self._replayed = self.boxed.old, None
        return self.boxed

    def swap(self) -> None:
        if self.boxed is None:
            raise EddyError("there is no black box to swap in: call box() first")
        new = self.boxed
        if not (self._history.firsts >= new.firsts).all():  # it lacks rows that still count
            new = self.box(replay=True)
        new.drain()
        self.see()
        self.boxed, self.adopted = None, new.box

    def demote(self) -> NoReturn:
        self._refuse()

    def promote(self, state: State) -> NoReturn:
        self._refuse()

    def survey(self) -> None:
        """Nothing can be told of what is inside of a box."""

    def delegate(self, technique: Migration, predicted: Mapping[str, float]) -> NoReturn:
        self._refuse()

    def shift(self) -> NoReturn:
        self._refuse()

    def fork(self, held: bool) -> NoReturn:
        self._refuse()

    def split(self, sharing: bool) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EddyError(
            f"{self.technique} works on what is inside of a plan, and a black box shows nothing of that: "
            "use Gms, Gpt or Ghm"
        )

    # -- going on --------------------------------------------------------------------------------------------------

    @property
    def turned_over(self) -> bool:
        return bool((self._history.firsts >= self.counts).all())

    @property
    def running(self) -> bool:
        return self.boxed is not None

    @property
    def incomplete(self) -> tuple[()]:
        return ()

    @property
    def asked(self) -> tuple[int, int]:
        """Boxes have no holes."""
        return 0, 0

    @property
    def built(self) -> int:
        return 0

    @property
    def age(self) -> float:
        begun, rows = self.since
        return (self._events - begun) / max(1, rows)

    def expire(self) -> None:
        """Nothing goes on beside the boxes."""

    def compute(self, budget: int) -> None:
        """There are no states to complete."""

    def finish(self) -> None:
        if self.boxed is None:
            self.box(replay=True)
        self.swap()

    # -- what Boxes does -------------------------------------------------------------------------------------------

    def feed(self, pushed: Pushed, events: int) -> None:
        """A push was taken; there were so many events with it."""
        self._events, self.last = events, pushed.events
        if self.boxed is not None:
            self.boxed.feed(pushed)

    def let_go(self) -> None:
        """Nobody wants the new box any more."""
        if self.boxed is not None:
            boxed, self.boxed = self.boxed, None
            close(boxed.box)

    def statistics(self) -> BoxMigration:
        behind = 0 if self.boxed is None else self.boxed.behind
        return BoxMigration(
            technique=self.technique,
            begun=self.begun,
            rows=self._rows,
            replayed=self._replayed,
            ended=self.ended,
            behind=behind,
            seconds=self.seconds,
            fault=self.fault,
        )

    def see(self) -> None:
        """See whether all old rows were processed."""
        if self.boxed is not None and self._rows and self.boxed.old == 0 and self._replayed is None:
            self._replayed = self._events


def new_box(make: Callable[[], UserBox[R]]) -> UserBox[R]:
    """A box, if that is what the function makes."""
    box = make()
    check_box("what the function makes that migrate was given", box)
    return box


def check_box(what: str, box: object) -> None:
    if isinstance(box, type) or not callable(getattr(box, "push_all", None)):
        raise EddyError(
            f"{what} is no black box, which is an object with push_all(batches), but {shown(box)}"
        )
    attached = getattr(getattr(box, "query", None), "attachments", ())
    if attached:
        raise EddyError(
            f"{what} has {attached[0]}, so what it gives depends on rows that have left their windows, which no other "
            "box would be given: use the Eddy itself, and change its plan by its own migrate(plan)"
        )


def close(box: object) -> None:
    """Let a box go. Whoever does so has results to give, which an error must not end."""
    end = getattr(box, "close", None)
    try:
        if callable(end):
            end()
    except Exception as error:
        warn(PolicyWarning(f"close() of a box that was let go has raised {type(error).__name__}: {error}"))
