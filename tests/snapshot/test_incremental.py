"""Snapshots that share their rows: an engine that is loaded from one goes on as from a whole one."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

import eddy
from eddy.snapshot import incremental, segments
from eddy.snapshot.incremental import Following, Incremental, Taking
from tests import checks, operator_checks
from tests.attachments import cases as attached_cases
from tests.attachments.restarts import a_restart
from tests.operator_strategies import small as operator_case
from tests.snapshot.shared import Shared
from tests.snapshots import counts, feed, zoned
from tests.strategies import Pick, small

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("seed", range(16))
def test_joins_are_saved_by_parts(seed, tmp_path, monkeypatch):
    """Whatever the query, plan, policies, threads and ways of pushing."""
    shared = Shared(tmp_path, monkeypatch)
    case = small(Pick(seed), restarts=25, demotes=10)
    checks.check(evolve(case, steps=[*case.steps, ("restart",)]))
    assert shared.saved


@pytest.mark.parametrize("seed", range(12))
def test_differences_and_groups_are_saved_by_parts(seed, tmp_path, monkeypatch):
    """Signed results follow from the rows."""
    Shared(tmp_path, monkeypatch)
    operators = [("minus",), ("aggregates",), ("minus", "aggregates")][seed % 3]
    operator_checks.check(operator_case(Pick(seed), operators, restarts=25))


@pytest.mark.parametrize("seed", range(16))
def test_attachments_are_saved_by_parts(seed, tmp_path, monkeypatch):
    """What is known of composites is written whole, rows by parts."""
    shared = Shared(tmp_path, monkeypatch)
    case, pick = attached_cases.attached_case(Pick(seed)), Pick(-seed)
    steps = [one for step in case.steps for one in ([step, a_restart(pick)] if pick.chance(40) else [step])]
    attached_cases.check(evolve(case, steps=steps))
    assert shared.saved or len(steps) == len(case.steps)


def pushed(engine, start, stop, following=None):
    """Rows of both streams; the results."""
    found = []
    for i in range(start, stop, 10):
        rows = list(range(i, i + 10))
        found.append(engine.push_all({"A": {"x": rows}, "B": {"x": rows, "y": [f"text {i}" for i in rows]}}))
        if following is not None:
            engine.save(Following(following))
    return [row for result in found for row in zip(*result.to_pydict().values(), strict=True)]


def query(rows=50):
    return eddy.sql(
        f"SELECT A.x, B.y FROM A [ROWS {rows}], B [ROWS {rows}] WHERE A.x = B.x",
        {"A": {"x": "int64"}, "B": {"x": "int64", "y": "string"}},
    )


def test_a_view_has_rows_that_leave_their_windows_before_it_is_written(tmp_path, monkeypatch):
    """Found by faults, seed 10029: who writes dropped rows that the run needed no longer, but the view did."""
    monkeypatch.setattr(incremental, "TAIL", 100)
    monkeypatch.setattr(incremental, "STEP", 100)
    jobs = []
    engine, snapshots = eddy.Eddy(query()), Incremental(str(tmp_path), jobs.append)
    pushed(engine, 0, 70, snapshots)
    engine.save(tmp_path / "whole.eddy")
    taking = Taking(snapshots)
    engine.save(taking)
    due = len(jobs)
    pushed(engine, 70, 400, snapshots)
    for job in jobs[:due]:
        job()
    snapshots.write(taking.found, "parts.eddy")
    one, other = (eddy.Eddy.load(tmp_path / name) for name in ("whole.eddy", "parts.eddy"))
    assert plain_counts(one) == plain_counts(other)
    assert pushed(one, 60, 100) == pushed(other, 60, 100)


def test_rows_are_written_once(tmp_path, monkeypatch):
    """A snapshot writes what has come since the last one, and files go when all of their rows are gone."""
    monkeypatch.setattr(segments, "SMALLEST", 1)
    engine, snapshots = eddy.Eddy(query(1000)), Incremental(str(tmp_path), lambda job: job())
    sizes, names = [], []
    for number in range(40):
        pushed(engine, 100 * number, 100 * number + 100)
        taking, before = Taking(snapshots), snapshots.written
        engine.save(taking)
        names.append(snapshots.write(taking.found, "engine.eddy"))
        sizes.append(snapshots.written - before)
    assert max(sizes) < 2 * min(sizes)
    assert not names[0] & names[-1]
    loaded = eddy.Eddy.load(tmp_path / "engine.eddy")
    assert pushed(loaded, 3900, 4100) == pushed(engine, 3900, 4100)


def test_a_few_files_have_the_rows(tmp_path, monkeypatch):
    """However small the pieces: each file has about an eighth of what lives."""
    monkeypatch.setattr(segments, "SMALLEST", 1)
    engine, snapshots = eddy.Eddy(query(5000)), Incremental(str(tmp_path), lambda job: job())
    for number in range(600):
        pushed(engine, 20 * number, 20 * number + 20)
        taking = Taking(snapshots)
        engine.save(taking)
        files = snapshots.write(taking.found, "engine.eddy")
    assert len(files) <= 2 * 2 * segments.PARTS


@pytest.mark.parametrize(
    "harm",
    [lambda b: b[:-1], lambda b: b[:50], lambda b: b[:60] + bytes([b[60] ^ 4]) + b[61:], lambda b: None],
)
def test_damaged_rows_are_refused(harm, tmp_path):
    """Cut short, changed, or gone."""
    engine, snapshots = eddy.Eddy(query()), Incremental(str(tmp_path), lambda job: job())
    pushed(engine, 0, 100)
    taking = Taking(snapshots)
    engine.save(taking)
    name = sorted(snapshots.write(taking.found, "engine.eddy"))[0]
    harmed = harm((tmp_path / name).read_bytes())
    if harmed is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(harmed)
    with pytest.raises(eddy.StateError, match="cut short or damaged"):
        eddy.Eddy.load(tmp_path / "engine.eddy")


def test_what_stands_behind_the_rows_of_a_snapshot_is_passed_over(tmp_path):
    """It is of a later one that was never finished."""
    engine, snapshots = eddy.Eddy(query()), Incremental(str(tmp_path), lambda job: job())
    pushed(engine, 0, 100)
    taking = Taking(snapshots)
    engine.save(taking)
    for name in snapshots.write(taking.found, "engine.eddy"):
        with open(tmp_path / name, "ab") as file:
            file.write(b"half of a batch")
    assert plain_counts(eddy.Eddy.load(tmp_path / "engine.eddy")) == plain_counts(engine)


def plain_counts(engine):
    """Rows of each stream."""
    return [(stream.name, stream.rows, stream.live) for stream in engine.statistics().streams]


def test_a_snapshot_of_the_fourth_format_loads():
    """`tests/data` keeps one of every format; this one was written after ``engine = zoned(); feed(engine, 0, 12)``."""
    loaded, engine = eddy.Eddy.load(DATA / "format-4" / "engine.eddy"), zoned()
    feed(engine, 0, 12)
    assert counts(loaded)[-1] == counts(engine)[-1]
    assert feed(loaded, 12, 30) == feed(engine, 12, 30)
