"""Nothing but the feed decides the results: not the plan, its changes and how they are made, the batches, the
declaration."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections import Counter
from functools import partial

from attrs import evolve
from hypothesis import given, note, settings
from hypothesis import strategies as st

from policies import Fixed, Mns, ParallelTrack, Random, Skinner
from tests.cases import (
    ANY_TECHNIQUE,
    FEEDBACK,
    ROUTING,
    TECHNIQUES,
    batch,
    expected,
    make_engine,
    step_events,
)
from tests.checks import Book, check, follow, judge, push, row_tuples
from tests.strategies import large_cases, migrating_cases, small_cases

PUSH = ("push",)
cases = partial(small_cases, techniques=ANY_TECHNIQUE)
base = settings().max_examples


def few(share):
    """Settings for a property that needs only a share of the examples."""
    return settings(max_examples=max(5, int(base * share)))


def run(case, engine):
    """The results of every push of a case, as lists of row numbers."""
    found = []
    for step in case.steps:
        if step[0] == "migrate":
            engine.migrate(step[1])
        else:
            found.append(row_tuples(push(engine, case, step)))
    return found


@given(cases())
@few(0.7)
def test_each_push_gives_exactly_the_results_of_the_oracle(case):
    """Every push returns each result that its events complete once, in the order of the latest event."""
    check(case)


@given(cases(migrations=90, doors=PUSH))
@few(0.5)
def test_a_plan_change_before_nearly_every_push_changes_nothing(case):
    """Transitions may overlap in any number, between trees and orderings, back and forth."""
    check(case)


@given(migrating_cases())
@few(0.1)
def test_every_technique_gives_the_same_results(case):
    """One feed under every technique, through changes that overlap and changes that end, restarts and bad batches."""
    wanted = expected(case)
    for technique in TECHNIQUES:
        note(f"technique={technique}")
        same = evolve(case, technique=technique)
        follow(same, make_engine(same), wanted)


@given(cases(migrations=10))
@few(0.1)
def test_every_feedback_policy_gives_the_same_results(case):
    """One feed under every policy, whatever the technique."""
    wanted = expected(case)
    for policy in FEEDBACK:
        note(f"feedback={policy}")
        same = evolve(case, feedback=policy)
        follow(same, make_engine(same), wanted)


@given(cases(migrations=5))
@few(0.1)
def test_every_routing_policy_gives_the_same_results(case):
    """One feed under every policy, whatever the technique and the feedback; they decide every few events."""
    wanted = expected(case)
    for policy in ROUTING:
        note(f"routing={policy}")
        same = evolve(case, routing=policy)
        follow(same, make_engine(same), wanted)


@given(migrating_cases(restarts=0, rejects=0, settles=0), st.sampled_from([10**9, 4, 0.5]))
@few(0.3)
def test_results_that_are_held_back_come_after_all_that_the_old_plan_makes(case, patience):
    """With `ParallelTrack("pt")` each result comes once; those of a younger plan wait until the older has gone.

    With threads that is so in each shard: the plan of one that has no old row left goes before those of others.
    """
    engine = make_engine(case, migration=ParallelTrack("pt", patience=patience), routing=Fixed())
    book, found, changes = Book(case), [], []
    for step in case.steps:
        if step[0] == "migrate":
            engine.migrate(step[1])
            if engine.statistics().migrations > len(changes):
                changes.append(book.count)
        else:
            found += row_tuples(push(engine, case, step), case.first_row)
            book.enter(step_events(case, step))
    found += row_tuples([engine.settle()], case.first_row)
    assert Counter(found) == Counter(itertools.chain(*itertools.chain(*expected(case))))
    if patience == 10**9 and case.threads == 1:
        # The plan that makes a result is the one that its oldest row came under; each emits in the order of events.
        order = [(bisect(changes, book.earliest(rows)), book.latest(rows)) for rows in found]
        assert order == sorted(order)


@given(cases(demotes=60))
@few(0.4)
def test_demoted_keys_are_filled_again(case):
    """Keys made holes at any moment come back when they are asked for."""
    check(case)


@given(cases(hands=60, migrations=15, restarts=5, techniques=ANY_TECHNIQUE))
@few(0.4)
def test_a_user_may_promote_and_demote_at_any_moment(case):
    """Whatever is probed, promoted and demoted by hand, whatever the technique, the feedback and the windows."""
    check(case)


@given(cases(restarts=20, demotes=10))
@few(0.3)
def test_a_restart_from_a_snapshot_changes_nothing(case):
    """An engine saved and loaded at any moment goes on as if nothing had happened."""
    check(case)


@given(cases(chunks=70, doors=PUSH, migrations=10, limit=5_000))
@few(0.3)
def test_results_drawn_in_chunks_are_the_same_results(case):
    """With `max_rows` the chunks, one after the other, are what one result would have been."""
    check(case)
    whole = evolve(case, steps=[step[:3] for step in case.steps])
    assert list(map(Counter, run(case, make_engine(case)))) == list(
        map(Counter, run(whole, make_engine(whole)))
    )


@given(migrating_cases(restarts=0, rejects=0, settles=0, chunks=40))
@few(0.2)
def test_a_draw_that_is_closed_gives_up_its_results_and_no_row(case):
    """Whoever stops drawing gets less of that push; every other push brings what it must, also in a migration."""
    engine, book = make_engine(case), Book(case)
    for step, wanted in zip(case.steps, expected(case), strict=True):
        if step[0] == "migrate":
            engine.migrate(step[1])
            continue
        book.enter(step_events(case, step))
        if len(step) < 4:
            judge(book, wanted, push(engine, case, step))
            continue
        parts = engine.push(step[1], batch(case, step[1], step[2]), max_rows=step[3])
        drawn = row_tuples([part for part in [next(parts, None)] if part is not None], case.first_row)
        parts.close()
        assert Counter(drawn) <= Counter(itertools.chain(*wanted))


@given(cases(rejects=50))
@few(0.3)
def test_a_rejected_batch_changes_nothing(case):
    """Bad batches and bad plans in the middle of the feed are refused and leave no trace."""
    check(case)


@given(cases(doors=PUSH), st.data())
@few(0.4)
def test_the_order_of_declaration_does_not_matter(case, data):
    """Two queries that differ in the order of their streams give the same results, stream by stream."""
    names = data.draw(st.permutations(list(case.streams)))
    other = evolve(case, streams={name: case.streams[name] for name in names})
    places = [names.index(name) for name in case.streams]
    first = run(case, make_engine(case))
    second = [
        [tuple(row[place] for place in places) for row in rows] for rows in run(other, make_engine(other))
    ]
    assert list(map(Counter, first)) == list(map(Counter, second))


@given(cases())
@few(0.3)
def test_the_size_of_batches_does_not_matter(case):
    """The same feed, pushed row by row, gives each event the same results as in the case's own batches."""
    events = [event for step in case.steps for event in step_events(case, step)]
    single = evolve(case, steps=[("push", name, [row]) for name, row in events])
    wanted = [[rows] for step in expected(case) for rows in step]
    follow(single, make_engine(single), wanted)


@given(cases())
@few(0.2)
def test_the_same_case_gives_the_same_trace(case):
    """Two runs agree in every row and in its place, unless a policy goes by the clock."""
    if isinstance(case.routing, Skinner):
        case = evolve(case, routing=Random(5))
    if getattr(case.feedback, "restraint", False):
        case = evolve(case, feedback=Mns(restraint=False))
    assert run(case, make_engine(case)) == run(case, make_engine(case))


@given(large_cases())
@few(0.07)
def test_batches_of_thousands_of_rows(case):
    """Batches of up to 5,000 rows, with sparse keys and small windows, agree with the oracle too."""
    check(case)
