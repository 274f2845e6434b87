"""A run with a seed: its query, files, sink, faults and restarts."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import zipfile
from collections import Counter
from pathlib import Path

import eddy
from tests.faults.children import BROKEN, ENDED, disconnect, forked, kill, tear
from tests.faults.outs import SINKS, counted
from tests.faults.shaky import Shaky
from tests.faults.shapes import shape
from tests.runs import feed, write

FAULTS = ("step", "step", "step", "tear", "time", "time", "full", "disconnect", "damage", "damage")
MOST = 8
"""Faults of a world."""
BAD = "12,not a number,,\n"
SCHEMA = {"ts": "int64", "k": "int64", "id": "int64", "note": "string"}
ENDINGS = ("csv", "parquet", "jsonl", "arrow")


class World:
    """Everything of it follows from its seed, but for what the clock decides."""

    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.pick = pick = random.Random(seed)
        self.shape = shape(pick)
        self.rows = pick.choice([12, 40, 40, 70])
        self.disorder = disorder = pick.choice([0, 0, 4])
        self.lateness = pick.choice([None, disorder]) if disorder else None
        tables = feed(seed, rows=self.rows, disorder=disorder)
        self.tables = {name: tables[name] for name in self.shape.names}
        self.sources = {
            name: write(table, self.folder / f"{name}.{pick.choice(ENDINGS)}")
            for name, table in self.tables.items()
        }
        self.out = SINKS[pick.choice(sorted(SINKS))]
        self.path = f"{self.folder}/{self.out.name}"
        self.bad = self._spoil()
        self.faults = Counter()
        self.log = []
        """What was done to it."""

    def _spoil(self):
        """Put a bad row into a file of lines."""
        path = next(iter(self.sources.values()))
        if not path.endswith(".csv"):
            return []
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        lines.insert(1 + self.rows // 2, BAD)
        Path(path).write_text("".join(lines), encoding="utf-8")
        return [1 + self.rows // 2]

    def options(self):
        """Those of the next start."""
        pick = self.pick
        return {
            "batch": pick.choice([3, 8, 30]),
            "plan": pick.choice(self.shape.plans),
            "threads": pick.choice([1, 1, 1, 2]),
            "every": pick.choice([0, 0, 0.001, 0.02]),
        }

    def run(self, **options):
        """Run it, or go on."""
        sources = {name: Shaky(eddy.source(path, schema=SCHEMA)) for name, path in self.sources.items()}
        given = {
            "checkpoint": self.folder / "progress",
            "lateness": self.lateness,
            **self.shape.options,
            **options,
        }
        return eddy.run(
            self.shape.text, sources, self.out.sink(self.path), bad=f"keep:{self.folder}/bad.jsonl", **given
        )

    def suffer(self):
        """Faults and restarts, until it has run to its end."""
        while self.faults.total() < MOST:
            fault, options = self.pick.choice(FAULTS), self.options()
            if fault == "damage":
                self.faults[fault] += damage(self.folder / "progress", self.pick, self.log)
                continue
            given = self._given(fault)
            how, _, said = forked(lambda options=options: self.run(**options), **given)
            self.log.append((fault, given, options, how, said))
            assert how != BROKEN, said
            assert fault != "full" or self.out.sink is not str or "OSError" not in said, said
            if how == ENDED:
                break
            self.faults[fault] += 1
        else:
            self._finish(self.options())
        self.check()

    def _finish(self, options):
        """A run that nothing happens to."""
        how, _, said = forked(lambda: self.run(**options))
        self.log.append(("none", options, how, said))
        assert how == ENDED, said

    def _given(self, fault):
        """What is done to a child."""
        pick = self.pick
        if fault == "time":
            return {"seconds": pick.random() * 0.1}
        if fault == "full":
            return {"bytes": int(2 ** pick.uniform(7, 14))}
        act = {"step": kill, "tear": tear, "disconnect": disconnect}[fault]
        return {"at": int(2 ** pick.uniform(0, 8)), "act": act}

    def check(self):
        """Every result is there once, and so is every bad row; nothing else is left."""
        schema = eddy.run(self.shape.text, {n: eddy.source(t.slice(0, 0)) for n, t in self.tables.items()},
                          **self.shape.options).to_arrow().schema  # fmt: skip
        found, wanted = (
            counted(self.out.read(self.path, schema), self.shape),
            self.shape.expected(self.tables),
        )
        if self.disorder and self.shape.signed:
            # time goes on by the watermark too, so windows may end before the next row comes: with changes of their own
            found, wanted = net(found), net(wanted)
        assert found == wanted, f"found {dict(found)}, wanted {dict(wanted)}"
        with open(self.folder / "bad.jsonl", encoding="utf-8") as file:
            assert [json.loads(line)["row"] for line in file] == [row + 1 for row in self.bad]
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        assert hidden == [], hidden


def net(changes):
    """What stands after all these changes."""
    found = Counter()
    for (sign, *values), count in changes.items():
        found[tuple(values)] += sign * count
    return {values: count for values, count in found.items() if count}


def damage(folder, pick, log):
    """Cut the newest checkpoint short, or turn a byte of it, if there is one before it. Whether that was done."""
    manifests = sorted(folder.glob("*.json"))
    if len(manifests) < 2 or b'"finished": true' in manifests[-1].read_bytes():
        return 0  # what was put together at the end has taken its parts along
    try:
        newest, before = (own_of(path) for path in (manifests[-1], manifests[-2]))
    except zipfile.BadZipFile:
        return 0  # it is damaged already
    name = pick.choice(sorted(newest))
    first, stop = before.get(name, 0), newest[name]
    if first >= stop:
        return 0
    content = bytearray((folder / name).read_bytes())
    place = pick.randrange(first, stop)
    if pick.random() < 0.5:
        content = content[:place]
    else:
        content[place] ^= 1 << pick.randrange(8)
    (folder / name).write_bytes(content)
    log.append(("damage", name, place))
    return 1


def own_of(manifest):
    """The files of a checkpoint, and how many of their first bytes are its own."""
    engine = manifest.with_suffix(".eddy")
    files = {path.name: path.stat().st_size for path in (manifest, engine)}
    with zipfile.ZipFile(engine) as archive:
        header = json.loads(archive.read("header.json"))
    for table in header["beside"].values():
        files |= {one["file"]: one["bytes"] for one in table["segments"]}
    return files


def tried(folder, seed):
    """The faults that a world of this seed has come through, counted; it lives in an empty folder."""
    world = World(folder, seed)
    try:
        world.suffer()
    except BaseException:
        print(f"{world.shape.text} into {world.out.name}", *world.log, sep="\n", file=sys.stderr)
        raise
    return world.faults


@contextlib.contextmanager
def trying():
    """Files into files."""
    yield tried
