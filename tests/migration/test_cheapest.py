"""`Cheapest` takes another technique for another change, says why, and changes nothing about results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from policies import Cheapest, Fixed, MovingState
from policies.migration.pricing import Overheads, Prediction, predict
from policies.migration.survey import JoinStep, Survey
from policies.optimizer.model import CostModel
from tests.cases import Taking
from tests.operator_engines import chain

OLD, NEW = "((A B) C) D", "A (B (C D))"
RIGHT = "((A D) C) B"


def query(window):
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(window)) for name in "ABCD"}
    return eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.k = D.k"])


def fed(window, keys, size, migration, plan=OLD, **options):
    """An engine whose windows are full, of rows that came in batches of ``size`` of each stream."""
    engine = eddy.Eddy(query(window), plan=plan, migration=migration, **options)
    random = np.random.default_rng(3)
    for _ in range(-(-window // size)):
        engine.push_all({name: {"k": random.integers(0, keys, size)} for name in "ABCD"})
    return engine


def last(engine):
    return engine.statistics().history[-1]


def test_tiny_windows_are_filled_at_once():
    """To go the long way for a window takes longer than to make all that is missing."""
    engine = fed(100, 100, 10, Cheapest())
    engine.migrate(RIGHT)
    change = last(engine)
    assert (change.technique, change.ended) == ("MovingState", change.begun)
    assert change.keys_filled > 50 and engine.statistics().complete
    assert set(change.predicted) == {"MovingState", "Jisc", "ParallelTrack", "HybMig"}
    assert min(change.predicted, key=change.predicted.get) == "MovingState"


def test_nothing_to_make_is_nothing_to_choose():
    """A plan whose states are there takes over, and no technique would do more."""
    engine = fed(100, 100, 10, Cheapest())
    engine.migrate("D (C (B A))")
    change = last(engine)
    assert (change.technique, change.ended, change.keys_filled) == ("Jisc", change.begun, 0)
    assert set(change.predicted.values()) == {0.0}
    engine.migrate("stems")
    assert (last(engine).technique, last(engine).composites_built) == ("Jisc", 0)


def test_states_that_explode_are_not_made_at_once():
    """Few keys make composites by the hundred thousand, which the old plan spares the new one."""
    engine = fed(300, 10, 300, Cheapest())
    engine.migrate(NEW)
    change = last(engine)
    assert change.technique in ("HybMig", "ParallelTrack")
    assert change.predicted["MovingState"] > 1.5 * change.predicted[change.technique]
    assert change.keys_filled == 0


def test_a_pause_that_counts_is_avoided():
    """The same change, but that a pause is worth a thousand times as much as work."""
    for pause, wanted in ((0.0, "MovingState"), (1e5, "Jisc")):
        engine = fed(4_000, 4_000, 100, Cheapest(pause=pause))
        engine.migrate(RIGHT)
        found = last(engine).technique
        assert (found == "MovingState") == (wanted == "MovingState"), (pause, found)


def test_while_another_change_is_under_way_states_are_made():
    """Plans that are not whole cannot run beside another: what is predicted are the two that make states."""
    engine = fed(2_000, 2_000, 100, Cheapest(pause=1e5))
    engine.migrate(RIGHT)
    assert last(engine).ended is None
    engine.migrate(NEW)
    assert set(last(engine).predicted) == {"MovingState", "Jisc"}


def test_the_choice_is_the_same_for_the_same_seed():
    """It is made of counts and samples, not by the clock."""
    told = []
    for _ in range(2):
        engine = fed(500, 300, 50, Cheapest(), seed=7)
        engine.migrate(NEW)
        told.append(last(engine).predicted)
    assert told[0] == told[1]


def test_what_was_chosen_is_explained():
    """The line names what was used and what each was said to take."""
    engine = fed(100, 100, 10, Cheapest())
    assert "last change" not in engine.explain()
    engine.migrate(RIGHT)
    (line,) = [line for line in engine.explain().splitlines() if line.startswith("last change")]
    assert line.startswith("last change by MovingState, predicted ") and "Jisc" in line


def test_a_set_difference_is_changed_by_jisc():
    """Nothing is known there of what a change would take."""
    engine = chain(dict.fromkeys("ABCD", eddy.Rows(9)), migration=Cheapest())
    engine.migrate("A - D - B - C")
    assert (last(engine).technique, last(engine).predicted) == ("Jisc", {})


def test_shards_choose_for_themselves():
    """Each has its part of the rows; their changes are told as one."""
    engine = fed(200, 150, 20, Cheapest(), threads=2)
    engine.migrate(RIGHT)
    assert last(engine).technique == "MovingState" and engine.statistics().complete


def test_a_snapshot_is_resumed_as_by_jisc(tmp_path):
    """Holes fill when they are probed."""
    engine = fed(200, 150, 20, Cheapest())
    engine.save(tmp_path / "rows.eddy")
    loaded = eddy.Eddy.load(tmp_path / "rows.eddy", migration=Cheapest())
    assert not loaded.statistics().complete
    batch = {name: {"k": list(range(20))} for name in "ABCD"}
    assert len(loaded.push_all(batch)) == len(engine.push_all(batch))
    assert last(loaded).technique == "Jisc"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_one_technique_may_follow_another(order):
    """Changes that overlap, each by another technique, in every order: the results are those of a plan that stays."""
    engine = eddy.Eddy(query(40), plan=OLD, migration=Taking(order))
    plain = eddy.Eddy(query(40), plan=OLD, routing=Fixed())
    random, plans = np.random.default_rng(5), itertools.cycle([NEW, RIGHT, "(A C) (B D)", "stems", OLD])
    for number in range(60):
        if number % 3 == 2:
            engine.migrate(next(plans))
        batch = {name: {"k": random.integers(0, 12, 4)} for name in "ABCD"}
        found, wanted = (each.push_all(batch).rows.tolist() for each in (engine, plain))
        assert sorted(map(tuple, found)) == sorted(map(tuple, wanted))


def steps(*sides):
    """Steps of a tree, from the pairs of sets that it joins; the last makes results."""
    made = []
    for i, (one, other) in enumerate(sides):
        for source, target in ((one, other), (other, one)):
            made.append(JoinStep(frozenset(source), frozenset(target), frozenset(source), i + 1 < len(sides)))
    return tuple(made)


def survey(size, live=1000.0, batch=100.0):
    """((A B) C) to A (B C), where B C has ``size`` composites."""
    former, plan = steps(({0}, {1}), ({0, 1}, {2})), steps(({1}, {2}), ({0}, {1, 2}))
    composites = {frozenset({0, 1}): live, frozenset({1, 2}): size}
    return Survey((live,) * 3, (1 / 3,) * 3, former, plan, (frozenset({1, 2}),), composites, batch)


def test_predictions_grow_with_what_is_missing():
    """A state that is made at once costs as much as it has entries, and pauses for it; the others hardly pause."""
    small, large = (predict(survey(size), CostModel(), Overheads()) for size in (1e3, 1e7))
    assert small["MovingState"].seconds < small["HybMig"].seconds
    assert large["MovingState"].seconds > large["HybMig"].seconds > 0
    assert large["MovingState"].pause > 1000 * large["HybMig"].pause
    assert large["Jisc"].pause < large["MovingState"].pause / 10


def test_predictions_are_finite_where_there_is_nothing():
    """No rows, no rates, no batches: nothing is divided by what there is not."""
    empty = Survey((0.0,) * 3, (0.0,) * 3, *(survey(1.0).former, survey(1.0).plan), (), {}, 1.0)
    for each in predict(empty, CostModel(), Overheads()).values():
        assert isinstance(each, Prediction) and 0 <= each.seconds < 1 and 0 <= each.pause < 1


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"Cheapest\(pause=\.\.\.\) is a number of at least 0, not -1"):
        Cheapest(pause=-1)
    assert repr(Cheapest()) == "Cheapest(pause=0.0)"


def test_what_is_chosen_does_what_it_does_alone():
    """Under `Cheapest` a change by `MovingState` fills what it fills when it is given itself."""
    told = []
    for migration in (Cheapest(), MovingState()):
        engine = fed(100, 100, 10, migration)
        engine.migrate(RIGHT)
        told.append((last(engine).keys_filled, last(engine).composites_built, last(engine).ended))
    assert told[0] == told[1]
