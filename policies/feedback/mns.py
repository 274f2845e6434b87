"""Minimal non-demanded sub-tuples."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from policies.feedback.base import Edge, Feedback
from policies.options import one_of, optional, truth, whole

SHORTEST, LONGEST = 64, 4096
"""Batches that an edge rests: four times as many each time that it did not pay."""

WORTH = 2.0
"""Times what it spares that judging may take: composites that are not made take no memory either."""

LEFT_OUT, DEAREST = 0.5, 12.0
"""Of pairs that are judged the share that must stay out, since below that the keys that are noted take what is spared;
and times what it spares that judging them may take: who asks for it wants the memory."""


@frozen
class Mns(Feedback):
    """Entries wait while nothing matches them higher up (JIT, sections III and IV).

    A row is judged when it arrives, against every node of the plan with which it will meet above its own sibling, by
    all the attributes that it shares with it. So are composites of up to ``levels`` streams (None: of any number), by
    what their components share with it together: the sub-tuples of several components. Those of fewer are found
    first, so what is suspended is minimal as far as the plan has nodes for it.

    Departures from the paper, which loses results as printed: at every join only one side waits; what is suspended is
    known by its values, and lives as long as anything waits for them; what comes back is processed like an arrival,
    and may wake others.

    Where a row shares no attribute with a stream that it meets above its sibling, but other predicates compare the two
    (`A.x BETWEEN C.low AND C.high`, `A.x + C.y > 200`), it waits until a sorted index of that stream has a row that may
    satisfy them.

    ``pairs=True`` judges components on both sides of a join together (Type II): a composite is not stored while
    nothing that it meets next has its key. Only the key is noted, and when something with it comes all composites with
    it are made. Nothing is marked: neither side is kept from other partners.

    ``detect="bloom"`` looks for parts of a key in Bloom filters instead of leaves and directories: they take a tenth of
    the space of directories, and miss some of what could wait.

    Where judging takes more time than it is worth, an edge rests and tries again later; so does ``pairs`` where fewer
    than half of the pairs stay out. (``restraint=False``: nothing ever rests.)

    ``literal=True`` is JIT as printed, which loses results; only `eddy.AsPrinted` runs it.
    """

    levels: int | None = field(
        default=None, validator=optional(whole(1, takes="a number of components, 1 or more"))
    )
    detect: str = field(default="exact", validator=one_of(("exact", "bloom")))
    restraint: bool = field(default=True, validator=truth())
    literal: bool = field(default=False, validator=truth())
    pairs: bool = field(default=False, validator=truth())

    @property
    def filters(self) -> bool:
        """With ``detect="bloom"``."""
        return self.detect == "bloom"

    @property
    def bands(self) -> bool:
        """Always."""
        return True

    @property
    def hesitates(self) -> bool:
        """With ``restraint``."""
        return self.restraint

    def judges(self, components: int, attributes: Sequence[int]) -> Sequence[int] | None:
        """All attributes; without any, a composite waits for nothing that its rows do not wait for."""
        if self.levels is not None and components > self.levels:
            return None
        return attributes if components == 1 or attributes else None

    def rest(self, edge: Edge) -> int:
        """Rest where it has taken more time than it was worth, and where too few pairs were left out."""
        out = edge.failed - edge.returned
        most = (DEAREST if edge.pairs else WORTH) * out * edge.worth
        if not self.restraint or (edge.seconds <= most and not (edge.pairs and out < LEFT_OUT * edge.judged)):
            return 0
        return min(LONGEST, max(SHORTEST, 4 * edge.patience))
