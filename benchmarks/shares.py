"""Rows sent by a grid of cells, and by a chain of binary joins with a shuffle each: `python -m benchmarks.shares`.

Both are counted on the same rows: the grid by dealing them out, the chain by joining them, since it has to send what
its joins give. Then the model of docs/scaling.md against a simulation, at up to 1,000 cells. `--write` keeps the
figures in `benchmarks/results_scaling.json`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from attrs import frozen

import eddy
from benchmarks.goals import keep, load
from benchmarks.ratio import table
from eddy import partition

RESULTS = Path(__file__).with_name("results_scaling.json")
ROWS, KEYS = 20_000, 10_000

SHAPES: dict[str, tuple[str, list[str]]] = {
    "one key": ("ABCD", ["A.x = B.x", "B.x = C.x", "C.x = D.x"]),
    "chain": ("ABCD", ["A.y = B.x", "B.y = C.x", "C.y = D.x"]),
    "star": ("ABCD", ["A.x = B.x", "A.y = C.x", "A.z = D.x"]),
    "triangle": ("ABC", ["A.x = B.x", "B.y = C.y", "C.z = A.z"]),
}
"""Join graphs: streams and predicates."""


@frozen
class Feed:
    """Streams of rows with uniform keys."""

    query: Any
    columns: dict[str, dict[str, np.ndarray[Any, Any]]]

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(columns["x"]) for name, columns in self.columns.items()}


def feed(shape: str, rows: int = ROWS, keys: int = KEYS, hot: float = 0.0) -> Feed:
    """Rows of a shape; a part of them, ``hot``, has the key 0."""
    names, where = SHAPES[shape]
    random = np.random.default_rng(1)
    streams = {n: eddy.Stream(dict.fromkeys("xyz", "int64"), window=eddy.Rows(rows)) for n in names}
    columns = {
        name: {c: np.where(random.random(rows) < hot, 0, random.integers(0, keys, rows)) for c in "xyz"}
        for name in names
    }
    return Feed(eddy.Query(streams, where=where), columns)


def dealt(made: Feed, cells: int, **options: Any) -> tuple[partition.Partitioning, int, int]:
    """A partitioning, the rows that it sends, and those that the fullest cell gets."""
    chosen = partition.choose(made.query, cells, made.sizes, **options)
    got = np.zeros(chosen.cells, np.int64)
    for name, columns in made.columns.items():
        _, to = chosen.deal(name, columns, numbers=np.arange(len(columns["x"])))
        got += np.bincount(to, minlength=chosen.cells)
    return chosen, int(got.sum()), int(got.max())


def chained(made: Feed) -> tuple[int, int]:
    """Rows that a left-deep chain of binary joins shuffles: both inputs of each join, and again if the order changes.

    The second number is what has to be sent once more when the plan is turned round: all live rows and all live
    composites of the new plan, which lie elsewhere.
    """
    names = list(made.columns)
    turned = names[::-1] if made.query.connected(names[-2:]) else [names[0], *names[:0:-1]]
    one_key = any(set(c.members) == set(names) for c in made.query.key_classes)
    return _shuffled(made, names), 0 if one_key else _shuffled(made, turned)


def _shuffled(made: Feed, order: list[str]) -> int:
    """Rows sent for one order: where the key of a join is that of the last, its left side stays where it is."""
    partial = {order[0]: np.arange(len(made.columns[order[0]]["x"]))}
    sent, last = 0, None
    for name in order[1:]:
        shared = [
            c for c in made.query.key_classes if name in c.members and c.members.keys() & partial.keys()
        ]
        keys = [(c, next(s for s in partial if s in c.members)) for c in shared]
        first = keys[0][0].index if keys else None
        size = len(next(iter(partial.values())))
        sent += len(made.columns[name]["x"]) + (size if last is None or first != last else 0)
        last = first
        left = _mixed([made.columns[s][c.members[s]][partial[s]] for c, s in keys])
        right = _mixed([made.columns[name][c.members[name]] for c, _ in keys])
        order_of = np.argsort(right, kind="stable")
        low, high = (np.searchsorted(right[order_of], left, side) for side in ("left", "right"))
        count = high - low
        which = np.repeat(np.arange(size), count)
        into = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
        partial = {s: rows[which] for s, rows in partial.items()} | {name: order_of[into]}
    return sent


def _mixed(parts: list[Any]) -> Any:
    mixed = parts[0].astype(np.int64)
    for part in parts[1:]:
        mixed = mixed * 1_000_003 + part
    return mixed


def compared() -> Iterator[tuple[Any, ...]]:
    """By shape and number of cells: rows, those sent by the grid and by the chain, and again after a plan change."""
    for shape in SHAPES:
        made = feed(shape)
        rows = sum(made.sizes.values())
        chain, again = chained(made)
        for cells in (4, 16, 64, 256):
            chosen, sent, fullest = dealt(made, cells)
            yield (
                shape,
                chosen.cells,
                rows,
                sent / rows,
                chain / rows,
                0.0,
                again / rows,
                fullest * chosen.cells / sent,
            )


MODEL_ROWS, MODEL_KEYS = 100_000, 1_000_000


def fullest(load: float, cells: int, repeats: float) -> float:
    """What the model says of the fullest of many cells, of which the mean one gets ``load`` rows.

    Rows fall into cells by chance, and all rows of a key together: if a row's key has ``repeats`` rows on average, a
    cell's rows vary by the root of ``load * repeats``. The fullest is as far out as the largest of so many draws from a
    normal distribution (Blom's estimate).
    """
    if cells < 2:
        return load
    out = NormalDist().inv_cdf((cells - 0.375) / (cells + 0.25))
    return load + out * math.sqrt(load * repeats)


def modelled(
    shapes: Iterable[tuple[str, float]] = (
        ("one key", 0.0),
        ("one key", 0.05),
        ("chain", 0.0),
        ("triangle", 0.0),
    ),
) -> Iterator[tuple[Any, ...]]:
    """Rows a cell gets: the model's mean and fullest, and the fullest of a simulation; with and without a hot key."""
    for shape, hot in shapes:
        made = feed(shape, rows=MODEL_ROWS, keys=MODEL_KEYS, hot=hot)
        sample = {name: {c: v[:5_000] for c, v in columns.items()} for name, columns in made.columns.items()}
        members = max(len(c.members) for c in made.query.key_classes)
        for cells in (10, 100, 1_000):
            _, sent, plain = dealt(made, cells)
            chosen, heavy_sent, heavy = dealt(made, cells, sample=sample)
            said = fullest(chosen.load, cells, 1 + members * MODEL_ROWS / MODEL_KEYS)
            rows = sum(made.sizes.values())
            yield (
                shape,
                hot,
                cells,
                chosen.load,
                said,
                heavy,
                100 * (said / heavy - 1),
                plain,
                sent / rows,
                heavy_sent / rows,
            )


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.shares", description=__doc__)
    arguments.add_argument("--write", action="store_true", help="keep the figures in results_scaling.json")
    chosen = arguments.parse_args()
    first = (
        "join graph",
        "cells",
        "rows",
        "sent by grid",
        "by chain",
        "grid: plan change",
        "chain: plan change",
        "fullest/mean",
    )
    second = (
        "join graph",
        "hot",
        "cells",
        "model: rows a cell",
        "model: fullest",
        "fullest, simulated",
        "model off by %",
        "without heavy keys",
        "sent a row, without",
        "sent a row",
    )
    before = load()
    rows = [list(compared()), list(modelled())]
    for head, lines in zip((first, second), rows, strict=True):
        print(table(head, lines) + "\n")
    if chosen.write:
        named = {"shares": [dict(zip(first, line, strict=True)) for line in rows[0]]}
        named["model"] = [dict(zip(second, line, strict=True)) for line in rows[1]]
        figures = {name: [_plain(line) for line in lines] for name, lines in named.items()}
        said = "python -m benchmarks.shares --write"
        keep(RESULTS, "shares", [], said, before, measures=("eddy/partition",), figures=figures)
    return 0


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {name: round(float(v), 3) if isinstance(v, float) else v for name, v in line.items()}


if __name__ == "__main__":
    sys.exit(main())
