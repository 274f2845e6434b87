"""A run that is killed at every step of what it does, into each sink that gives results exactly once."""

from __future__ import annotations

import contextlib
from collections import Counter

import eddy
from tests.faults.children import ENDED, forked, tear
from tests.faults.outs import SINKS, counted
from tests.faults.shapes import Shape
from tests.runs import feed, write

SHAPE = Shape("inner", {"A": ("range", 30), "B": ("rows", 15), "C": ("range", 20)})


class Run:
    """A short one, with two commits."""

    def __init__(self, folder, name, seed=1):
        folder.mkdir()
        self.folder, self.out = folder, SINKS[name]
        self.tables = feed(seed, rows=12)
        self.sources = {name: write(table, folder / f"{name}.parquet") for name, table in self.tables.items()}

    def __call__(self):
        path = f"{self.folder}/{self.out.name}"
        progress = self.folder / "progress"
        return eddy.run(SHAPE.text, self.sources, self.out.sink(path), batch=12, every=0, checkpoint=progress)

    def check(self):
        """Every result is there once, and nothing else is left."""
        found = self.out.read(f"{self.folder}/{self.out.name}", None)
        assert counted(found, SHAPE) == SHAPE.expected(self.tables)
        assert [path.name for path in self.folder.iterdir() if path.name.startswith(".")] == []


def at_every_step(folder, name, seed=1):
    """Kill it at each, in the middle of what is written, and go on: how often that was."""
    whole = Run(folder / "whole", name, seed)
    whole()  # the kernels are compiled here
    whole.check()
    how, steps, said = forked(Run(folder / "counted", name, seed))
    assert how == ENDED, said
    for step in range(1, steps + 1):
        run = Run(folder / str(step), name, seed)
        how, _, said = forked(run, at=step, act=tear)
        assert how < 0, f"step {step}: {said}"
        run()
        run.check()
    return steps


@contextlib.contextmanager
def trying():
    """Each seed has another sink."""
    names = sorted(SINKS)

    def tried(folder, seed):
        name = names[seed % len(names)]
        return Counter({"step": at_every_step(folder, name, seed)})

    yield tried
