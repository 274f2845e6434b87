"""Plans to test with: read, drawn at random, and compiled to routing tables."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

import eddy
from eddy.plan.compiler import Compiler
from eddy.plan.plan import Join, Leaf, parse_plan
from eddy.plan.plan import orderings as make_orderings
from tests.strategies import Drawn, plan

NAMES = ["A", "B", "C", "D"]


def anything(some, one):
    """Every stream is connected with every other."""
    return True


def read(text, names=NAMES, connected=anything):
    """The plan that a text says."""
    return parse_plan(text, names, connected)


def chain(columns="k", names="ABCD"):
    """A query in which each stream joins the next one on these columns."""
    where = [f"{a}.{c} = {b}.{c}" for a, b in itertools.pairwise(names) for c in columns]
    streams = {name: eddy.Stream(dict.fromkeys(columns, "int64")) for name in names}
    return eddy.Query(streams, where=where)


def table(query, text):
    """The routing table of a plan for a query."""
    compiler = Compiler(query)
    return compiler.compile(parse_plan(text, query.names, compiler.connected))


@st.composite
def trees(draw, names):
    """A random binary tree over the names."""
    nodes = [Leaf(name) for name in draw(st.permutations(names))]
    while len(nodes) > 1:
        place = draw(st.integers(0, len(nodes) - 2))
        nodes[place : place + 2] = [Join(nodes[place], nodes[place + 1])]
    return nodes[0]


@st.composite
def orderings(draw, names):
    """An ordering for each name."""
    ways = {}
    for name in names:
        others = st.permutations([n for n in names if n != name]).map(tuple)
        orders = draw(st.lists(others, min_size=1, max_size=3, unique=True))
        ways[name] = tuple((draw(st.integers(1, 9)) if len(orders) > 1 else 1, order) for order in orders)
    return make_orderings(ways)


@st.composite
def mixed(draw, names):
    """Orderings that may visit composites."""
    return read(plan(Drawn(draw), list(names), shape="mixed"), names)
