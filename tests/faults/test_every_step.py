"""A run that is killed at every step of what it does: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import pytest

import eddy
from tests.faults.children import ENDED, forked, tear
from tests.faults.outs import SINKS, counted
from tests.faults.shapes import Shape
from tests.runs import feed, write

SHAPE = Shape("inner", {"A": ("range", 30), "B": ("rows", 15), "C": ("range", 20)})


class Run:
    """A short one, with two commits."""

    def __init__(self, folder, name):
        folder.mkdir()
        self.folder, self.out = folder, SINKS[name]
        self.tables = feed(1, rows=12)
        self.sources = {name: write(table, folder / f"{name}.parquet") for name, table in self.tables.items()}

    def __call__(self):
        path = f"{self.folder}/{self.out.name}"
        progress = self.folder / "progress"
        return eddy.run(SHAPE.text, self.sources, self.out.sink(path), batch=12, every=0, checkpoint=progress)

    def check(self):
        found = self.out.read(f"{self.folder}/{self.out.name}", None)
        assert counted(found, SHAPE) == SHAPE.expected(self.tables)
        assert [path.name for path in self.folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["folder", "own"])
def test_killed_at_every_step(name, tmp_path):
    """Of reading, writing, a commit and the end, and in the middle of what is written; it goes on each time."""
    whole = Run(tmp_path / "whole", name)
    whole()  # the kernels are compiled here
    whole.check()
    how, steps, _ = forked(Run(tmp_path / "counted", name))
    assert how == ENDED and steps > 30
    for step in range(1, steps + 1):
        run = Run(tmp_path / str(step), name)
        how, _, said = forked(run, at=step, act=tear)
        assert how < 0, said
        run()
        run.check()
