"""What a routing policy sees: a frozen view of the streams and of the plan that runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

from policies.graph import Graph

Sample = Callable[[str, tuple[str, ...]], tuple[float, ...]]
"""From a stream and the others in some order to the mean number of matches of its rows after each step."""


@frozen
class Fan:
    """What a row of one stream finds in another, from a sample."""

    mean: float
    """Matches of a row."""
    spread: float
    """The square of how far off the mean may be; 0 where all rows were looked up."""


Pairs = Callable[..., Mapping[tuple[str, str], Fan]]
"""From pairs of streams (from nothing: from all of them) to what rows of the first find in the second."""


def _no_pairs(wanted: Collection[tuple[str, str]] | None = None) -> Mapping[tuple[str, str], Fan]:
    return {}


class Content(Protocol):
    """What is sampled of rows that have some values of a key, as plans name them: ``A k in (5, 17)``."""

    def heavy(self, start: str, target: str) -> tuple[str, tuple[int, ...]] | None:
        """A key column of stream ``start``, and those few of its values whose rows find most of all matches in stream
        ``target``, and far more than other rows; None if there are none."""

    def share(self, start: str, column: str, values: tuple[int, ...]) -> float:
        """The part of the rows of a stream that have one of these values."""

    def sample_group(
        self, start: str, column: str, values: tuple[int, ...], inside: bool, path: Sequence[str]
    ) -> tuple[float, ...]:
        """As `View.sample`, of the rows that have one of the values, or, if not ``inside``, of all others."""


@frozen
class Glance:
    """What can be seen at nearly no cost: what there was since the policy was last asked."""

    events: int
    arrivals: tuple[int, ...]
    """Rows of each stream."""
    matches: int
    """Of all steps."""
    seconds: float = field(default=0.0, eq=False)
    """Time spent on batches."""
    batches: int = 0


@frozen
class StepView:
    """One step of the plan that runs: what probed what, and what came of it, since the last view."""

    source: tuple[str, ...]
    """Streams of the entries that probed."""
    target: tuple[str, ...]
    """Streams of the STAIR that was probed."""
    probes: int
    matches: int
    drivers: tuple[str, ...] = field(default=(), repr=False)
    """Streams whose arrivals make these entries, if not all of them do: under orderings, the one that began."""
    share: float = field(default=1.0, eq=False, repr=False)
    """The part of these arrivals that takes the step; 2 where it is made twice, into two STAIRs. 0 where rows go by
    what they are, so that those which take it do not stand for all."""
    tried: int = field(default=0, eq=False, repr=False)
    """Pairs that had to be looked at closely: the matches, and what predicates besides the key have refused."""


@frozen
class StairView:
    """One STAIR of composites of the plan that runs."""

    streams: tuple[str, ...]
    live: int
    """Composites that it holds, at most this many alive."""
    bytes: int
    complete: bool


@frozen
class View:
    """An engine at one moment, and what has gone on since the last view of it."""

    graph: Graph
    plan: str
    events: int
    """Events so far."""
    arrivals: Mapping[str, int]
    """Rows of each stream since the last view."""
    live: Mapping[str, int]
    """Rows inside each stream's window."""
    distinct: Mapping[tuple[str, int], int]
    """Distinct live values of a stream's attribute in a key class, by stream and number of the class; an estimate."""
    steps: tuple[StepView, ...]
    stairs: tuple[StairView, ...]
    sample: Sample = field(eq=False, repr=False)
    """Index sampling: `sample("A", ("B", "C"))` takes a few hundred live rows of A by chance and looks them up in B,
    and what came of it in C: the mean number of composites per row of A after each step. Any path will do, whether the
    plan has it or not; the same seed and state give the same answer."""
    seconds: float = field(default=0.0, eq=False)
    """Time spent on batches since the last view."""
    joins: str = "hash"
    pinned: tuple[str, ...] = ()
    """Sub-plans that have to stay, as the user wrote them."""
    migration: str = "Jisc"
    """What the technique by which plans change is called: for people to read."""
    beside: float = 0.0
    """Which part of the old plan's work goes on until the windows have turned over: see `Migration.beside`."""
    at_once: float = 0.0
    """How large states may be, in events of a batch, to be made at a change and not when asked for: see
    `Migration.at_once`."""
    batch: float = 4096.0
    """Events of a batch, on average."""
    lengths: Mapping[str, int] = field(factory=dict)
    """Rows of the windows that are given by a number of rows."""
    pairs: Pairs = field(default=_no_pairs, eq=False, repr=False)
    """What `sample` says of pairs of streams that one equality connects, all of them at once, or those that are given,
    in much less time; of others nothing."""
    content: Content | None = field(default=None, eq=False, repr=False)
    """Samples of rows by the values of their keys."""
