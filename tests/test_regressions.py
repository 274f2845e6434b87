"""Faults that were found once, each as the smallest case that shows it."""

from unittest import mock

import numpy as np
import pytest

import eddy
from policies import Jisc, Routing
from stairs import Stair
from stairs.hole_kernels import place


def pair(**options):
    """An engine over A and B on x, for ever."""
    streams = {name: eddy.Stream({"x": "int64"}) for name in "AB"}
    return eddy.Eddy(eddy.Query(streams, where=["A.x = B.x"]), **options)


def triple(window, plan="(A B) C", **options):
    """An engine over A, B and C on x."""
    streams = {name: eddy.Stream({"x": "int64"}, window=window) for name in "ABC"}
    return eddy.Eddy(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"]), plan=plan, **options)


def test_a_draw_reads_none_of_the_callers_arrays_later():
    """What the caller writes into his arrays after the push changes no result that is drawn later."""
    engine = pair(batch_size=2)
    engine.push("A", {"x": [1, 2, 3, 4]})
    x = np.array([1, 2, 3, 4])
    parts = engine.push("B", {"x": x}, max_rows=10)
    x[:] = 99
    assert sum(len(part) for part in parts) == 4


def test_a_plan_change_that_fails_changes_nothing():
    """When a STAIR cannot be made the engine goes on under its old plan, exactly."""
    engine = triple(eddy.Rows(20))
    for name in "ABC":
        engine.push(name, {"x": [1, 2, 3]})
    with mock.patch.object(Stair, "open", side_effect=MemoryError), pytest.raises(MemoryError):
        engine.migrate("A (B C)")
    assert engine.plan == "(A B) C"
    assert engine.push("A", {"x": [2]}).rows.tolist() == [[3, 1, 1]]


def test_closing_a_draw_reports_a_failure():
    """An error while the rest of a closed draw is stored is remembered: the engine takes no more pushes."""
    engine = pair(batch_size=1)
    engine.push("A", {"x": [1] * 5})
    parts = engine.push("B", {"x": [1, 1, 1]}, max_rows=2)
    next(parts)
    with mock.patch.object(engine._changes, "work", side_effect=MemoryError), pytest.raises(MemoryError):
        parts.close()
    with pytest.raises(eddy.StateError, match="in the middle of a batch"):
        engine.push("A", {"x": [1]})


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("shift", [0, 20, 36, 50])
def test_keys_that_differ_in_high_bits_spread_over_the_hole_map(shift):
    """Keys such as whole numbers in float64 differ in their high bits only, and still find slots of their own."""
    keys, states = np.zeros(4096, np.int64), np.zeros(4096, np.uint8)
    slots = {int(place.py_func(keys, states, np.int64(key << shift))) for key in range(1024)}
    assert len(slots) > 800


def test_a_demoted_key_without_rows_is_filled():
    """Demoting a key that has no live row leaves no hole: the STAIR stays complete."""
    engine = triple(eddy.Rows(10))
    for name in "ABC":
        engine.push(name, {"x": [1, 2]})
    (stair,) = engine._router.stairs.values()
    stair.demote(np.array([77]))
    engine.push("C", {"x": [1]})
    assert stair.complete


def test_a_stair_completes_when_one_of_its_windows_has_turned_over():
    """Of a window and an unbounded stream that carries more of the key, the window decides."""
    wide, narrow = {"x": "int64", "y": "int64"}, {"x": "int64"}
    streams = {
        "A": eddy.Stream(wide),
        "B": eddy.Stream(narrow, window=eddy.Rows(5)),
        "C": eddy.Stream(wide, window=eddy.Rows(5)),
    }
    query = eddy.Query(streams, where=["A.x = B.x", "B.x = C.x", "A.y = C.y"])
    engine = eddy.Eddy(query, plan="(A C) B", migration=Jisc())
    engine.push("A", {"x": [1, 2, 3], "y": [1, 2, 3]})
    engine.push("B", {"x": [1, 2, 3]})
    engine.migrate("(A B) C")
    for _ in range(6):
        engine.push("B", {"x": [1]})
    assert engine.statistics().complete


class Astray(Routing):
    """Names a plan that does not exist."""

    period = 1

    def choose(self, statistics):
        return "(A B) Z"


def test_a_routing_policy_that_errs_costs_nothing():
    """A bad plan is refused before the next batch is taken in; no result is lost and the engine goes on."""
    engine = pair(routing=Astray())
    engine.push("A", {"x": [1]})
    with pytest.raises(eddy.PlanError):
        engine.push("B", {"x": [1]})
    engine.routing.period = None
    assert engine.push("B", {"x": [1]}).rows.tolist() == [[0, 0]]


def test_no_predicate_is_asked_about_rows_that_a_filter_ruled_out():
    """A filter protects a function of the user's that fails on what it rules out."""

    def ratio(a, b):
        return a // b > 1

    streams = {"A": eddy.Stream({"x": "int64"}), "B": eddy.Stream({"y": "int64"})}
    query = eddy.Query(streams, where=["B.y != 0", eddy.predicate(ratio, "A.x", "B.y")])
    engine = eddy.Eddy(query)
    engine.push("B", {"y": [0, 2]})
    assert engine.push("A", {"x": [8]}).rows.tolist() == [[0, 1]]
    assert engine.push("B", {"y": [0, 3]}).rows.tolist() == [[0, 3]]
