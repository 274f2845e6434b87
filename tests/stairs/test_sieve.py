"""A sieve never says that something is missing which is there, and forgets what is dead after two windows."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from policies import Mns
from stairs.feedback.sieve_kernels import FIELD, age, await_keys, enter, sift
from stairs.feedback.visit_layout import LACKING


def absent(words, keys):
    """Which of the keys are surely not there."""
    flags = np.ones(len(keys), np.uint8)
    failed = sift(words, keys, flags, LACKING)
    assert failed == np.count_nonzero(flags == LACKING)
    return flags == LACKING


@pytest.mark.parametrize("size", [64, 1024])
def test_what_was_entered_is_never_missing(size):
    rng, words = np.random.default_rng(1), np.zeros(size, np.int64)
    keys = rng.integers(-(2**62), 2**62, 2 * size)
    assert absent(words, keys).all()
    enter(words, keys.copy(), len(keys))
    assert not absent(words, keys).any()
    others = rng.integers(-(2**62), 2**62, 4000)
    assert absent(words, others).mean() > 0.9  # two entries a word


def test_what_is_older_is_forgotten_at_the_second_turn():
    rng, words = np.random.default_rng(2), np.zeros(256, np.int64)
    first, second = rng.integers(0, 2**60, (2, 200))
    enter(words, first.copy(), len(first))
    age(words)
    enter(words, second.copy(), len(second))
    assert not absent(words, first).any() and not absent(words, second).any()
    age(words)
    assert absent(words, first).mean() > 0.8 and not absent(words, second).any()
    age(words)
    assert absent(words, second).all()


def test_entering_tells_who_is_waited_for():
    rng, words = np.random.default_rng(3), np.zeros(1024, np.int64)
    waited, others = rng.integers(0, 2**60, (2, 300))
    flags = np.full(len(waited), LACKING, np.uint8)
    flags[::2] = 0
    await_keys(words, waited, flags, LACKING)
    keys = np.concatenate((waited, others))
    found = keys[: enter(words, keys, len(keys))]
    assert set(waited[1::2].tolist()) <= set(found.tolist())
    assert len(found) < 150 + 60
    assert (words >> (3 * FIELD) == 0).all()


@pytest.mark.parametrize("detect", ["exact", "bloom"])
def test_a_sieve_is_made_anew_when_it_is_full(detect):
    """It has room for what there is; and what it takes is given back while its edge rests."""
    streams = {
        s: eddy.Stream(dict.fromkeys(["ts", *c.split()], "int64"), window=eddy.Range(4000))
        for s, c in {"A": "k p", "B": "k q", "C": "m p", "D": "m q"}.items()
    }
    where = ["A.k = B.k", "C.m = D.m", "A.p = C.p", "B.q = D.q"]
    engine = eddy.Eddy(
        eddy.Query(streams, where=where), "(A B) (C D)", feedback=Mns(detect=detect, restraint=False)
    )
    rng, sizes = np.random.default_rng(4), set()
    for step in range(40):
        rows = {
            s: {"ts": np.full(50, 100 * step)}
            | {c: rng.integers(0, 20 if c in "km" else 400, 50) for c in stream.columns if c != "ts"}
            for s, stream in streams.items()
        }
        engine.push_all(rows)
        edges = [
            edge
            for unit in engine._state.executor.suspension.units
            for edge in unit.edges
            if edge.presence.nbytes
        ]
        assert edges
        sizes.add(max(edge.record.size for edge in edges))
    assert len(sizes) >= 3
    for edge in edges:
        edge.rest(4)
        assert edge.presence.nbytes == 0
