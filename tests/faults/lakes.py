"""Runs into tables of lakes that are killed: python -m tests.faults.lakes delta FOLDER [SEED ...]

Without seeds a run is killed at every step, with some at random. The libraries of lakes have threads, which no fork
survives: so this is a process of its own, which uses them in its children alone.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import deltalake
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile

from eddy.sinks.delta import Delta
from eddy.sinks.iceberg import Iceberg
from eddy.sinks.lakes import Lake
from tests.faults.apart import fork
from tests.faults.killed import Steps, World, damage
from tests.runs import counted


class LakeSteps(Steps):
    """Steps of a table of a lake, and of the manifest of a checkpoint; those of other files are tried elsewhere."""

    def watch(self):
        os.replace = self.before(os.replace)
        for kind in (Delta, Iceberg):
            for name in ("create", "file", "commit"):
                setattr(kind, name, self.before(getattr(kind, name)))
            kind.commit = self.after(kind.commit)
        Lake.write = self.before(Lake.write)
        PyArrowFile.create = self.before(PyArrowFile.create)
        SqlCatalog.commit_table = self.after(SqlCatalog.commit_table)

    def after(self, function):
        """A step behind what a function does."""

        def stepped(*args, **kwargs):
            found = function(*args, **kwargs)
            self()
            return found

        return stepped


class LakeWorld(World):
    """Files, and a query over them whose results go to a table."""

    steps = LakeSteps

    def __init__(self, folder, seed, lake, **options):
        super().__init__(folder, seed, "out", **options)
        self.table, self.damaged = folder / "table", False
        if lake == "delta":
            self.out = f"delta://{self.table}"
        else:
            self.out = (
                f"iceberg://c/n.t?uri=sqlite:///{folder}/catalog.db&warehouse=file://{folder}/warehouse"
            )
            self.table = folder / "warehouse" / "n" / "t" / "data"

    def killed_after(self, seconds, **options):
        """Run it in a process of its own, which is killed after so long. Whether it was."""
        child = self.forked(lambda: self.run(**options))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                assert status == 0, "the run failed"
                return False
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return True

    def forked(self, work):
        """The pid of a process that does something, and then ends."""
        child = fork()
        if not child:
            status = 1
            try:
                work()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        return child

    def alone(self, work):
        """Do something in a process of its own."""
        _, status = os.waitpid(self.forked(work), 0)
        assert status == 0

    def finish(self, **options):
        """Run it to its end: every result is there once, and no data file of this run that is not in the table."""

        def work():
            self.run(**options)
            lake = self.lake()
            pq.write_table(lake[0], self.folder / "read.parquet")
            (self.folder / "live").write_text("\n".join(lake[1]))

        self.alone(work)
        live = set((self.folder / "live").read_text().split())
        assert counted(pq.read_table(self.folder / "read.parquet")) == self.wanted
        runs = {name.split("-")[1] for name in live}
        assert len(runs) == 1
        there = {name for name in os.listdir(self.table) if name.endswith(".parquet")}
        if not self.damaged:  # else older versions of the table have some of them
            assert {name for name in there - live if name.split("-")[1] in runs} == set()

    def lake(self):
        """The results, and the names of the data files that they are in, by the library of the lake."""
        if self.out.startswith("delta"):
            table = deltalake.DeltaTable(str(self.table))
            return table.to_pyarrow_table(), [os.path.basename(uri) for uri in table.file_uris()]
        where = {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/warehouse"}
        scan = load_catalog("c", **where).load_table("n.t").scan()
        return scan.to_arrow(), [os.path.basename(task.file.file_path) for task in scan.plan_files()]


def at_every_step(folder, lake):
    """Kill at each step of a run, and finish it each time."""
    _made(folder / "counted")
    steps = LakeWorld(folder / "counted", 1, lake, rows=12).killed(10**9, batch=12)
    assert steps > 15
    for step in range(1, steps + 1):
        world = LakeWorld(_made(folder / str(step)), 1, lake, rows=12)
        assert world.killed(step, batch=12) is None
        world.finish(batch=12)


def again_and_again(folder, seed, lake):
    """Kill at random steps and after random times, with other sizes of batches and plans after each, and finish it.

    How often that was.
    """
    pick, found = random.Random(seed), Counter()
    world = LakeWorld(folder, seed, lake, disorder=pick.choice([0, 4]), rows=pick.choice([30, 60]))
    for _ in range(4):
        options = {"batch": pick.choice([4, 8, 30]), "plan": pick.choice([None, "(A B) C", "A (B C)"])}
        fault = pick.choice(["step", "time"])
        if fault == "step":
            killed = world.killed(pick.randint(1, 100), **options) is None
        else:
            killed = world.killed_after(pick.random() * 0.6, **options)
        if not killed:
            break
        found[fault] += 1
        if pick.random() < 0.3:
            found["damage"] += damage(folder / "progress", pick)
            world.damaged = True
    world.finish()
    return found


@contextlib.contextmanager
def trying(lake):
    """A table of one kind of lake."""
    yield lambda folder, seed: again_and_again(folder, seed, lake)


def _made(folder):
    folder.mkdir()
    return folder


def main(lake, folder, *seeds):
    """What the command line says."""
    folder = Path(folder)
    World(_made(folder / "warm"), 1, "out.csv", rows=12).run(
        batch=12
    )  # kernels are compiled before the first fork
    if not seeds:
        at_every_step(folder, lake)
    for seed in seeds:
        print("seed", seed, flush=True)
        again_and_again(_made(folder / f"seed {seed}"), int(seed), lake)


if __name__ == "__main__":
    main(*sys.argv[1:])
