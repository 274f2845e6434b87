"""Traces in the notation of the papers: ``+s1`` is the arrival of row s1, results read like ``r1s1t1``."""

from __future__ import annotations

import itertools
import re

import eddy
from policies import Jisc
from tests.inside import Inside

ROW = re.compile(r"(?P<stream>[a-z])(?P<number>\d*'*)(\((?P<values>[^)]*)\))?(@(?P<time>-?\d+))?$")


class Trace:
    """An engine, and the names of the rows it was given.

    ``streams`` maps each stream to the names of its columns; the default is one shared key ``k`` for the
    streams that the plan names. A row is written ``s1``, ``s1(2)`` with its values (1 if left out) or
    ``s1@5`` with its time.
    """

    def __init__(
        self,
        plan,
        streams=None,
        where=None,
        windows=None,
        width=None,
        background=0,
        migration=None,
        **options,
    ):
        names = sorted(set(re.findall(r"[A-Z]", plan)))
        self.columns = streams or {name: ["k"] for name in names}
        where = where or [f"{a}.k = {b}.k" for a, b in itertools.pairwise(names)]
        made = {}
        for name, columns in self.columns.items():
            kinds = dict.fromkeys(columns, "int64") | ({"ts": "int64"} if width is not None else {})
            default = eddy.Unbounded() if width is None else eddy.Range(width)
            made[name] = eddy.Stream(kinds, window=(windows or {}).get(name, default))
        self.windows = {name: stream.window for name, stream in made.items()}
        self.timed = width is not None
        self.labels = {name: [] for name in self.columns}
        self.spare = itertools.count(-1, -1)
        self.query = eddy.Query(made, where=where)
        migration = migration or Jisc(background=background)
        self.engine = Inside(self.query, plan=plan, migration=migration, **options)

    def add(self, rows):
        """Push rows one by one; all but the last must give nothing, the results of the last are returned."""
        *silent, last = rows.split()
        for row in silent:
            assert self.push(row) == [], f"{row} should give nothing"
        return self.push(last)

    def push(self, row):
        """Push one row; its results, sorted, each as often as it came."""
        return sorted(self.emitted(row))

    def emitted(self, row):
        """Push one row; its results in the order in which they come."""
        part = ROW.match(row)
        assert part, f"not a row: {row}"
        stream = part["stream"].upper()
        values = [int(value) for value in part["values"].split(",")] if part["values"] else [1]
        batch = {column: [value] for column, value in zip(self.columns[stream], values, strict=True)}
        if self.timed:
            batch["ts"] = [int(part["time"])]
        self.labels[stream].append(part["stream"] + part["number"])
        return self.read(self.engine.push(stream, batch))

    def read(self, result):
        """The results as words, the streams of each in the order of the alphabet."""
        words = []
        for numbers in result.rows.tolist():
            parts = dict(zip(self.query.names, numbers, strict=True))
            words.append("".join(self.labels[name][parts[name]] for name in sorted(parts)))
        return words

    def expire(self, label):
        """Push rows with keys of their own into the stream of a row, until its window has passed that row."""
        stream = label[0].upper()
        while len(self.labels[stream]) - self.windows[stream].n <= self.labels[stream].index(label):
            values = ",".join(str(next(self.spare)) for _ in self.columns[stream])
            assert self.push(f"{label[0]}({values})") == []

    def migrate(self, plan):
        """Change the plan."""
        self.engine.migrate(plan)

    def stair(self, streams):
        """What the statistics say of the composite STAIR over these streams, written "ST"."""
        (found,) = [stair for stair in self.engine.statistics().stairs if set(stair.streams) == set(streams)]
        return found

    @property
    def last(self):
        """What the statistics say of the last plan change."""
        return self.engine.statistics().history[-1]

    def incomplete(self):
        """The composite STAIRs that have holes, as words, the streams in the order of the alphabet."""
        stairs = self.engine.statistics().stairs
        return sorted("".join(sorted(stair.streams)) for stair in stairs if not stair.complete)
