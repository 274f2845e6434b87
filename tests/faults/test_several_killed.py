"""A run of several queries that is killed at every step: each query's results are there once, in all sinks."""

from __future__ import annotations

import pytest

import eddy
from tests.faults.children import ENDED, forked, tear
from tests.running.test_several import alone, tallied
from tests.runs import feed, read, write

QUERIES = {
    "all": "SELECT A.id AS a, B.id AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k",
    "some": "SELECT A.id AS a, B.id AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k AND A.id > 2",
    "left": "SELECT B.id AS a, C.id AS b FROM B [RANGE 9] LEFT JOIN C [RANGE 9] ON B.k = C.k",
    "n/m": "SELECT A.k AS a, COUNT(*) AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k GROUP BY A.k",
}


class Run:
    """A short one, with a few commits, into files of lines, a folder, and a file that appears at the end."""

    def __init__(self, folder, seed=1, rows=12, **options):
        folder.mkdir()
        self.outs = {"all": "all.csv", "some": "some/", "left": "left.parquet", "n/m": "groups.jsonl"}
        self.folder, self.options = folder, {"batch": 12, **options}
        self.tables = feed(seed, rows=rows, disorder=options.get("lateness", 0))
        self.sources = {name: write(table, folder / f"{name}.parquet") for name, table in self.tables.items()}

    def __call__(self, **options):
        sink = {name: f"{self.folder}/{out}" for name, out in self.outs.items()}
        progress = self.folder / "progress"
        return eddy.run(
            QUERIES, self.sources, sink, every=0, checkpoint=progress, **{**self.options, **options}
        )

    def check(self):
        wanted = alone(self.tables, QUERIES)
        for name, out in self.outs.items():
            found = lines(self.folder / out) if name == "n/m" else read(f"{self.folder}/{out}".rstrip("/"))
            assert tallied(found) == wanted[name], name


def lines(path):
    """JSON lines as a table, whatever they have."""
    import pyarrow.json

    return pyarrow.json.read_json(path)


class Together(Run):
    """Into one file."""

    def __call__(self, **options):
        two = {name: QUERIES[name] for name in ("all", "some", "left")}
        progress = self.folder / "progress"
        out = f"{self.folder}/all.csv"
        return eddy.run(two, self.sources, out, every=0, checkpoint=progress, **{**self.options, **options})

    def check(self):
        found = read(f"{self.folder}/all.csv").to_pylist()
        for name, rows in alone(self.tables, QUERIES).items():
            if name != "n/m":
                own = [(row["a"], row["b"]) for row in found if row["query"] == name]
                assert len(own) == rows.total() and set(own) == set(rows), name


@pytest.mark.parametrize("kind", [Run, Together])
def test_killed_at_every_step(kind, tmp_path):
    """Of reading, writing, a commit and the end, and in the middle of what is written; it goes on each time."""
    whole = kind(tmp_path / "whole")
    whole()  # the kernels are compiled here
    whole.check()
    how, steps, said = forked(kind(tmp_path / "counted"))
    assert how == ENDED and steps > 40, said
    for step in range(1, steps + 1):
        run = kind(tmp_path / str(step))
        how, _, said = forked(run, at=step, act=tear)
        assert how < 0, said
        run()
        run.check()


def test_stopped_and_killed_again_and_again(tmp_path):
    """Under another plan, in other batches, with rows out of order; and once it is over it stays so."""
    run = Run(tmp_path / "run", seed=5, rows=60, lateness=4)
    for step in (30, 45, 60, 25):
        how, _, said = forked(run, at=step)
        assert how < 0, said
    loops = []
    first = run(on_progress=lambda _: loops[0].stop(), control=loops.append, batch=7)
    assert first.ended == "stopped"
    plans = {"all": "B A", "some": "B A"}
    last = run(plan=plans)
    run.check()
    wanted = {name: rows.total() for name, rows in alone(run.tables, QUERIES).items()}
    assert (last.counts, last.results) == (wanted, sum(wanted.values()))
    again = run()
    assert (again.counts, again.checkpoints) == (wanted, last.checkpoints)
    run.check()


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    """As with one query."""
    run = Run(tmp_path / "run", rows=60)
    for _ in range(2):
        loops = []
        run(on_progress=lambda _, loops=loops: loops[0].stop(), control=loops.append)
    newest = max((tmp_path / "run/progress").glob("*.eddy"))
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.warns(eddy.CheckpointWarning, match="is used instead"):
        run()
    run.check()


def test_other_queries_are_refused(tmp_path):
    """With what differs; and so are other sinks."""
    run = Run(tmp_path / "run", rows=60)
    loops = []
    run(on_progress=lambda _: loops[0].stop(), control=loops.append)
    sink = {name: f"{run.folder}/{out}" for name, out in run.outs.items()}
    options = {"checkpoint": run.folder / "progress"}
    fewer = {name: QUERIES[name] for name in ("all", "some")}
    with pytest.raises(
        eddy.StateError, match="is of the queries all, some, left, n/m, not of the queries all, some"
    ):
        sources = {name: run.sources[name] for name in "AB"}
        eddy.run(fewer, sources, {name: sink[name] for name in fewer}, **options)
    with pytest.raises(eddy.StateError, match="not of one query"):
        eddy.run(QUERIES["left"], {name: run.sources[name] for name in "BC"}, sink["left"], **options)
    longer = {**QUERIES, "left": QUERIES["left"].replace("B [RANGE 9]", "B [RANGE 10]")}
    with pytest.raises(eddy.StateError, match="the window of B is"):
        eddy.run(longer, run.sources, sink, **options)
    with pytest.raises(eddy.EddyError, match=r"writes results of left to .*left.parquet, not to .*other.csv"):
        eddy.run(QUERIES, run.sources, {**sink, "left": f"{run.folder}/other.csv"}, **options)
    with pytest.raises(eddy.EddyError, match="needs a sink that outlives the process"):
        eddy.run(QUERIES, run.sources, **options)
