"""Rows in any order: within the lateness the results are those of sorted input, and what is late is what the
definition says."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import operator_strategies, strategies
from tests.disorder import check_disorder, disordered, fits
from tests.strategies import Pick

base = settings().max_examples


def cases(kind, within, **options):
    """Disordered cases by their seeds."""

    def make(seed):
        pick = Pick(seed)
        for _ in range(20):
            case = kind(pick, **options)
            if fits(case):
                return disordered(pick, case, within)
        return None

    return st.integers(0, 2**32 - 1).map(make)


def joins(pick, **options):
    return strategies.small(pick, limit=10_000, **options)


def operators(pick):
    kinds = pick.choice([(), ("aggregates",), ("minus",), ("minus", "aggregates")])
    return operator_strategies.small(pick, operators=kinds, limit=6_000, restarts=3)


@given(cases(joins, True, restarts=4, demotes=5))
@settings(max_examples=base)
def test_within_the_lateness_results_are_those_of_sorted_rows(disorder):
    """Whatever the order of arrival, the pushes, windows, plans, their changes, restarts and threads."""
    assume(disorder is not None)
    assert check_disorder(disorder).late == []


@given(cases(joins, False, restarts=4))
@settings(max_examples=base)
def test_late_rows_are_those_behind_the_watermark(disorder):
    """The others are joined as if the late ones had never come."""
    assume(disorder is not None)
    check_disorder(disorder)


@given(cases(operators, True))
@settings(max_examples=base // 2)
def test_withdrawals_differences_and_aggregates_are_those_of_sorted_rows(disorder):
    """Every change in its place, though rows come in another order."""
    assume(disorder is not None)
    check_disorder(disorder)


@given(cases(operators, False))
@settings(max_examples=base // 2)
def test_time_that_advances_withdraws(disorder):
    """Results end when time has gone beyond one of their rows, whether or not a row comes."""
    assume(disorder is not None)
    check_disorder(disorder)
