"""What a plan is compiled to: STAIRs by name, steps between them, and the routing table."""

from __future__ import annotations

from attrs import field, frozen

from eddy.plan.scope import Scope
from eddy.plan.selectors import ByValue, Selector
from eddy.query.residual import Residual
from stairs.program_kernels import WHOLE

Streams = tuple[int, ...]
"""Stream numbers, ascending: also the order of the components in an entry."""


@frozen(cache_hash=True)
class Key:
    """What a STAIR is keyed by: key classes, or the row number of one stream (theta), or nothing (cross product)."""

    classes: tuple[int, ...] = ()
    row: int | None = None


@frozen(cache_hash=True)
class StairId:
    """A STAIR's identity: a plan change keeps the STAIRs that the new plan has too."""

    streams: Streams
    key: Key
    former: int = 0
    """Not 0: it belongs to a plan that is being left, and plans since have a state of the same name. A number tells it
    from others of that name."""

    @property
    def drivers(self) -> Streams:
        """The streams whose arrivals make its entries."""
        return self.streams


@frozen(cache_hash=True)
class Place:
    """Where matches go that are not stored: the prefix of a stream's own ordering."""

    path: Streams
    key: Key
    way: int = 0
    """Which of the orderings of its stream, where there are several."""
    sizes: tuple[int, ...] = ()
    """How many streams of the path came at once; none given: one after the other. So places that are made in different
    ways are different places."""
    streams: Streams = field(init=False, eq=False, repr=False)
    """The same as the path, in the order of declaration."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "streams", tuple(sorted(self.path)))

    @property
    def drivers(self) -> Streams:
        """The streams whose arrivals make its entries: that of the row, or those of the composite, that began."""
        return self.path[: self.sizes[0] if self.sizes else 1]


RESULTS = Place((), Key())
"""Where complete combinations go."""


@frozen(eq=False)
class Step:
    """Probe ``target`` with the entries of ``source``. With ``thetas`` the key is each row of stream ``target.key.row``
    that all these predicates accept; without any, and without classes, everything matches."""

    source: StairId | Place
    target: StairId
    thetas: tuple[Residual, ...] = ()
    residuals: tuple[Residual, ...] = ()
    """Predicates that both sides together decide, evaluated on the matches."""
    scope: Scope | None = None
    """Of the matches only those count that are in it; None: all of them."""
    share: tuple[int, int] = (0, WHOLE)
    """The part of the entries of a batch that takes this step, in WHOLE-ths: from, to. With a selector, of what it
    gives them for numbers."""
    selector: Selector | None = None
    """Which entries take it; None: a range of the batch."""

    @property
    def part(self) -> float:
        """How many of the entries of its source take it, as a share; 0 where that depends on what comes."""
        return 0.0 if isinstance(self.selector, ByValue) else (self.share[1] - self.share[0]) / WHOLE

    @property
    def streams(self) -> Streams:
        return tuple(sorted(self.source.streams + self.target.streams))


@frozen(eq=False)
class Stop:
    """All steps into one place."""

    out: StairId | Place
    steps: tuple[Step, ...]


@frozen(eq=False)
class RoutingTable:
    """The compiled plan."""

    stops: tuple[Stop, ...]
    leaves: tuple[StairId, ...]
    """Leaves that the plan probes or starts from."""

    @property
    def stairs(self) -> tuple[StairId, ...]:
        """Composite STAIRs, each after those below it."""
        return tuple(stop.out for stop in self.stops if isinstance(stop.out, StairId))
