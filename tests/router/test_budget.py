"""A memory budget: composites give way, results do not."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from eddy.checks import bytes_of
from eddy.router.budget import EVERY
from policies import Jisc, Mns, MovingState
from tests.inside import Inside

NAMES = "ABCD"


def query(window=4000):
    """Four streams on one key."""
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(window)) for name in NAMES}
    return eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "C.x = D.x"])


def feed(batches, keys, seed=3, rows=100):
    """Batches of all streams; keys come in waves, so that those of the last wave are silent."""
    random = np.random.default_rng(seed)
    for number in range(batches):
        low = keys * (number // 16 % 2)
        yield {name: {"x": random.integers(low, low + keys, rows)} for name in NAMES}


def run(engine, batches=100, keys=500):
    """All results of a feed, and the most that composites took after any batch."""
    rows, most = [], 0
    for batch in feed(batches, keys):
        rows.append(engine.push_all(batch).rows.copy())
        most = max(most, composites(engine.statistics()))
    return np.concatenate(rows), most


def composites(statistics):
    """Bytes of the STAIRs."""
    return sum(stair.bytes for stair in statistics.stairs)


def ordered(rows):
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("options", [{}, {"migration": MovingState()}, {"feedback": Mns()}], ids=str)
@pytest.mark.parametrize("plan", ["((A B) C) D", "(A B) (C D)"])
def test_a_budget_changes_no_result(plan, options):
    """There are demotions all the time, and the results are the same."""
    free, budgeted = eddy.Eddy(query(), plan, **options), eddy.Eddy(query(), plan, memory="4 MB", **options)
    wanted, _ = run(free)
    found, _ = run(budgeted)
    assert budgeted.statistics().keys_demoted > 1000 and free.statistics().keys_demoted == 0
    assert np.array_equal(ordered(found), ordered(wanted))


def test_composites_keep_within_what_the_rest_leaves_them():
    """The budget is looked at between batches: what a batch asks for comes back in it, two fifths above here."""
    free = eddy.Eddy(query(), "((A B) C) D")
    _, most = run(free)
    statistics = free.statistics()
    rest = statistics.bytes - composites(statistics)
    engine = eddy.Eddy(query(), "((A B) C) D", memory=rest + most // 2)
    _, held = run(engine)
    assert held < 1.5 * (most // 2)
    assert engine.statistics().keys_demoted > 0
    assert "made holes so far, for want of memory" in engine.explain()
    assert engine.statistics().bytes < 1.1 * engine.memory


def test_the_keys_that_were_silent_for_longest_go_first():
    """Sixteen batches of low keys, sixteen of high ones: what is demoted then are low keys."""
    engine = Inside(query(20_000), "((A B) C) D")
    batches = list(feed(32, 500))
    for batch in batches:
        engine.push_all(batch)
    size = composites(engine.statistics())
    rest = engine.statistics().bytes - size
    budgeted = Inside(query(20_000), "((A B) C) D", memory=rest + int(0.9 * size))
    for batch in batches:
        budgeted.push_all(batch)
    while not budgeted.statistics().keys_demoted:
        budgeted.push_all({"A": {"x": np.array([10**6])}})
    holes = [s.holes.known() for s in budgeted.state.executor.stairs.values() if s.holes is not None]
    gone = np.concatenate(holes)
    assert len(gone) > 50 and (gone < 500).all()


def test_a_budget_below_the_rows_themselves_leaves_no_composites():
    """Rows in the windows stay; the engine goes on, with as few composites as it can."""
    engine = eddy.Eddy(query(), "((A B) C) D", memory=1)
    reference = eddy.Eddy(query(), "((A B) C) D")
    for number, batch in enumerate(feed(3 * EVERY, 500, rows=50)):
        assert len(engine.push_all(batch)) == len(reference.push_all(batch))
        if number == 2 * EVERY - 2:
            live = sum(stair.live for stair in engine.statistics().stairs)
            assert live < sum(stair.live for stair in reference.statistics().stairs)


def test_a_budget_goes_with_plan_changes_and_a_restart(tmp_path):
    """Holes by demotion and holes by a plan change are the same."""
    engine = eddy.Eddy(query(500), memory="200 kB", migration=Jisc(background=20))
    reference = eddy.Eddy(query(500))
    plans = ["((A B) C) D", "(A C) (B D)", "stems", "((D C) B) A"]
    for number, batch in enumerate(feed(48, 300, rows=100)):
        if number % 5 == 0:
            engine.migrate(plans[number // 5 % 4])
        if number == 24:
            engine.save(tmp_path / "snapshot")
            engine = eddy.Eddy.load(tmp_path / "snapshot", memory="200 kB")
        found, wanted = engine.push_all(batch), reference.push_all(batch)
        assert np.array_equal(ordered(found.rows), ordered(wanted.rows))


def test_maps_of_holes_do_not_grow_with_the_keys_that_ever_were():
    """Every batch has keys of its own: those that have gone are forgotten."""
    engine = Inside(query(400), "((A B) C) D", memory=1)
    engine.state.budget.every = 1
    sizes = []
    for number in range(300):
        keys = np.arange(100) + 100 * number
        engine.push_all({name: {"x": keys} for name in NAMES})
        sizes.append(
            sum(0 if s.holes is None else s.holes.nbytes for s in engine.state.executor.stairs.values())
        )
    assert engine.statistics().keys_demoted > 20_000
    assert max(sizes[150:]) <= max(sizes[:150]) < 1_000_000


def test_memory_is_a_number_or_a_text():
    """What else is given is refused with what to write."""
    assert bytes_of("512 MB") == bytes_of("512MiB") == 512 * 2**20
    assert bytes_of("1.5k") == 1536 and bytes_of(7) == bytes_of("7 B") == 7
    assert eddy.Eddy(query(), memory="1 GB").memory == 2**30 and eddy.Eddy(query()).memory is None
    for wrong in (0, -5, True, 1.5, "much", "12 parsecs", []):
        with pytest.raises(eddy.EddyError, match="512 MB"):
            eddy.Eddy(query(), memory=wrong)
