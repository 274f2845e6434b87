"""What notebooks show: tables and a picture, in which names and values are text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import eddy

HARM = "<b>&"


def made(plan=None, **options):
    streams = {
        name: eddy.Stream({"ts": "int64", "k": "int64", "s": "string"}, window=eddy.Rows(9)) for name in "ABC"
    }
    return eddy.Eddy(eddy.Query(streams, ["A.k = B.k", "B.k = C.k"], **options), plan=plan)


@pytest.mark.parametrize("plan", ["(A B) C", "A: B C | B: C A | C: B A"])
def test_a_plan_is_drawn_with_what_it_keeps(plan):
    """SVG that is well formed: a box for each stream and each set of streams, lines between them."""
    engine = made(plan)
    engine.push_all({name: {"ts": [1, 2], "k": [1, 2], "s": [HARM, "x"]} for name in "ABC"})
    tree = ElementTree.fromstring(engine.plan_svg())
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"A", "B", "C", "A B", "results"} <= set(texts)
    assert ("not kept" in texts) == (":" in plan)
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}line"))) >= 4
    assert engine.plan_svg() in engine._repr_html_()


def test_the_picture_of_a_difference_and_of_an_outer_join():
    """Streams that are subtracted and attached have their place."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(9)) for name in "ABC"}
    minus = eddy.Eddy(eddy.Query(streams, minus={"B": ["A.k = B.k"], "C": ["A.k = C.k"]}, select=["A.k"]))
    assert "A - B" in minus.plan_svg() or "A - C" in minus.plan_svg()
    outer = eddy.Eddy(eddy.Query(streams, "A.k = B.k", attach=eddy.LeftJoin("C", "A.k = C.k")))
    assert "LEFT JOIN C" in outer.plan_svg()


def test_values_are_text_in_tables():
    """Results, queries, statistics and decisions as HTML: markup in data does nothing."""
    engine = made("(A B) C")
    batch = {name: {"ts": [1, 2], "k": [1, 2], "s": [HARM, "x"]} for name in "ABC"}
    result = engine.push_all(batch)
    told = result._repr_html_()
    assert "&lt;b&gt;&amp;" in told and HARM not in told and "2 rows" in told
    assert "0 rows" in engine.push_all({})._repr_html_()
    assert "Rows(9)" in engine.query._repr_html_()
    assert "(A B) C" in engine.statistics()._repr_html_() and "A B by" in engine.statistics()._repr_html_()
