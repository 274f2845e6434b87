"""Composites of many streams, which kernels take many columns at a time, against the oracle."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import eddy
from policies import Mns, NoFeedback
from tests import naive

NAMES = "ABCDEFGHIJKL"


def left_deep(order):
    plan = order[0]
    for name in order[1:]:
        plan = f"({plan}) {name}" if len(plan) > 1 else f"{plan} {name}"
    return plan


def bushy(order):
    """Halves of halves: composites whose streams do not follow each other, where the order is shuffled."""
    if len(order) == 1:
        return order[0]
    half = len(order) // 2
    return " ".join(f"({bushy(part)})" if len(part) > 1 else part for part in (order[:half], order[half:]))


@pytest.mark.parametrize("feedback", [NoFeedback(), Mns(restraint=False)], ids=repr)
@pytest.mark.parametrize("count", [5, 8, 9, 12])
@pytest.mark.parametrize("seed", range(4))
def test_many_streams_under_changing_plans(seed, count, feedback):
    rng, names = np.random.default_rng((seed, count)), NAMES[:count]
    kinds, sizes = {"k": "int64"}, rng.integers(2, 5, count).tolist()
    plain = {
        n: SimpleNamespace(columns=kinds, window=("rows", size), time=None)
        for n, size in zip(names, sizes, strict=True)
    }
    streams = {n: eddy.Stream(kinds, window=eddy.Rows(size)) for n, size in zip(names, sizes, strict=True)}
    where = [("=", ("col", names[0], "k"), ("col", name, "k")) for name in names[1:]]
    drawn = zip(
        rng.integers(0, count, 250).tolist(),
        rng.integers(0, 2 if count > 8 else 3, 250).tolist(),
        strict=True,
    )
    events = [(names[s], (key,)) for s, key in drawn]
    wanted = naive.join(plain, where, events)
    engine = eddy.Eddy(
        eddy.Query(streams, where=[f"A.k = {name}.k" for name in names[1:]]),
        plan=left_deep(names),
        feedback=feedback,
        batch_size=int(rng.integers(1, 60)),
    )
    found = 0
    for i, ((name, row), results) in enumerate(zip(events, wanted, strict=True)):
        if i % 70 == 69:
            order = "".join(rng.permutation(list(names)))
            engine.migrate([left_deep, bushy][int(rng.integers(2))](order))
        rows = engine.push(name, {"k": np.array(row)}).rows.tolist()
        assert sorted(map(tuple, rows)) == sorted(results)
        found += len(rows)
    assert found > 0
