"""The counted B-tree under MIN, MAX and MEDIAN: its shape, its ranks, and that it gives nodes back."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.aggregate.accumulators import Touches
from eddy.aggregate.extremes import SMALLEST, Extreme
from eddy.aggregate.order_kernels import CHILD, FILL, KEY, LIVE, MAX, MEDIAN, MIN, ROOT, WEIGHT
from eddy.values.types import INT64, Column

FULL, FEW = CHILD - WEIGHT, 4


class Tree:
    """One accumulator over several groups, fed a value at a time or many, beside plain counters."""

    def __init__(self, rank=MEDIAN, groups=1):
        self.extreme = Extreme((INT64,), INT64, rank=rank)
        self.extreme.move(np.zeros(0, np.int64), groups)
        self.held = [Counter() for _ in range(groups)]

    def feed(self, changes):
        """Changes are (sign, group, value), each a visit. The rows shown after each."""
        signs, groups, values = (np.array(part, np.int64) for part in zip(*changes, strict=True))
        starts = np.arange(len(signs) + 1, dtype=np.int32)
        touches = Touches(starts, groups.astype(np.int32), signs.astype(np.int8), None)
        shown = self.extreme.step(touches, [Column(values)])
        for sign, group, value in changes:
            self.held[group][value] += sign
        return shown.values[1::2].tolist(), shown.valid[1::2].tolist()

    def check(self):
        """Every tree has its values and weights in order, no scanty node but its root, and leaves at one depth."""
        used = 0
        for group, values in enumerate(self.held):
            root, leaves = int(self.extreme._state[group, ROOT]), []
            if root:
                used += self.walk(root, 0, (-(2**63), 2**63), leaves)
            entries = [entry for _, leaf in leaves for entry in leaf]
            assert len({depth for depth, _ in leaves}) <= 1
            assert entries == sorted((+values).items())
        assert self.extreme._nodes[0, LIVE] == used

    def walk(self, node, depth, bounds, leaves):
        """Check a node and all below it; their number. To `leaves` come the depth and the entries of each."""
        record = self.extreme._nodes[node].tolist()
        fill, inner = record[FILL], record[CHILD] != 0
        assert fill <= FULL and fill >= (FEW if depth else 2 if inner else 1)
        low, high = bounds
        keys, weights = record[KEY : KEY + fill], record[WEIGHT : WEIGHT + fill]
        if not inner:
            assert keys == sorted(set(keys)) and low <= keys[0] and keys[-1] < high
            leaves.append((depth, list(zip(keys, weights, strict=True))))
            return 1
        ends, count = [low, *keys[1:], high], 1
        for i in range(fill):
            before = len(leaves)
            count += self.walk(record[CHILD + i], depth + 1, (ends[i], ends[i + 1]), leaves)
            assert weights[i] == sum(weight for _, leaf in leaves[before:] for _, weight in leaf)
        return count


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-40, 40), st.integers(0, 10_000)), max_size=300),
    st.sampled_from([20, 50, 80]),
    st.sampled_from([1, 7, 1000]),
)
def test_the_tree_holds_what_came_and_did_not_go(actions, percent, size):
    """Values of three groups come and go at random; after each batch every tree is as it must be."""
    tree, changes = Tree(groups=3), []
    live = [[], [], []]
    for group, value, chance in actions:
        if live[group] and chance % 100 < percent:
            changes.append((-1, group, live[group].pop(chance % len(live[group]))))
        else:
            live[group].append(value)
            changes.append((1, group, value))
    for start in range(0, len(changes), size):
        tree.feed(changes[start : start + size])
        tree.check()


ORDERS = {
    "ascending": np.arange(3000),
    "descending": np.arange(3000)[::-1],
    "inwards": np.where(np.arange(3000) % 2 == 0, np.arange(3000), 6000 - np.arange(3000)),
    "at random": np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 3000),
    "few": np.random.default_rng(2).integers(0, 5, 3000),
}


@pytest.mark.parametrize("coming", ORDERS)
@pytest.mark.parametrize("going", ["first in", "last in", "least", "greatest", "at random"])
def test_deep_trees_grow_and_vanish(coming, going):
    """Three thousand values come in one order and go in another; nothing is left of the tree then."""
    values = ORDERS[coming].tolist()
    leaving = {
        "first in": values,
        "last in": values[::-1],
        "least": sorted(values),
        "greatest": sorted(values, reverse=True),
        "at random": np.random.default_rng(3).permutation(np.array(values)).tolist(),
    }[going]
    tree = Tree()
    for part in np.split(np.array(values), 6):
        tree.feed([(1, 0, value) for value in part.tolist()])
        tree.check()
    for part in np.split(np.array(leaving), 6):
        tree.feed([(-1, 0, value) for value in part.tolist()])
        tree.check()
    assert tree.extreme._nodes[0, LIVE] == 0 and not tree.extreme._state.any()


@pytest.mark.parametrize("rank", [MIN, MAX, MEDIAN])
def test_ranks_in_a_sliding_window(rank):
    """The value of the rank is right after each of twenty thousand changes of a window of five hundred."""
    values = np.random.default_rng(4).integers(0, 300, 10_000).tolist()
    tree, changes, expected, window = Tree(rank), [], [], []
    for number, value in enumerate(values):
        moves = [(1, 0, value)] if number < 500 else [(-1, 0, values[number - 500]), (1, 0, value)]
        for move in moves:
            (window.append if move[0] > 0 else window.remove)(move[2])
            place = {MIN: 0, MAX: len(window) - 1, MEDIAN: (len(window) - 1) // 2}[rank]
            expected.append(sorted(window)[place])
        changes += moves
    assert tree.feed(changes) == (expected, [True] * len(expected))
    tree.check()


def test_a_pool_shrinks_with_its_trees():
    """A large tree that became small gives its nodes back when it is trimmed, and those left are still right."""
    tree = Tree(groups=2)
    tree.feed([(1, value % 2, value) for value in range(20_000)])
    large = tree.extreme.nbytes
    tree.extreme.trim()
    assert tree.extreme.nbytes == large
    tree.feed([(-1, value % 2, value) for value in range(19_900)])
    tree.extreme.trim()
    assert tree.extreme.nbytes < large / 50 and len(tree.extreme._nodes) >= SMALLEST
    tree.check()
    tree.feed([(1, value % 2, value) for value in range(3_000)])
    tree.check()
