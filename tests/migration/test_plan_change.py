"""What a plan change keeps: the STAIRs that both plans have."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import eddy
from eddy.plan.compiler import Compiler
from tests.plans import chain, table, trees


def kept(query, before, after):
    """The STAIRs that survive a plan change, by the names of their streams."""
    both = set(table(query, before).stairs) & set(table(query, after).stairs)
    return sorted("".join(query.names[s] for s in stair.streams) for stair in both)


def test_a_change_keeps_the_stairs_that_both_plans_have():
    """With one key class, a STAIR is its set of streams, whatever the order inside and around it."""
    query = chain()
    assert kept(query, "((A B) C) D", "((B A) D) C") == ["AB"]
    assert kept(query, "((A B) C) D", "D (C (B A))") == ["AB", "ABC"]
    assert kept(query, "((A B) C) D", "(A B) (C D)") == ["AB"]
    assert kept(query, "((A B) C) D", "((C D) A) B") == []
    assert kept(query, "((A B) C) D", "((B C) A) D") == ["ABC"]
    assert kept(query, "((A B) C) D", "stems") == []


def test_the_same_streams_under_another_key_are_another_stair():
    """A STAIR that a new sibling probes by other attributes cannot be kept."""
    streams = {
        "A": eddy.Stream({"x": "int64", "y": "int64"}),
        "B": eddy.Stream({"x": "int64", "z": "int64"}),
        "C": eddy.Stream({"y": "int64"}),
        "D": eddy.Stream({"z": "int64"}),
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y", "B.z = D.z"])
    assert kept(query, "((A B) C) D", "((A B) D) C") == []
    assert kept(query, "((A B) C) D", "((B A) C) D") == ["AB", "ABC"]
    assert kept(query, "((A B) C) D", "((A C) B) D") == ["ABC"]


@given(st.data(), st.integers(3, 5))
@settings(max_examples=60)
def test_an_engine_keeps_what_the_tables_share(data, count):
    """`migrate` keeps exactly the STAIRs of both tables, entries and all, and makes the others anew."""
    names = "ABCDE"[:count]
    query = chain(names=names)
    first, second = data.draw(trees(list(names))), data.draw(trees(list(names)))
    assume(first != second)
    engine = eddy.Eddy(query, plan=str(first))
    for name in names[:-1]:
        engine.push(name, {"k": [1, 2]})
    before = {stair.name: stair for stair in engine.statistics().stairs}
    engine.migrate(str(second))
    after = {stair.name: stair for stair in engine.statistics().stairs}
    compiler = Compiler(query)
    for plan, stairs in ((first, before), (second, after)):
        made = [tuple(names[s] for s in stair.streams) for stair in compiler.compile(plan).stairs]
        assert sorted(made) == sorted(stair.streams for stair in stairs.values())
    for name, stair in after.items():
        assert (
            (stair.live, stair.complete) == (before[name].live, True) if name in before else stair.live == 0
        )
    assert engine.statistics().migrations == 1
    assert len(engine.push(names[-1], {"k": [2, 3]})) == 1


def test_a_plan_that_is_the_plan_already_changes_nothing():
    """Migrating to the current plan, however it is written, is no migration."""
    engine = eddy.Eddy(chain(), plan="((A B) C) D")
    engine.migrate("(((A B)) C) D")
    assert (engine.statistics().migrations, engine.plan) == (0, "((A B) C) D")
    engine.migrate("((B A) C) D")
    assert (engine.statistics().migrations, engine.plan) == (1, "((B A) C) D")
