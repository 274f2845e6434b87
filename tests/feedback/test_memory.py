"""What feedback takes besides what it spares: where nothing is gained, next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import define

import eddy
from eddy.feedback.blacklist import Blacklist
from policies import Feedback, Mns, NoFeedback

COLUMNS = {"A": "x a", "B": "x y", "C": "y z c", "D": "z", "E": "a c"}
WHERE = ["A.x = B.x", "B.y = C.y", "C.z = D.z", "A.a = E.a", "C.c = E.c"]


class Fitful(Mns):
    """Judges for some batches and rests for some, whatever comes of it: so batches are taken in by kernels, and by
    Python, in turns."""

    def rest(self, edge):
        return 6


def most(policy, joins, window, keys, values, pushes=80):
    """The most bytes that an engine with the plan of the paper's Figure 5 had, and all its results."""
    streams = {
        name: eddy.Stream(dict.fromkeys(columns.split(), "int64"), window=eddy.Rows(window))
        for name, columns in COLUMNS.items()
    }
    engine = eddy.Eddy(eddy.Query(streams, where=WHERE), "((A B) (C D)) E", feedback=policy, joins=joins)
    rng, most, results = np.random.default_rng(0), 0, 0
    for _ in range(pushes):
        batch = {
            name: {c: rng.integers(0, values if c in "ac" else keys, 51) for c in columns.split()}
            for name, columns in COLUMNS.items()
        }
        results += len(engine.push_all(batch))
        most = max(most, engine.statistics().bytes)
    return most, results


@pytest.mark.parametrize("setting", [("hash", 1000, 200, 60), ("nested", 400, 150, 60)], ids=str)
def test_rows_that_all_have_partners_take_no_more_memory_than_without_feedback(setting):
    """Kernels cut a batch into portions, Python does not. STAIRs that were used to portions once grew to four times
    their size when Python took a batch in."""
    plain, fitful = most(NoFeedback(), *setting), most(Fitful(), *setting)
    assert fitful[1] == plain[1]
    assert fitful[0] <= 1.25 * plain[0]


@pytest.mark.parametrize("setting", [("hash", 1000, 200, 60), ("hash", 1000, 200, 300)], ids=str)
def test_pairs_that_are_left_out_take_less_memory(setting):
    """A ring with slots to spare is not doubled for want of room for the batch's events."""
    plain, pairs = most(NoFeedback(), *setting), most(Mns(restraint=False, pairs=True), *setting)
    assert pairs[1] == plain[1]
    assert pairs[0] <= 0.6 * plain[0]


@define
class Told:
    """An edge, as a policy sees it when it is reviewed."""

    judged: int
    failed: int
    returned: int
    seconds: float
    pairs: bool
    worth: float = 1.0
    patience: int = 0


@pytest.mark.parametrize(
    ("edge", "rests"),
    [
        (Told(100, 80, 0, 150.0, pairs=False), False),  # twice what it spares may be spent on judging
        (Told(100, 80, 0, 170.0, pairs=False), True),
        (Told(100, 30, 0, 50.0, pairs=False), False),
        (Told(100, 80, 0, 900.0, pairs=True), False),  # on pairs more: memory is what they are left out for
        (Told(100, 80, 0, 970.0, pairs=True), True),
        (Told(100, 80, 40, 1.0, pairs=True), True),  # but more than half of them must stay out
        (Told(100, 49, 0, 1.0, pairs=True), True),
    ],
)
def test_where_an_edge_rests(edge, rests):
    """By what judging took and spared; pairs also by how many of them stay out."""
    policy: Feedback = Mns(pairs=edge.pairs)
    assert bool(policy.rest(edge)) is rests
    assert Mns(pairs=edge.pairs, restraint=False).rest(edge) == 0


def test_a_blacklist_that_is_empty_gives_memory_back_while_its_edge_rests():
    """What waited has come back little by little; nothing is going to wait there for some time."""
    blacklist = Blacklist("A for C", (0,))
    blacklist.make_place(1000)
    full = blacklist.nbytes
    blacklist.waiting = 1
    blacklist.give_back()
    assert blacklist.nbytes == full
    blacklist.waiting = 0
    blacklist.give_back()
    assert blacklist.capacity == 64 and 5 * blacklist.nbytes < full
