"""The technique that is said to be the cheapest for a change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import field, frozen

from policies.migration.base import Change, Migration
from policies.migration.hybmig import HybMig
from policies.migration.jisc import Jisc
from policies.migration.moving_state import MovingState
from policies.migration.parallel_track import ParallelTrack
from policies.migration.pricing import OVERHEADS, predict
from policies.optimizer.model import CostModel
from policies.options import number

TECHNIQUES: Mapping[str, Migration] = {
    "Jisc": Jisc(),
    "MovingState": MovingState(),
    "ParallelTrack": ParallelTrack(),
    "HybMig": HybMig(),
}
"""Those that it chooses from."""
MODEL = CostModel()
MARGIN = 1.05
"""Times what the others are said to take must be less than for `MovingState`, after which nothing is left to be done:
what is said of them depends on more that is not known, such as the rows to come."""


@frozen
class Cheapest(Migration):
    """Choose for each change the technique that will take least, by the papers' cost models (Zhu et al., section 5;
    HybMig, section 4.4) with the times of our kernels: `Jisc`, `MovingState`, `ParallelTrack` or `HybMig`.

    Least is processor time, of the whole change. ``pause`` is what a second of the longest pause counts besides, in
    seconds of processor time: with 0 a pause does not matter, with 10 a change that takes 50 ms more but pauses for
    10 ms less is the better one.

    Where no state is missing nothing has to be chosen: the new plan takes over. While another change is under way the
    states that are lacking are made, at once (`MovingState`) or when they are asked for (`Jisc`). Nothing can be told
    of a set difference, so there it is `Jisc`, as after loading a snapshot.

    What was predicted for each is in `MigrationStatistics.predicted`, and which was used in `technique`.
    """

    pause: float = field(default=0.0, validator=number(least=0))

    at_once = math.inf  # it takes no more than `MovingState`

    def begin(self, change: Change) -> None:
        survey = change.survey()
        if survey is None or not survey.missing:
            name, predicted = "Jisc", {} if survey is None else dict.fromkeys(TECHNIQUES, 0.0)
        else:
            found = predict(survey, MODEL, OVERHEADS)
            prices = {name: each.seconds + self.pause * each.pause for name, each in found.items()}
            name = min(prices, key=lambda name: prices[name] * (1 if name == "MovingState" else MARGIN))
            predicted = {name: each.seconds for name, each in found.items()}
        change.delegate(TECHNIQUES[name], predicted)
        TECHNIQUES[name].begin(change)

    def work(self, change: Change) -> None:
        """The technique that was chosen works."""

    def resume(self, change: Change) -> None:
        change.delegate(TECHNIQUES["Jisc"], {})
