"""What a stage knows that does not follow from the rows: as it is saved, and loaded again."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


@frozen(eq=False)
class Kept:
    """Composites that live, each a line of the first four tables, and the rows of the stream that are held."""

    rows: Int64s
    """[composites, streams]: row numbers, -1 where there is none."""
    partners: Int64s
    """How many partners each has, or has had where nothing is withdrawn."""
    chosen: Int64s
    """The partner that each has taken when it came; -1: none."""
    births: Int64s
    """[composites, n]: what each knows from its birth; n is 2 where nobody reads it."""
    right_partners: Int64s
    """The same of rows; none are told of where rows are never given by themselves."""
    right_births: Int64s
