"""What a feedback policy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol


class Edge(Protocol):
    """Entries of one node of a plan wait for entries of another, with which they meet higher up."""

    @property
    def judged(self) -> int:
        """Entries that were judged since the last review."""

    @property
    def failed(self) -> int:
        """Those of them that were suspended."""

    @property
    def returned(self) -> int:
        """Suspended entries that came back since the last review."""

    @property
    def looked(self) -> int:
        """Keys that were looked up since then, for those that wait."""

    @property
    def batches(self) -> int:
        """Batches since then."""

    @property
    def seconds(self) -> float:
        """Processor time since then for all this, and for bringing back what was suspended."""

    @property
    def worth(self) -> float:
        """Seconds that it spares to suspend one entry, estimated."""

    @property
    def pairs(self) -> bool:
        """Whether it leaves out pairs, where others let entries wait."""

    @property
    def patience(self) -> int:
        """Batches for which it rested the last time."""


class Feedback(ABC):
    """Decides what is judged: an entry that would find no live partner higher up need not be worked for until there is
    one. Such entries are suspended; when a partner comes they are processed as if they had come just before it.

    A subclass writes `judges`, and `rest` so that judging stops where it does not pay; `docs/extending.md` has one.
    Whatever a policy decides, results are the same. An engine works with a deep copy of it.
    """

    watches: ClassVar[bool] = True
    """Whether it ever judges anything; if not, it costs nothing."""

    literal: bool = False
    """It is the scheme as its paper prints it, which an engine refuses: `eddy.AsPrinted` runs it."""

    @property
    def bands(self) -> bool:
        """Whether rows that no equality joins with what they wait for are judged by other predicates, where a sorted
        index can tell whether there is a row that may satisfy them."""
        return False

    pairs: bool = False
    """Whether a join makes no pairs that nothing matches by attributes of both sides together."""

    @property
    def filters(self) -> bool:
        """Whether to look for a part of a key in a Bloom filter, which is small and may take one for another."""
        return False

    @abstractmethod
    def judges(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        """What entries wait for, asked once for each edge of a plan.

        ``components``: the streams that an entry is made of, 1 for rows. ``attributes``: the numbers of the key classes
        that it shares with what it meets higher up. Returned are those of them that one entry there must have, all of
        them at once; () means that any entry will do, and None that these entries never wait.
        """

    def waits(self, left: int, right: int, nested: bool) -> bool:
        """Whether the left side of a join waits for the right one, or the right one for the left; of how many streams
        each is made, and whether joins are nested loops.

        A single stream makes nothing, so it has nothing to spare by waiting. By nested loops the larger side waits:
        then little is left that everything has to look at. By hash joins the smaller one: on the larger side rows wait
        for each other already, so there is little to be looked for, and fewer edges to be visited.
        """
        return left >= right if nested or min(left, right) == 1 else left <= right

    @property
    def hesitates(self) -> bool:
        """Whether, of two streams that are joined with each other first, only one waits to begin with: what it makes is
        spared for both. The other rests, and is tried as after any rest."""
        return False

    def rest(self, edge: Edge) -> int:
        """An edge is reviewed: from what it has cost and saved, for how many batches it is not to judge anything. 0: it
        goes on."""
        return 0
