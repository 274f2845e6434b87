"""Signed results against the oracle: withdrawals, set differences and aggregates, whatever happens meanwhile."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import TECHNIQUES, step_events
from tests.checks import push
from tests.operator_cases import make_engine
from tests.operator_checks import check, follow, signed_rows
from tests.operator_strategies import REORDERING, cases, large

base = settings().max_examples

JOIN, DIFFERENCE = (), ("minus",)
AGGREGATE, AGGREGATED_DIFFERENCE = ("aggregates",), ("minus", "aggregates")
every_operator = pytest.mark.parametrize(
    "operators",
    [JOIN, DIFFERENCE, AGGREGATE, AGGREGATED_DIFFERENCE],
    ids=["join", "difference", "aggregate", "aggregated difference"],
)


def few(share):
    """Settings for a property that needs only a share of the examples."""
    return settings(max_examples=max(4, int(base * share)))


@every_operator
@given(data=st.data())
@few(0.25)
def test_each_event_changes_exactly_what_the_oracle_says(operators, data):
    """Withdrawals first, then what is new, with the right values; `table()` is right after every push."""
    check(data.draw(cases(operators=operators)))


@every_operator
@given(data=st.data())
@few(0.15)
def test_a_plan_change_before_nearly_every_push_changes_nothing(operators, data):
    """Transitions may overlap in any number, under every technique."""
    check(data.draw(cases(operators=operators, migrations=90, doors=("push",))))


@every_operator
@given(data=st.data())
@few(0.1)
def test_restarts_and_rejected_batches_change_nothing(operators, data):
    """What stands follows from the live rows; what is refused leaves no trace; demoted keys are filled again."""
    check(data.draw(cases(operators=operators, restarts=15, rejects=15, demotes=10, hands=10)))


@every_operator
@given(data=st.data())
@few(0.1)
def test_changes_drawn_in_chunks_are_the_same_changes(operators, data):
    """With `max_rows` the chunks, one after the other, are what one result would have been."""
    check(data.draw(cases(operators=operators, chunks=70, doors=("push",), migrations=15)))


@every_operator
@given(data=st.data())
@few(0.1)
def test_the_size_of_batches_does_not_matter(operators, data):
    """The same feed, row by row, gives each event the same changes as in the case's own batches."""
    case = data.draw(cases(operators=operators))
    events = [event for step in case.steps for event in step_events(case, step)]
    single = evolve(case, steps=[("push", name, [row]) for name, row in events], answer=None)
    follow(single, make_engine(single), [[changes] for step in case.answer for changes in step])


@pytest.mark.parametrize("technique", TECHNIQUES, ids=repr)
@given(data=st.data())
@few(0.05)
def test_every_technique_keeps_withdrawals_exact(technique, data):
    """Each technique goes through joins and aggregates whose plans change often."""
    operators = data.draw(st.sampled_from([JOIN, AGGREGATE]))
    check(data.draw(cases(operators=operators, migrations=35)), migration=technique)


@pytest.mark.parametrize("technique", REORDERING, ids=repr)
@given(data=st.data())
@few(0.05)
def test_every_technique_reorders_differences_exactly(technique, data):
    """Each technique that can goes through chains whose order changes often."""
    operators = data.draw(st.sampled_from([DIFFERENCE, AGGREGATED_DIFFERENCE]))
    check(data.draw(cases(operators=operators, migrations=35)), migration=technique)


@given(cases(operators=DIFFERENCE, doors=("push",)), st.data())
@few(0.12)
def test_the_order_of_declaration_does_not_matter_to_a_difference(case, data):
    """However the streams are declared and the conditions listed, the same rows of the base come and go."""
    case = evolve(case, door="query", answer=None)
    names = data.draw(st.permutations(list(case.streams)))
    minus = tuple(data.draw(st.permutations(case.minus)))
    other = evolve(case, streams={name: case.streams[name] for name in names}, minus=minus)
    assert base_changes(case) == base_changes(other)


def base_changes(case):
    """The sign and the base row of each change, push by push."""
    engine, found = make_engine(case), []
    place = list(case.streams).index(case.base)
    for step in case.steps:
        if step[0] == "migrate":
            engine.migrate(step[1])
        elif step[0] == "push":
            found.append([(sign, row[place]) for sign, row in signed_rows(case, push(engine, case, step))])
    return found


@every_operator
@given(data=st.data())
@few(0.03)
def test_batches_of_a_thousand_rows(operators, data):
    """Batches of up to 1,000 rows, with sparse keys and small windows, agree with the oracle too."""
    check(data.draw(cases(large, operators=operators)))
