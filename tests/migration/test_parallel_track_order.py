"""ParallelTrack("pt"): held results are released oldest plan first, whichever plan was the first to hold some."""

import eddy
from policies import ParallelTrack
from tests.trace import Trace


def test_the_older_of_two_held_plans_is_released_first():
    """The third plan holds a result before the second does; it is given after."""
    trace = Trace("A B", migration=ParallelTrack("pt", patience=10**9))
    trace.add("a1(1)")
    trace.migrate("B A")
    trace.add("a2(2)")
    trace.migrate("A B")
    trace.add("a3(3)")
    assert trace.add("b1(3) b2(2)") == []  # a3b1 is the third plan's, a2b2 the second's: both are held
    assert trace.read(trace.engine.settle()) == ["a2b2", "a3b1"]


def test_what_a_plan_holds_is_released_when_the_plan_before_it_has_gone():
    """Not later, though the plan after it holds something too."""
    trace = Trace(
        "A B", windows=dict.fromkeys("AB", eddy.Rows(3)), migration=ParallelTrack("pt", patience=10**9)
    )
    trace.add("a1(1)")
    trace.migrate("B A")
    trace.add("a2(2)")
    trace.migrate("A B")
    trace.add("a3(3)")
    assert trace.add("b1(3) b2(2)") == []
    assert trace.emitted("a4(9)") == ["a2b2"]  # a1 leaves: the first plan goes, a2b2 is released
    assert trace.emitted("a5(9)") == ["a3b1"]
