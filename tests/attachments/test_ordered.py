"""FIRST, LAST, ARRAY_AGG and aggregates in Python over outer, semi, anti and as-of joins, against the oracle."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from tests import naive_attached
from tests.attachments.cases import attached_case, batch, events_of, parts_of, query_of
from tests.attachments.restarts import restarted
from tests.strategies import Drawn, Pick


def joined(values):
    """What a function of the user's makes of a group: the values in order, in base 11."""
    found = 0
    for value in values.to_pylist():
        found = (11 * found + (10 if value is None else value)) % (2**31 - 1)
    return found


def grouped(case):
    """The query of a case, with aggregates of results in order."""
    of = query_of(case)
    seen = [one.stream for one in of.attachments if one.join.pairs]
    last = (seen or ["S0"])[-1]
    aggregates = {
        "first": f"FIRST({last}.y)",
        "last": "LAST(S0.y)",
        "every": f"ARRAY_AGG({last}.y)",
        "own": eddy.aggregate_function(joined, f"{last}.y", type="int64"),
    }
    query = eddy.Query(
        of.streams,
        where=[*of.predicates],
        attach=[one.join for one in of.attachments],
        after=[] if of.after is None else [of.after],
        group_by="S0.x",
        aggregates=aggregates,
        cross=True,
    )
    return query, last


class Standing:
    """The results that stand, in the order in which they came."""

    def __init__(self, case):
        self.case, self.rows = case, {name: [] for name in case.streams}
        self.numbers = {name: [] for name in case.streams}
        self.results = {}
        self.events = 0

    def take(self, event, change):
        name, row = event
        if name is not None:
            self.rows[name].append(row)
            self.numbers[name].append(self.events)
            self.events += 1
        for sign, rows in change:
            if sign < 0:
                del self.results[rows]
        self.results |= dict.fromkeys(sorted((rows for sign, rows in change if sign > 0), key=self.latest))

    def latest(self, rows):
        """The events of its rows, the latest first."""
        named = zip(self.case.streams, rows, strict=True)
        return sorted((-1 if n is None else self.numbers[name][n] for name, n in named), reverse=True)

    def table(self, last):
        """The groups, as the engine shows them."""
        names, groups = list(self.case.streams), defaultdict(list)
        for rows in self.results:
            groups[self.value(rows, names.index("S0"), 1)].append(rows)
        found = {}
        for key, members in groups.items():
            values = [self.value(rows, names.index(last), 2) for rows in members]
            own = self.value(members[-1], names.index("S0"), 2)
            code = 0
            for value in values:
                code = (11 * code + (10 if value is None else value)) % (2**31 - 1)
            found[key] = (values[0], own, values, code)
        return found

    def value(self, rows, place, column):
        number = rows[place]
        return None if number is None else self.rows[list(self.case.streams)[place]][number][column]


def check(case):
    query, last = grouped(case)
    engine = eddy.Eddy(query, plan=case.plan, **case.options)
    after = [*case.after]
    if any(one[0] in naive_attached.KEEPS_RIGHT for one in case.attach):
        after += [tree for tree in case.where if len(naive_attached.reads(tree)) == 1]
    parts = [events_of(case, step) for step in case.steps]
    events = [event for part in parts for event in part]
    changes = naive_attached.signed(case.streams, case.where, events, case.attach, after)
    standing, at = Standing(case), 0
    for step, part in zip(case.steps, parts, strict=True):
        if step[0] == "push":
            parts_of(engine.push(step[1], batch(case, step[1], step[2])))
        elif step[0] == "push_all":
            parts_of(engine.push_all({name: batch(case, name, rows) for name, rows in step[1].items()}))
        elif step[0] == "advance":
            engine.advance(step[1])
        elif step[0] == "save":
            engine = restarted(engine, {"migration": case.options["migration"], **step[1]}, query)
        else:
            engine.migrate(step[1])
        for event in part:
            standing.take(event, changes[at])
            at += 1
        shown = engine.table().to_pydict()
        found = {
            key: row
            for key, *row in zip(
                *(shown[name] for name in ("S0.x", "first", "last", "every", "own")), strict=True
            )
        }
        assert {key: tuple(row) for key, row in found.items()} == standing.table(last), step


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_results_in_order(data):
    """Whatever is attached: what comes back is last, in saved engines too."""
    check(attached_case(Drawn(data.draw)))


@pytest.mark.parametrize("seed", range(0, 60, 15))
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_fifteen_cases_by_seed(seed):
    for number in range(seed, seed + 15):
        check(attached_case(Pick(number)))
