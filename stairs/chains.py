"""The chains of a ring: entries whose keys have one bucket, each linked to the next older one. Pieces for kernels."""

from __future__ import annotations

import numpy as np

from stairs.kernel import part

AHEAD, NEAR = 64, 1 << 16
"""How far ahead bucket heads are asked for; no more than NEAR of them are in the cache anyway."""


@part
def following(older, low):
    """Where a link to ``older`` leads: no further back than just below the low-water id ``low``.

    So that a 32-bit id cannot come round and look live again. This is ``low + max(older - low, -1)`` without a branch,
    which could not be predicted: compilers make one of ``max``.
    """
    ahead = np.int32(older - low)
    return np.int32(low + (ahead | (ahead >> np.int32(31))))
