"""However many rows come in one push, in whatever form, and whenever its plan changes: results are the oracle's."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import ways
from tests.cases import expected, make_engine, step_events
from tests.checks import Book, check, follow, judge
from tests.forms import AS
from tests.push_cases import file, short_segments, turning
from tests.strategies import Pick, small

base = settings().max_examples
seeds = st.integers(0, 2**32)


def few(share):
    """Settings for a property that needs only a share of the examples."""
    return settings(max_examples=max(3, int(base * share)))


@pytest.fixture(scope="module", autouse=True)
def often():
    """Policies are asked in the middle of every push."""
    with short_segments():
        yield


@given(seeds)
@few(0.4)
def test_files_in_one_push(seed):
    """Hundreds of times as long as the windows, under `Auto`, on every way in."""
    check(file(Pick(seed)))


@given(seeds)
@few(0.15)
def test_one_key_only(seed):
    """All rows have the same key, so that every one of a push is in the way of every other."""
    check(file(Pick(seed), one_key=True))


@given(seeds)
@few(0.2)
def test_every_form_gives_the_same_results(seed):
    """One feed in every form that a batch may have: long pushes or short ones."""
    pick = Pick(seed)
    case = file(pick, limit=20_000) if pick.chance(50) else small(pick, limit=5_000)
    wanted = expected(case)
    for form in AS:
        note(f"form={form}")
        same = evolve(case, form=form)
        follow(same, make_engine(same), wanted)


def asked_within(case, way, wanted):
    """Run the case on a way, and judge results; how often the policy was asked in the middle of a push."""
    engine, book = make_engine(case, threads=way.threads), Book(case)
    within, held = 0, []
    for step, want in zip(case.steps, wanted, strict=True):
        before = engine.routing.asked
        results = way.push(engine, case, step)
        within += max(0, engine.routing.asked - before - 1)
        book.enter(step_events(case, step))
        held.append((want, results))
        if not case.hold:
            judge(book, want, results)
    for want, results in held if case.hold else ():
        judge(book, want, results)
    assert engine.statistics().events == book.count
    return within


@given(seeds)
@few(0.2)
def test_plans_that_change_in_the_middle_of_a_push(seed):
    """A policy that changes the plan each time it is asked, between any two portions, on every way; with `max_rows`."""
    case = evolve(turning(Pick(seed)), threads=2)
    wanted = expected(case)
    for name, way in ways.ways(case).items():
        note(name)
        asked_within(case, way, wanted)


def test_random_cases_are_asked_within_a_push():
    """On every way some are; with threads and plain arrays between pushes only."""
    found = {}
    for seed in range(4):
        case = evolve(turning(Pick(seed)), threads=2)
        for name, way in ways.ways(case).items():
            found[name] = found.get(name, 0) + asked_within(case, way, expected(case))
    assert min(found["fast"], found["long"], found["long, threads"]) > 0, found
