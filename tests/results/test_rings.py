"""Results read rings of the engine, which are used again when nobody needs them, and not before."""

from collections import OrderedDict

import numpy as np
import pytest

import eddy

STREAMS = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(8)) for name in "ABC"}
QUERY = eddy.Query(STREAMS, where=["A.k = B.k", "B.k = C.k"])
TIMES = np.arange(512)


def push(engine, turn):
    keys = (TIMES + turn) % 3
    return engine.push_all({name: {"ts": 1000 * turn + TIMES, "k": keys} for name in "ABC"})


def sorted_rows(rows):
    """The results of one event come in no fixed order."""
    return sorted(rows.tolist())


def test_results_that_are_strung_together_outlive_their_parts():
    """Nobody holds the parts any more, but the whole still asks them."""
    engine, other = eddy.Eddy(QUERY, plan="(A B) C"), eddy.Eddy(QUERY, plan="(A B) C")
    whole = eddy.Result.concat([push(engine, turn) for turn in range(2)])
    want = np.concatenate([push(other, turn).rows for turn in range(2)])
    for turn in range(2, 8):
        push(engine, turn)
    assert sorted_rows(whole.rows) == sorted_rows(want)


def test_a_result_that_is_held_keeps_its_rows():
    """However many pushes follow, and whichever of their results are held."""
    engine, other = eddy.Eddy(QUERY, plan="(A B) C"), eddy.Eddy(QUERY, plan="(A B) C")
    held, want = {}, {}
    for turn in range(12):
        found, want[turn] = push(engine, turn), sorted_rows(push(other, turn).rows)
        if turn % 3:
            held[turn] = found
        del found
    for turn, result in held.items():
        assert sorted_rows(result.rows) == want[turn], turn


def test_results_that_nobody_holds_take_no_room_twice():
    """Their ring serves the next push."""
    engine, sizes = eddy.Eddy(QUERY, plan="(A B) C"), []
    for turn in range(4):
        push(engine, turn)
        sizes.append(engine.statistics().bytes)
    assert sizes[-1] < 1.3 * sizes[0]


@pytest.mark.parametrize("kind", [dict, OrderedDict], ids=["fast", "long"])
def test_shards_forget_rows_whichever_ring_is_used(kind):
    """A push begins, though its results go to the same ring as those before: so rows of old ones can go."""
    engine, sizes = eddy.Eddy(QUERY, plan="(A B) C", threads=2), []
    for turn in range(90):
        keys = (TIMES + turn) % 3
        engine.push_all(kind((name, {"ts": 1000 * turn + TIMES, "k": keys}) for name in "ABC"))
        sizes.append(engine.statistics().bytes)
    assert sizes[-1] < 1.5 * sizes[10]
