"""Attachments where rows come out of order within a lateness: what is given adds up to what sorted rows give."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import evolve

import eddy
from tests.attachments.cases import KINDS, attached_case, batch, expected, query_of, signed_rows
from tests.attachments.restarts import a_restart, restarted
from tests.strategies import Pick

pytestmark = pytest.mark.filterwarnings("ignore::eddy.LossyWindow")


def out_of_order(case, pick, lateness):
    """All rows of a case, as (stream, row), none later than so."""
    rows = [
        (name, row)
        for step in case.steps
        if step[0] in ("push", "push_all")
        for name, given in ([(step[1], step[2])] if step[0] == "push" else step[1].items())
        for row in given
    ]
    return sorted(rows, key=lambda pair: pair[1][0] + pick.integer(0, lateness))


def check_late(seed):
    """One case; nothing if its streams have no time."""
    case, pick = attached_case(Pick(seed)), Pick(-1 - seed)
    if any(stream.time is None for stream in case.streams.values()):
        return 0
    lateness = pick.integer(1, 5)
    feed = out_of_order(case, pick, lateness)
    sorted_rows = {
        name: sorted((row for other, row in feed if other == name), key=lambda row: row[0])
        for name in case.streams
    }
    wanted, last = expected(evolve(case, steps=[("push_all", sorted_rows)]))
    engine = eddy.Eddy(query_of(case), plan=case.plan, lateness=lateness, **case.options)
    plans = [step[1] for step in case.steps if step[0] == "migrate"]
    given: Counter = Counter()
    while feed:
        name, many = feed[0][0], 1
        while many < min(len(feed), 5) and feed[many][0] == name:
            many += 1
        given += signed_rows([engine.push(name, batch(case, name, [row for _, row in feed[:many]]))])
        del feed[:many]
        if plans and pick.chance(30):
            engine.migrate(plans.pop())
        if pick.chance(20):
            _, changed, again = a_restart(pick)
            policies = {name: case.options[name] for name in ("migration", "feedback")}
            engine = restarted(engine, {**policies, **changed}, query_of(case) if again else None)
    given += signed_rows([engine.flush()])
    assert given == wanted[0]
    assert signed_rows([engine.close()]) == last
    return 1


@pytest.mark.parametrize("seed", range(0, 120, 30))
def test_rows_out_of_order_give_what_sorted_ones_do(seed):
    """Final and with changes, with plan changes, restarts, feedback and threads."""
    assert sum(map(check_late, range(seed, seed + 30))) > 10


def test_cases_are_of_every_kind():
    """Each join with each kind of window of its stream, final and with changes, over one and over three streams, under
    plan changes, feedback, threads and restarts."""
    seen = set()
    for seed in range(1500):
        case = attached_case(Pick(seed))
        asked = {step[0] for step in case.steps} | {type(case.options["feedback"]).__name__}
        asked |= {case.options["threads"], len(case.core), type(case.options["migration"]).__name__}
        for kind, stream, *_ in case.attach:
            seen |= {(kind, case.changes, part) for part in (*asked, case.streams[stream].window[0])}
    windows = ("unbounded", "rows", "range", "tumbling rows", "tumbling time", "sliding")
    wanted = (
        *windows,
        "migrate",
        "save",
        "advance",
        "push_all",
        "Mns",
        1,
        2,
        3,
        "Jisc",
        "HybMig",
        "ParallelTrack",
    )
    missing = {(k, c, part) for k in KINDS for c in (False, True) for part in wanted} - seen
    assert not missing
