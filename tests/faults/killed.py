"""Runs that are killed: a process of their own ends by SIGKILL at a chosen step, and another goes on.

Steps are whatever may be cut short: a piece that is read, a table that is written, a file that is forced to the disk,
renamed, linked or removed. A run is a fork of the test's process, so it begins with compiled kernels.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings

import eddy
from eddy.running.feeds import Feed
from eddy.sinks.files import LineFile
from eddy.sinks.parts import Parts
from tests.faults.apart import fork
from tests.runs import QUERY, counted, expected, feed, read, write

CALLS = ("fsync", "replace", "unlink", "link", "rmdir")
BAD = "12,not a number,,\n"
REFUSED = 3
"""How a run ends that said in a line what was wrong."""


class Steps:
    """Counts steps, and kills this process before the one that it was told."""

    def __init__(self, last):
        self.last, self.count = last, 0

    def __call__(self):
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, function):
        def stepped(*args, **kwargs):
            self()
            return function(*args, **kwargs)

        return stepped

    def watch(self):
        """From now on every step is counted."""
        for name in CALLS:
            setattr(os, name, self.before(getattr(os, name)))
        Feed.pull = self.before(Feed.pull)
        LineFile.write = self.before(LineFile.write)
        Parts.write = self.before(Parts.write)


class World:
    """Files, a query over them, and what the oracle says of it."""

    steps = Steps
    shaky = False
    """Whether connections break, so that a run may end with an error and be started again."""
    refused = False
    """Whether the last one did."""

    def __init__(self, folder, seed, out, disorder=0, rows=60):
        self.folder, self.out = folder, f"{folder}/{out}"
        tables = feed(seed, rows=rows, disorder=disorder)
        self.sources = {
            "A": write(tables["A"], folder / "A.csv"),
            "B": write(tables["B"], folder / "B.parquet"),
            "C": write(tables["C"], folder / "C.jsonl"),
        }
        with open(self.sources["A"], encoding="utf-8") as file:
            lines = file.readlines()
        self.bad = [1 + rows // 4, 1 + rows // 2]
        for place in reversed(self.bad):
            lines.insert(place, BAD)
        with open(self.sources["A"], "w", encoding="utf-8") as file:
            file.writelines(lines)
        self.tables, self.wanted = tables, expected(tables)

    def run(self, **options):
        """Run it, or go on."""
        given = {"batch": 8, "every": 0, "checkpoint": self.folder / "progress", **options}
        schema = {"ts": "int64", "k": "int64", "id": "int64", "note": "string"}
        sources = {name: eddy.source(path, schema=schema) for name, path in self.sources.items()}
        return eddy.run(QUERY, sources, self.out, bad=f"keep:{self.folder}/bad.jsonl", **given)

    def killed(self, step, **options):
        """Run it in a process of its own, which is killed before a step. The steps it has taken, if it was not."""
        pipe, end = os.pipe()
        child = fork()
        if not child:
            status = 1
            try:
                steps = self.steps(step)
                steps.watch()
                warnings.simplefilter("ignore")
                self.run(**options)
                os.write(end, json.dumps(steps.count).encode())
                status = 0
            except BaseException as error:
                if self.shaky and isinstance(error, eddy.EddyError):
                    status = REFUSED
                else:
                    traceback.print_exc(file=sys.__stderr__)
            finally:
                os._exit(status)
        os.close(end)
        _, status = os.waitpid(child, 0)
        told = os.read(pipe, 100)
        os.close(pipe)
        ended = 0, signal.SIGKILL, REFUSED << 8
        assert status in ended, f"the run failed at step {step}"
        self.refused = status == REFUSED << 8
        return json.loads(told) if told else None

    def check(self):
        """Every result is there once, and so is every bad row; the sink has left nothing else."""
        out = self.out.rstrip("/")
        assert counted(read(out)) == self.wanted
        with open(self.folder / "bad.jsonl", encoding="utf-8") as file:
            rows = [json.loads(line)["row"] for line in file]
        assert rows == [place + before for before, place in enumerate(self.bad, 1)]
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        if os.path.isdir(out):
            hidden += [name for name in os.listdir(out) if name.startswith(".")]
        assert hidden == [], hidden


def damage(folder, pick):
    """Cut the newest manifest or engine short, or turn a byte of it, if there is one before it. Whether it was done."""
    manifests = sorted(path for path in folder.glob("*.json"))
    if len(manifests) < 2:
        return False
    newest = manifests[-1]
    if pick.random() < 0.5 and newest.with_suffix(".eddy").exists():
        newest = newest.with_suffix(".eddy")
    content = bytearray(newest.read_bytes())
    if b'"finished": true' in manifests[-1].read_bytes():
        return False  # what was put together at the end has taken its parts along
    if pick.random() < 0.5:
        content = content[: pick.randrange(len(content))]
    else:
        content[pick.randrange(len(content))] ^= 0xFF
    newest.write_bytes(content)
    return True
