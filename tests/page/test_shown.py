"""What notebooks show: tables and a picture, in which names and values are text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

import eddy
from policies import Choice, Routing

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


def mime(value):
    """What a notebook shows of a value, as IPython finds it: by methods of its class that return something."""
    kinds = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
    found = {kind: getattr(value, method)() for kind, method in kinds.items() if hasattr(type(value), method)}
    return {kind: told for kind, told in found.items() if told is not None}


class Markup(HTMLParser):
    """Whether every element that is opened is closed, in order; its elements, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


class Hostile(Routing):
    """Its reason is markup."""

    period = 1

    def choose(self, view):
        return Choice("A (B C)", HARM)


def test_all_that_a_notebook_shows_is_markup_in_which_values_are_text():
    """A query, an engine, results, statistics, decisions and plans, as Jupyter asks for them."""
    streams = {
        name: eddy.Stream({"ts": "int64", "k": "int64", HARM: "string"}, window=eddy.Rows(9))
        for name in "ABC"
    }
    engine = eddy.Eddy(eddy.Query(streams, ["A.k = B.k", "B.k = C.k"]), "(A B) C", routing=Hostile())
    result = engine.push_all({name: {"ts": [1, 2], "k": [1, 2], HARM: [HARM, "x"]} for name in "ABC"})
    result = eddy.Result.concat([result, engine.push("A", {"ts": [3], "k": [1], HARM: [HARM]})])
    (decision,) = engine.decisions
    plan = engine.plan_svg()
    shown = (engine.query, result, engine.statistics(), decision, engine)
    for value in shown:
        (told,) = (mime(value)["text/html"],)
        markup = Markup(told)
        assert "table" in markup.seen and "b" not in markup.seen
        if value in (result, decision):
            assert any(HARM in word for word in markup.words)
    assert isinstance(plan, str) and mime(plan) == {"image/svg+xml": plan}
    assert type(mime(plan)["image/svg+xml"]) is str and ElementTree.fromstring(plan).tag.endswith("svg")


def test_one_hole_is_a_hole():
    """Numbers and words agree."""
    engine = made("(A B) C")
    engine.push_all({name: {"ts": [1, 2], "k": [1, 2], "s": ["x", "y"]} for name in "ABC"})
    engine.migrate("A (B C)")
    engine.push("B", {"ts": [3], "k": [1], "s": ["x"]})
    (stair,) = engine.statistics().stairs
    assert stair.holes == 1
    assert "1 hole<" in engine.plan_svg() and "1 known hole<" in engine.statistics()._repr_html_()


def crosses(line, box):
    """Whether a line goes through the inside of a box."""
    x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
    left, top, wide, high = (float(box.get(name)) for name in ("x", "y", "width", "height"))
    spots = ((x1 + (x2 - x1) * part / 200, y1 + (y2 - y1) * part / 200) for part in range(201))
    return any(left < x < left + wide and top < y < top + high for x, y in spots)


@pytest.mark.parametrize("plan", ["(((A B) C) D) E", "((A B) C) (D E)", "B ((A C) (D E))", "A (B (C (D E)))"])
def test_no_line_of_a_tree_goes_through_a_box(plan):
    """A stream stands beside what it is joined with, not at the bottom of all."""
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Rows(9)) for name in "ABCDE"}
    engine = eddy.Eddy(eddy.Query(streams, "A.k = B.k AND B.k = C.k AND C.k = D.k AND D.k = E.k"), plan)
    tree = ElementTree.fromstring(engine.plan_svg())
    lines, boxes = (list(tree.iter(f"{{http://www.w3.org/2000/svg}}{what}")) for what in ("line", "rect"))
    assert len(lines) == 8 and len(boxes) == 9
    assert not any(crosses(line, box) for line in lines for box in boxes)


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
