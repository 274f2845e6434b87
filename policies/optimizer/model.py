"""What our kernels cost: seconds for each thing that a step does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from attrs import astuple, frozen
from numpy.typing import NDArray

from policies.optimizer.calibrated import SECONDS
from policies.optimizer.estimate import Estimate

if TYPE_CHECKING:
    from policies.view import View


@frozen
class CostModel:
    """The cost of a plan is the sum of these, each times how often it happens per event.

    `python -m benchmarks.calibrate --write` measures them on this machine; what was measured where the library was
    made is in `calibrated.py`. Only their ratios decide between plans.
    """

    probe: float = SECONDS["probe"]
    """Look up one key in a store that the cache holds."""
    miss: float = SECONDS["miss"]
    """In addition, each time that the store is twice as large."""
    match: float = SECONDS["match"]
    """Find one match."""
    byte: float = SECONDS["byte"]
    """Write one byte of it: a composite of k streams has 12 + 4k."""
    insert: float = SECONDS["insert"]
    """Link one composite into its store."""
    rekey: float = SECONDS["rekey"]
    """Fetch one attribute of the key by which a composite probes next, where that is another than before."""
    verify: float = SECONDS["verify"]
    """Compare one attribute of a match whose key has several."""
    seek: float = SECONDS["seek"]
    """A step of the search in a sorted index."""
    compare: float = SECONDS["compare"]
    """Try one pair, in nested loops."""
    step: float = SECONDS["step"]
    """Begin a step, once in a batch."""
    batch: float = SECONDS["batch"]
    """Begin a batch: the same for all plans, as is what follows."""
    event: float = SECONDS["event"]
    """Take in one row."""
    mark: float = SECONDS["mark"]
    """Tell, for one row and one stream whose window does not count rows, what is live in it."""
    look: float = SECONDS["look"]
    """Show a policy one step of the plan."""
    sample: float = SECONDS["sample"]
    """Sample one pair of streams, from one side."""
    think: float = SECONDS["think"]
    """Look for the best plan."""
    change: float = SECONDS["change"]
    """Prepare one step of a new plan. That takes a third of this, measured; but what is believed of plans is uncertain,
    and with less `Auto` makes changes that do not pay (`benchmarks.drift`)."""
    keep: float = SECONDS["keep"]
    """Keep composites of one set of streams, per event: a premium. They take memory, and where the feed changes, what
    is kept may grow without bounds before it is seen: a plan that keeps them must be worth it."""

    def overhead(self, view: View) -> float:
        """Seconds per event that every plan takes."""
        marked = len(view.graph.names) - len(view.lengths)
        return self.event + self.mark * marked + self.batch / max(view.batch, 1.0)

    def reaching(self, entries: float, streams: int) -> float:
        """Seconds to get at one of so many entries, beyond what it takes in a store that the cache holds."""
        return self.miss * math.log2(1 + entries * (12 + 4 * streams) / 32768)

    def array(self, estimate: Estimate) -> NDArray[np.float64]:
        """As the kernels take it, for engines such as the one that the estimate is of."""
        seconds = astuple(self)[:9]
        return np.array([*seconds, self.step / estimate.batch, float(estimate.joins == "nested"), self.keep])
