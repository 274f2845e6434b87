"""Cells that know nothing of each other make every result, each exactly once."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy import partition
from tests.cases import TECHNIQUES
from tests.checks import row_tuples
from tests.partitions import Dealt, chosen
from tests.strategies import FEEDBACK, Drawn, plan, small_cases

base = settings().max_examples
KINDS = [None, None, "hypercube", "slices", "slices"]


def few(share):
    """Settings for a property that needs only a share of the examples."""
    return settings(max_examples=max(5, int(base * share)))


@given(small_cases(migrations=0), st.integers(1, 16), st.sampled_from(KINDS), st.data())
@few(0.4)
def test_every_result_has_all_its_rows_in_exactly_one_cell(case, cells, kind, data):
    """Whatever the query: of a grid one cell has all rows of a result, of slices the one of its latest event has."""
    pick, dealt = Drawn(data.draw), Dealt(case)
    partitioning = pickle.loads(pickle.dumps(chosen(dealt, cells, kind, pick)))
    assert 1 <= partitioning.cells <= cells
    sent = [{name: set(rows) for name, rows in streams.items()} for streams in dealt.sent(partitioning, pick)]
    for result in set(dealt.results()):
        pairs = list(zip(dealt.query.names, result, strict=True))
        holding = [c for c, streams in enumerate(sent) if all(row in streams[name] for name, row in pairs)]
        if partitioning.slices is None:
            assert len(holding) == 1, f"{result} is in cells {holding}"
        else:
            assert dealt.owner(partitioning, result) in holding


def alone(columns):
    """A batch without what travels with its rows."""
    return {name: values for name, values in columns.items() if not name.startswith("__")}


@given(small_cases(migrations=0), st.integers(1, 16), st.sampled_from(KINDS), st.data())
@few(0.3)
def test_cells_give_together_what_one_engine_gives(case, cells, kind, data):
    """Each result comes from one cell, in the order of its latest event, under any plan, with global row numbers."""
    pick, dealt = Drawn(data.draw), Dealt(case)
    partitioning = chosen(dealt, cells, kind, pick)
    by_event = partitioning.slices is not None and partitioning.slices.by == "event"
    travels = bool(partition.counted(dealt.query)) or by_event or pick.chance(50)
    found = Counter()
    for number, streams in enumerate(dealt.sent(partitioning, pick)):
        options = {"batch_size": pick.choice([1, 3, 64, 4096]), "joins": case.joins}
        options |= {"migration": pick.choice(TECHNIQUES), "feedback": pick.choice(FEEDBACK)}
        cell = partition.Cell(dealt.query, partitioning, number, travels, plan=case.plan, **options)
        feed = sorted((dealt.events[name][row], name, row) for name, rows in streams.items() for row in rows)
        numbers = {name: [row for _, other, row in feed if other == name] for name in dealt.query.names}
        latest = -1
        while feed:
            size = pick.integer(1, 60)
            here, feed = feed[:size], feed[size:]
            places = {name: [row for _, other, row in here if other == name] for name in dealt.query.names}
            batches = {name: dealt.columns(name, rows) for name, rows in places.items() if rows}
            if not travels:
                batches = {name: alone(columns) for name, columns in batches.items()}
            result = cell.push(batches)
            rows = row_tuples([result])
            if not travels:  # the cell's own numbers; rows of one time go in the order of their streams
                rows = [tuple(map(list.__getitem__, numbers.values(), one)) for one in rows]
            found.update(rows)
            for one in rows if travels else ():
                event = max(dealt.events[n][r] for n, r in zip(dealt.query.names, one, strict=True))
                assert latest <= event
                latest = event
            values = result.to_pydict()
            assert all(len(column) == len(rows) for column in values.values())
            if pick.chance(15):
                cell.migrate(plan(pick, dealt.query.names))
    assert found == Counter(dealt.results())


def test_row_marks_are_those_of_the_engine():
    """Marks follow from counts alone, in any stretch of a feed."""
    import eddy
    from eddy.intake.lowwater import LowWater

    windows = {"A": eddy.Rows(3), "B": eddy.Unbounded(), "C": eddy.Tumbling(rows=4), "D": eddy.Rows(1)}
    query = eddy.Query(
        {n: eddy.Stream({"x": "int64"}, window=w) for n, w in windows.items()},
        where=["A.x = B.x", "B.x = C.x", "C.x = D.x"],
    )
    streams = np.random.default_rng(1).integers(0, 4, 200, dtype=np.int32)
    marks, _, _ = LowWater(*query.window_table()).advance(streams, None)
    for cut in (0, 1, 77, 199):
        counts = [int((streams[:cut] == s).sum()) for s in range(4)]
        assert (partition.row_marks(query, streams[cut:], counts) == marks[cut:, [0, 2, 3]]).all()


def test_a_cell_takes_a_push_without_rows():
    """A stretch of the feed need not have rows for every cell; before and after it all is as usual."""
    import eddy

    for window in (eddy.Rows(3), eddy.Unbounded()):
        stream = eddy.Stream({"x": "int64"}, window=window)
        query = eddy.Query({"A": stream, "B": stream}, where=["A.x = B.x"])
        cell = partition.Cell(query, partition.choose(query, 1), 0)
        marks = {partition.mark_column(name): [0] for name in partition.counted(query)}
        none = {name: [] for name in ("x", partition.EVENT, partition.ROW, *marks)}
        found = []
        for event, name in enumerate("AB"):
            found.append(len(cell.push({})))
            found.append(len(cell.push({"A": none})))
            found.append(
                len(cell.push({name: {"x": [7], partition.EVENT: [event], partition.ROW: [0], **marks}}))
            )
        assert found == [0, 0, 0, 0, 0, 1] and cell.statistics().events == 2


def test_a_cell_whose_rows_bring_nothing_takes_the_fast_path(monkeypatch):
    """Plain arrays are taken in by kernels, as an `Eddy` takes them; results and windows are the same."""
    import eddy
    from eddy.intake.intake import Intake

    admit, admitted = Intake.admit, []
    monkeypatch.setattr(Intake, "admit", lambda self, *given: admitted.append(1) or admit(self, *given))
    stream = eddy.Stream({"ts": "int64", "x": "int64"}, window=eddy.Range(50))
    query = eddy.Query({"A": stream, "B": stream}, where=["A.x = B.x"])
    rows = {"ts": np.arange(1000), "x": np.arange(1000) % 7}
    told = []
    for travels in (True, False):
        cell = partition.Cell(query, partition.choose(query, 1), 0, travels, batch_size=100)
        parts = [
            {n: {c: v[i : i + 500].copy() for c, v in rows.items()} for n in "AB"}
            for i in range(0, 1000, 500)
        ]
        told.append((sum(len(cell.push(part)) for part in parts), cell.lows(), cell.statistics().events))
        assert len(admitted) == 2, "the long way is for what travels"
    assert told[0] == told[1]
