"""A push may take the fast path or the long way, in one thread or in several: nobody can tell by what comes of it."""

from __future__ import annotations

from typing import get_args, get_type_hints

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.statistics import Statistics
from tests import ways
from tests.cases import make_engine
from tests.strategies import Pick
from tests.way_cases import draw


@given(st.integers(0, 2**32))
@settings(max_examples=max(5, settings().max_examples * 2 // 5))
def test_every_way_gives_the_same_results_and_tells_the_same(seed):
    """Results are the oracle's, in one order; statistics differ only in what the tables of `tests/ways.py` name.

    ``python -m tests.fuzz --kind ways --seed N`` makes a case that fails smaller.
    """
    ways.check(draw(Pick(seed)))


def bytes_held(case, way):
    """What an engine holds after each push of a case."""
    engine = make_engine(case, threads=way.threads)
    for step in case.steps:
        if step[0] in ("push", "push_all"):
            way.push(engine, case, step)
            yield engine.statistics().bytes


def test_random_cases_take_the_fast_path():
    """A third of them do, here two of ten at least: such an engine has arrays that one on the long way has not."""
    taken = {"": 0, ", threads": 0}
    for seed in range(10):
        case = draw(Pick(seed))
        found = {name: list(bytes_held(case, way)) for name, way in ways.ways(case).items()}
        for threads in taken:
            taken[threads] += found[f"fast{threads}"] != found[f"long{threads}"]
    assert min(taken.values()) >= 2, taken


def names(of, before=""):
    """The names of the fields of statistics, with those of their parts."""
    for name, kind in get_type_hints(of).items():
        parts = [part for part in (kind, *get_args(kind)) if attrs.has(part)]
        yield from names(parts[0], f"{before}{name}.") if parts else [before + name]


@pytest.mark.parametrize("table", ["CLOCK", "FAST", "LARGE", "THREADS", "SHARDS", "CHANGES", "JUDGED"])
def test_what_may_differ_is_there(table):
    """The tables name fields that there are. One that is new must be the same on every way, or get a reason there."""
    every = {*names(Statistics), "view.steps", "view.distinct", "view.rows"}
    assert set(getattr(ways, table)) <= every
