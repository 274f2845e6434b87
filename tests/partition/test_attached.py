"""Outer, semi, anti and as-of joins dealt out: the cells give together what one engine gives, or there is one cell."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from attrs import evolve
from hypothesis import event, given, settings
from hypothesis import strategies as st

import eddy
from eddy import EddyError, partition
from tests.attachments.cases import attached_case, batch, events_of, expected, query_of
from tests.strategies import Drawn

TIMES = "unbounded", "range", "sliding", "tumbling time"


def dealt_case(pick):
    """A case that is fed by pushes alone; in most of them windows end by time, so that rows may be dealt out."""
    case = attached_case(pick)
    steps = [step for step in case.steps if step[0] in ("push", "push_all")]
    changes = case.changes and (
        pick.chance(20) or any(one[0] in ("right", "full") for one in case.attach[1:])
    )
    streams = case.streams
    if pick.chance(80):
        streams = {
            name: s if s.window[0] in TIMES else evolve(s, window=("range", 3) if s.time else ("unbounded",))
            for name, s in streams.items()
        }
    return evolve(case, steps=steps, changes=changes, streams=streams)


def events_in_order(case):
    """All events of the feed, and for each the number of its row in its stream."""
    events = [event for step in case.steps for event in events_of(case, step)]
    counts = Counter()
    for name, row in events:
        yield name, counts[name], row
        counts[name] += 1


def found_in_cells(case, query, partitioning, pick):
    """What the cells give, by the numbers of the rows in their whole streams."""
    found, events = Counter(), list(events_in_order(case))
    home = {}
    for name in query.names:
        rows = [row for other, _, row in events if other == name]
        places, cells = partitioning.deal(name, batch(case, name, rows))
        assert places.tolist() == list(range(len(rows))), "every row goes to one cell, and none is left out"
        home[name] = cells.tolist()
    for cell in range(partitioning.cells):
        mine = [event for event in events if home[event[0]][event[1]] == cell]
        numbers = {name: [n for other, n, _ in mine if other == name] for name in query.names}
        options = {"batch_size": case.options["batch_size"], "migration": case.options["migration"]}
        engine = partition.Cell(query, partitioning, cell, False, plan=case.plan, **options)
        results = []
        for name, run in itertools.groupby(mine, lambda event: event[0]):
            results.append(engine.push({name: batch(case, name, [row for *_, row in run])}))
            if len(case.core) == 3 and pick.chance(10):
                engine.migrate("S0 (S1 S2)")
        for result in [*results, engine.close()]:
            for sign, rows in zip(result.sign.tolist(), result.rows.tolist(), strict=True):
                whole = (
                    None if n < 0 else numbers[name][n] for name, n in zip(query.names, rows, strict=True)
                )
                found[sign, tuple(whole)] += 1
    return found


@given(st.integers(2, 6), st.data())
@settings(max_examples=settings().max_examples * 2)
def test_cells_give_together_what_the_oracle_gives(cells, data):
    """By the hash of a key that all streams have, or in one cell; rows whose key is NULL have results as well."""
    pick = Drawn(data.draw)
    case = dealt_case(pick)
    query = query_of(case)
    partitioning = pickle.loads(pickle.dumps(partition.choose(query, cells)))
    event(partitioning.kind)
    assert partitioning.kind == ("hash" if partitioning.cells > 1 else "single")
    steps, last = expected(case)
    assert found_in_cells(case, query, partitioning, pick) == sum(steps, Counter()) + last


def query(attach, where=(), window=None, **options):
    columns = {"ts": "int64", "k": "int64", "j": "int64", "f": "float64"}
    streams = {name: eddy.Stream(columns, window=window or eddy.Range(5)) for name in "ABC"}
    return eddy.Query(streams, where=where, attach=attach, **options)


@pytest.mark.parametrize(
    ("attach", "where"),
    [
        ([eddy.LeftJoin("C", "A.k = C.k")], "A.k = B.k"),
        ([eddy.LeftJoin("B", "A.k = B.f"), eddy.AntiJoin("C", ["A.k = C.k", "B.j < C.j"])], ()),
        ([eddy.LeftJoin("B", "A.k = B.j"), eddy.SemiJoin("C", "B.j = C.k")], ()),
        ([eddy.SemiJoin("B", ["A.j = B.k", "A.k = B.k"]), eddy.LeftJoin("C", "A.k = C.k")], ()),
        # Only by k: those that B.k = C.k joins have one A.k and one A.j.
        ([eddy.LeftJoin("B", "A.k = B.k"), eddy.LeftJoin("C", ["A.j = C.k", "B.k = C.k"])], ()),
        ([eddy.FullJoin("B", "A.k = B.k"), eddy.LeftAsofJoin("C", ["A.k = C.k", "A.ts >= C.ts"])], ()),
    ],
)
def test_one_key_of_all_streams_is_hashed(attach, where):
    """That of the core, carried on by an equality of each attachment."""
    chosen = partition.choose(query(attach, where), 4, {"A": 10, "B": 0, "C": 10}, None, "hash")
    assert (chosen.kind, chosen.cells, chosen.load) == ("hash", 4, 5.0)
    assert "hash of " in chosen.explain() and "A: each row to 1.00 cells" in chosen.explain()


@pytest.mark.parametrize(
    ("attach", "where", "options", "said"),
    [
        ([eddy.LeftJoin("C", "A.j = C.k")], "A.k = B.k", {}, "one key that joins all streams: there is none"),
        ([eddy.LeftJoin("B", "A.k = B.k"), eddy.LeftJoin("C", "A.j = C.k")], (), {}, "there is none"),
        (
            [eddy.AntiJoin("C", "A.k < C.k")],
            "A.k = B.k",
            {},
            "with ANTI JOIN C rows are dealt out only by one",
        ),
        # A row of C whose key is NULL is a partner of every A that has no row of B.
        (
            [eddy.LeftJoin("B", "A.k = B.k"), eddy.LeftJoin("C", "B.k IS NOT DISTINCT FROM C.k")],
            (),
            {},
            "there is none",
        ),
        ([eddy.LeftJoin("C", "A.k = C.k")], "A.k = B.k", {"window": eddy.Rows(3)}, "that of A"),
        (
            [eddy.LeftJoin("C", "A.k = C.k")],
            "A.k = B.k",
            {"changes": True},
            "a query with changes is not dealt out",
        ),
    ],
)
def test_what_is_not_dealt_out_says_why(attach, where, options, said):
    """Everything goes to one cell, and `explain` has the reason."""
    made = query(attach, where, **options)
    chosen = partition.choose(made, 4)
    assert (chosen.kind, chosen.cells) == ("single", 1)
    assert said in chosen.explain()
    if not made.signed:
        with pytest.raises(EddyError, match="so leave kind out"):
            partition.choose(made, 4, kind="hash")


def test_what_no_cell_can_do_is_refused():
    """Copies of rows, numbers that travel, and rows that are pushed again: all would give wrong results."""
    made = query([eddy.LeftJoin("C", "A.k = C.k")], "A.k = B.k")
    chosen = partition.choose(made, 3)
    for call, said in (
        (lambda: partition.choose(made, 3, kind="hypercube"), "with LEFT JOIN C rows are not copied"),
        (lambda: partition.choose(made, 3, kind="slices"), "rows are not copied"),
        (lambda: partition.gridded(made, 3), "rows are not copied"),
        (lambda: partition.sliced(made, [0, 5]), "rows are not copied"),
        (lambda: partition.Cell(made, chosen, 0), "give travels=False"),
        (lambda: partition.Cell(made, chosen, 0, False).lows(), "cannot be pushed again"),
        (lambda: partition.Cell(made, chosen, 0, False, lateness=3), "in order of time"),
    ):
        with pytest.raises(EddyError, match=said):
            call()


def test_a_cell_ends():
    """What it owes comes at the end, once; then it takes nothing more."""
    made = query([eddy.LeftJoin("C", "A.k = C.k")], "A.k = B.k", select=["A.k", "C.j"])
    cell = partition.Cell(made, partition.choose(made, 1), 0, travels=False)
    row = {"ts": np.array([1]), "k": np.array([7]), "j": np.array([8]), "f": np.array([0.5])}
    assert not len(cell.push({"A": row, "B": row}))
    assert cell.close().to_pydict() == {"A.k": [7], "C.j": [None]}
    assert not len(cell.close())
    with pytest.raises(eddy.StateError, match="closed"):
        cell.push({"A": row})
