"""The algorithms as printed: each fault of theirs shows, and nothing else is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

import eddy
from benchmarks.printed import EXAMPLES, FEEDS, HYBMIG, JISC, JIT, feed, one_key, run
from policies import HybMig, Jisc, Mns

WRONG = {
    "T36": (2, 1, 0, 0),
    "T37": (1, 1, 0, 0),
    "T38": (1, 0, 0, 1),
    "T39": (2, 0, 1, 0),
    "T40": (1, 1, 0, 0),
    "T41": (4, 2, 0, 0),
    "T42": (2, 0, 1, 0),
    "T28": (1, 1, 0, 0),
    "T56": (8, 6, 0, 0),
    "T58": (1, 1, 0, 0),
    "T60": (3, 1, 0, 0),
    "T61": (1, 1, 0, 0),
}
"""Results that are due, and those lost, repeated and false, reckoned by hand from the digest's examples."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_each_printed_rule_gets_its_example_wrong(example):
    account = run(example).account
    assert (account.due, account.lost, account.repeated, account.false) == WRONG[example.name]
    assert not account.exact


def test_t37_is_lost_by_the_definition_and_not_by_section_4_4():
    """A row of U does nothing for S T, so it must not make the row of R attempted: its own stream does not say so."""
    (example,) = (example for example in EXAMPLES if example.name == "T37")
    assert run(example).account.lost == 1
    assert run(evolve(example, fresh="own")).account.exact


def test_without_a_change_what_is_printed_is_right():
    """Whatever is wrong above is wrong because of the rules for changes."""
    for technique in (JISC, HYBMIG):
        for plan in ("((A B) C) D", "(A B) (C D)"):
            account = feed(technique, [plan], one_key("ABCD"), seed=7).account
            assert account.exact and account.due == account.given > 100


def test_jit_is_right_where_every_row_finds_partners():
    """Then there is nothing to suspend."""
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(3)) for name in "ABC"}
    engine = eddy.AsPrinted(eddy.Query(streams, where=["A.x = B.x", "B.x = C.x"]), "(A B) C", JIT)
    for _ in range(8):
        for name in "CBA":
            engine.push(name, {"x": [1]})
    assert engine.account.exact and engine.account.due > 100


@pytest.mark.parametrize(("name", "technique", "plans", "where"), FEEDS, ids=[name for name, *_ in FEEDS])
def test_random_feeds_show_losses(name, technique, plans, where):
    """Of ten feeds some are wrong; no count of what is lost is more than what was due."""
    accounts = [feed(technique, plans, where, seed).account for seed in range(10)]
    assert any(not account.exact for account in accounts)
    for account in accounts:
        assert account.given == account.due - account.lost + account.repeated + account.false


def test_windows_filters_and_missing_keys_are_those_of_an_engine():
    """Times, a filter and NULLs: without a change the results are an engine's, push by push."""
    streams = {
        name: eddy.Stream({"ts": "int64", "x": "int64", "v": "int64"}, window=eddy.Range(9)) for name in "AB"
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.v > 2"])
    printed, engine, rng = (
        eddy.AsPrinted(query, "A B", JISC),
        eddy.Eddy(query, "A B"),
        np.random.default_rng(2),
    )
    for i in range(30):
        batches = {
            name: {
                "ts": np.sort(rng.integers(5 * i, 5 * i + 5, 6)),
                "x": [None if key == 3 else int(key) for key in rng.integers(0, 4, 6)],
                "v": rng.integers(0, 9, 6),
            }
            for name in "AB"
        }
        wanted = [tuple(line) for line in engine.push_all(batches).rows.tolist()]
        assert sorted(printed.push_all(batches)) == sorted(wanted)
    assert printed.account.exact and printed.account.due > 20


@pytest.mark.parametrize("literal", [JISC, HYBMIG, JIT])
def test_an_engine_refuses_what_loses_results(literal):
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(3)) for name in "AB"}
    query = eddy.Query(streams, where=["A.x = B.x"])
    option = "feedback" if isinstance(literal, Mns) else "migration"
    with pytest.raises(eddy.EddyError, match=r"run it with eddy\.AsPrinted"):
        eddy.Eddy(query, **{option: literal})


@pytest.mark.parametrize("technique", [Jisc(), HybMig(), Mns(), None])
def test_what_is_sound_is_not_run_here(technique):
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(3)) for name in "AB"}
    with pytest.raises(eddy.PolicyError, match=r"give .* to an Eddy"):
        eddy.AsPrinted(eddy.Query(streams, where=["A.x = B.x"]), "A B", technique)


@pytest.mark.parametrize(("technique", "fresh"), [(JISC, "all"), (HYBMIG, "any"), (JIT, "any")])
def test_which_rows_make_others_attempted_is_for_jisc(technique, fresh):
    streams = {name: eddy.Stream({"x": "int64"}, window=eddy.Rows(3)) for name in "AB"}
    with pytest.raises(eddy.PolicyError, match=f"not '{fresh}'"):
        eddy.AsPrinted(eddy.Query(streams, where=["A.x = B.x"]), "A B", technique, fresh)


def test_what_the_papers_have_no_rule_for_is_refused():
    streams = {name: eddy.Stream({"x": "int64", "y": "int64"}, window=eddy.Rows(3)) for name in "ABC"}
    keys = ["A.x = B.x", "B.x = C.x"]
    query, two = eddy.Query(streams, where=keys), eddy.Query(streams, where=["A.x = B.x", "B.y = C.y"])
    with pytest.raises(eddy.QueryError, match="joins of equalities"):
        eddy.AsPrinted(eddy.Query(streams, where=[*keys, "A.y < B.y"]), "(A B) C", JISC)
    for given in ({"attach": eddy.LeftJoin("C", "B.x = C.x")}, {"changes": True}):
        with pytest.raises(eddy.QueryError, match="joins of equalities"):
            eddy.AsPrinted(eddy.Query(streams, keys, **given), "(A B) C", JISC)
    with pytest.raises(eddy.PolicyError, match="one join attribute"):
        eddy.AsPrinted(two, "(A B) C", JISC)
    with pytest.raises(eddy.PlanError, match="for trees"):
        eddy.AsPrinted(query, "stems", JISC)
    with pytest.raises(eddy.PlanError, match="no rule for plan changes"):
        eddy.AsPrinted(query, "(A B) C", JIT).migrate("(B C) A")
    hybmig = eddy.AsPrinted(query, "(A B) C", HYBMIG)
    with pytest.raises(eddy.PlanError, match="right-deep"):
        hybmig.migrate("(B C) A")
    for name in "ABC":
        hybmig.push(name, {"x": [1], "y": [1]})
    hybmig.migrate("A (B C)")
    with pytest.raises(eddy.PlanError, match="a change during a change"):
        hybmig.migrate("B (A C)")
