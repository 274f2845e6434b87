"""Which streams can be joined with which, and in which order."""

import itertools
import random

import pytest

from policies.graph import Graph


def one_by_one(graph, reached, names):
    """The same, by asking for every pair of sets."""
    before, left, order = list(reached), list(names), []
    while left:
        name = next((name for name in left if graph.linked(before, [name])), left[0])
        left.remove(name)
        before.append(name)
        order.append(name)
    return order


@pytest.mark.parametrize("seed", range(20))
def test_an_order_takes_the_first_stream_that_a_predicate_links(seed):
    chance = random.Random(seed)
    names = tuple("ABCDEFG")
    some = [frozenset(chance.sample(names, chance.choice((2, 2, 3)))) for _ in range(chance.randrange(8))]
    cut = chance.randrange(len(some) + 1)
    graph = Graph(names, classes=tuple(some[:cut]), thetas=tuple(some[cut:]))
    for count in (1, 2, 3):
        for reached in itertools.combinations(names, count):
            rest = [name for name in names if name not in reached]
            chance.shuffle(rest)
            assert graph.order(reached, rest) == one_by_one(graph, reached, rest)
