"""What a change of the order costs, and when it is paid."""

from __future__ import annotations

import itertools

import pytest

from tests.differences import ELSE, ONE_KEY, ROWS, UNBOUNDED, A, B, C, Chain, D, base, inner


@pytest.mark.parametrize("background", [0, 10])
@pytest.mark.parametrize("conditions", [ONE_KEY, [(0,), (1,), (2,)]])
def test_t52_a_chain_changes_its_order(conditions, background):
    """((A - B) - C) - D becomes ((A - D) - B) - C: the rows of the digest's scenario, with one key and with three."""
    chain = Chain(conditions, [(ROWS, 9), (ROWS, 1), (ROWS, 1), (ROWS, 1)], background=background)
    keys = dict(chain.widths())[A]
    assert chain.push([(A, 0, (k,) * keys, True) for k in (1, 2, 3)]) == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    assert chain.push(inner(B, 1)) == [(0, 0, -1)]
    chain.difference.reorder([D, B, C])
    assert chain.push(inner(D, 2)) == [(0, 1, -1)]
    assert chain.difference.results().tolist() == [2]
    assert chain.push(inner(B, ELSE)) == [(0, 0, 1)]
    assert chain.push(inner(D, ELSE)) == [(0, 1, 1)]
    assert chain.difference.results().tolist() == [0, 1, 2]


def test_states_that_both_orders_have_are_kept():
    """A-D is new and A-D-B is too, but that B blocks the row places it in the second; the result never changes."""
    chain = Chain([(0,), (1,), (2,)], [(ROWS, 9)] * 4)
    chain.push([(A, 0, (k, k, k), True) for k in range(4)])
    chain.push(inner(B, 0) + inner(C, 1) + inner(D, 2))
    assert chain.difference.complete == (1.0, 1.0, 1.0)
    chain.difference.reorder([D, B, C])
    assert chain.difference.complete == (0.5, 0.75, 1.0)
    chain.difference.reorder([B, D, C])
    assert chain.difference.complete == (1.0, 0.75, 1.0)
    assert chain.difference.holes == 2
    chain.difference.reorder([B, C, D])
    assert chain.difference.complete == (1.0, 1.0, 1.0)
    assert (chain.difference.holes, chain.difference.settled) == (0, 0)


def test_only_touched_rows_are_settled():
    """A change of the order judges nothing; an arrival or an expiry judges the rows with its key, and no others."""
    chain = Chain([(0,), (1,), (2,)], [(ROWS, 200), (ROWS, 100), (ROWS, 100), (ROWS, 200)])
    chain.push([(A, 0, (k, k, k), True) for k in range(100)] + inner(B, *range(100)))
    difference = chain.difference
    difference.reorder([D, C, B])
    assert (difference.holes, difference.settled) == (100, 0)
    assert difference.complete == (0.0, 0.0, 1.0)
    chain.push(inner(D, 5))
    assert difference.settled == 0  # nothing was known of D: whether it blocks row 5 may wait
    chain.push(inner(B, ELSE))
    assert (difference.holes, difference.settled) == (99, 1)
    chain.push(inner(B, ELSE, ELSE, 1, 2, ELSE))  # the rows with keys 1 to 5 go
    assert (difference.holes, difference.settled) == (94, 6)
    chain.push([(A, 0, (7, 7, 7), True)])
    assert (difference.holes, difference.settled) == (94, 6)


def test_an_arrival_settles_the_rows_of_which_its_stream_was_known_to_be_free():
    """Rows that D blocks are known to be free of B. After D came first, a row of B judges the one with its key."""
    chain = Chain(ONE_KEY, [(ROWS, 200)] * 4)
    chain.push(base(*range(100)) + inner(D, *range(100)))
    chain.difference.reorder([D, B, C])
    assert chain.difference.complete == (1.0, 1.0, 1.0)  # that D blocks them says it all
    chain.push(inner(B, 5))
    assert (chain.difference.holes, chain.difference.settled) == (99, 1)


@pytest.mark.parametrize("conditions", [ONE_KEY, [(0,), (1,), (2,)]])
def test_holes_are_gone_at_turn_over(conditions):
    """Nothing touches the rows, and nothing works in the background: with the last of them the last hole goes."""
    chain = Chain(conditions, [(ROWS, 50), (UNBOUNDED, 0), (ROWS, 9), (ROWS, 9)])
    keys = dict(chain.widths())[A]
    rows = [(A, 0, (k,) * keys, True) for k in range(50)]
    chain.push(rows + inner(B, *range(50)))
    chain.difference.reorder([D, C, B])
    for done in range(50):
        assert chain.difference.holes == 50 - done
        assert chain.difference.complete[0] == pytest.approx(done / 50)
        chain.push(rows[:1])
    assert chain.difference.complete == (1.0, 1.0, 1.0)
    assert (chain.difference.holes, chain.difference.settled) == (0, 0)


def test_the_background_settles_the_newest_rows_first():
    """Some rows in each batch, whatever the batch is, until none is left; then it does nothing more."""
    chain = Chain([(0,), (1,), (2,)], [(UNBOUNDED, 0)] * 4, background=7)
    chain.push([(A, 0, (k, k, k), True) for k in range(50)] + inner(B, *range(50)))
    difference = chain.difference
    difference.reorder([D, C, B])
    for batch in range(1, 8):
        chain.push(inner(C, ELSE))
        rows, _, free = difference.known()
        settled = rows[free.sum(axis=1) == 2]
        assert settled.tolist() == list(range(50 - 7 * batch, 50))[-50:]
    chain.push([])
    assert difference.settled == 50
    chain.push(inner(C, ELSE))
    assert (difference.holes, difference.settled) == (0, 50)
    assert difference.complete == (1.0, 1.0, 1.0)


def test_a_row_costs_nothing_after_the_first_stream_that_blocks_it():
    """Of no other stream is known whether it blocks the row, nor do its rows tell; and an order decides which."""
    for conditions in (ONE_KEY, [(0,), (1,), (2,)]):
        for order in itertools.permutations((B, C, D)):
            chain = Chain(conditions, [(ROWS, 100)] * 4, order=order)
            keys = dict(chain.widths())[A]
            chain.push(inner(order[0], *range(20)) + [(A, 0, (k % 20,) * keys, True) for k in range(60)])
            for rows in ([], inner(order[1], *range(20)) + inner(order[2], *range(20))):
                chain.push(rows)
                _, blockers, free = chain.difference.known()
                assert (blockers == order[0]).all() and not free.any()
