"""Plans whose states are of many streams: their dead entries go before their windows have turned over."""

import numpy as np
import pytest

import eddy
from stairs.begin_kernels import MANY, WIDE
from stairs.layout import USUAL

NAMES, PLAN = "ABCDEFG", "((((((A B) C) D) E) F) G)"


@pytest.mark.parametrize("order", ["ABCDEFG", "GACEBFD"])
def test_a_plan_with_wide_states_gives_what_orderings_give(order):
    """Row by row the same results as without any composite, while wide STAIRs get many entries with every push."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(40)) for name in NAMES}
    query = eddy.Query(streams, where=[f"A.k = {name}.k" for name in NAMES[1:]])
    plan = PLAN.translate(str.maketrans(NAMES, order))
    deep, flat = eddy.Eddy(query, plan=plan), eddy.Eddy(query, plan="stems")
    rng, results = np.random.default_rng(4), 0
    for push in range(24):
        sources, keys = rng.integers(0, len(NAMES), 700), rng.integers(0, 44, 700)
        batch = {
            name: {"ts": 700 * push + np.flatnonzero(sources == s), "k": keys[sources == s]}
            for s, name in enumerate(NAMES)
        }
        found, wanted = deep.push_all(batch).rows, flat.push_all(batch).rows
        assert np.array_equal(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)])
        results += len(found)
    assert results > 1000
    wide = [stair for stair in deep._state.executor.tracks[0].every_stair if stair.components >= WIDE]
    assert wide and all(stair.meta[USUAL] >= MANY for stair in wide)
