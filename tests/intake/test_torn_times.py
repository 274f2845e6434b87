"""Times that another thread writes to while they are merged: places stay those of rows in order."""

import numpy as np
import pytest

from eddy.intake.merge import TIMED_PART, number
from stairs.lowlevel.address import handle


@pytest.mark.parametrize("times, taken", [([0, 1, 2, 3], True), ([0, 2, 1, 3], False), ([0, 1, 1, 3], False)])
def test_places_of_a_part_ascend(times, taken):
    """What was sorted when it was checked may not be so when it is read again: such places are not used.

    Rows are stored in the order of their places, so one out of order would never be.
    """
    times = np.array(times)
    parts = np.array([(handle(times), 4, 0)], TIMED_PART)
    streams, events = np.empty(4, np.int32), np.empty(4, np.int32)
    assert number(parts, streams, events) == taken
