"""An engine of several queries is saved and loaded."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import eddy
from tests.several.test_time import QUERIES, feed
from tests.several.worlds import World, columns, made, records
from tests.strategies import Pick

DATA = Path(__file__).parents[1] / "data"


def push(engine, rows):
    """The results of these rows, one by one, by query."""
    found = {name: [] for name in engine.queries}
    streams = {name for query in engine.queries.values() for name in query.streams}
    for _, stream, row in rows:
        if stream not in streams:
            continue
        for name, result in engine.push(stream, columns(stream, [row])).items():
            found[name] += records(result)
    return found


@pytest.mark.parametrize("options", [{}, {"retractions": True}, {"batch_size": 2}], ids=str)
@pytest.mark.parametrize("at", [0, 1, 60, 150])
def test_a_loaded_engine_goes_on_where_the_saved_one_stood(tmp_path, at, options):
    """Every query gives after loading what it would have given."""
    queries, rows = {name: made(text) for name, text in QUERIES.items()}, feed(3, 220)
    engine = eddy.Eddy(queries, **options)
    push(engine, rows[:at])
    engine.save(tmp_path / "several.eddy", metadata={"at": at})
    loaded = eddy.Eddy.load(tmp_path / "several.eddy")
    assert loaded.metadata == {"at": at}
    assert loaded.queries.keys() == queries.keys() and loaded.plan == engine.plan
    assert push(loaded, rows[at:]) == push(engine, rows[at:])
    assert records(loaded.table("counted")) == records(engine.table("counted"))
    assert {n: records(r) for n, r in loaded.close().items()} == {
        n: records(r) for n, r in engine.close().items()
    }


@pytest.mark.parametrize("seed", range(12))
def test_random_worlds_survive_saving(tmp_path, seed):
    """A world that is saved and loaded at random moments gives what its oracles give."""
    pick = Pick(seed)
    world = World(pick)
    world.begin()
    for _ in range(20):
        what = pick.choice(["push", "push", "push", "add", "drop", "migrate", "save"])
        if what == "save":
            world.read()
            world.engine.save(tmp_path / "world.eddy")
            given = {name: world.options[name] for name in ("migration", "feedback")}
            world.engine = eddy.Eddy.load(tmp_path / "world.eddy", **given)
        else:
            getattr(world, what)()
    world.read()
    world.tables()


def test_rows_that_wait_are_saved(tmp_path):
    """The reorder buffer, its watermark and late rows that were kept are in the snapshot."""
    queries = {name: made(QUERIES[name]) for name in ("join", "other")}
    engine = eddy.Eddy(queries, lateness=7, late="keep")
    rows = feed(4, 100)
    mixed = [*rows[10:40], *rows[:10], *rows[40:60]]
    push(engine, mixed)
    engine.save(tmp_path / "waiting.eddy")
    loaded = eddy.Eddy.load(tmp_path / "waiting.eddy")
    assert push(loaded, rows[60:]) == push(engine, rows[60:])
    late, known = loaded.late(), engine.late()
    assert {name: table.to_pylist() for name, table in late.items()} == {
        name: table.to_pylist() for name, table in known.items()
    }
    assert {n: records(r) for n, r in loaded.flush().items()} == {
        n: records(r) for n, r in engine.flush().items()
    }


def test_queries_may_come_and_go_after_loading(tmp_path):
    """A loaded engine takes more queries, and drops those that it has."""
    engine = eddy.Eddy({"join": made(QUERIES["join"])})
    rows = feed(6, 120)
    push(engine, rows[:60])
    engine.save(tmp_path / "one.eddy")
    loaded = eddy.Eddy.load(tmp_path / "one.eddy")
    for one in (engine, loaded):
        one.add("filtered", made(QUERIES["filtered"]))
        one.drop("join")
    assert push(loaded, rows[60:]) == push(engine, rows[60:])


def test_functions_of_ones_own_are_given_again(tmp_path):
    """A query with a predicate in Python cannot be read back: it is given by its name."""

    def near(a, b):
        return abs(a - b) < 2

    def query():
        schemas = {"A": {"ts": "int64", "x": "int64"}, "B": {"ts": "int64", "x": "int64"}}
        return eddy.Query(
            {name: eddy.Stream(of, window=eddy.Rows(5)) for name, of in schemas.items()},
            where=[eddy.predicate(near, "A.x", "B.x")],
        )

    given = query()
    engine = eddy.Eddy({"near": given})
    engine.push("A", {"ts": [1], "x": [5]})
    engine.save(tmp_path / "near.eddy")
    with pytest.raises(eddy.EddyError, match="near"):
        eddy.Eddy.load(tmp_path / "near.eddy")
    loaded = eddy.Eddy.load(tmp_path / "near.eddy", {"near": given})
    assert len(loaded.push("B", {"ts": [2], "x": [6]})["near"]) == 1


def test_a_damaged_snapshot_is_refused(tmp_path):
    """What the header says and the rows do not is told."""
    path = tmp_path / "several.eddy"
    engine = eddy.Eddy({"join": made(QUERIES["join"])})
    push(engine, feed(6, 60))
    engine.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    header["several"]["streams"]["A"]["next"] += 1
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(eddy.StateError, match="cut short or damaged"):
        eddy.Eddy.load(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(eddy.StateError, match=r"cut short or damaged|no snapshot"):
        eddy.Eddy.load(path)


def test_a_plan_for_several_is_refused(tmp_path):
    """A plan is that of one query: it is changed after loading."""
    engine = eddy.Eddy({"join": made(QUERIES["join"])})
    engine.save(tmp_path / "several.eddy")
    with pytest.raises(eddy.EddyError, match=r"migrate\(plan, query"):
        eddy.Eddy.load(tmp_path / "several.eddy", plan="A B")


def test_a_snapshot_of_the_fifth_format_loads():
    """`tests/data` keeps one of every format; this one was written after the first 150 rows of `feed(3, 220)`."""
    queries, rows = {name: made(text) for name, text in QUERIES.items()}, feed(3, 220)
    engine, loaded = eddy.Eddy(queries), eddy.Eddy.load(DATA / "format-5.eddy")
    push(engine, rows[:150])
    assert push(loaded, rows[150:]) == push(engine, rows[150:])
